import { wrongArgument } from './arguments.ts';
import type { Module, ScalarType } from './functors/ir.ts';

/** What stands for neighbours outside of a grid; see `stencil`. */
export type Boundary = 'clamp' | 'wrap' | 'reflect' | 'constant';

/**
 * Memory on a backend, opaque to everything else. A backend finds it by the `id` alone, so that a backend around it can move
 * what a buffer holds.
 */
export interface DeviceBuffer {
  readonly id: number;
  /** Size in 32-bit words. */
  readonly words: number;
}

/** Words in a buffer, from `word` on. */
export interface Cell {
  readonly buffer: DeviceBuffer;
  readonly word: number;
}

/**
 * A length that only the device knows: `min(limit, max(0, buffer[word] − minus))`.
 *
 * The host knows `limit`, an upper bound that allocations and dispatches go by.
 */
export interface CountRef extends Cell {
  readonly minus: number;
  readonly limit: number;
}

/** A number of elements, known to the host or to the device alone. */
export type Length = number | CountRef;

/** The indices 0 … length − 1 over which a kernel runs. */
export type Extent = Length;

/**
 * An upper bound of a length that the host knows.
 *
 * @example
 * const { length } = copyIf(ctx.column(Uint32Array.of(1, 2)), ctx.column([true, false]));
 * [capacityOf(5), capacityOf(length)]; // [5, 2]
 */
export function capacityOf(length: Length): number {
  if (typeof length === 'number') return length;
  if (typeof length?.limit === 'number') return length.limit;
  throw wrongArgument('capacityOf', 'length', length, 'a number, or the length of a column');
}

/** How elements lie in memory; `u8 i8 u16 i16` are packed, four or two to a word, lowest bits first. Bools are u32. */
export type Storage = 'u32' | 'i32' | 'f32' | 'u8' | 'i8' | 'u16' | 'i16';

/** What a captured array of a module is bound to for a launch. */
export interface ArrayBinding {
  readonly buffer: DeviceBuffer;
  readonly storage: Storage;
  /** First element, counted in elements of the storage. */
  readonly offset: number;
  /** Reads at or past it give zero. */
  readonly length: Length;
}

/**
 * A module together with what its arrays and uniforms stand for in one launch. The entry's first parameter is the index
 * (u32). Only the module, the storages and which arrays share a buffer may shape compiled code; offsets, lengths and
 * uniform values travel as data.
 */
export interface Program {
  readonly module: Module;
  readonly arrays: ReadonlyMap<string, ArrayBinding>;
  readonly uniforms: ReadonlyMap<string, number | boolean>;
}

/**
 * Where one result of a program goes: element `offset + i` of a buffer of 32-bit words, where i is another result
 * (`index`, u32) or else the index of the launch. Nothing is written where the result `guard` (bool) is false or i is not
 * below `capacity`. Indices that are written must be distinct, unless `combine` says how they meet.
 */
export interface Store {
  readonly buffer: DeviceBuffer;
  readonly offset: number;
  readonly capacity: number;
  /** Which result is stored; bools as 0 and 1. */
  readonly value: number;
  readonly index?: number;
  readonly guard?: number;
  /**
   * Combines the value with the word that stands there, atomically, instead of replacing it. All of these commute, so that
   * several rows may go to one element and the bytes do not depend on their order. u32 (`min`, `max`: as unsigned) only.
   */
  readonly combine?: AtomicCombination;
}

export type AtomicCombination = 'add' | 'and' | 'or' | 'xor' | 'min' | 'max';

/**
 * A walk for every index of the extent: steps one after the other, each from the state that the one before it left.
 *
 * `start(index)` returns `(more: bool, leaves …)`. As long as there is more, `step(index, leaves …)` is evaluated, which
 * returns `(more: bool, next …, …)`: `next` are the new values of the first `changing` leaves, the others stay what they
 * are. After every step all stores are carried out on its results, which are numbered with `more` as result 0. Of what the
 * steps of one index store in one place, the last stands; the places of different indices must be distinct, unless
 * `combine` says how they meet. None of the words that are stored may be read by the command.
 */
export interface WalkCommand {
  readonly extent: Extent;
  readonly start: Program;
  readonly step: Program;
  /** The most steps of an index, where they are bounded; without it a walk may take any number. */
  readonly steps?: number;
  /** How many leaves a step changes. */
  readonly changing: number;
  readonly stores: readonly Store[];
}

/**
 * An associative operator with identity over a record of scalars. The module's entry takes the leaves of the left
 * operand, then those of the right one, and returns those of the combination; it captures nothing.
 */
export interface MonoidProgram {
  readonly module: Module;
  readonly types: readonly ScalarType[];
  readonly identity: readonly (number | boolean)[];
  /**
   * True where every way of placing brackets gives the same bytes (integers, bits, minima …): a backend may fold in any
   * shape. False (f32 sums …): the shape is the canonical one of `combination-tree.ts`, a function of the length alone.
   */
  readonly exact: boolean;
  /** True where operands may change places too, for the same bytes: a backend may fold an exact monoid in any order. */
  readonly commutative: boolean;
}

/**
 * The purpose of a scan, for which backends have kernels of their own. It is a promise about the command and changes none of
 * its results: without it, the bytes are the same.
 *
 * - `compact`: moves rows together by a flag. The elements are 0 or 1, and the monoid adds them up. Stores with the guard
 *   `selected`, a result of emit, are of the rows with a 1, at the exclusive prefix; those with the guard `rejected` are of
 *   the other rows, at the index minus the exclusive prefix. There are no others, and none has a `combine`.
 * - `runs`: combines runs of rows. The first leaf is 1 at a row that starts a run, as row 0 does, and 0 at others; the monoid
 *   adds it up. It combines the other leaves by `inner`, and starts them anew at each 1. All stores share the guard, which
 *   holds at the last row of a run, and store at the inclusive first leaf minus 1. Guard and values read neither that leaf
 *   nor the exclusive prefix.
 */
export type ScanForm =
  | { readonly kind: 'compact'; readonly selected: number; readonly rejected?: number }
  | { readonly kind: 'runs'; readonly inner: MonoidProgram };

/**
 * A scan whose results are consumed on the spot. For every index i, `emit(i, exclusive leaves …, inclusive leaves …)` is
 * evaluated, where exclusive is the combination of `program(0) … program(i − 1)` and inclusive that of
 * `program(0) … program(i)`; its results are stored. Compaction, reduction by key and segmented scans are this command
 * with different programs.
 */
export interface ScanCommand {
  readonly extent: Extent;
  readonly program: Program;
  readonly monoid: MonoidProgram;
  readonly emit: Program;
  readonly stores: readonly Store[];
  /** Where the combination of all elements goes, as `reduce` computes it, one word a leaf. */
  readonly total?: Cell | undefined;
  readonly form?: ScanForm | undefined;
}

/**
 * A stable ascending sort of `program(index) = (key: u32 [, payload: u32])` by the key's bits `beginBit … endBit − 1`
 * as an unsigned number; other bits travel with the key.
 */
export interface SortCommand {
  readonly extent: Extent;
  readonly program: Program;
  readonly beginBit: number;
  readonly endBit: number;
  /** Where the sorted keys go; left out where nobody needs them. Room for the extent's capacity. */
  readonly keys?: Cell | undefined;
  readonly payload?: Cell | undefined;
}

/**
 * Counts `program(index) = (bin: u32)` per bin; bins at or past `bins` are not counted. All words at `into` are written:
 * `bins` for every histogram. None of them may be read by the command.
 *
 * - With `segment`, the indices are cut into runs of that many (the last may be shorter), each with a histogram of its own:
 *   run s counts into bins `s · bins …`. Runs are counted by the extent's capacity.
 * - With `histograms`, the program returns `(bin: u32, histogram: u32)` and counts into bin `histogram · bins + bin`; rows of
 *   histograms at or past that number are not counted. Neighbouring indices mostly share a histogram, which kernels use.
 * - With `inner`, every index of the extent stands for `ranks` elements: `inner.row(index)` is evaluated once a row and
 *   returns `(active: bool, leaves …)`; where it is active, the program is evaluated as `program(index, rank, leaves …)`
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
 * Adds the weights of `program(index) = (bin: u32, weight: u32, …)` per bin, in 64 bits; rows with a bin at or past `bins` are left
 * out. The low words of the sums of weight w go to `into` from word `2 · w · bins` on, bin after bin, and the high words from
 * `(2 · w + 1) · bins` on. All are written, and none may be read by the command.
 */
export interface WeightedHistogramCommand {
  readonly extent: Extent;
  readonly program: Program;
  readonly bins: number;
  readonly into: Cell;
}

/** Elements of a histogram that share what is computed once a row. */
export interface InnerRanks {
  readonly row: Program;
  readonly ranks: number;
}

/**
 * Many grids of cells, each replaced by a function of its cells and of those around them, again and again, until a rule holds.
 *
 * `grids(g) = (first, width, height)`, u32: grid g has the cells `first … first + width · height − 1`, row after row. No cell
 * is part of two grids, none lies past `cells`, and no grid is larger than `maxWidth` × `maxHeight`. In every round `step(i, state leaves …,
 * own leaves …, neighbour leaves …)` is evaluated for every cell i of the grid, on the states before the round, and returns
 * `(next state leaves …, change leaves …)`; `own(i)` is evaluated once. The changes of all cells are folded, and the grid is
 * left alone after the first round in which `until(g, width · height, folded leaves …)` holds, or after `maxRounds`. A grid
 * without cells has no rounds, and cells of no grid stay what they are. No program reads what the command writes.
 */
export interface RelaxCommand {
  /** The grids. */
  readonly extent: Extent;
  readonly grids: Program;
  /** All cells, of all grids. */
  readonly cells: Extent;
  /** The states of the cells, leaf by leaf: what they are before the first round, and what they become. */
  readonly state: readonly StateLeaf[];
  readonly own: Program;
  readonly step: Program;
  /** The cells around one whose states a step takes, in this order, each with all its leaves. */
  readonly neighbours: readonly { readonly dx: number; readonly dy: number }[];
  /** Which cell stands for one outside of the grid. */
  readonly boundary: { readonly x: Boundary; readonly y: Boundary };
  /** The leaves of cells outside of the grid where the boundary is `constant`. */
  readonly outside: readonly (number | boolean)[];
  /** How changes are folded. It is exact and commutative. */
  readonly change: MonoidProgram;
  readonly until: Program;
  readonly maxRounds: number;
  readonly maxWidth: number;
  readonly maxHeight: number;
  /** Where the rounds of every grid go. */
  readonly rounds: Pick<Store, 'buffer' | 'offset' | 'capacity'>;
}

/**
 * For every row of one table, a monoid over a functor of all rows of another one.
 *
 * Rows of both may be vectors of `dimensions` elements, which lie row after row: element d of row i at `i · dimensions + d`. Of a
 * pair (i, j) the sums begin as `start`, and `step(d, sums …, left elements …, right elements …)` returns the next ones, for d =
 * 0 … dimensions − 1 in this order. `value(i, sums …, leftOwn(i) …, rightOwn(j) …)` is what the pair is worth. The rows of the
 * other table are cut into runs of `run`, the last of which may be shorter or, as runs are counted by capacity, have no rows.
 * The values of a run are folded from left to right, beginning with the identity; so the bytes are the same whatever the monoid.
 * Leaf k of run r of row i goes to element `r · capacityOf(extent) + i` of `results[k]`. No program reads what is written.
 */
export interface CrossReduceCommand {
  /** Rows of the first table. */
  readonly extent: Extent;
  /** Rows of the other one. */
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

/** Elements of vectors; words of 32 bits. */
export interface VectorLeaf {
  readonly type: 'u32' | 'i32' | 'f32';
  readonly array: ArrayBinding;
}

/** Words of 32 bits, one a cell; bools as 0 and 1. */
export interface StateLeaf {
  readonly type: ScalarType;
  readonly buffer: DeviceBuffer;
  readonly offset: number;
}

/** A kernel's call as data, so that it can be made again on another backend. */
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
