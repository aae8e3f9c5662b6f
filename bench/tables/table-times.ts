import { median as middle } from '../shared/compare-input.ts';

/** Minimum and median duration of several calls, in milliseconds. */
export interface Times {
  readonly min: number;
  readonly median: number;
}

/** Calls `ask` several times. Returns the minimum and the median time from the call until the answer. */
export async function measured(ask: () => Promise<unknown>, times: number): Promise<Times> {
  const taken: number[] = [];
  for (let round = 0; round < times; round++) {
    const start = performance.now();
    await ask();
    taken.push(performance.now() - start);
  }
  return timesOf(taken);
}

export function timesOf(taken: readonly number[]): Times {
  const sorted = taken.toSorted((a, b) => a - b);
  return { min: sorted[0]!, median: middle(sorted) };
}

export function shown({ min, median }: Times, digits = 2): string {
  return `${min.toFixed(digits)} (${median.toFixed(digits)})`;
}

/** Repeats a query for some time, because an idle device is slow at first. */
export async function warmUp(ask: () => Promise<unknown>, milliseconds = 500): Promise<void> {
  for (const from = performance.now(); performance.now() - from < milliseconds; ) await ask();
}
