import { requireOptions } from './checks/arguments.ts';
import { anything, aWord, type FieldKinds } from './checks/kinds.ts';
import {
  type Column,
  type ColumnOwner,
  type ColumnsOf,
  commonLength,
  type DeviceLength,
  type Memory,
  requireType,
  type Table,
} from './columns/column.ts';
import type { FusionKey } from './columns/known-fusions.ts';
import { alive, destination, extentOf, fuse, type Loader, programOf } from './columns/program.ts';
import { type ContextOption, inNamedContext, requireContext } from './context/context-option.ts';
import type { ScanForm, Store } from './contract/backend.ts';
import { u32 } from './functors/functor.ts';
import { literal } from './functors/recorder.ts';
import { assemble, type Shape } from './functors/shapes.ts';
import { select } from './functors/standard/choose.ts';
import { type Bool, type U32, Value } from './functors/value.ts';
import type { ScalarType } from './ir/ir.ts';
import { type AnyMonoid, type Monoid, monoidProgram } from './monoid.ts';
import { AXIS_OPTIONS, type AxisOption, operandsOf } from './reduce.ts';
import { scanAlong } from './rows/lines.ts';
import { combinedByRun } from './runs.ts';

type Values = readonly Value<ScalarType>[];

/** A scan with functions that compute its elements and process its prefixes; see `ScanCommand`. */
export interface FusedScan {
  readonly context: ColumnOwner;
  readonly length: Column['length'];
  readonly monoid: AnyMonoid;
  /** Computes the element at an index, as the scalars of the monoid's shape. */
  readonly element: (index: U32, loader: Loader) => Values;
  /** Computes the results at an index from the exclusive and the inclusive prefix at this index. */
  readonly emit: (index: U32, exclusive: Values, inclusive: Values, loader: Loader) => Values;
  readonly emitted: readonly ScalarType[];
  readonly stores: readonly Store[];
  /** Where to write the combination of all elements: one word for each scalar of the monoid's shape. */
  readonly total?: Memory;
  readonly form?: ScanForm;
  /**
   * Cache keys for the code that `element` and `emit` generate. If the cache already has code for a key, the function
   * is not called again.
   */
  readonly keys?: { readonly element: FusionKey; readonly emit: FusionKey };
}

/** Runs a scan whose functions are fused into the backend's scan kernel. */
export function fusedScan(primitive: string, scan: FusedScan): void {
  const { context, length, element, emit, emitted, stores, total, form, keys } = scan;
  const monoid = monoidProgram(scan.monoid);
  const { types } = monoid;
  const program = fuse(primitive, [], types, (index, _, loader) => element(index, loader), keys?.element);
  const consume = fuse(
    { name: `${primitive}Emit`, kind: primitive },
    [...types, ...types],
    emitted,
    (index, prefix, loader) => emit(index, prefix.slice(0, types.length), prefix.slice(types.length), loader),
    keys?.emit,
  );
  context.backend.run({
    kind: 'scan',
    extent: extentOf(length),
    program: programOf(program, context, length),
    monoid,
    emit: programOf(consume, context, length),
    stores,
    total: total && { buffer: alive(total).buffer, word: 0 },
    form,
  });
}

/** A length that the device reads from a word of memory, for example from the total of a scan. */
export function countIn(memory: Memory, word: number, limit: number): DeviceLength {
  return { memory, word, minus: 0, limit };
}

/**
 * For each row, the combination of all rows up to and including that row: `out[i] = in[0] ⊕ … ⊕ in[i]`.
 *
 * - The monoid must be associative with a neutral identity; it need not be commutative.
 * - Work O(n), span O(log n). Deterministic: exact monoids give the same bytes for every bracketing; other monoids are
 *   bracketed as in the canonical combination tree, whose shape depends only on the length.
 * - An empty input gives an empty result. Accepts device counts (lengths that only the device knows).
 * - With `axis`, each row (or each column) of the cells of a grid is scanned by itself, and the result has the shape of
 *   the grid (see {@link asGrid}). A monoid that is not exact brackets each line as the canonical tree of its length,
 *   for which one thread walks along each line. Without `axis`, the result has no shape.
 * - Equivalent loop: `let sum = identity; for (let i = 0; i < n; i++) out[i] = sum = combine(sum, in[i])`.
 *
 * @throws {@link ArgumentError} `grid/none` for an `axis` of columns without a shape.
 *
 * Source: Hillis and Steele 1986; Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016.
 *
 * @example
 * await ctx.read(inclusiveScan(ctx.column(Uint32Array.of(1, 2, 3)), plus(u32))); // Uint32Array [1, 3, 6]
 *
 * const cells = ctx.column(Uint32Array.of(1, 2, 3, 4), { rows: 2, columns: 2 });
 * const rows = inclusiveScan(cells, plus(u32), { axis: 'rows' }); // of both axes: a summed-area table
 * await ctx.read(inclusiveScan(rows, plus(u32), { axis: 'columns' })); // Uint32Array [1, 3, 4, 10]
 */
export function inclusiveScan<S extends Shape>(
  input: ColumnsOf<S>,
  monoid: Monoid<S>,
  options?: AxisOption,
): ColumnsOf<S> {
  return scan('inclusiveScan', input as Table, monoid, 'inclusive', options) as ColumnsOf<S>;
}

/**
 * For each row, the combination of all rows before that row: `out[0] = identity`, `out[i] = in[0] ⊕ … ⊕ in[i − 1]`.
 * Requirements, cost and determinism are those of {@link inclusiveScan}.
 *
 * @example
 * await ctx.read(exclusiveScan(ctx.column(Uint32Array.of(1, 2, 3)), plus(u32))); // Uint32Array [0, 1, 3]
 */
export function exclusiveScan<S extends Shape>(
  input: ColumnsOf<S>,
  monoid: Monoid<S>,
  options?: AxisOption,
): ColumnsOf<S> {
  return scan('exclusiveScan', input as Table, monoid, 'exclusive', options) as ColumnsOf<S>;
}

function scan(primitive: string, input: Table, monoid: AnyMonoid, kind: ScanKind, options: AxisOption = {}): Table {
  requireOptions(primitive, AXIS_OPTIONS, options);
  const { axis } = options;
  return inNamedContext(primitive, options, () => {
    if (axis === undefined) return scanColumns(primitive, input, monoid, kind);
    const columns = operandsOf(primitive, input, monoid);
    return assemble(monoid.shape, scanAlong(primitive, columns, monoid, kind === 'inclusive', axis)) as Table;
  });
}

type ScanKind = 'inclusive' | 'exclusive';

export interface SegmentedScanOptions extends ContextOption {
  /** Whether the prefix of a row includes the row's own value (`inclusive`, the default) or not (`exclusive`). */
  readonly kind?: ScanKind | undefined;
}

const SEGMENTED_OPTIONS: FieldKinds<SegmentedScanOptions> = {
  kind: aWord(['inclusive', 'exclusive'], 'scan/kind'),
  context: anything,
};

function scanColumns(primitive: string, input: Table, monoid: AnyMonoid, kind: ScanKind): Table {
  const columns = operandsOf(primitive, input, monoid);
  const context = requireContext(columns, primitive);
  const length = commonLength(columns, primitive);
  const stored = storeScan(primitive, {
    context,
    length,
    monoid,
    element: (index, loader) => loader.load(columns, index),
    emit: (_, exclusive, inclusive) => (kind === 'inclusive' ? inclusive : exclusive),
    emitted: columns.map(({ type }) => type),
    keys: {
      element: { by: [scanColumns], columns },
      emit: { by: [scanColumns, kind], columns: [] },
    },
  });
  return assemble(monoid.shape, stored) as Table;
}

/** Runs a scan and stores the results that the scan emits, as columns with the length of the scan. */
function storeScan(primitive: string, scan: Omit<FusedScan, 'stores'>): Column[] {
  const { context, length, emitted } = scan;
  return context.scope(() => {
    const results = emitted.map((type) => context.stored(type, length));
    fusedScan(primitive, { ...scan, stores: results.map((column, value) => ({ ...destination(column), value })) });
    return results;
  });
}

/**
 * A scan that restarts at every row whose head flag is set; row 0 always starts a segment. Exclusive scans give the
 * identity at heads. Requirements, cost and determinism are those of {@link inclusiveScan}. If the monoid is not
 * exact, values are bracketed as in the canonical combination tree of the whole column, so the bytes of the result
 * also depend on the positions of the heads.
 *
 * - Equivalent loop: `for (i …) { if (heads[i]) sum = identity; out[i] = sum = combine(sum, in[i]) }`.
 *
 * Source: Blelloch, Prefix sums and their applications, 1990.
 *
 * @example
 * const heads = ctx.column([true, false, true]);
 * await ctx.read(segmentedScan(ctx.column(Uint32Array.of(1, 2, 3)), heads, plus(u32))); // Uint32Array [1, 3, 3]
 */
export function segmentedScan<S extends Shape>(
  input: ColumnsOf<S>,
  heads: Column<'bool'>,
  monoid: Monoid<S>,
  options: SegmentedScanOptions = {},
): ColumnsOf<S> {
  requireOptions('segmentedScan', SEGMENTED_OPTIONS, options);
  const { kind = 'inclusive' } = options;
  return inNamedContext('segmentedScan', options, () => scanSegments(input, heads, monoid, kind));
}

function scanSegments<S extends Shape>(
  input: ColumnsOf<S>,
  heads: Column<'bool'>,
  monoid: Monoid<S>,
  kind: ScanKind,
): ColumnsOf<S> {
  const { types, identity } = monoidProgram(monoid, 'segmentedScan');
  const columns = operandsOf('segmentedScan', input as Table, monoid);
  requireType(heads, ['bool'], 'heads', 'segmentedScan');
  const context = requireContext([...columns, heads], 'segmentedScan');
  const length = commonLength([...columns, heads], 'segmentedScan');
  const neutral = (leaf: number): Value<ScalarType> => new Value(literal(types[leaf]!, identity[leaf]!));
  const stored = storeScan('segmentedScan', {
    context,
    length,
    monoid: combinedByRun(monoid as unknown as Monoid<Shape>),
    element: (index, loader) => {
      const [head] = loader.load([heads], index) as [Bool];
      return [u32(head), ...loader.load(columns, index)];
    },
    emit: (index, [, ...exclusive], [, ...inclusive], loader) => {
      if (kind === 'inclusive') return inclusive;
      const [head] = loader.load([heads], index) as [Bool];
      const starts = head.or(index.eq(0));
      return exclusive.map((value, leaf) => select(value, neutral(leaf), starts));
    },
    emitted: types,
  });
  return assemble(monoid.shape, stored) as unknown as ColumnsOf<S>;
}
