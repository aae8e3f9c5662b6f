import { setTimeout as delay } from 'node:timers/promises';

/** Steps of {@link work} that take about a millisecond of processor time. */
const STEPS = 700_000;

/** Keeps a processor busy for about some milliseconds, always with the same number of steps. */
export function work({ value, milliseconds }: { readonly value: number; readonly milliseconds: number }): number {
  let state = value | 1;
  for (let step = milliseconds * STEPS; step > 0; step--) state = (Math.imul(state, 1664525) + 1013904223) | 0;
  return state;
}

export async function wait(given: { readonly value: number; readonly milliseconds: number }): Promise<number> {
  await delay(given.milliseconds);
  return given.value;
}

export const same = <T>(value: T): T => value;
