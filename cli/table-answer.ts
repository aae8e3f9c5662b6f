import { ratio } from '../algorithms/exact-ratio.ts';
import { I64, isWithin, U64 } from '../algorithms/tables/bounds.ts';
import { tableError } from '../algorithms/tables/errors.ts';
import type { HostColumn, HostTable } from '../algorithms/tables/index.ts';
import { overMemory } from '../formats/memory.ts';
import type { TableField } from '../formats/tables/table-file.ts';
import { rowsAt } from './gather-rows.ts';
import { counted } from './grouped.ts';
import { columnOfCells, sortedRows } from './table-columns.ts';
import { type GroupStore, groupStore } from './table-groups.ts';
import type { PartAnswer, PartGroups } from './table-part.ts';
import type { QuestionPlan, Recipe } from './table-plan.ts';
import type { Question } from './table-question.ts';
import { type RankedValues, rankedValues } from './table-ranked.ts';
import { type RealSums, realSums } from './table-reals.ts';
import { addTotals, addValues, type ExactSums, type Extrema, exactSums, extrema } from './table-sums.ts';

/** The answer to a query: a table in memory, with descriptions of its columns (`fields`). */
export interface Answer {
  readonly fields: readonly TableField[];
  readonly rows: number;
  readonly columns: HostTable;
}

/** Merges the answers to the parts of a file (batches of rows) into one table of groups. */
export interface GroupTally {
  add(answer: PartAnswer): void;
  /** Number of groups so far. */
  readonly size: number;
  /**
   * Returns the groups as a table. They are in the requested order or, if no order is requested, in the order of their
   * keys.
   */
  end(): Answer;
}

export function groupTally({ groups, order, limit }: Question, plan: QuestionPlan, memoryBytes: number): GroupTally {
  const keys = groups!.keys;
  const store = groupStore(keys);
  const totals = plan.totals.map(({ kind }) =>
    kind === 'min' || kind === 'max' ? { kind, extrema: extrema(kind) } : { kind, sums: exactSums() },
  );
  const hasVariance = (real: number): boolean =>
    plan.outputs.some(({ recipe }) => recipe.kind === 'real' && recipe.real === real && recipe.what === 'variance');
  const reals = plan.reals.map((_, real) => realSums(hasVariance(real)));
  const ranked = plan.ranked.map(({ field }) => rankedValues(field));

  function addGroups(given: PartGroups): void {
    const indices = store.indicesOf(given.keys, given.size);
    totals.forEach((total, i) => {
      addTotals('sums' in total ? total.sums : total.extrema, indices, given.totals[i]!);
    });
  }

  function addRows({ ids, columns, rows, reals: values, wide }: PartAnswer): void {
    const indices = store.indicesOf(
      keys.map(({ name }) => columns[name]!),
      rows,
      ids,
    );
    for (const [i, each] of reals.entries()) each.add(values[i]!, indices, ids);
    for (const { total, values, isSquare } of wide) {
      addValues((totals[total] as { sums: ExactSums }).sums, { values, isSquare }, indices, ids);
    }
  }

  function requireRoom(): void {
    const bytes = [
      store,
      ...ranked,
      ...reals,
      ...totals.map((total) => ('sums' in total ? total.sums : { bytes: 64 * store.size })),
    ].reduce((sum, each) => sum + each.bytes, 0);
    if (bytes <= memoryBytes) return;
    const values = ranked.reduce((sum, { size }) => sum + size, 0);
    const what = counted(store.size, 'group') + (values === 0 ? '' : ` with ${counted(values, 'distinct value')}`);
    throw overMemory('There are too many groups, or distinct values in groups.', {
      needed: bytes,
      what,
      allowed: memoryBytes,
      instead: 'group by fewer columns, or select fewer rows with --where',
    });
  }

  return {
    get size() {
      return store.size;
    },
    add(answer) {
      if (answer.groups !== undefined) addGroups(answer.groups);
      if (reals.length > 0 || answer.wide.length > 0) addRows(answer);
      for (const [i, each] of ranked.entries()) {
        const { keys: columns, size, totals: counts } = answer.ranked[i]!;
        const indices = store.indicesOf(columns.slice(0, keys.length), size);
        each.add(indices, columns.at(-1)!, size, counts[0]!);
      }
      requireRoom();
    },
    end() {
      const size = store.size;
      for (const each of ranked) each.sort(size);
      const kept: Kept = { store, totals, reals, ranked };
      const columns: HostTable = Object.fromEntries([
        ...keys.map(({ name }, k) => [name, store.column(k)] as const),
        ...plan.outputs.map(({ field, recipe }) => [field.name, columnOf(field, recipe, kept)] as const),
      ]);
      const sorted = inOrder(columns, size);
      const places = limit === undefined ? sorted : sorted.subarray(0, limit);
      const fields = [...keys, ...plan.outputs.map(({ field }) => field)];
      return { fields, rows: places.length, columns: rowsAt(columns, places) };
    },
  };

  function inOrder(columns: HostTable, size: number): Uint32Array {
    const byKeys = sortedRows(
      keys.map(({ name }) => columns[name]!),
      size,
    );
    if (order === undefined) return byKeys;
    const again = sortedRows([rowsAt(columns, byKeys)[order.by]!], size, order.descending);
    return again.map((place) => byKeys[place]!);
  }
}

interface Kept {
  readonly store: GroupStore;
  readonly totals: readonly (
    | { readonly kind: 'min' | 'max'; readonly extrema: Extrema }
    | { readonly kind: 'count' | 'sum' | 'avg'; readonly sums: ExactSums }
  )[];
  readonly reals: readonly RealSums[];
  readonly ranked: readonly RankedValues[];
}

function columnOf(field: TableField, recipe: Recipe, { store, totals, reals, ranked }: Kept): HostColumn {
  const sums = (place: number): ExactSums => (totals[place] as { sums: ExactSums }).sums;
  switch (recipe.kind) {
    case 'count':
      return columnOfCells(field, store.size, (group) => sums(recipe.count).at(group));
    case 'sum':
      return columnOfCells(field, store.size, (group) =>
        sums(recipe.count).at(group) === 0n ? undefined : whole(field, sums(recipe.sum).at(group)),
      );
    case 'avg':
      return columnOfCells(field, store.size, (group) => {
        const count = sums(recipe.count).at(group);
        return count === 0n ? undefined : ratio(sums(recipe.sum).at(group), count * 10n ** BigInt(recipe.scale));
      });
    case 'variance':
      return columnOfCells(field, store.size, (group) => {
        const n = sums(recipe.count).at(group);
        if (n < 2n) return undefined;
        const sum = sums(recipe.sum).at(group);
        const scale = 10n ** BigInt(2 * recipe.scale);
        return ratio(n * sums(recipe.squares).at(group) - sum * sum, n * (n - 1n) * scale);
      });
    case 'extremum':
      return columnOfCells(field, store.size, (group) =>
        (totals[recipe.extremum] as { extrema: Extrema }).extrema.at(group),
      );
    case 'real': {
      const real = reals[recipe.real]!;
      const of = { sum: real.sum, avg: real.average, variance: real.variance }[recipe.what];
      return columnOfCells(field, store.size, of);
    }
    case 'ranked':
      return ranked[recipe.ranked]!.column(recipe.rank, field);
  }
}

/** Returns a sum if it fits in 64 bits; throws otherwise. */
function whole({ name, type }: TableField, sum: bigint): bigint {
  const [bounds, max] = type === 'u64' ? [U64, '2^64 − 1'] : [I64, '2^63 − 1'];
  if (isWithin({ min: sum, max: sum }, bounds)) return sum;
  throw tableError('overflow', `${name} does not fit in 64 bits.`, { expected: `at most ${max}`, got: sum });
}
