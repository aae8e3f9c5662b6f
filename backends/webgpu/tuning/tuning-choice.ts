import { isRecord } from '../../../primitives/checks/given.ts';
import type { Tuning } from './tuning.ts';

type Choice<T> = T extends object ? { readonly [K in keyof T]?: Choice<T[K]> | undefined } : T;

/** New values for some members of a {@link Tuning}. Members that are left out keep their values. */
export type TuningChoice = Choice<Tuning>;

/** Returns a tuning in which the members of `choice` replace the members of `tuning`. */
export function chosenTuning(tuning: Tuning, choice: TuningChoice): Tuning {
  return merged(tuning, choice) as Tuning;
}

function merged(base: unknown, change: unknown): unknown {
  if (change === undefined) return base;
  if (!isRecord(base) || !isRecord(change)) return change;
  const names = new Set([...Object.keys(base), ...Object.keys(change)]);
  return Object.fromEntries([...names].map((name) => [name, merged(base[name], change[name])]));
}
