import type { Context } from '../../primitives/context.ts';
import type { Column } from '../../primitives/index.ts';
import { spread } from '../shared/webgpu-memcpy.ts';
import { reduceAgain } from '../shared/webgpu-timing.ts';

/** A measurement of ours, or of a program beside us, which prints such records as lines of JSON. */
export interface Row {
  /** What was done: `chain`, `loop`, `upload`. */
  readonly what: string;
  /** Rows, or words of a transfer. */
  readonly n: number;
  readonly library: string;
  /** What was timed: `in a row`, `a round`. */
  readonly way: string;
  /** Milliseconds: the median, and the least and the greatest. */
  readonly ms: number;
  readonly min: number;
  readonly max: number;
  /** FNV-1a over the words of the result, where there is one. */
  readonly checksum?: number;
  /** Rounds of a loop; loops of other numbers of rounds have other results. */
  readonly rounds?: number;
  /** Bytes of a transfer. */
  readonly bytes?: number;
}

/** What is measured, and how often. */
export interface Bench {
  readonly context: Context;
  /** Powers of two. */
  readonly sizes: readonly number[];
  /** Calls that are made before any of them is waited for. */
  readonly inARow: number;
  /** Rounds of a loop. */
  readonly rounds: number;
  /** Measurements, of which the median is told. */
  readonly times: number;
  /** Words of the largest transfer. */
  readonly transferWords: number;
  /** Raises the clocks of a card that was idle. */
  heat(): Promise<void>;
  record(row: Row): void;
}

export type Milliseconds = Pick<Row, 'ms' | 'min' | 'max'>;

const WARM_UP_MS = 250;
const HEAT_MS = 250;
const HEATED_ROWS = 2 ** 27;

/**
 * Milliseconds of some work, which is waited for; what comes before it is not timed. The same is done for a quarter of a second
 * first, so that its code has been compiled.
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

/** The time of one of several. */
export function share({ ms, min, max }: Milliseconds, of: number): Milliseconds {
  return { ms: ms / of, min: min / of, max: max / of };
}

/** Times a call whose result is disposed of: many before they are waited for, and one alone. */
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

/** Keeps a GPU busy for a quarter of a second, as an idle one takes some tenths of a second to raise its clocks. */
export function heater(context: Context, column: (rows: number) => Column<'u32'>): () => Promise<void> {
  let rows: Column<'u32'> | undefined;
  return async () => {
    rows ??= column(HEATED_ROWS);
    for (const end = performance.now() + HEAT_MS; performance.now() < end; await context.sync()) {
      reduceAgain(context, rows, 100);
    }
  };
}
