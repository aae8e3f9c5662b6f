import type { Context } from '../../primitives/context/context.ts';
import type { Column } from '../../primitives/index.ts';
import { spreadOf } from '../shared/measuring.ts';
import { reduceAgain } from '../shared/webgpu-timing.ts';

/** One measurement of this library or of a peer. A peer prints each measurement as one line of JSON. */
export interface Row {
  /** The measured work, such as `chain`, `loop` or `upload`. */
  readonly what: string;
  /** Number of rows; for a transfer, number of 32-bit words. */
  readonly n: number;
  readonly library: string;
  /**
   * How the work was timed, such as `in a row` (many calls, one wait at the end) or `a round` (one round of a loop).
   */
  readonly way: string;
  /** Milliseconds: median, minimum and maximum. */
  readonly ms: number;
  readonly min: number;
  readonly max: number;
  /** FNV-1a checksum over the words of the result; undefined for work without a result. */
  readonly checksum?: number;
  /** Number of rounds of a loop. Only loops with equally many rounds have comparable checksums. */
  readonly rounds?: number;
  /** Bytes of a transfer. */
  readonly bytes?: number;
}

/** Settings of a run, and the function that receives its measurements. */
export interface Bench {
  readonly context: Context;
  /** Powers of two. */
  readonly sizes: readonly number[];
  /** Number of calls that are issued before the caller waits for their results. */
  readonly inARow: number;
  /** Rounds of a loop. */
  readonly rounds: number;
  /** Number of measurements; their median is reported. */
  readonly times: number;
  /** Length of the largest transfer, in 32-bit words. */
  readonly transferWords: number;
  /** Keeps an idle GPU busy for a quarter of a second, so that it raises its clock frequency. */
  heat(): Promise<void>;
  record(row: Row): void;
}

export type Milliseconds = Pick<Row, 'ms' | 'min' | 'max'>;

const WARM_UP_MS = 250;
const HEAT_MS = 250;
const HEATED_ROWS = 2 ** 27;

/**
 * Times `work` until it is done, in milliseconds; `before` runs before each measurement and is not timed. The
 * measurements of the first quarter of a second are discarded, because code is still being compiled.
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
  const { median, min, max } = spreadOf(taken);
  return { ms: median, min, max };
}

/** Divides a time by the number of equal parts that it covers. */
export function share({ ms, min, max }: Milliseconds, of: number): Milliseconds {
  return { ms: ms / of, min: min / of, max: max / of };
}

/**
 * Times a call in two ways: many calls followed by one wait for all results, and a single call with its own wait.
 * Results are freed.
 */
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
  record({ ...row, way: 'alone, until done', ...(await timesOf(bench, () => calls(1))) });
}

/**
 * Returns a function that keeps a GPU busy for a quarter of a second: an idle GPU needs some tenths of a second to
 * raise its clock frequency.
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
