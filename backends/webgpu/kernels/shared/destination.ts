import type { Bindings } from '../../launches/bindings.ts';
import type { Parameters } from '../../launches/parameters.ts';
import type { Memory } from '../../memory/memory.ts';

/** States in memory, leaf after leaf, `count` words each. */
export interface States {
  readonly memory: Memory;
  /** Index of the parameter with the distance between leaves. */
  readonly strideWord: number;
}

/**
 * Where to write the totals of a level: to states of the next level, or to a cell, which receives the identity if there
 * are no elements.
 */
export interface Destination extends States {
  /** Only for a cell: the index of the parameter with its first word, and the parts of the buffer that it is in. */
  readonly cell?: { readonly word: number; readonly first: number; readonly count: number };
}

/** A cell of `words` words, which may span several parts of its buffer. */
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
