import type { Cell, DeviceBuffer, Program, SortCommand } from '../../primitives/contract/backend.ts';
import { leavesProgram } from './leaves.ts';
import type { Spillable } from './places.ts';
import { type SortedRun, splitsAt } from './run-splits.ts';
import { isShortage } from './shortage.ts';
import { planWindows, type WindowMachine } from './windows.ts';

/**
 * Sorts in two passes. The first pass sorts each window (range of rows) on the device and keeps the sorted windows in
 * host memory. The second pass produces tiles (ranges of ranks) of the result: a binary search finds each window's rows
 * of the tile, and a stable sort on the device merges them. All data goes to the device and back at most twice,
 * whatever the number of windows.
 *
 * The search for the ranks follows Varman et al., Merging multiple lists on hierarchical-memory multiprocessors, 1991.
 */
export async function sortInWindows(machine: WindowMachine, command: SortCommand): Promise<void> {
  const { places } = machine;
  const windowing = await planWindows(machine, { extent: command.extent, programs: [command.program], scratch: 5 });
  const runs: SortedRun[] = [];
  await windowing.run(async ({ rows, programs, take }) => {
    const [program] = programs() as [Program];
    runs.push(await sortRows(machine, command, program, rows, take));
  });
  const targets = [command.keys, command.payload].filter((cell) => cell !== undefined);
  for (const { buffer } of targets) await places.copyToHost(buffer as Spillable);
  await mergeRuns(machine, command, runs, windowing.length, windowing.rows);
  for (const { buffer } of targets) places.keepOnHost(buffer as Spillable, places.hostOf(buffer as Spillable));
}

/** Sorts the rows of one window (range of rows) on the device and downloads them. */
async function sortRows(
  { inner, places }: WindowMachine,
  { beginBit, endBit, payload }: SortCommand,
  program: Program,
  rows: number,
  take: (words: number) => DeviceBuffer,
): Promise<SortedRun> {
  const cell = (): Cell => ({ buffer: take(rows), word: 0 });
  const sorted = { keys: cell(), payload: payload && cell() };
  inner.run({ kind: 'sort', extent: rows, program, beginBit, endBit, ...sorted });
  const [keys, values] = await Promise.all(
    [sorted.keys, sorted.payload].map((each) => each && inner.read(each.buffer, 0, rows)),
  );
  places.report.spilledBytes += 4 * rows * (payload === undefined ? 1 : 2);
  return { keys: keys!, payload: values };
}

async function mergeRuns(
  machine: WindowMachine,
  command: SortCommand,
  runs: readonly SortedRun[],
  length: number,
  tile: number,
): Promise<void> {
  const { beginBit, endBit } = command;
  const digit = digitOf(beginBit, endBit);
  let rows = tile;
  let before = runs.map(() => 0);
  for (let from = 0; from < length; ) {
    const to = Math.min(length, from + rows);
    const splits = splitsAt(runs, digit, to);
    try {
      const merged =
        runs.length === 1
          ? cut(runs[0]!, before[0]!, splits[0]!)
          : await mergeTile(machine, command, runs, before, splits);
      keep(machine, command.keys, from, merged.keys);
      keep(machine, command.payload, from, merged.payload);
      before = splits;
      from = to;
    } catch (error) {
      if (!isShortage(error) || rows === 1) throw error;
      rows = Math.ceil(rows / 2);
    }
  }
}

function cut({ keys, payload }: SortedRun, from: number, to: number): SortedRun {
  return { keys: keys.subarray(from, to), payload: payload?.subarray(from, to) };
}

/**
 * Merges rows `from` to `to` of each run (sorted window) with a stable sort. Rows are uploaded run by run, so that
 * equal keys keep the order of the runs.
 */
async function mergeTile(
  machine: WindowMachine,
  command: SortCommand,
  runs: readonly SortedRun[],
  from: readonly number[],
  to: readonly number[],
): Promise<SortedRun> {
  const { inner, places } = machine;
  const rows = to.reduce((sum, end, run) => sum + end - from[run]!, 0);
  const columns = command.payload === undefined ? 1 : 2;
  const taken: DeviceBuffer[] = [];
  const take = (words: number): DeviceBuffer => {
    const buffer = inner.allocate(words);
    taken.push(buffer);
    return buffer;
  };
  try {
    const buffer = take(rows * columns);
    let at = 0;
    for (const [number, run] of runs.entries()) {
      const { keys, payload } = cut(run, from[number]!, to[number]!);
      if (keys.length === 0) continue;
      inner.write(buffer, at, keys);
      if (payload !== undefined) inner.write(buffer, rows + at, payload);
      at += keys.length;
    }
    places.report.restoredBytes += 4 * rows * columns;
    places.report.windows++;
    const types = columns === 1 ? (['u32'] as const) : (['u32', 'u32'] as const);
    return await sortRows(machine, command, leavesProgram({ buffer, types, stride: rows }, rows), rows, take);
  } finally {
    for (const each of taken) inner.release(each);
  }
}

function keep({ places }: WindowMachine, cell: Cell | undefined, from: number, words: Uint32Array | undefined): void {
  if (cell !== undefined) places.hostOf(cell.buffer as Spillable).write(cell.word + from, words!);
}

/** Returns a function that extracts bits `beginBit` … `endBit` − 1 of a key, by which rows are sorted. */
function digitOf(beginBit: number, endBit: number): (key: number) => number {
  const bits = endBit - beginBit;
  if (bits === 0) return () => 0;
  const mask = bits >= 32 ? 0xffffffff : 2 ** bits - 1;
  return (key) => ((key >>> beginBit) & mask) >>> 0;
}
