import type { GpuAdapterInfo } from '../../../primitives/contract/gpu-types.ts';
import { defaultTuning, type Tuning } from './tuning.ts';
import { chosenTuning, type TuningChoice } from './tuning-choice.ts';

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
export const tuningTables: readonly TuningTable[] = [
  {
    vendor: 'nvidia',
    architecture: '',
    measured: { device: 'NVIDIA H200, driver 580.159.04', date: '2026-11-22' },
    // The default was made on this card too: of 53 other values for its members, none took less than 0.98 of the time.
    // Of its 132 multiprocessors each has eight workgroups that reduce.
    tuning: { gather: { min: 2 ** 22 }, reduce: { groups: 1056 } },
  },
];

/**
 * Adapters that run on a CPU, whoever made them: threads that wait for each other are dear there, all memory is cached alike,
 * and SwiftShader's compiler is slow with loops that hold branches.
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

/** The tuning of a device, with what the caller wants otherwise. */
export function tuningFor(info: GpuAdapterInfo, wanted: TuningChoice = {}): Tuning {
  const { vendor, architecture, isFallbackAdapter } = info;
  const known = tuningTables.find(
    (table) => table.vendor === vendor && (table.architecture === '' || table.architecture === architecture),
  );
  const device = isFallbackAdapter ? softwareTable : known;
  return chosenTuning(chosenTuning(defaultTuning, device?.tuning ?? {}), wanted);
}
