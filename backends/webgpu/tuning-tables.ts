import type { TuningChoice } from './tuning-choice.ts';

/** What was found to be fast on a class of devices, by `quadrille tune`, which prints such an entry. */
export interface TuningTable {
  /** As the adapter's info has them: `nvidia` and `hopper`. An empty architecture stands for all of the vendor. */
  readonly vendor: string;
  readonly architecture: string;
  /** The device that it was measured on, its driver, and when. */
  readonly measured: { readonly device: string; readonly date: string };
  /** Members that are not the default. */
  readonly tuning: TuningChoice;
}

/** Tunings by class of device; the first that fits is taken. Devices without an entry run with the default. */
export const tuningTables: readonly TuningTable[] = [];
