import { inStretches, type Stretches } from '../algorithms/stretches.ts';
import { rowsOf } from '../algorithms/tables/host-table.ts';
import {
  aggregate,
  createTable,
  type DeviceTable,
  disposeTable,
  groupBy,
  type HostColumn,
  type HostTable,
  selectedIds,
  topRows,
  type Where,
} from '../algorithms/tables/index.ts';
import { selectInStretches } from '../algorithms/tables/selection.ts';
import type { TableBatch } from '../formats/tables/table-file.ts';
import type { Column } from '../primitives/columns/column.ts';
import type { Context } from '../primitives/context/context.ts';
import { columnAt } from './gather-rows.ts';
import { narrowed } from './table-columns.ts';
import { computeColumns } from './table-computed.ts';
import { sortedDictionaries } from './table-dictionaries.ts';
import { groupStore } from './table-groups.ts';
import type { QuestionPlan, TypedExpression } from './table-plan.ts';
import { columnsOfCondition, columnsOfExpression, type Question } from './table-question.ts';
import { cellTotal, columnTotal, type PartTotal, type WideExpression, wideSums } from './table-totals.ts';

/** The answer to the query for one part of a file. */
export interface PartAnswer {
  readonly rows: number;
  /** Numbers of the selected rows; undefined if all rows are selected, or if the numbers are not needed. */
  readonly ids: Uint32Array | undefined;
  readonly columns: HostTable;
  /** The groups of this part, with their totals; undefined if no totals are requested. */
  readonly groups: PartGroups | undefined;
  /**
   * One item for each expression in the list `ranked` of the plan. The item contains the distinct values of the
   * expression in each group, with their numbers of occurrences.
   */
  readonly ranked: readonly PartGroups[];
  /**
   * One column of values for each expression that the host adds up. The host adds up floats, because the sum of floats
   * depends on the order of the rows in the file.
   */
  readonly reals: readonly HostColumn[];
  /**
   * The values that the host adds up for integer sums. The host computes an integer sum only if the device cannot,
   * because the sum over this part of the file may not fit in 64 bits.
   */
  readonly wide: readonly WideSum[];
}

/**
 * The values that the host adds up for one integer sum. The device cannot compute this sum, because the sum over this
 * part of the file may not fit in 64 bits.
 */
export interface WideSum {
  /** Index of the sum in the list `totals` of the plan. */
  readonly total: number;
  readonly values: HostColumn;
  /** Whether the squares of the values are added up. */
  readonly isSquare: boolean;
}

/** Groups of rows with their key values, and the totals of each group. */
export interface PartGroups {
  readonly size: number;
  readonly keys: readonly HostColumn[];
  readonly totals: readonly PartTotal[];
}

/** A column by which the device groups rows. */
interface GroupColumn {
  readonly name: string;
  /** Converts the column that the device returns to the original type of the column. */
  decode(answer: HostColumn): HostColumn;
}

/** A part of the file that has been uploaded to the device. */
interface FilePart {
  readonly batch: TableBatch;
  readonly table: DeviceTable;
  readonly chosen: Where;
  /** The computed expressions, and the columns of the table that contain their values. */
  readonly computed: ReadonlyMap<TypedExpression, readonly [name: string, column: HostColumn]>;
  /** The expressions of the sums that the host adds up, by the index of the sum in the list `totals` of the plan. */
  readonly wide: ReadonlyMap<number, WideExpression>;
}

/** Maximum number of columns by which the device can group rows. */
const MAX_KEYS = 4;
// Name of a temporary column. No column of a query has this name, because a command line cannot contain U+0000.
const NUMBER = '\u0000group';
const COUNT = { n: { kind: 'count' } } as const;

/** Returns a function that queries a part of the file on a device. Several parts can be queried at the same time. */
export function partAsker(
  context: Context,
  question: Question,
  plan: QuestionPlan,
): (batch: TableBatch) => Promise<PartAnswer> {
  const { where, groups, order, limit } = question;
  const { totals, reals, ranked } = plan;
  const keys = groups?.keys.map(({ name }) => name) ?? [];
  const computed = [...reals, ...ranked].filter(({ of }) => of.kind !== 'column');
  const wantsTop = groups === undefined && order !== undefined && limit !== undefined;
  const wantsIds = !wantsTop && (reals.length > 0 || groups === undefined);
  const dictionaries = sortedDictionaries();
  const compared = new Set([
    ...(where === undefined ? [] : columnsOfCondition(where)),
    ...[...totals, ...computed].flatMap(({ of }) => (of === undefined ? [] : columnsOfExpression(of))),
    ...(wantsTop ? [order.by] : []),
  ]);
  const grouped = new Set([
    ...(totals.length > 0 || ranked.length > 0 ? keys : []),
    ...ranked.flatMap(({ of }) => (of.kind === 'column' ? [of.name] : [])),
  ]);

  /**
   * Returns the column by which the device groups rows. Strings are grouped by their codes. The dictionary of the codes
   * need not be sorted.
   */
  function groupColumn(name: string, { columns }: TableBatch): GroupColumn {
    const own = columns[name]!;
    if (own.type !== 'string') return { name, decode: (answer) => answer };
    const decode = ({ values, validity }: HostColumn & { readonly type: 'u32' }): HostColumn => ({
      type: 'string',
      codes: values as Uint32Array,
      dictionary: own.dictionary,
      validity,
    });
    return { name: `\u0000codes ${name}`, decode: decode as GroupColumn['decode'] };
  }

  function* upload(batch: TableBatch): Stretches<DeviceTable> {
    // A `Map`, because a column may be called `__proto__`, which cannot be set as a member of an object.
    const host = new Map<string, HostColumn>();
    for (const name of compared) host.set(name, narrowed(yield* dictionaries.sorted(name, batch.columns[name]!)));
    for (const name of grouped) {
      const column = batch.columns[name]!;
      const own = groupColumn(name, batch).name;
      if (column.type === 'string') host.set(own, { type: 'u32', values: column.codes, validity: column.validity });
      else if (!host.has(own)) host.set(own, narrowed(column));
    }
    // `createTable` derives the number of rows from the columns. Without columns, the number must be set explicitly.
    return { ...createTable(context, Object.fromEntries(host)), rows: batch.rows };
  }

  /** Computes groups with their totals. The totals that the host adds up are left empty. */
  async function askTotals({ table, batch, chosen, wide }: FilePart): Promise<PartGroups | undefined> {
    if (totals.length === 0) return undefined;
    const asked = Object.fromEntries(
      totals.flatMap((each, i) => (wide.has(i) ? [] : [[`\u0000t${i}`, each] as const])),
    );
    if (keys.length === 0) {
      const cells = await aggregate(table, asked, { where: chosen });
      return { size: 1, keys: [], totals: totals.map((_, i) => cellTotal(cells[`\u0000t${i}`] ?? null)) };
    }
    const columns = keys.map((name) => groupColumn(name, batch));
    const names = columns.map(({ name }) => name);
    const answer = await groupBy(table, names, asked, { where: chosen });
    const made = decoded(answer, columns, Object.keys(asked));
    let next = 0;
    return { ...made, totals: totals.map((_, i) => (wide.has(i) ? cellTotal(null) : made.totals[next++]!)) };
  }

  async function askRanked(part: FilePart, each: TypedExpression): Promise<PartGroups> {
    const { table, batch, chosen } = part;
    const made = part.computed.get(each);
    const value = made === undefined ? groupColumn((each.of as { name: string }).name, batch) : asIs(made[0]);
    const columns = [...keys.map((name) => groupColumn(name, batch)), value];
    const names = [...new Set(columns.map(({ name }) => name))];
    if (names.length > MAX_KEYS) return askByNumber(part, value);
    const answer = await groupBy(table, names, { '\u0000n': COUNT.n }, { where: chosen });
    return decoded(answer, columns, ['\u0000n']);
  }

  /**
   * Like {@link askRanked}, but for more key columns than the device supports: each combination of keys gets a number,
   * and the device groups by this number.
   */
  async function askByNumber({ table, batch, chosen }: FilePart, value: GroupColumn): Promise<PartGroups> {
    const store = groupStore(groups!.keys);
    const keyColumns = keys.map((name) => batch.columns[name]!);
    const numbers = createTable(context, {
      [NUMBER]: { type: 'u32', values: store.indicesOf(keyColumns, batch.rows) },
    });
    try {
      const [both, where] = withColumns(table, numbers, chosen);
      const answer = await groupBy(both, [NUMBER, value.name], { '\u0000n': COUNT.n }, { where });
      const { values } = answer[NUMBER] as { values: Uint32Array };
      const {
        size,
        keys: [, own],
        totals,
      } = decoded(answer, [asIs(NUMBER), value], ['\u0000n']);
      return { size, keys: [...keys.map((_, k) => columnAt(store.column(k), values)), own!], totals };
    } finally {
      disposeTable(numbers);
    }
  }

  async function askIds({ table, chosen, wide }: FilePart): Promise<Uint32Array | undefined> {
    if (wantsTop) {
      const { by, descending } = order;
      return takeIds(context, await topRows(table, { by, k: limit, ascending: !descending, ...whereOf(chosen) }));
    }
    if (!(wantsIds || wide.size > 0) || chosen === undefined) return undefined;
    if ('words' in chosen) return takeIds(context, selectedIds(chosen));
    const selection = await selectInStretches(table, chosen);
    const ids = await takeIds(context, selectedIds(selection));
    context.dispose(selection.words);
    return ids;
  }

  return async (batch) => {
    const uploaded = await inStretches(upload(batch));
    const wide = wideSums(uploaded, totals);
    const needed = [...computed, ...[...wide.values()].filter(({ of }) => of.kind !== 'column')];
    const { table, columns, free } = await computeColumns(uploaded, needed);
    // A condition that is used only once is not evaluated here. It can instead be fused with the query that uses it.
    const uses = Number(totals.length > 0) + ranked.length + Number(wantsIds || wide.size > 0);
    const chosen: Where = where === undefined || uses < 2 ? where : await selectInStretches(table, where);
    const part: FilePart = { batch, table, chosen, computed: columns, wide };
    const valuesOf = (each: TypedExpression): HostColumn =>
      columns.get(each)?.[1] ?? batch.columns[(each.of as { name: string }).name]!;
    try {
      const [made, ids, ...some] = await Promise.all([
        askTotals(part),
        askIds(part),
        ...ranked.map((each) => askRanked(part, each)),
      ]);
      return {
        rows: batch.rows,
        ids,
        columns: batch.columns,
        groups: made,
        ranked: some,
        reals: reals.map(valuesOf),
        wide: [...wide].map(([total, each]) => ({ total, values: valuesOf(each), isSquare: each.isSquare })),
      };
    } finally {
      if (chosen !== undefined && 'words' in chosen) context.dispose(chosen.words);
      free();
      disposeTable(uploaded);
    }
  };
}

function asIs(name: string): GroupColumn {
  return { name, decode: (answer) => answer };
}

function decoded(answer: HostTable, columns: readonly GroupColumn[], totals: readonly string[]): PartGroups {
  return {
    size: rowsOf(answer[totals[0]!]!),
    keys: columns.map(({ name, decode }) => decode(answer[name]!)),
    totals: totals.map((name) => columnTotal(answer[name]!)),
  };
}

function whereOf(chosen: Where): { readonly where?: Where } {
  return chosen === undefined ? {} : { where: chosen };
}

/**
 * Combines the columns of two tables that describe the same rows. A selection of rows in the first table becomes a
 * selection of the same rows in the combined table.
 */
function withColumns(table: DeviceTable, other: DeviceTable, chosen: Where): readonly [DeviceTable, Where] {
  const both = { ...table, columns: { ...table.columns, ...other.columns } };
  return [both, chosen !== undefined && 'words' in chosen ? { ...chosen, table: both } : chosen];
}

async function takeIds(context: Context, ids: Column<'u32'>): Promise<Uint32Array> {
  const read = await context.read(ids);
  context.dispose(ids);
  return read;
}
