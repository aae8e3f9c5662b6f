import type { Context } from '../../primitives/context.ts';
import type { Column } from '../../primitives/index.ts';
import { spread } from '../shared/webgpu-memcpy.ts';
import { reduceAgain } from '../shared/webgpu-timing.ts';

/** A measurement of this library or of a peer. Peers print such records as lines of JSON. */
export interface Row {
  /** What was measured: `chain`, `loop`, `upload`. */
  readonly what: string;
  /** Rows, or words of a transfer. */
  readonly n: number;
  readonly library: string;
  /** How it was timed: `in a row`, `a round`. */
  readonly way: string;
  /** Milliseconds: median, minimum and maximum. */
  readonly ms: number;
  readonly min: number;
  readonly max: number;
  /** FNV-1a over the words of the result, if there is one. */
  readonly checksum?: number;
  /** Rounds of a loop; loops with different numbers of rounds have different results. */
  readonly rounds?: number;
  /** Bytes of a transfer. */
  readonly bytes?: number;
}

/** What to measure, and how often. */
export interface Bench {
  readonly context: Context;
  /** Powers of two. */
  readonly sizes: readonly number[];
  /** Calls made before any of them is awaited. */
  readonly inARow: number;
  /** Rounds of a loop. */
  readonly rounds: number;
  /** Number of measurements, of which the median is reported. */
  readonly times: number;
  /** Words of the largest transfer. */
  readonly transferWords: number;
  /** Keeps an idle GPU busy until its clocks are up. */
  heat(): Promise<void>;
  record(row: Row): void;
}

export type Milliseconds = Pick<Row, 'ms' | 'min' | 'max'>;

const WARM_UP_MS = 250;
const HEAT_MS = 250;
const HEATED_ROWS = 2 ** 27;

/**
 * Milliseconds of awaited work; preparation before each run is not timed. Runs it for a quarter of a second first, so
 * that its code is compiled.
 */
export async function timesOf(
  { context, times, heat }: Bench,
  work: () => unknown,
  before: () => unknown = () => {},
): Promise<Milliseconds> {
  const once = async (): Promise<number> => {
    await before();
    await context.sync();
    const from = performance.now();
    await work();
    return performance.now() - from;
  };
  for (const end = performance.now() + WARM_UP_MS; performance.now() < end; ) await once();
  await heat();
  const taken: number[] = [];
  for (let i = 0; i < times; i++) taken.push(await once());
  const { median, min, max } = spread(taken);
  return { ms: median, min, max };
}

/** The time of one of `of` equal parts. */
export function share({ ms, min, max }: Milliseconds, of: number): Milliseconds {
  return { ms: ms / of, min: min / of, max: max / of };
}

/** Times a call whose result is disposed of: many calls before they are awaited, and single calls. */
export async function timeCalls(
  bench: Bench,
  row: Pick<Row, 'what' | 'n' | 'library' | 'checksum'>,
  call: () => unknown,
): Promise<void> {
  const { context, inARow, record } = bench;
  const calls = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) context.dispose(call());
    await context.sync();
  };
  record({ ...row, way: 'in a row', ...share(await timesOf(bench, () => calls(inARow)), inARow) });
  record({ ...row, way: 'alone, to done', ...(await timesOf(bench, () => calls(1))) });
}

/**
 * Keeps a GPU busy for a quarter of a second, because an idle one takes some tenths of a second to raise its clocks.
 */
export function heater(context: Context, column: (rows: number) => Column<'u32'>): () => Promise<void> {
  let rows: Column<'u32'> | undefined;
  return async () => {
    rows ??= column(HEATED_ROWS);
    for (const end = performance.now() + HEAT_MS; performance.now() < end; await context.sync()) {
      reduceAgain(context, rows, 100);
    }
  };
}
