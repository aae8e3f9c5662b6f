import { turns } from './graph-harness.ts';

/** A clock that stands still while anything can go on, and then jumps to the next thing that was waited for. */
export class VirtualTime {
  now = 0;
  #waiting: { readonly at: number; readonly order: number; readonly wake: () => void }[] = [];
  #made = 0;

  sleep(ms: number): Promise<void> {
    return new Promise((wake) => this.#waiting.push({ at: this.now + ms, order: this.#made++, wake }));
  }

  /** Runs until `promise` is settled; gives the time that it took. */
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

/** `count` machines that work on one thing each, first come first served, as the workers of a pool do. */
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
