import fc from 'fast-check';
import { THOROUGH } from '../cases.ts';

/** Number of items that would overflow the stack, or take very long, if each item added a frame or a list entry. */
export const MANY: number = THOROUGH ? 100_000 : 20_000;

/** Waits for `count` turns of the event loop. If `count` is 0, waits only for a microtask. */
export async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** Waits for several turns of the event loop. After these, everything that a test left unfinished has settled. */
export const settled = (): Promise<void> => turns(12);

/** Numbers of turns of the event loop that successive items take. The list repeats at its end. */
export const delays: fc.Arbitrary<number[]> = fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 12 });

export const delayAt = (table: readonly number[], index: number): number => table[index % table.length] ?? 0;

/** An async source of numbers that records how it is used. */
export interface MeteredSource extends AsyncIterable<number> {
  /** Number of items that the source has made. */
  made: number;
  /** Number of calls of `return()`. */
  returns: number;
  /** Maximum number of calls of `next()` that were pending at the same time. */
  concurrentNexts: number;
  /** Whether the source ended by itself: after its last item, or by an error. */
  ended: boolean;
}

/**
 * Makes a source of the numbers from 0 to length − 1. Item i takes `table[i]` turns of the event loop; the table
 * repeats at its end. At item `failAt`, the source throws an error.
 */
export function meteredSource(length: number, table: readonly number[] = [0], failAt = -1): MeteredSource {
  let nexts = 0;
  const source: MeteredSource = {
    made: 0,
    returns: 0,
    concurrentNexts: 0,
    ended: false,
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        source.concurrentNexts = Math.max(source.concurrentNexts, ++nexts);
        await turns(delayAt(table, source.made));
        nexts--;
        source.ended = source.made === length || source.made === failAt;
        if (source.made === failAt) throw new Error('the source broke');
        return source.ended ? { done: true, value: undefined } : { done: false, value: source.made++ };
      },
      return: async () => {
        source.returns++;
        return { done: true, value: undefined };
      },
    }),
  };
  return source;
}

export const range = (length: number): number[] => Array.from({ length }, (_, i) => i);

export const sorted = (values: readonly number[]): number[] => values.toSorted((a, b) => a - b);
