import type { ForEachCommand, Program, WalkCommand } from '../../primitives/contract/backend.ts';
import { storesAlone } from '../analyses/store-alone.ts';
import { forEachOnHost } from './on-host.ts';
import { isShortage } from './shortage.ts';
import { planWindows, type WindowMachine } from './windows.ts';

/** Runs a `forEach` command window by window (one range of indices after the other). */
export async function forEachInWindows(machine: WindowMachine, command: ForEachCommand): Promise<void> {
  const { extent, program, stores } = command;
  const windowing = await planWindows(machine, { extent, programs: [program], stores });
  await windowing.run((window) => {
    const [values] = window.programs() as [Program];
    machine.inner.run({ kind: 'forEach', extent: window.rows, program: values, stores: window.stores });
  });
}

/**
 * Runs a `forEach` command whose windows (ranges of indices) do not fit in memory. Runs a separate program for each
 * store, which reads only the arrays that this store needs. The host executes the stores whose programs still do not
 * fit.
 */
export async function forEachOneByOne(machine: WindowMachine, command: ForEachCommand): Promise<void> {
  const alone = storesAlone(command.program, command.stores);
  if (alone === undefined) return forEachOnHost(machine, command);
  for (const { program, store } of alone) {
    const each: ForEachCommand = { ...command, program, stores: [store] };
    try {
      await forEachInWindows(machine, each);
    } catch (error) {
      if (!isShortage(error)) throw error;
      await forEachOnHost(machine, each);
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
    machine.inner.run({ kind: 'walk', extent: window.rows, start: first, step: next, changing, stores: window.stores });
  });
}
