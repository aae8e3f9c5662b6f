import { turns } from './graph-harness.ts';

/** A simulated clock: it stands still while any task can run, and then jumps to the next wake-up. */
export class VirtualTime {
  now = 0;
  #waiting: { readonly at: number; readonly order: number; readonly wake: () => void }[] = [];
  #made = 0;

  sleep(ms: number): Promise<void> {
    return new Promise((wake) => this.#waiting.push({ at: this.now + ms, order: this.#made++, wake }));
  }

  /** Runs until `promise` settles. Returns the time that the simulated clock then shows. */
  async run(promise: Promise<unknown>): Promise<number> {
    let over = false;
    const end = (): void => {
      over = true;
    };
    promise.then(end, end);
    for (;;) {
      await turns(1);
      if (over) return this.now;
      const next = this.#waiting.sort((a, b) => a.at - b.at || a.order - b.order).shift();
      if (next === undefined) throw new Error(`nothing will happen any more, at ${this.now}`);
      this.now = next.at;
      next.wake();
    }
  }
}

/**
 * Simulates `count` machines, like the workers of a pool. Each machine processes one task at a time, in the order in
 * which tasks arrive.
 */
export function machines(time: VirtualTime, count: number): (ms: number) => Promise<void> {
  const queue: (() => void)[] = [];
  let free = count;
  return async (ms) => {
    if (free === 0) await new Promise<void>((resolve) => queue.push(resolve));
    else free--;
    await time.sleep(ms);
    const next = queue.shift();
    if (next === undefined) free++;
    else next();
  };
}
