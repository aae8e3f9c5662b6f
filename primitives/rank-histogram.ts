import { requireFunctor, requireOptions, requireRecord } from './checks/arguments.ts';
import { ArgumentError } from './checks/errors.ts';
import { anything, type FieldKinds, someRecord } from './checks/kinds.ts';
import { type Column, columnsOf, commonLength, requireType, type Table } from './columns/column.ts';
import { destination, extentOf, fuse, programOf } from './columns/program.ts';
import { columnsIn } from './columns/reachable.ts';
import { fuseColumns } from './columns/views.ts';
import { type ContextOption, inNamedContext, requireContext } from './context/context-option.ts';
import { type FunctorDescription, u32 } from './functors/functor.ts';
import { assemble, flatten, isScalar, leafTypes } from './functors/shapes.ts';
import type { U32 } from './functors/value.ts';
import { requirePositive } from './histogram.ts';
import { bindCaptures } from './map.ts';
import { applyToRank, type CaptureArguments, fieldsBesideRank } from './rows/row-fields.ts';

/** Rows that have several elements each. Rows whose `active` is false are skipped. */
export type RankedRows = { readonly active: Column<'bool'> } & { readonly [name: string]: Table };

export interface RankHistogramOptions extends ContextOption {
  /** Number of elements of every row. */
  readonly ranks: number;
  /** Number of bins of every histogram. */
  readonly bins: number;
  /** Number of histograms. */
  readonly histograms: number;
  /** Columns and numbers for the functor's array and uniform parameters, by name. */
  readonly captures?: CaptureArguments;
}

const OPTIONS: FieldKinds<RankHistogramOptions> = {
  ranks: anything,
  bins: anything,
  histograms: anything,
  captures: someRecord,
  context: anything,
};

/**
 * Computes many histograms in one pass. Every active row has `ranks` elements, numbered by `rank`. Each element adds 1
 * to bin `bin` of histogram `histogram`, where `{ bin, histogram } = f({ ...row, rank, … captures })`. Elements whose
 * bin or histogram is out of range are not counted. The fields of a row are evaluated only once for all its elements.
 *
 * - Work O(rows · ranks + bins · histograms), span O(log n). Deterministic: counts are integers.
 * - Fast if neighbouring rows share a histogram. Accepts device counts (lengths that only the device knows). Counts are
 *   u32.
 * - Equivalent loop: `for (const row of rows) if (row.active) for (let rank = 0; rank < ranks; rank++) count(f({
 *   ...row, rank }))`.
 *
 * @throws {@link ArgumentError} `histogram/result` if the functor does not return `{ bin, histogram }`; `rows/field` if
 * the functor takes a field that the rows lack; `rows/type` if a field has another type than the functor takes;
 * `rows/rank` if the rows have a field called rank.
 * @example
 * const rows = { active: ctx.column([true, false]), group: ctx.column(Uint32Array.of(1, 0)) };
 * const parity = fn({ group: u32, rank: u32 }, { bin: u32, histogram: u32 }, ({ group, rank }) => ({
 *   bin: rank.and(1), histogram: group }));
 * await ctx.read(rankHistogram(rows, parity, { ranks: 3, bins: 2, histograms: 2 })); // Uint32Array [0, 0, 2, 1]
 */
export function rankHistogram(
  rows: RankedRows,
  element: FunctorDescription,
  options: RankHistogramOptions,
): Column<'u32'> {
  requireOptions('rankHistogram', OPTIONS, options);
  requireRecord('rankHistogram', 'options', options, '{ ranks, bins, histograms }');
  const { ranks, bins, histograms, captures = {} } = options;
  for (const [name, value] of Object.entries({ ranks, bins, histograms })) {
    requirePositive('rankHistogram', name, value);
  }
  requireRecord('rankHistogram', 'rows', rows, 'a record of columns');
  requireFunctor('rankHistogram', 'element', element);
  requireResult(element);
  const { active, ...fields } = rows;
  const table: Table = fields;
  requireType(active, ['bool'], 'rows.active', 'rankHistogram');
  const columns = columnsOf(table, 'rankHistogram', 'rows');
  const length = commonLength([active, ...columns], 'rankHistogram');
  const inputs = [active, ...columns, ...columnsIn(captures)];
  const context = inNamedContext('rankHistogram', options, () => requireContext(inputs, 'rankHistogram'));
  const taken = fieldsBesideRank('rankHistogram', element, table);
  const values = columnsOf(taken);
  const types = values.map(({ type }) => type);
  return context.scope(() => {
    const bound = bindCaptures(element, captures, context);
    const row = fuseColumns({ name: 'row', kind: 'rankHistogram' }, [active, ...values]);
    const program = fuse('rankHistogram', ['u32', ...types], ['u32', 'u32'], (_index, [rank, ...loaded], loader) => {
      const result = assemble(element.result, applyToRank(element, taken, loaded, rank as U32, bound, loader));
      return flatten(binAndHistogram, result, () => refuse(element));
    });
    const counts = context.stored('u32', bins * histograms);
    const { buffer, offset } = destination(counts);
    context.backend.run({
      kind: 'histogram',
      extent: extentOf(length),
      program: programOf(program, context, length),
      bins,
      histograms,
      inner: { row: programOf(row, context, length), ranks },
      into: { buffer, word: offset },
    });
    return counts;
  });
}

const binAndHistogram = { bin: u32, histogram: u32 };

function requireResult(functor: FunctorDescription): void {
  const { result } = functor;
  if (isScalar(result) || Object.keys(result).sort().join() !== 'bin,histogram') refuse(functor);
  if (leafTypes(result).some((type) => type !== 'u32')) refuse(functor);
}

function refuse({ functorName, result }: FunctorDescription): never {
  throw new ArgumentError('histogram/result', `Functor ${functorName} must return a bin and a histogram.`, {
    expected: '{ bin: u32, histogram: u32 }',
    got: isScalar(result) ? result.type : `{ ${Object.keys(result).join(', ')} } of ${leafTypes(result).join(', ')}`,
  });
}
