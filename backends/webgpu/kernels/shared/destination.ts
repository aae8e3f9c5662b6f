import type { Cell } from '../../../../primitives/contract/backend.ts';
import type { Bindings } from '../../launches/bindings.ts';
import type { Parameters } from '../../launches/parameters.ts';
import type { Memory } from '../../memory/memory.ts';

/**
 * A list of states in memory, with one word per leaf (scalar component). The first leaves of all states come first,
 * then the second leaves of all states, and so on.
 */
export interface States {
  readonly memory: Memory;
  /** Index of the kernel parameter with the distance in words between the leaves (scalar components) of a state. */
  readonly strideWord: number;
}

/**
 * A destination of totals: either states that the next level reads, or a cell that receives the final total. The cell
 * receives the identity if there are no elements.
 */
export interface Destination extends States {
  /**
   * Only for a cell. `word` is the index of the kernel parameter with the cell's first word. The cell is in `count`
   * parts (GPU buffers) of its buffer, from part `first` on.
   */
  readonly cell?: { readonly word: number; readonly first: number; readonly count: number };
}

/** Returns a destination for a cell of `words` words. The cell may span several parts (GPU buffers) of its buffer. */
export function linkCell(parameters: Parameters, { buffer, word }: Cell, words: number): Destination {
  const memory = parameters.pool.resolve(buffer);
  const last = memory.parts.length - 1;
  const first = Math.min(last, Math.floor(word / 2 ** memory.shift));
  const count = Math.min(last, Math.floor((word + words - 1) / 2 ** memory.shift)) - first + 1;
  const inPart = parameters.word(word - first * 2 ** memory.shift);
  return { memory, strideWord: parameters.word(1), cell: { word: inPart, first, count } };
}

export function bindDestination({ memory, cell }: Destination, bindings: Bindings): number {
  return bindings.bind(memory, 'write', cell?.first, cell?.count);
}
