import type { GpuAdapterInfo } from '../../../primitives/contract/gpu-types.ts';
import { defaultTuning, type Tuning } from './tuning.ts';
import { chosenTuning, type TuningChoice } from './tuning-choice.ts';

/** A tuning that is fast on a class of devices, as found and printed by `quadrille tune`. */
export interface TuningTable {
  /** The adapter's info, such as `nvidia` and `hopper`. An empty architecture matches all of the vendor's devices. */
  readonly vendor: string;
  readonly architecture: string;
  /** The device that it was measured on, its driver, and the date. */
  readonly measured: { readonly device: string; readonly date: string };
  /** The members that differ from the default. */
  readonly tuning: TuningChoice;
}

/** Tunings by class of device; the first match is used. Devices without an entry use the default. */
export const tuningTables: readonly TuningTable[] = [
  {
    vendor: 'nvidia',
    architecture: '',
    measured: { device: 'NVIDIA H200, driver 580.159.04', date: '2026-11-22' },
    // The default was measured on this card too: none of 53 other values for its members took less than 0.98 of the
    // time. The card has 132 multiprocessors; reductions use eight workgroups for each.
    tuning: { gather: { min: 2 ** 22 }, reduce: { groups: 1056 } },
  },
];

/**
 * For software adapters of any vendor. On a CPU, threads that wait for each other are expensive, all memory is cached
 * alike, and SwiftShader's compiler is slow on loops with branches.
 */
const softwareTable: TuningTable = {
  vendor: 'google',
  architecture: 'swiftshader',
  measured: { device: 'SwiftShader driver 5.0.0 on two cores of an AMD EPYC', date: '2026-11-22' },
  tuning: {
    forEach: { threads: 64, items: 1 },
    blockBy: 'thread',
    scatter: { min: 2 ** 32 },
    walkRows: 64,
    scan: { lookBack: false },
    histogram: { ownBins: 0 },
    sort: { tile: 2048, tileBy: 'thread', sweep: { on: false } },
  },
};

/** The tuning of a device, with the caller's choices. */
export function tuningFor(info: GpuAdapterInfo, wanted: TuningChoice = {}): Tuning {
  const { vendor, architecture, isFallbackAdapter } = info;
  const known = tuningTables.find(
    (table) => table.vendor === vendor && (table.architecture === '' || table.architecture === architecture),
  );
  const device = isFallbackAdapter ? softwareTable : known;
  return chosenTuning(chosenTuning(defaultTuning, device?.tuning ?? {}), wanted);
}
