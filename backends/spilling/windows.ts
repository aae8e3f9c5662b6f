import type { Backend, DeviceBuffer, Program, Store } from '../../primitives/contract/backend.ts';
import { entryOf } from '../../primitives/ir/ir.ts';
import { type Analysis, analyse, type WindowedCommand } from './analysis.ts';
import { createHostStores, type HostStores } from './host-stores.ts';
import { wordReaderOf } from './lengths.ts';
import { bindProgram, findPieces, upload, type WindowUploads, wordsOf } from './pieces.ts';
import { type BufferPlaces, bytesOf } from './places.ts';
import { type Residence, settle, tooMuchAtRandom } from './residence.ts';
import { isShortage, isWantOfBindings } from './shortage.ts';

/** The backend, buffers and limits with which commands run in windows. */
export interface WindowMachine {
  readonly inner: Backend;
  readonly places: BufferPlaces;
  /** Maximum number of rows of a window (range of indices), even if memory allows more. */
  readonly maxRows: number;
  /** Whether all buffers that the windows do not need must leave the device. */
  readonly thrifty: boolean;
  /** Maximum time in milliseconds that the host may evaluate one row. */
  readonly hangLimit: number | undefined;
}

/** A window that is being processed: a range of the command's indices. */
export interface RowWindow {
  readonly from: number;
  readonly rows: number;
  /**
   * The command's programs, bound for the indices `from` (inclusive) to `to` (exclusive) of the command. By default,
   * these are all indices of the window.
   */
  programs(from?: number, to?: number): Program[];
  readonly stores: readonly Store[];
  /** Allocates a buffer for the duration of the window. */
  take(words: number): DeviceBuffer;
}

/** A command that is ready to run window by window (one range of indices after the other). */
export interface Windowing {
  /** Number of indices of the command. */
  readonly length: number;
  /** Maximum number of rows of a window (range of indices). */
  readonly rows: number;
  /**
   * Calls `body` for windows that together cover all indices. If the inner backend runs out of memory, a window is
   * repeated with fewer rows.
   */
  run(body: (window: RowWindow) => void | Promise<void>): Promise<void>;
}

/** Minimum number of rows of a planned window. Shorter windows would hardly save memory. */
const MIN_ROWS = 64;
/** Share of the free device memory that a window may fill. The inner backend's commands need the rest. */
const FILL = 0.75;

/** The decisions of {@link planWindows} for a command. */
interface WindowsPlan {
  readonly analysis: Analysis;
  readonly residence: Residence;
  readonly hostStores: HostStores;
  readonly multiple: number;
  readonly min: number;
  readonly scratch: number;
}

/** Plans how a command runs in windows (ranges of indices), and frees the device memory that the windows need. */
export async function planWindows(machine: WindowMachine, command: WindowedCommand): Promise<Windowing> {
  const { places, inner, maxRows } = machine;
  const { multiple = 1, scratch = 0 } = command;
  const min = multiple * Math.ceil(Math.min(maxRows, MIN_ROWS) / multiple);
  const reader = wordReaderOf(inner, places);
  const analysis = await analyse(reader, command, min, places.memoryBytes);
  const { results } = entryOf(analysis.programs.at(-1)!.module);
  const planFor = async (onlyNeeded: boolean): Promise<WindowsPlan> => {
    const residence = await settle(places, analysis, command, onlyNeeded);
    const hostStores = createHostStores(residence.hostStores, results.length);
    return { analysis, residence, hostStores, multiple, min, scratch };
  };
  let plan = await planFor(machine.thrifty);
  // If the buffers on the device leave no room for the shortest window, only the needed buffers stay on the device.
  const smallest = largestWindow(plan, min);
  const left = places.memoryBytes - bytesOf(plan.residence.inPlace);
  if (smallest > FILL * left) {
    if (!machine.thrifty) plan = await planFor(true);
    const needed = bytesOf(plan.residence.inPlace) + largestWindow(plan, min);
    if (needed > places.memoryBytes) throw tooMuchAtRandom(places, analysis, needed);
  }
  const rows = await fittingRows(machine, plan);
  return { length: analysis.length, rows, run: (body) => runAll(machine, plan, rows, body) };
}

/**
 * Chooses the number of rows of a window (range of indices). First spills buffers until all rows of the command fit,
 * but frees at most half of the device memory. Then halves the window until it fits in the free memory.
 */
async function fittingRows({ places, maxRows }: WindowMachine, plan: WindowsPlan): Promise<number> {
  const { multiple, min, residence, analysis } = plan;
  await places.makeRoom(
    Math.min(places.memoryBytes / 2, largestWindow(plan, analysis.length) / FILL),
    residence.inPlace,
  );
  let rows = multiple * Math.max(1, Math.ceil(Math.min(analysis.length, maxRows) / multiple));
  while (rows > min && largestWindow(plan, rows) > FILL * places.room()) rows = halved(rows, plan);
  return rows;
}

function halved(rows: number, { multiple }: WindowsPlan): number {
  return multiple * Math.max(1, Math.floor(rows / 2 / multiple));
}

/**
 * Bytes of device memory for a window (range of indices) with `rows` rows: the maximum over the first, a middle and the
 * last window.
 */
function largestWindow({ analysis, residence, hostStores, scratch }: WindowsPlan, rows: number): number {
  const { length, programs } = analysis;
  const bytesFrom = (from: number): number => {
    const to = Math.min(length, from + rows);
    const words = wordsOf(findPieces(programs, residence.inPlace, from, to));
    return 4 * (words + (to - from) * (hostStores.columns + scratch));
  };
  const last = Math.max(0, length - rows);
  return Math.max(bytesFrom(0), bytesFrom(Math.floor(last / 2)), bytesFrom(last));
}

async function runAll(
  machine: WindowMachine,
  plan: WindowsPlan,
  rows: number,
  body: (window: RowWindow) => void | Promise<void>,
): Promise<void> {
  const { counters } = machine.inner;
  const { analysis, residence, multiple } = plan;
  const combines = residence.deviceStores.some(({ combine }) => combine !== undefined);
  let max = rows;
  let from = 0;
  do {
    const to = Math.min(analysis.length, from + max);
    const { dispatches } = counters;
    try {
      await runWindow(machine, plan, from, to, body);
      from = to;
    } catch (error) {
      const combinedSome = combines && counters.dispatches > dispatches;
      // Buffers that stay on the device need as many bindings in a shorter window as in this window, so halving would
      // not help. With `thrifty`, only the needed buffers stay on the device.
      const isLasting = isWantOfBindings(error) && !machine.thrifty;
      if (!isShortage(error) || isLasting || combinedSome || max <= multiple) throw error;
      max = halved(max, plan);
    }
  } while (from < analysis.length);
  residence.finish();
}

async function runWindow(
  { inner, places }: WindowMachine,
  { analysis, residence, hostStores }: WindowsPlan,
  from: number,
  to: number,
  body: (window: RowWindow) => void | Promise<void>,
): Promise<void> {
  const rows = to - from;
  const taken: DeviceBuffer[] = [];
  const take = (words: number): DeviceBuffer => {
    const buffer = inner.allocate(Math.max(1, words));
    taken.push(buffer);
    return buffer;
  };
  try {
    const pieces = findPieces(analysis.programs, residence.inPlace, from, to);
    const uploads = upload(inner, places, pieces, take);
    const words = rows * hostStores.columns;
    const columns = take(words);
    await body({
      from,
      rows,
      take,
      programs: (first = from, end = to) => bindAll(analysis, residence, hostStores, uploads, first, end),
      stores: [
        ...residence.deviceStores.map((store) => storeFrom(store, from, rows)),
        ...hostStores.stores(columns, rows),
      ],
    });
    if (words === 0) await inner.sync();
    else hostStores.apply(await inner.read(columns, 0, words), from, rows);
    places.report.spilledBytes += 4 * words;
    places.report.windows++;
  } finally {
    for (const buffer of taken) inner.release(buffer);
  }
}

function bindAll(
  { programs }: Analysis,
  { inPlace }: Residence,
  hostStores: HostStores,
  uploads: WindowUploads,
  from: number,
  to: number,
): Program[] {
  return programs.map((each) => {
    const { program, window } = bindProgram(each, uploads, inPlace, from, to);
    const stores = each === programs.at(-1);
    return stores ? { ...program, module: hostStores.module(program.module, window.start) } : program;
  });
}

/** The part of a store for the `rows` rows from index `from` on. */
function storeFrom(store: Store, from: number, rows: number): Store {
  if (store.index !== undefined) return store;
  return { ...store, offset: store.offset + from, capacity: Math.min(rows, Math.max(0, store.capacity - from)) };
}
