// Runs of tests on a queue, and what they do.
import { type ErrorPolicy, graph, type WorkQueue } from '../../graph/index.ts';
import { type Chore, chore } from './queue-functions.ts';

/** Random whole numbers, the same for the same seed. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** A number from `low` up to, but not including, `high`. */
  between(low: number, high: number): number {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0;
    return low + Math.floor((this.#state / 2 ** 32) * (high - low));
  }
}

/** Items of `chore` that take between 10 ms and `most` ms each. Some need files on the way there, on the way back, or both. */
export function someChores(random: Random, count: number, most = 150): readonly Chore[] {
  return Array.from({ length: count }, (_, value) => ({
    value,
    milliseconds: random.between(10, most),
    data: new Uint8Array(random.between(0, 3) === 0 ? random.between(66_000, 200_000) : 9).fill(value),
    length: random.between(0, 3) === 0 ? random.between(66_000, 200_000) : random.between(0, 9),
  }));
}

/** What one process gives for chores. */
export const choresAlone = (chores: readonly Chore[]): Promise<Uint8Array[]> =>
  Promise.all(chores.map((each) => chore({ ...each, milliseconds: 0 })));

export interface RunSettings {
  readonly lanes?: number;
  readonly onError?: ErrorPolicy;
  readonly signal?: AbortSignal;
  readonly id?: string;
  readonly title?: string;
  /** Names the jobs of items. */
  readonly jobId?: (item: never) => string;
}

/** Runs a function for each item on a queue. The results have the order of the items. */
export function onQueue<A, B>(
  queue: WorkQueue,
  fn: (item: A, context: never) => B | Promise<B>,
  items: readonly A[],
  { lanes = 6, onError, signal, id, title, jobId }: RunSettings = {},
): Promise<B[]> {
  const remote = { queue, module: 'own', run: { id, title }, id: jobId };
  const definition = graph('remote', (g) => {
    const source = g.source('items', items);
    return g.collect('all', g.stage('work', source, fn as never, { lanes, ordered: true, onError, remote } as never));
  });
  const { result } = definition.run(undefined, { signal }) as { readonly result: Promise<B[]> };
  // The test may look at it later.
  result.catch(() => undefined);
  return result;
}
