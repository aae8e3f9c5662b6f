import type { Store } from '../../../../primitives/contract/backend.ts';
import { type Bindings, samePlace } from '../../launches/bindings.ts';
import { type BoundProgram, boundArrays, type LinkedArray, type LinkedProgram, packing } from '../../launches/link.ts';
import type { Memory } from '../../memory/memory.ts';

/** A store, with the indices of the kernel parameters for its offset and capacity. */
export interface LinkedStore extends Store {
  readonly memory: Memory;
  readonly offsetWord: number;
  readonly capacityWord: number;
  /**
   * `holdsExtent` is true if the capacity is at least the extent. `hasRoom` is true if, in addition, the store is at
   * the launch index; the capacity then need not be checked.
   */
  readonly holdsExtent: boolean;
  readonly hasRoom: boolean;
}

/** A range of launch indices: `from` inclusive to `to` exclusive. */
export interface IndexRange {
  readonly from: number;
  readonly to: number;
}

/**
 * The parts (GPU buffers) of a buffer that a launch binds for an array or store: `count` parts from part `first` on.
 */
export interface Placement {
  readonly memory: Memory;
  readonly first: number;
  readonly count: number;
  /** Offset of the array or store from the start of the first bound part, in elements, modulo 2³². */
  readonly offset: number;
}

/**
 * Splits a launch into windows. Within a window, every array or store at the launch index is in one part (GPU buffer),
 * so a launch needs only one binding for each array or store.
 */
export function windowsOf(
  capacity: number,
  programs: readonly LinkedProgram[],
  stores: readonly LinkedStore[],
): IndexRange[] {
  const cuts = [
    ...programs.flatMap((program) =>
      boundArrays(program).flatMap(({ pattern, memory, offset, storage }) =>
        pattern.kind === 'index' ? cutsOf(memory, offset, packing(storage)) : [],
      ),
    ),
    ...stores.flatMap(({ index, memory, offset }) => (index === undefined ? cutsOf(memory, offset, 0) : [])),
  ];
  return windowsBetween(cuts, capacity);
}

/** The launch indices at which the second and later parts of a memory start. */
function cutsOf({ parts, shift }: Memory, offset: number, pack: number): readonly number[] {
  return parts.slice(1).map((_, part) => (part + 1) * 2 ** (shift + pack) - offset);
}

function windowsBetween(cuts: readonly number[], capacity: number): IndexRange[] {
  const inside = new Set(cuts.filter((cut) => cut > 0 && cut < capacity));
  const edges = [0, ...[...inside].sort((a, b) => a - b), capacity];
  return edges.slice(1).map((to, i) => ({ from: edges[i]!, to }));
}

/** Splits windows so that each has at most `length` indices. */
export function shorterWindows(windows: readonly IndexRange[], length: number): IndexRange[] {
  return windows.flatMap(({ from, to }) =>
    Array.from({ length: Math.ceil((to - from) / length) }, (_, i) => ({
      from: from + i * length,
      to: Math.min(to, from + (i + 1) * length),
    })),
  );
}

/**
 * The placement of an array or store of which only one part (GPU buffer) is bound: the part with the element of launch
 * index `from`.
 */
export function placeInPart(memory: Memory, offset: number, pack: number, from: number): Placement {
  if (memory.parts.length === 1) return { memory, first: 0, count: 1, offset };
  const elements = 2 ** (memory.shift + pack);
  const first = Math.min(memory.parts.length - 1, Math.floor((offset + from) / elements));
  return { memory, first, count: 1, offset: offset - first * elements };
}

/**
 * The placement of an array for a window: one part (GPU buffer) if the array is read at the launch index, else all
 * parts.
 */
export function placeArray({ memory, offset, storage, pattern }: LinkedArray, { from }: IndexRange): Placement {
  if (pattern.kind === 'index') return placeInPart(memory, offset, packing(storage), from);
  return { memory, first: 0, count: memory.parts.length, offset };
}

/** Number of different GPU buffers in the placements, each of which needs a binding. */
export function countBindings(placements: Iterable<Placement>): number {
  const bound: Placement[] = [];
  for (const placement of placements) {
    if (!bound.some((other) => samePlace(other, placement))) bound.push(placement);
  }
  return bound.reduce((sum, { count }) => sum + count, 0);
}

/** The placements of a program's arrays for a window (range of indices), by the names of the arrays. */
export type Placements = Map<string, Placement>;

export function placeArrays(program: LinkedProgram, window: IndexRange): Placements {
  return new Map(boundArrays(program).map((array) => [array.name, placeArray(array, window)]));
}

/** Binds the arrays of a program for a window (range of indices) and writes their offsets to the parameters. */
export function bindProgram(program: LinkedProgram, window: IndexRange, bindings: Bindings): BoundProgram {
  return bindPlacements(program, placeArrays(program, window), bindings);
}

/** Binds arrays at their placements and writes their offsets to the parameters. */
export function bindPlacements(program: LinkedProgram, placements: Placements, bindings: Bindings): BoundProgram {
  for (const { name, offsetWord } of program.arrays) {
    const placement = placements.get(name);
    if (placement !== undefined) bindings.parameters.set(offsetWord, placement.offset);
  }
  const slots = new Map(
    [...placements].map(([name, { memory, first, count }]) => [name, bindings.bind(memory, 'read', first, count)]),
  );
  return { program, slots };
}
