import { bytesText } from '../algorithms/bytes-text.ts';
import { type ErrorPlace, OutOfMemoryError } from '../primitives/errors.ts';

/** What would take more memory than it may. */
export interface MemoryNeed {
  /** Bytes, as far as they are known. */
  readonly needed: number;
  /** What they are for, such as `400 × 300 labels of 16 bits`. */
  readonly what: string;
  readonly allowed: number;
  /** What helps beside a higher limit, as an imperative clause such as `split the file`. */
  readonly instead?: string | undefined;
  readonly place?: ErrorPlace | undefined;
}

/** The error `memory/limit`: a sentence, what was estimated, what is allowed, and what can be done. */
export function overMemory(sentence: string, { needed, what, allowed, instead, place }: MemoryNeed): OutOfMemoryError {
  const remedy = 'Raise the limit (--memory) where the machine has more';
  return new OutOfMemoryError('memory/limit', sentence, {
    expected: `at most ${bytesText(allowed)}`,
    got: `${bytesText(needed)} for ${what}`,
    remedy: instead === undefined ? `${remedy}.` : `${remedy}, or ${instead}.`,
    place,
  });
}
