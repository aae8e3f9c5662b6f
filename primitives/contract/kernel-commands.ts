import { wrongArgument } from '../arguments.ts';
import type { Module, ScalarType } from '../ir/ir.ts';

/** How cells outside the grid are replaced; see `stencil`. */
export type Boundary = 'clamp' | 'wrap' | 'reflect' | 'constant';

/**
 * Memory of a backend, opaque to all other code. Backends identify it by `id` alone, so a wrapping backend can move its
 * contents.
 */
export interface DeviceBuffer {
  readonly id: number;
  /** Size in 32-bit words. */
  readonly words: number;
}

/** Words of a buffer, starting at `word`. */
export interface Cell {
  readonly buffer: DeviceBuffer;
  readonly word: number;
}

/**
 * A length that only the device knows: `min(limit, max(0, buffer[word] − minus))`.
 *
 * The host knows `limit`, the upper bound used for allocations and dispatches.
 */
export interface CountRef extends Cell {
  readonly minus: number;
  readonly limit: number;
}

/** A number of elements, known to the host or only to the device. */
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
 * How elements are laid out in memory. `u8 i8 u16 i16` are packed, four or two to a word, lowest bits first. Bools are
 * u32.
 */
export type Storage = 'u32' | 'i32' | 'f32' | 'u8' | 'i8' | 'u16' | 'i16';

/** The memory bound to a captured array of a module for one launch. */
export interface ArrayBinding {
  readonly buffer: DeviceBuffer;
  readonly storage: Storage;
  /** First element, counted in elements of the storage. */
  readonly offset: number;
  /** Reads at or past this index give zero. */
  readonly length: Length;
}

/**
 * A module together with its arrays and uniforms for one launch. The entry's first parameter is the index (u32).
 * Compiled code may depend only on the module, the storages, and which arrays share a buffer; offsets, lengths and
 * uniform values are passed as data.
 */
export interface Program {
  readonly module: Module;
  readonly arrays: ReadonlyMap<string, ArrayBinding>;
  readonly uniforms: ReadonlyMap<string, number | boolean>;
}

/**
 * Where to write one result of a program: element `offset + i` of a buffer of 32-bit words, where i is the result
 * `index` (u32) if given, otherwise the index of the launch. Nothing is written if the result `guard` (bool) is false
 * or i is at least `capacity`. Indices that are written must be distinct, unless `combine` is given.
 */
export interface Store {
  readonly buffer: DeviceBuffer;
  readonly offset: number;
  readonly capacity: number;
  /** Index of the result to store; bools are stored as 0 and 1. */
  readonly value: number;
  readonly index?: number;
  readonly guard?: number;
  /**
   * Combines the value with the word in memory, atomically, instead of replacing it. All combinations are commutative,
   * so several rows may write the same element and the bytes do not depend on their order. Only for u32 (`min` and
   * `max` are unsigned).
   */
  readonly combine?: AtomicCombination;
}

export type AtomicCombination = 'add' | 'and' | 'or' | 'xor' | 'min' | 'max';

/**
 * A walk for every index of the extent: a sequence of steps, each starting from the state left by the previous one.
 *
 * `start(index)` returns `(more: bool, leaves …)`. While `more` is true, `step(index, leaves …)` is evaluated and
 * returns `(more: bool, next …, …)`. The `next` values replace the first `changing` leaves; the other leaves do not
 * change. After every step, all stores are applied to its results, of which `more` is result 0. If several steps of one
 * index write the same element, the last one wins. Different indices must write distinct elements, unless `combine` is
 * given. The command must not read any word that it writes.
 */
export interface WalkCommand {
  readonly extent: Extent;
  readonly start: Program;
  readonly step: Program;
  /** Maximum number of steps of an index. If missing, the number is unbounded. */
  readonly steps?: number;
  /** Number of leaves that a step changes. */
  readonly changing: number;
  readonly stores: readonly Store[];
}

/**
 * An associative operator with an identity over a record of scalars. The module's entry takes the leaves of the left
 * operand, then those of the right, and returns the leaves of the combination. It captures nothing.
 */
export interface MonoidProgram {
  readonly module: Module;
  readonly types: readonly ScalarType[];
  readonly identity: readonly (number | boolean)[];
  /**
   * True if every bracketing gives the same bytes (integers, bits, minima …): a backend may fold in any shape. If false
   * (f32 sums …), the shape is the canonical one of `combination-tree.ts`, which depends only on the length.
   */
  readonly exact: boolean;
  /**
   * True if operands may also be swapped without changing the bytes: a backend may fold an exact commutative monoid in
   * any order.
   */
  readonly commutative: boolean;
}

/**
 * The purpose of a scan, for which some backends have special kernels. It states a property of the command and does not
 * change its results.
 *
 * - `compact`: moves rows together by a flag. Elements are 0 or 1, and the monoid is addition. Stores with the guard
 *   `selected`, a result of emit, write the rows with a 1 at the exclusive prefix; stores with the guard `rejected`
 *   write the other rows at the index minus the exclusive prefix. There are no other stores, and none has a `combine`.
 * - `runs`: combines runs of rows. The first leaf is 1 at the first row of each run, including row 0, and 0 elsewhere;
 *   the monoid adds it. It combines the other leaves by `inner`, and restarts them at each 1. All stores share one
 *   guard, which holds at the last row of a run, and store at the inclusive first leaf minus 1. Guard and values depend
 *   neither on that leaf nor on the exclusive prefix.
 */
export type ScanForm =
  | { readonly kind: 'compact'; readonly selected: number; readonly rejected?: number }
  | { readonly kind: 'runs'; readonly inner: MonoidProgram };

/**
 * A scan whose results are consumed immediately. For every index i, `emit(i, exclusive leaves …, inclusive leaves …)`
 * is evaluated and its results are stored; exclusive is the combination of `program(0) … program(i − 1)` and inclusive
 * that of `program(0) … program(i)`. Compaction, reduction by key and segmented scans are this command with different
 * programs.
 */
export interface ScanCommand {
  readonly extent: Extent;
  readonly program: Program;
  readonly monoid: MonoidProgram;
  readonly emit: Program;
  readonly stores: readonly Store[];
  /** Where to write the combination of all elements, as `reduce` computes it, one word a leaf. */
  readonly total?: Cell | undefined;
  readonly form?: ScanForm | undefined;
}

/**
 * A stable ascending sort of `program(index) = (key: u32 [, payload: u32])` by bits `beginBit … endBit − 1` of the key
 * as an unsigned number; the other bits move with the key.
 */
export interface SortCommand {
  readonly extent: Extent;
  readonly program: Program;
  readonly beginBit: number;
  readonly endBit: number;
  /** Where to write the sorted keys, with room for the extent's capacity; missing if the keys are not needed. */
  readonly keys?: Cell | undefined;
  readonly payload?: Cell | undefined;
}

/**
 * Counts `program(index) = (bin: u32)` per bin; bins at or past `bins` are not counted. All words of the histograms are
 * written at `into`, `bins` words for each histogram. The command must not read any of them.
 *
 * - With `segment`, the indices are split into segments of that many (the last may be shorter), each with its own
 *   histogram: segment s counts into bins `s · bins …`. The number of segments follows from the extent's capacity.
 * - With `histograms`, the program returns `(bin: u32, histogram: u32)` and counts into bin `histogram · bins + bin`;
 *   rows whose `histogram` is at least `histograms` are not counted. Neighbouring indices usually share a histogram,
 *   which kernels exploit.
 * - With `inner`, every index of the extent has `ranks` elements: `inner.row(index)` is evaluated once a row and
 *   returns `(active: bool, leaves …)`. If it is active, the program is evaluated as `program(index, rank, leaves …)`
 *   for every rank. Not together with `segment`.
 */
export interface HistogramCommand {
  readonly extent: Extent;
  readonly program: Program;
  readonly bins: number;
  readonly segment?: number | undefined;
  readonly histograms?: number | undefined;
  readonly inner?: InnerRanks | undefined;
  readonly into: Cell;
}

/**
 * Adds the weights of `program(index) = (bin: u32, weight: u32, …)` per bin, in 64 bits; rows with a bin at or past
 * `bins` are ignored. For weight w, the low words of the sums start at word `2 · w · bins` of `into`, and the high
 * words at word `(2 · w + 1) · bins`, one word a bin. All of them are written, and the command must not read any.
 */
export interface WeightedHistogramCommand {
  readonly extent: Extent;
  readonly program: Program;
  readonly bins: number;
  readonly into: Cell;
}

/** Elements of a histogram that share values computed once a row. */
export interface InnerRanks {
  readonly row: Program;
  readonly ranks: number;
}

/**
 * Relaxes many grids of cells: every cell is replaced by a function of itself and its neighbours, round after round,
 * until a condition holds.
 *
 * `grids(g) = (first, width, height)`, u32: grid g has the cells `first … first + width · height − 1`, row after row.
 * No cell belongs to two grids, none lies at or past `cells`, and no grid is larger than `maxWidth` × `maxHeight`.
 *
 * In every round `step(i, state leaves …, own leaves …, neighbour leaves …)` is evaluated for every cell i of the grid,
 * on the states before the round, and returns `(next state leaves …, change leaves …)`; `own(i)` is evaluated once. The
 * changes of all cells are folded. A grid stops after the first round in which `until(g, width · height, folded leaves
 * …)` holds, or after `maxRounds`. A grid without cells has no rounds, and cells that belong to no grid do not change.
 * The programs must not read any word that the command writes.
 */
export interface RelaxCommand {
  /** The number of grids. */
  readonly extent: Extent;
  readonly grids: Program;
  /** The number of cells of all grids. */
  readonly cells: Extent;
  /** The states of the cells, leaf by leaf. They are read before the first round and hold the result after the last. */
  readonly state: readonly StateLeaf[];
  readonly own: Program;
  readonly step: Program;
  /** Offsets of the neighbours whose states a step takes, in this order, each with all its leaves. */
  readonly neighbours: readonly { readonly dx: number; readonly dy: number }[];
  /** How a cell outside the grid is replaced. */
  readonly boundary: { readonly x: Boundary; readonly y: Boundary };
  /** The leaves of cells outside the grid if the boundary is `constant`. */
  readonly outside: readonly (number | boolean)[];
  /** How changes are folded; must be exact and commutative. */
  readonly change: MonoidProgram;
  readonly until: Program;
  readonly maxRounds: number;
  readonly maxWidth: number;
  readonly maxHeight: number;
  /** Where to write the number of rounds of every grid. */
  readonly rounds: Pick<Store, 'buffer' | 'offset' | 'capacity'>;
}

/**
 * For every row of one table, folds a functor of that row and every row of another table.
 *
 * Rows of both may include vectors of `dimensions` elements, stored row after row: element d of row i is at `i ·
 * dimensions + d`. For a pair (i, j) the sums start as `start`, and `step(d, sums …, left elements …, right elements
 * …)` returns the next sums, for d = 0 … dimensions − 1 in order. `value(i, sums …, leftOwn(i) …, rightOwn(j) …)` is
 * the value of the pair.
 *
 * The rows of the other table are split into runs of `run` rows. The last may be shorter or, because runs are counted
 * by capacity, empty. The values of a run are folded from left to right, starting with the identity, so the bytes are
 * the same even if the monoid is not exact. Leaf k of run r of row i goes to element `r · capacityOf(extent) + i` of
 * `results[k]`. The programs must not read any word that the command writes.
 */
export interface CrossReduceCommand {
  /** The number of rows of the first table. */
  readonly extent: Extent;
  /** The number of rows of the other table. */
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

/** Elements of vectors, one per 32-bit word. */
export interface VectorLeaf {
  readonly type: 'u32' | 'i32' | 'f32';
  readonly array: ArrayBinding;
}

/** One 32-bit word a cell; bools as 0 and 1. */
export interface StateLeaf {
  readonly type: ScalarType;
  readonly buffer: DeviceBuffer;
  readonly offset: number;
}

/** A kernel's call as data, so that it can be repeated on another backend. */
export type KernelCommand =
  | { readonly kind: 'forEach'; readonly extent: Extent; readonly program: Program; readonly stores: readonly Store[] }
  | {
      readonly kind: 'reduce';
      readonly extent: Extent;
      readonly program: Program;
      readonly monoid: MonoidProgram;
      readonly into: Cell;
    }
  | { readonly kind: 'walk'; readonly command: WalkCommand }
  | { readonly kind: 'scan'; readonly command: ScanCommand }
  | { readonly kind: 'sort'; readonly command: SortCommand }
  | { readonly kind: 'histogram'; readonly command: HistogramCommand }
  | { readonly kind: 'relax'; readonly command: RelaxCommand }
  | { readonly kind: 'crossReduce'; readonly command: CrossReduceCommand }
  | { readonly kind: 'weightedHistogram'; readonly command: WeightedHistogramCommand };
