import type { GpuAdapterInfo } from '../../../primitives/contract/gpu-types.ts';
import { defaultTuning, type Tuning } from './tuning.ts';
import { chosenTuning, type TuningChoice } from './tuning-choice.ts';

/** A tuning that is fast on a class of devices. `quadrille tune` finds and prints such tunings. */
export interface TuningTable {
  /**
   * The class of devices: vendor and architecture of the adapter's info, such as `nvidia` and `hopper`. An empty
   * architecture matches all devices of the vendor.
   */
  readonly vendor: string;
  readonly architecture: string;
  /** The device and driver on which the tuning was measured, and the date. */
  readonly measured: { readonly device: string; readonly date: string };
  /** The members whose values differ from the default. */
  readonly tuning: TuningChoice;
}

/**
 * Tunings by class of device. The first entry that matches a device is used; devices without an entry use the default.
 */
export const tuningTables: readonly TuningTable[] = [
  {
    vendor: 'nvidia',
    architecture: '',
    measured: { device: 'NVIDIA H200, driver 580.159.04', date: '2026-11-22' },
    // The other members keep their defaults: 53 alternative values were measured, and none was more than 2 % faster.
    // Reductions use eight workgroups for each of the card's 132 multiprocessors.
    tuning: { gather: { min: 2 ** 22 }, reduce: { groups: 1056 } },
  },
];

/**
 * The tuning for software adapters of any vendor. On a CPU, barriers are expensive and workgroup memory is no faster
 * than other memory. SwiftShader takes long to compile loops with branches.
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
    lines: { threads: 32, items: 4 },
    histogram: { ownBins: 0 },
    sort: { tile: 2048, tileBy: 'thread', sweep: { on: false } },
  },
};

/**
 * The tuning for a device: the default, changed by the table for the device's class and then by the caller's choices.
 */
export function tuningFor(info: GpuAdapterInfo, wanted: TuningChoice = {}): Tuning {
  const { vendor, architecture, isFallbackAdapter } = info;
  const known = tuningTables.find(
    (table) => table.vendor === vendor && (table.architecture === '' || table.architecture === architecture),
  );
  const device = isFallbackAdapter ? softwareTable : known;
  return chosenTuning(chosenTuning(defaultTuning, device?.tuning ?? {}), wanted);
}
