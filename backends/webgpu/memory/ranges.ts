import type { Memory } from './memory.ts';
import type { BufferPart } from './part.ts';

/** Words of one part of a buffer. */
export interface WordRange {
  readonly part: BufferPart;
  /** First word within the part. */
  readonly word: number;
  readonly words: number;
  /** Position of the words in the whole range. */
  readonly at: number;
}

/** Splits a range of words into pieces, at the boundaries of parts, none longer than `max`. */
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
