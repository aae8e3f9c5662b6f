import { isRecord } from '../../../primitives/given.ts';
import type { Tuning } from './tuning.ts';

type Choice<T> = T extends object ? { readonly [K in keyof T]?: Choice<T[K]> | undefined } : T;

/** Some members of a {@link Tuning} or of its parts; the others keep their values. */
export type TuningChoice = Choice<Tuning>;

/** A tuning with the members of a choice replaced. */
export function chosenTuning(tuning: Tuning, choice: TuningChoice): Tuning {
  return merged(tuning, choice) as Tuning;
}

function merged(base: unknown, change: unknown): unknown {
  if (change === undefined) return base;
  if (!isRecord(base) || !isRecord(change)) return change;
  const names = new Set([...Object.keys(base), ...Object.keys(change)]);
  return Object.fromEntries([...names].map((name) => [name, merged(base[name], change[name])]));
}
