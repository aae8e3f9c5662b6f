import { fc } from '@fast-check/vitest';

/** Lets `count` turns of the event loop pass; 0 is only a microtask. */
export async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** Enough turns for everything that a test left unfinished to settle. */
export const settled = (): Promise<void> => turns(12);

/** The numbers of turns that the items of a run take, in a cycle. */
export const delays: fc.Arbitrary<number[]> = fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 12 });

export const delayAt = (table: readonly number[], index: number): number => table[index % table.length] ?? 0;

/** An async source that records its use. */
export interface MeteredSource extends AsyncIterable<number> {
  /** Number of items made. */
  made: number;
  /** Number of calls of `return()`. */
  returns: number;
  /** The maximum number of concurrent calls of `next()`. */
  concurrentNexts: number;
  /** Whether it ended by itself, after its last item or by an error. */
  ended: boolean;
}

/** Gives 0 … length - 1, after `table` turns each; throws instead of item `failAt`. */
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
