import type { Memory } from './memory.ts';
import type { BufferPart } from './part.ts';

/** A range of words within one part (GPU buffer) of a memory. */
export interface WordRange {
  readonly part: BufferPart;
  /** Index of the first word in the part (GPU buffer). */
  readonly word: number;
  readonly words: number;
  /** Position of the first word in the longer range that {@link rangesOf} splits. */
  readonly at: number;
}

/**
 * Splits a range of words in a memory into pieces that lie within one part (GPU buffer) and have at most `max` words.
 */
export function* rangesOf(
  memory: Memory,
  word: number,
  words: number,
  max: number = Number.POSITIVE_INFINITY,
): Generator<WordRange> {
  const { parts, shift } = memory;
  const partWords = parts.length === 1 ? Number.POSITIVE_INFINITY : 2 ** shift;
  for (let at = 0; at < words; ) {
    const index = parts.length === 1 ? 0 : Math.floor((word + at) / partWords);
    const inPart = word + at - (index === 0 ? 0 : index * partWords);
    const length = Math.min(words - at, partWords - inPart, max);
    yield { part: parts[index]!, word: inPart, words: length, at };
    at += length;
  }
}
