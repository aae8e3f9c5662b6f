import { requireOptions, requireValue } from './checks/arguments.ts';
import { ArgumentError } from './checks/errors.ts';
import { describeGiven } from './checks/given.ts';
import { aFlag, anything, aWord, type FieldKinds } from './checks/kinds.ts';
import {
  Column,
  type ColumnOwner,
  type ColumnsOf,
  columnsOf,
  commonLength,
  type DeviceLength,
  type Memory,
  requireType,
  type Table,
  viewColumns,
  withColumns,
} from './columns/column.ts';
import type { FusionKey } from './columns/known-fusions.ts';
import { alive, destination, extentOf, fuse, type Loader, programOf, type UniformValue } from './columns/program.ts';
import { SymbolicUniform } from './columns/symbolic.ts';
import { computedColumn } from './columns/views.ts';
import { type ContextOption, inNamedContext, requireContext } from './context/context-option.ts';
import type { ScanForm, Store } from './contract/backend.ts';
import { u32 } from './functors/functor.ts';
import { call, literal } from './functors/recorder.ts';
import { assemble, flatten, leafTypes, type PlainOf, type Shape, shapeText, strangerIn } from './functors/shapes.ts';
import { select } from './functors/standard/choose.ts';
import { type Bool, type U32, Value } from './functors/value.ts';
import type { ScalarType } from './ir/ir.ts';
import { type AnyMonoid, type Monoid, monoidProgram, reversed } from './monoid.ts';
import { AXIS_OPTIONS, type AxisOption, operandsOf } from './reduce.ts';
import { type LineAxis, scanAlong } from './rows/lines.ts';
import { combinedByRun } from './runs.ts';
import { reverse } from './slice.ts';

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

type ScanKind = 'inclusive' | 'exclusive';

/** What all scans have as options. */
interface StartOptions<S extends Shape> {
  /**
   * What comes before the first row, a value of the monoid's shape: it is combined with every prefix, and is the first
   * exclusive prefix. By default the identity. Another value needs no new compilation.
   */
  readonly initial?: PlainOf<S> | undefined;
  /**
   * Whether to scan from the right: the prefix of a row combines the rows from the row to the last, in their order, and
   * then `initial`. False by default.
   */
  readonly reverse?: boolean | undefined;
}

/** Options of {@link inclusiveScan} and {@link exclusiveScan}. */
export interface ScanOptions<S extends Shape = Shape> extends AxisOption, StartOptions<S> {}

/** Options of {@link segmentedScan}. */
export interface SegmentedScanOptions<S extends Shape = Shape> extends ContextOption, StartOptions<S> {
  /** Whether the prefix of a row includes the row's own value (`inclusive`, the default) or not (`exclusive`). */
  readonly kind?: ScanKind | undefined;
}

const START_OPTIONS: FieldKinds<StartOptions<Shape>> = { initial: anything, reverse: aFlag };
const OPTIONS: FieldKinds<ScanOptions> = { ...AXIS_OPTIONS, ...START_OPTIONS };
const SEGMENTED_OPTIONS: FieldKinds<SegmentedScanOptions> = {
  kind: aWord(['inclusive', 'exclusive'], 'scan/kind'),
  context: anything,
  ...START_OPTIONS,
};

/**
 * For each row, the combination of all rows up to and including that row: `out[i] = in[0] ⊕ … ⊕ in[i]`.
 *
 * - The monoid must be associative with a neutral identity; it need not be commutative.
 * - Work O(n), span O(log n). Deterministic: exact monoids give the same bytes for every bracketing; other monoids are
 *   bracketed as in the canonical combination tree, whose shape depends only on the length. Where a result is NaN, all
 *   backends give NaN, but its bits are not specified.
 * - An empty input gives an empty result. Accepts device counts (lengths that only the device knows).
 * - With `initial`, `out[i] = initial ⊕ (in[0] ⊕ … ⊕ in[i])`.
 * - With `reverse`, `out[i] = in[i] ⊕ … ⊕ in[n − 1]`, and with `initial`, `(in[i] ⊕ … ⊕ in[n − 1]) ⊕ initial`. A monoid
 *   that is not exact combines the rows from the last to the first along the tree. The result is a view of stored
 *   columns.
 * - With `axis`, each row (or each column) of the cells of a grid is scanned by itself, and the result has the shape of
 *   the grid (see {@link asGrid}). A monoid that is not exact brackets each line as the canonical tree of its length,
 *   for which one thread walks along each line. Without `axis`, the result has no shape.
 * - Equivalent loop: `let sum = initial; for (let i = 0; i < n; i++) out[i] = sum = combine(sum, in[i])`; with `reverse`,
 *   `for (let i = n - 1; i >= 0; i--) out[i] = sum = combine(in[i], sum)`.
 *
 * @throws {@link ArgumentError} `grid/none` for an `axis` of columns without a shape, `scan/initial` if the initial value
 * does not have the shape of the monoid.
 *
 * Source: Hillis and Steele 1986; Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016.
 *
 * @example
 * await ctx.read(inclusiveScan(ctx.column(Uint32Array.of(1, 2, 3)), plus(u32))); // Uint32Array [1, 3, 6]
 *
 * const days = ctx.column(Uint32Array.of(1, 2, 3));
 * const options = { initial: 10, reverse: true };
 * await ctx.read(inclusiveScan(days, plus(u32), options)); // Uint32Array [16, 15, 13]
 *
 * const cells = ctx.column(Uint32Array.of(1, 2, 3, 4), { rows: 2, columns: 2 });
 * const rows = inclusiveScan(cells, plus(u32), { axis: 'rows' }); // of both axes: a summed-area table
 * await ctx.read(inclusiveScan(rows, plus(u32), { axis: 'columns' })); // Uint32Array [1, 3, 4, 10]
 */
export function inclusiveScan<S extends Shape>(
  input: ColumnsOf<S>,
  monoid: Monoid<S>,
  options?: ScanOptions<S>,
): ColumnsOf<S> {
  return scan('inclusiveScan', input as Table, monoid, 'inclusive', options) as ColumnsOf<S>;
}

/**
 * For each row, the combination of all rows before that row: `out[0] = initial`, which is the identity by default, and
 * `out[i] = initial ⊕ (in[0] ⊕ … ⊕ in[i − 1])`. With `reverse`, of all rows after it, and `out[n − 1] = initial`.
 * Requirements, cost and determinism are those of {@link inclusiveScan}.
 *
 * @example
 * await ctx.read(exclusiveScan(ctx.column(Uint32Array.of(1, 2, 3)), plus(u32))); // Uint32Array [0, 1, 3]
 */
export function exclusiveScan<S extends Shape>(
  input: ColumnsOf<S>,
  monoid: Monoid<S>,
  options?: ScanOptions<S>,
): ColumnsOf<S> {
  return scan('exclusiveScan', input as Table, monoid, 'exclusive', options) as ColumnsOf<S>;
}

function scan(primitive: string, input: Table, monoid: AnyMonoid, kind: ScanKind, options: ScanOptions = {}): Table {
  requireOptions(primitive, OPTIONS, options);
  const { axis, reverse: isReversed = false } = options;
  const columns = operandsOf(primitive, input, monoid);
  const initial = initialOf(primitive, monoid, options.initial);
  return inNamedContext(primitive, options, () =>
    turned(primitive, columns, isReversed, (given) => {
      const scanned = { primitive, columns: given, monoid: isReversed ? reversed(monoid) : monoid, kind, initial };
      return axis === undefined ? scanColumns(scanned) : scanLines(scanned, axis);
    }),
  );
}

/** Calls `scan` with the columns, or with the reversed columns, of whose result the rows are put back in order. */
function turned(
  primitive: string,
  columns: readonly Column[],
  isReversed: boolean,
  scan: (columns: readonly Column[]) => Table,
): Table {
  if (!isReversed) return scan(columns);
  const context = requireContext(columns, primitive);
  return context.scope(() => backwards(scan(Object.values(backwards(Object.fromEntries(columns.entries()))))));
}

/** The rows of a table in reverse order, as cells of the same grid. */
function backwards<C extends Table>(table: C): C {
  const grids = columnsOf(table).map(({ grid }) => grid);
  const columns = columnsOf(reverse(table)).map(
    ({ context, type, length, source }, i) => new Column(context, type, length, source, grids[i]),
  );
  return withColumns(table, columns);
}

/** What precedes the first row, one value for each scalar of the monoid's shape; undefined for the identity. */
type Initial = readonly UniformValue[] | undefined;

function initialOf(primitive: string, monoid: AnyMonoid, given: unknown): Initial {
  if (given === undefined) return undefined;
  const sentence = `The option initial of ${primitive} does not have the shape of the monoid.`;
  const refuse = (): never => {
    throw new ArgumentError('scan/initial', sentence, {
      expected: shapeText(monoid.shape),
      got: describeGiven(given),
    });
  };
  if (strangerIn(monoid.shape, given) !== undefined) refuse();
  const leaves = flatten<unknown>(monoid.shape, given as never, refuse);
  return leafTypes(monoid.shape).map((type, i) => {
    const leaf = leaves[i];
    if (leaf instanceof SymbolicUniform && leaf.type === type) return leaf;
    return requireValue(type, leaf, 'scan/initial', sentence);
  });
}

/** A scan whose arguments have been checked. */
interface Scan {
  readonly primitive: string;
  readonly columns: readonly Column[];
  readonly monoid: AnyMonoid;
  readonly kind: ScanKind;
  readonly initial: Initial;
}

const NO_LINKS = { arrays: new Map(), uniforms: new Map() };

/**
 * The values that a scan stores for a row with the given prefix. `isFirst` says whether no row precedes, so that an
 * exclusive prefix is the initial value itself, and not its combination with the identity, which may differ by a bit: −0
 * plus 0 is 0.
 */
function startedPrefix({ monoid, kind, initial }: Scan, prefix: Values, isFirst: () => Bool, loader: Loader): Values {
  if (initial === undefined) return prefix;
  const { module, types } = monoidProgram(monoid);
  const start = types.map((type, leaf) => loader.uniform(type, initial[leaf]!));
  const operands = [...start, ...prefix].map(({ operand }) => operand);
  const started = call(module, NO_LINKS, operands).map((local) => new Value(local));
  if (kind === 'inclusive') return started;
  const first = isFirst();
  return started.map((value, leaf) => select(value, start[leaf]!, first));
}

function scanColumns(scan: Scan): Table {
  const { primitive, columns, monoid, kind, initial } = scan;
  const context = requireContext(columns, primitive);
  const length = commonLength(columns, primitive);
  const stored = storeScan(primitive, {
    context,
    length,
    monoid,
    element: (index, loader) => loader.load(columns, index),
    emit: (index, exclusive, inclusive, loader) =>
      startedPrefix(scan, kind === 'inclusive' ? inclusive : exclusive, () => index.eq(0), loader),
    emitted: columns.map(({ type }) => type),
    keys: {
      element: { by: [scanColumns], columns },
      emit: { by: [scanColumns, kind, ...(initial ? [monoid] : [])], columns: [], values: initial ?? [] },
    },
  });
  return assemble(monoid.shape, stored) as Table;
}

/** Scans each line of a grid by itself. With an initial value, the result is a view of what is stored. */
function scanLines(scan: Scan, axis: LineAxis): Table {
  const { primitive, columns, monoid, kind, initial } = scan;
  const stored = scanAlong(primitive, columns, monoid, kind === 'inclusive', axis);
  if (initial === undefined) return assemble(monoid.shape, stored) as Table;
  const [{ context, length, grid }] = stored as [Column];
  const width = grid!.columns;
  const started = fuse(
    primitive,
    [],
    stored.map(({ type }) => type),
    (index, _, loader) => {
      const across = loader.uniform('u32', width);
      const isFirst = (): Bool => (axis === 'rows' ? index.rem(across).eq(0) : index.lt(across));
      return startedPrefix(scan, loader.load(stored, index), isFirst, loader);
    },
    { by: [scanLines, monoid, kind, axis], columns: stored, values: [width, ...initial] },
  );
  return viewColumns(monoid.shape, context, length, started, grid) as Table;
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
 * identity, or the initial value, at heads. With `initial`, every segment begins with it; with `reverse`, every segment
 * is scanned from its last row to its head. Requirements, cost and determinism are those of {@link inclusiveScan}. If
 * the monoid is not exact, values are bracketed as in the canonical combination tree of the whole column, so the bytes
 * of the result also depend on the positions of the heads.
 *
 * - Equivalent loop: `for (i …) { if (heads[i]) sum = initial; out[i] = sum = combine(sum, in[i]) }`.
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
  options: SegmentedScanOptions<S> = {},
): ColumnsOf<S> {
  requireOptions('segmentedScan', SEGMENTED_OPTIONS, options as SegmentedScanOptions);
  const { kind = 'inclusive', reverse: isReversed = false } = options;
  const columns = operandsOf('segmentedScan', input as Table, monoid);
  requireType(heads, ['bool'], 'heads', 'segmentedScan');
  commonLength([...columns, heads], 'segmentedScan');
  const initial = initialOf('segmentedScan', monoid, options.initial);
  return inNamedContext('segmentedScan', options, () => {
    requireContext([...columns, heads], 'segmentedScan');
    return turned('segmentedScan', columns, isReversed, (given) => {
      const inOrder: AnyMonoid = isReversed ? reversed(monoid) : monoid;
      return scanSegments(
        { primitive: 'segmentedScan', columns: given, monoid: inOrder, kind, initial },
        isReversed ? headsFromRight(heads) : heads,
      );
    });
  }) as unknown as ColumnsOf<S>;
}

/** The first rows of segments, if rows are read from the last to the first: those before which a head has been read. */
function headsFromRight(heads: Column<'bool'>): Column<'bool'> {
  const { length } = heads;
  const key = { by: [headsFromRight], columns: [heads], lengths: [length] };
  return computedColumn('segmentedScan', 'bool', heads, key, (index, loader) => {
    const [isHead] = loader.loadWithin([heads], loader.length(length).sub(index), length) as [Bool];
    return isHead;
  });
}

function scanSegments(scan: Scan, heads: Column<'bool'>): Table {
  const { primitive, columns, monoid, kind, initial } = scan;
  const { types, identity } = monoidProgram(monoid);
  const context = requireContext([...columns, heads], primitive);
  const neutral = (leaf: number): Value<ScalarType> => new Value(literal(types[leaf]!, identity[leaf]!));
  const stored = storeScan(primitive, {
    context,
    length: commonLength([...columns, heads], primitive),
    monoid: combinedByRun(monoid as unknown as Monoid<Shape>),
    element: (index, loader) => {
      const [head] = loader.load([heads], index) as [Bool];
      return [u32(head), ...loader.load(columns, index)];
    },
    emit: (index, [, ...exclusive], [, ...inclusive], loader) => {
      const starts = (): Bool => (loader.load([heads], index)[0] as Bool).or(index.eq(0));
      const prefix = kind === 'inclusive' ? inclusive : exclusive;
      if (kind === 'inclusive' || initial !== undefined) return startedPrefix(scan, prefix, starts, loader);
      const isHead = starts();
      return prefix.map((value, leaf) => select(value, neutral(leaf), isHead));
    },
    emitted: types,
  });
  return assemble(monoid.shape, stored) as Table;
}
