import { wrongArgument } from '../checks/arguments.ts';
import type { Module, ScalarType } from '../ir/ir.ts';

/**
 * What a read of a cell outside the grid returns: the nearest cell, the cell at the opposite side, the mirrored cell,
 * or a constant; see `stencil`.
 */
export type Boundary = 'clamp' | 'wrap' | 'reflect' | 'constant';

/**
 * A handle to memory of a backend. Only the backend can access the contents. Backends identify a buffer by `id` alone,
 * so a backend that wraps another backend can move the contents without changing the handle.
 */
export interface DeviceBuffer {
  readonly id: number;
  /** Size in 32-bit words. */
  readonly words: number;
}

/** A position in a buffer: the 32-bit word `word`, where one or more values start. */
export interface Cell {
  readonly buffer: DeviceBuffer;
  readonly word: number;
}

/**
 * A length that only the device knows: `min(limit, max(0, buffer[word] − minus))`, where `buffer[word]` holds a
 * count.
 *
 * The host knows `limit`, the upper bound used for allocations and dispatches.
 */
export interface CountRef extends Cell {
  readonly minus: number;
  readonly limit: number;
}

/** A number of elements: a number, or a reference to a count that only the device knows. */
export type Length = number | CountRef;

/** The indices 0 … length − 1 over which a kernel runs. */
export type Extent = Length;

/**
 * The upper bound of a length, as known to the host.
 *
 * @example
 * const { length } = copyIf(ctx.column(Uint32Array.of(1, 2)), ctx.column([true, false]));
 * [capacityOf(5), capacityOf(length)]; // [5, 2]
 */
export function capacityOf(length: number | { readonly limit: number }): number {
  if (typeof length === 'number') return length;
  if (typeof length?.limit === 'number') return length.limit;
  throw wrongArgument('capacityOf', 'length', length, 'a number, or the length of a column');
}

/**
 * How elements are stored in memory. Four elements of `u8` or `i8`, or two of `u16` or `i16`, share a 32-bit word, the
 * first in the lowest bits. Bools are stored as u32.
 */
export type Storage = 'u32' | 'i32' | 'f32' | 'u8' | 'i8' | 'u16' | 'i16';

/** The memory that a program reads as one of its arrays during one launch. */
export interface ArrayBinding {
  readonly buffer: DeviceBuffer;
  readonly storage: Storage;
  /** Position of the first element in the buffer, counted in elements of the storage format. */
  readonly offset: number;
  /** Number of elements. Reads at or past this index return zero. */
  readonly length: Length;
}

/**
 * A module together with its arrays and uniforms for one launch. The first parameter of its entry function is the index
 * (u32). Compiled code may depend only on the module, the storage formats, and which arrays share a buffer. Offsets,
 * lengths and uniform values are passed as data.
 */
export interface Program {
  readonly module: Module;
  readonly arrays: ReadonlyMap<string, ArrayBinding>;
  readonly uniforms: ReadonlyMap<string, number | boolean>;
}

/**
 * Where to write one result of a program: element `offset + i` of a buffer of 32-bit words. `value`, `index` and
 * `guard` are positions in the list of the program's results. i is the value of result `index` (u32) if `index` is
 * given, otherwise the index for which the program runs. Nothing is written if result `guard` (bool) is given and
 * false, or if i is at least `capacity`. No two rows may write the same element, unless `combine` is given.
 */
export interface Store {
  readonly buffer: DeviceBuffer;
  readonly offset: number;
  readonly capacity: number;
  /** Position of the result to store. Bools are stored as 0 and 1. */
  readonly value: number;
  readonly index?: number;
  readonly guard?: number;
  /**
   * Combines the value atomically with the word in memory, instead of replacing the word. All combinations are
   * commutative, so several rows may write the same element, in any order, and the bytes are always the same. Only for
   * u32 (`min` and `max` are unsigned).
   */
  readonly combine?: AtomicCombination;
}

export type AtomicCombination = 'add' | 'and' | 'or' | 'xor' | 'min' | 'max';

/** Evaluates `program(index)` for every index of the extent and stores its results. */
export interface ForEachCommand {
  readonly kind: 'forEach';
  readonly extent: Extent;
  readonly program: Program;
  /**
   * For cells of a grid whose program reads cells beside each other in memory for cells below each other: the number of
   * cells of a row. Visits tile by tile find in the cache what others have brought there. Results do not depend on it.
   */
  readonly across?: number;
  readonly stores: readonly Store[];
}

/**
 * For every index of the extent, runs a walk: a sequence of steps, each of which starts from the state after the
 * previous step.
 *
 * `start(index)` returns `(more: bool, leaves …)`. While `more` is true, `step(index, leaves …)` is evaluated and
 * returns `(more: bool, next …, …)`. The `next` values replace the first `changing` leaves (scalars of the state); the
 * other leaves do not change. After every step, all stores write results of that step; `more` is result 0, and `next`
 * starts at result 1. If several steps of one index write the same element, the last one wins. Different indices must
 * write distinct elements, unless `combine` is given. The command must not read any word that it writes.
 */
export interface WalkCommand {
  readonly kind: 'walk';
  readonly extent: Extent;
  readonly start: Program;
  readonly step: Program;
  /** Maximum number of steps per index; undefined if there is no maximum. */
  readonly steps?: number;
  /** Number of leaves (scalars of the state) that a step changes. */
  readonly changing: number;
  /**
   * For walks whose steps read and write beside those of the next index: walks that go on side by side find in the cache
   * what others have brought there. Results do not depend on it.
   */
  readonly sideBySide?: boolean;
  readonly stores: readonly Store[];
}

/**
 * An associative operator with an identity, on a record of scalars (its leaves). The parameters of the module's entry
 * function are the leaves of the left operand, then the leaves of the right operand; the results of that function are
 * the leaves of the combination. The module has no arrays or uniforms.
 */
export interface MonoidProgram {
  readonly module: Module;
  readonly types: readonly ScalarType[];
  readonly identity: readonly (number | boolean)[];
  /**
   * True if every bracketing gives the same bytes (integers, bits, minima …), so a backend may choose any bracketing.
   * If false (f32 sums …), a backend must use the bracketing of `combination-tree.ts`, which depends only on the
   * length.
   */
  readonly exact: boolean;
  /**
   * True if swapping the operands does not change the bytes. A backend may fold a monoid that is exact and commutative
   * in any order.
   */
  readonly commutative: boolean;
}

/**
 * Folds `program(index)` over the extent, in order, and stores the result in the words of `into`. For an empty extent,
 * the result is the identity.
 */
export interface ReduceCommand {
  readonly kind: 'reduce';
  readonly extent: Extent;
  readonly program: Program;
  readonly monoid: MonoidProgram;
  readonly into: Cell;
}

/**
 * A property of a scan command, for which some backends have a special kernel. The form does not change the results.
 *
 * - `compact`: selects rows by a flag, or partitions them by it. The element of a row is its flag, 0 or 1, and the
 *   monoid is addition. `selected` and `rejected` (if given) are the positions of the results of `emit` that serve as
 *   guards. Stores guarded by `selected` write the rows whose flag is 1. Each such row goes to the index that is its
 *   exclusive prefix. Stores guarded by `rejected` write the rows whose flag is 0. Each such row goes to the index that
 *   is its own index minus its exclusive prefix. The command has no other stores, and no store has a `combine`.
 * - `runs`: combines runs (groups of consecutive rows). The first leaf (scalar of an element) is 1 at the first row of
 *   each run, including row 0, and 0 elsewhere. The monoid adds the first leaves. It combines the other leaves by
 *   `inner`, starting anew at each run. All stores share one guard, which is true at the last row of a run. They store
 *   at the index `inclusive first leaf − 1`. Guard and values depend neither on the first leaf nor on the exclusive
 *   prefix.
 */
export type ScanForm =
  | { readonly kind: 'compact'; readonly selected: number; readonly rejected?: number }
  | { readonly kind: 'runs'; readonly inner: MonoidProgram };

/**
 * A scan whose prefixes are not stored but passed to a program. For every index i, `emit(i, exclusive leaves …,
 * inclusive leaves …)` is evaluated and its results are stored. Here exclusive is the combination of `program(0) …
 * program(i − 1)`, and inclusive is the combination of `program(0) … program(i)`. Compaction, reduction by key and
 * segmented scans are this command with different programs.
 */
export interface ScanCommand {
  readonly kind: 'scan';
  readonly extent: Extent;
  readonly program: Program;
  readonly monoid: MonoidProgram;
  readonly emit: Program;
  readonly stores: readonly Store[];
  /**
   * Where to write the combination of all elements, one word for each leaf (scalar of an element). The combination
   * has the same bytes as the result of `reduce`.
   */
  readonly total?: Cell | undefined;
  readonly form?: ScanForm | undefined;
}

/**
 * A stable ascending sort of `program(index) = (key: u32 [, payload: u32])`. Keys are compared by bits `beginBit …
 * endBit − 1`, read as an unsigned number. The other bits of a key move with it.
 */
export interface SortCommand {
  readonly kind: 'sort';
  readonly extent: Extent;
  readonly program: Program;
  readonly beginBit: number;
  readonly endBit: number;
  /**
   * Where to write the sorted keys; there must be room for the extent's capacity. Undefined if the keys are not needed.
   */
  readonly keys?: Cell | undefined;
  readonly payload?: Cell | undefined;
}

/**
 * Counts how often `program(index) = (bin: u32)` returns each bin; bins at or past `bins` are not counted. The
 * histograms are written at `into`, one after another, with `bins` words each. The command must not read any of these
 * words.
 *
 * - With `segment`, the indices are split into segments of `segment` indices (the last may be shorter), each with its
 *   own histogram. The bins of segment s start at word `s · bins`. The number of segments follows from the extent's
 *   capacity.
 * - With `histograms`, the program returns `(bin: u32, histogram: u32)` and counts into bin `histogram · bins + bin`;
 *   rows whose `histogram` is at least `histograms` are not counted. Neighbouring indices usually share a histogram,
 *   which kernels exploit.
 * - With `inner`, every index of the extent has `ranks` elements. `inner.row(index)` is evaluated once and returns
 *   `(active: bool, leaves …)`. If `active` is true, `program(index, rank, leaves …)` is evaluated for every rank.
 *   `inner` cannot be combined with `segment`.
 */
export interface HistogramCommand {
  readonly kind: 'histogram';
  readonly extent: Extent;
  readonly program: Program;
  readonly bins: number;
  readonly segment?: number | undefined;
  readonly histograms?: number | undefined;
  readonly inner?: InnerRanks | undefined;
  readonly into: Cell;
}

/**
 * Adds up the weights in each bin, as 64-bit sums; `program(index)` returns `(bin: u32, weight: u32, …)`. Rows whose
 * bin is at or past `bins` are ignored. For weight number w, the low words of the sums start at word `2 · w · bins`
 * of `into`, and the high words at word `(2 · w + 1) · bins`, one word for each bin. All these words are written, and
 * the command must not read any of them.
 */
export interface WeightedHistogramCommand {
  readonly kind: 'weightedHistogram';
  readonly extent: Extent;
  readonly program: Program;
  readonly bins: number;
  readonly into: Cell;
}

/**
 * The part of a histogram command that makes every index count several elements. Values that the elements of an index
 * share are computed once.
 */
export interface InnerRanks {
  readonly row: Program;
  readonly ranks: number;
}

/**
 * Relaxes many grids of cells: every cell is replaced by a function of itself and its neighbours, round after round,
 * until a condition holds.
 *
 * `grids(g) = (first, width, height)`, u32: grid g has the cells `first … first + width · height − 1`, row after row.
 * No cell belongs to two grids, all cell indices are below `cells`, and no grid is wider than `maxWidth` or higher than
 * `maxHeight`.
 *
 * In every round `step(i, state leaves …, own leaves …, neighbour leaves …)` is evaluated for every cell i of the grid,
 * on the states before the round, and returns `(next state leaves …, change leaves …)`; `own(i)` is evaluated only once
 * for all rounds. The changes of all cells of a grid are folded into one value. A grid stops after the first round in
 * which `until(g, width · height, folded leaves …)` holds, or after `maxRounds`. A grid without cells has no rounds.
 * Cells that belong to no grid do not change. The programs must not read any word that the command writes.
 */
export interface RelaxCommand {
  readonly kind: 'relax';
  /** The number of grids. */
  readonly extent: Extent;
  readonly grids: Program;
  /** The number of cells in `state`, including cells that belong to no grid. */
  readonly cells: Extent;
  /**
   * The states of the cells, one array for each leaf (scalar of a state). They are read before the first round, and
   * contain the result after the last.
   */
  readonly state: readonly StateLeaf[];
  readonly own: Program;
  readonly step: Program;
  /**
   * Offsets of the neighbours whose states are passed to `step`. The arguments follow the order of this list: first all
   * leaves of the first neighbour, then all leaves of the second neighbour, and so on.
   */
  readonly neighbours: readonly { readonly dx: number; readonly dy: number }[];
  /** What replaces the state of a neighbour that is outside the grid. */
  readonly boundary: { readonly x: Boundary; readonly y: Boundary };
  /** The leaves of the state that every cell outside the grid has if the boundary is `constant`. */
  readonly outside: readonly (number | boolean)[];
  /** The monoid that folds the changes of a grid's cells. It must be exact and commutative. */
  readonly change: MonoidProgram;
  readonly until: Program;
  readonly maxRounds: number;
  readonly maxWidth: number;
  readonly maxHeight: number;
  /** Where to write the number of rounds of every grid. */
  readonly rounds: Pick<Store, 'buffer' | 'offset' | 'capacity'>;
}

/**
 * For every row of a left table, pairs the row with all rows of a right table, and folds the values of these pairs.
 *
 * The rows of both tables may include vectors of `dimensions` elements, stored one after another: element d of row i is
 * at `i · dimensions + d`. For a pair (i, j) of rows, the sums are initially `start`. `step(d, sums …, left elements …,
 * right elements …)` returns the next sums, for d = 0 … dimensions − 1 in order. `value(i, sums …, leftOwn(i) …,
 * rightOwn(j) …)` is the value of the pair.
 *
 * The right table is split into runs of `run` consecutive rows. The last run may be shorter. The number of runs
 * follows from the capacity of the right table, so some runs may be empty. The values of a run are folded from left to
 * right, starting with the identity. So all backends return the same bytes, even if the monoid is not exact. The result
 * of left row i and run r is stored in element `r · capacityOf(extent) + i` of `results[k]`, for each leaf k of the
 * monoid. The programs must not read any word that the command writes.
 */
export interface CrossReduceCommand {
  readonly kind: 'crossReduce';
  /** The number of rows of the left table. */
  readonly extent: Extent;
  /** The number of rows of the right table. */
  readonly others: Length;
  readonly run: number;
  readonly dimensions: number;
  readonly left: readonly VectorLeaf[];
  readonly right: readonly VectorLeaf[];
  readonly start: readonly (number | boolean)[];
  readonly step: Program;
  readonly leftOwn: Program;
  readonly rightOwn: Program;
  readonly value: Program;
  readonly monoid: MonoidProgram;
  readonly results: readonly Pick<Store, 'buffer' | 'offset' | 'capacity'>[];
}

/**
 * Decodes tiles of residuals of the plane predictor (a cell's left neighbour, plus the upper one, minus the upper left
 * one). `tile(t) = (start, first)`, u32: the bytes of tile t begin at word `start` of `words`, with the widths of its
 * blocks of 32 cells: the number of bits of each residual of a block. The first byte is the smallest width, the second
 * the number of bits of a difference, above 6 the same as 6. Then comes for every block, in row order, what its width
 * is above the smallest, lowest bits first; a width above 32 is the same as 32. The bytes are filled up to a whole word.
 * The residuals follow, lowest bits first; a block of width w takes w words. A residual r is stored as
 * `(r << 1) ^ (r >> 31)`. The residual of cell 0 is counted from `first`.
 *
 * The cell is the sum, modulo 2³², of `first` and the residuals of all cells of the tile that are neither below it nor
 * to the right of it. The lowest `bits` bits of the cells are stored one tile after another, several cells to a word. A
 * tile that does not end within `words` has 0 in all cells.
 *
 * `columns` is a multiple of 4, and a tile has a multiple of 32 cells, at most 2¹⁶. The command must not read any word
 * that it writes.
 */
export interface DecodeTilesCommand {
  readonly kind: 'decodeTiles';
  /** The number of tiles. */
  readonly extent: Extent;
  readonly tile: Program;
  /** Its length is known on the host. */
  readonly words: ArrayBinding;
  readonly columns: number;
  readonly rows: number;
  readonly bits: 8 | 16 | 32;
  readonly into: Cell;
}

/**
 * Decodes tiles as {@link DecodeTilesCommand} does, and counts their cells without storing them. `tile(t) = (start,
 * first, begin, end [, hidden])`, u32: where the tile is, its parts `begin … end − 1`, and the word of `hidden.bits` with
 * the bits of its first cells. `part(p) = (histogram, word, pitch)`, u32, for p below `parts`: the bits of the part begin
 * at `word` of `masks`, and those of the next row of the tile `pitch` words later.
 *
 * `bin(index, cell) = (bin: u32)`, where the cell has `bits` bits; the index is any number. A cell counts once for each
 * part of its tile that has its bit, in bin `histogram · bins + bin` of the result; if its hidden bit is set, the bin is
 * `hidden.bin`. Bins at or past `bins` and histograms at or past `histograms` are not counted. All `bins · histograms`
 * words at `into` are written, and the command must not read any of them.
 *
 * `columns` is a multiple of 32, and a tile has at most 2¹⁶ cells. A part belongs to one tile at most.
 */
export interface TileHistogramsCommand extends Omit<DecodeTilesCommand, 'kind' | 'into'> {
  readonly kind: 'tileHistograms';
  readonly part: Program;
  readonly parts: number;
  /** Its length is known on the host. */
  readonly masks: ArrayBinding;
  readonly bin: Program;
  readonly bins: number;
  readonly histograms: number;
  readonly hidden?: { readonly bits: ArrayBinding; readonly pitch: number; readonly bin: number } | undefined;
  readonly into: Cell;
}

/**
 * Joins sets of nodes. Word i of `links`, for i below `nodes`, holds a node at or before i with which node i is joined;
 * and `program(index) = (a, b)`, u32, joins nodes a and b, if both are below `nodes`. In place, word i becomes the first
 * node of the set of node i. The program must not read `links`.
 */
export interface UniteCommand {
  readonly kind: 'unite';
  /** The number of edges. */
  readonly extent: Extent;
  readonly program: Program;
  readonly nodes: Extent;
  readonly links: Cell;
}

/**
 * Runs a program for every strip of rows: strip s consists of the rows `s · rows … end − 1`, and the last strip may be
 * shorter. There are as many strips as the extent has rows for. `program(s, first, end)` has no results. It reads and
 * writes the rows of its strip in the arrays that it accesses as owned (`readOwned` and `writeOwned` of the IR), in the
 * order of its statements. Reads of other rows give zero (false), and writes to other rows do nothing. So the strips
 * may run in any order, or at the same time.
 *
 * Owned arrays are stored as one 32-bit word for each element and have the length of the extent. No other array of the
 * program may be in their memory.
 */
export interface StripsCommand {
  readonly kind: 'strips';
  /** The number of rows. */
  readonly extent: Extent;
  /** The number of rows of a strip, from 1 to 2³² − 1. */
  readonly rows: number;
  readonly program: Program;
  /** The memory of the owned arrays, which are also among the arrays of the program. */
  readonly owned: readonly Pick<Store, 'buffer' | 'offset' | 'capacity'>[];
}

/**
 * Scans every row (`axis` is `rows`) or every column of a grid by itself. Cell (x, y) has the index `y · columns + x`.
 * `program(i)` returns the leaves of a cell. Store k stores leaf k of the combination of the cells of the line before
 * cell i and, if `inclusive`, of cell i, as element i; the stores have no `index`, `guard` or `combine`. If the monoid is
 * not exact, the cells of a line are combined along the combination tree of its length (`combination-tree.ts`). The
 * programs must not read any word that the command writes.
 */
export interface ScanLinesCommand {
  readonly kind: 'scanLines';
  /** The number of cells, `rows · columns`, as a number. */
  readonly extent: Extent;
  readonly rows: number;
  readonly columns: number;
  readonly axis: 'rows' | 'columns';
  readonly program: Program;
  readonly monoid: MonoidProgram;
  readonly inclusive: boolean;
  readonly stores: readonly Store[];
}

/**
 * Merges two sorted tables, or takes rows of them as a set operation does. A row's keys are u32 words, the first of which
 * decides, then the second and so on. Rows are taken in the order of their keys, those of the first table before their
 * equals in the second.
 *
 * With `keeps`, rows of both tables with equal keys are paired, the m-th of the first with the m-th of the second. Of a
 * pair, the row of the first is kept if `pairs` is true; of rows without a partner, those of the tables whose flag is.
 * Without `keeps`, all rows of both are kept, and there are no pairs.
 *
 * Store k of row p writes result `value` of the p-th row that is kept, as element p; the stores have no `index`, `guard`
 * or `combine`. If the tables are not sorted, rows may be taken in any order, but as many as there are if all are kept.
 * The programs must not read any word that the command writes.
 */
export interface MergeCommand {
  readonly kind: 'merge';
  /** The number of rows of both tables together. */
  readonly extent: Extent;
  readonly first: SortedRows;
  readonly second: SortedRows;
  readonly keeps?: { readonly first: boolean; readonly second: boolean; readonly pairs: boolean } | undefined;
  readonly stores: readonly Store[];
  /** Where to write the number of rows that are kept. */
  readonly total?: Cell | undefined;
}

/** A sorted table: `keys(i)` returns the key words of row i, and `row(i, key words …)` what is stored of it. */
export interface SortedRows {
  readonly length: Length;
  readonly keys: Program;
  /** Absent if none of the table's rows are kept. */
  readonly row?: Program | undefined;
  /** Whether what is stored of a row depends on its key words alone. */
  readonly isOfKeys: boolean;
}

/** The elements of all vectors of a parameter, one element per 32-bit word. */
export interface VectorLeaf {
  readonly type: 'u32' | 'i32' | 'f32';
  readonly array: ArrayBinding;
}

/**
 * One leaf (scalar) of the states of all cells, stored as one 32-bit word for each cell. Bools are stored as 0 and 1.
 */
export interface StateLeaf {
  readonly type: ScalarType;
  readonly buffer: DeviceBuffer;
  readonly offset: number;
}

/**
 * What a backend is asked to run, as data: so the library can also record it, and repeat it later or on another backend.
 */
export type KernelCommand =
  | ForEachCommand
  | WalkCommand
  | StripsCommand
  | ReduceCommand
  | ScanCommand
  | SortCommand
  | HistogramCommand
  | RelaxCommand
  | CrossReduceCommand
  | WeightedHistogramCommand
  | DecodeTilesCommand
  | TileHistogramsCommand
  | ScanLinesCommand
  | UniteCommand
  | MergeCommand;

/** The name of a kernel. */
export type KernelKind = KernelCommand['kind'];

/** The commands of one kernel. */
export type CommandOf<K extends KernelKind> = Extract<KernelCommand, { readonly kind: K }>;
