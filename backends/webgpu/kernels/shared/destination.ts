import type { Bindings } from '../../launches/bindings.ts';
import type { Parameters } from '../../launches/parameters.ts';
import type { Memory } from '../../memory/memory.ts';

/** States in memory, leaf after leaf: `count` words each. */
export interface States {
  readonly memory: Memory;
  /** Where the parameters hold the distance between leaves. */
  readonly strideWord: number;
}

/** Where the totals of a level go: states of the next level, or a cell, which gets the identity of nothing too. */
export interface Destination extends States {
  /** Of a cell: where the parameters hold its first word, and the parts of the buffer that it lies in. */
  readonly cell?: { readonly word: number; readonly first: number; readonly count: number };
}

/** A cell of `words` words, which may lie across the parts of its buffer. */
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
