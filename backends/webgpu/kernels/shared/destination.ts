import type { Bindings } from '../../launches/bindings.ts';
import type { Parameters } from '../../launches/parameters.ts';
import type { Memory } from '../../memory/memory.ts';

/** A list of states in memory: all first leaves, then all second leaves, and so on, one word each. */
export interface States {
  readonly memory: Memory;
  /** Index of the kernel parameter with the distance in words between the leaves of a state. */
  readonly strideWord: number;
}

/**
 * Where a kernel writes totals: to states that the next level reads, or to a cell for the final total. A cell receives
 * the identity if there are no elements.
 */
export interface Destination extends States {
  /**
   * Only for a cell: index of the kernel parameter with the cell's first word; first and number of the buffer's parts
   * (GPU buffers) that contain the cell.
   */
  readonly cell?: { readonly word: number; readonly first: number; readonly count: number };
}

/** A cell of `words` words as a destination. It may span several parts of its buffer. */
export function linkCell(parameters: Parameters, memory: Memory, word: number, words: number): Destination {
  const last = memory.parts.length - 1;
  const first = Math.min(last, Math.floor(word / 2 ** memory.shift));
  const count = Math.min(last, Math.floor((word + words - 1) / 2 ** memory.shift)) - first + 1;
  const inPart = parameters.word(word - first * 2 ** memory.shift);
  return { memory, strideWord: parameters.word(1), cell: { word: inPart, first, count } };
}

export function bindDestination({ memory, cell }: Destination, bindings: Bindings): number {
  return bindings.bind(memory, 'write', cell?.first, cell?.count);
}
