import type { Extent, Program, Store, WalkCommand } from '../../primitives/contract/backend.ts';
import { storesAlone } from '../../primitives/store-alone.ts';
import { forEachOnHost } from './on-host.ts';
import { isShortage } from './shortage.ts';
import { planWindows, type WindowMachine } from './windows.ts';

/** Runs a `forEach` command window by window (one range of indices after the other). */
export async function forEachInWindows(
  machine: WindowMachine,
  extent: Extent,
  program: Program,
  stores: readonly Store[],
): Promise<void> {
  const windowing = await planWindows(machine, { extent, programs: [program], stores });
  await windowing.run((window) => {
    const [values] = window.programs() as [Program];
    machine.inner.forEach(window.rows, values, window.stores);
  });
}

/**
 * Runs a `forEach` command whose windows (ranges of indices) do not fit in memory. Runs a separate program for each
 * store, which reads only the arrays that this store needs. The host executes the stores whose programs still do not
 * fit.
 */
export async function forEachOneByOne(
  machine: WindowMachine,
  extent: Extent,
  program: Program,
  stores: readonly Store[],
): Promise<void> {
  const alone = storesAlone(program, stores);
  if (alone === undefined) return forEachOnHost(machine, extent, program, stores);
  for (const each of alone) {
    try {
      await forEachInWindows(machine, extent, each.program, [each.store]);
    } catch (error) {
      if (!isShortage(error)) throw error;
      await forEachOnHost(machine, extent, each.program, [each.store]);
    }
  }
}

/**
 * Runs a walk (a sequence of steps for each index) window by window (one range of indices after the other). The number
 * of stores per index is unknown, so the buffers that the walk stores to must be on the device.
 */
export async function walkInWindows(machine: WindowMachine, command: WalkCommand): Promise<void> {
  const { extent, start, step, changing, stores } = command;
  const windowing = await planWindows(machine, { extent, programs: [start, step], stores, storesToHost: false });
  await windowing.run((window) => {
    const [first, next] = window.programs() as [Program, Program];
    machine.inner.walk({ extent: window.rows, start: first, step: next, changing, stores: window.stores });
  });
}
