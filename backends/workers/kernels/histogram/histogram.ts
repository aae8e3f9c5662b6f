import type { HistogramCommand } from '../../../../primitives/contract/backend.ts';
import {
  argumentWords,
  CHUNK,
  emitChunk,
  emitInputs,
  emitOwnWord,
  type KernelInputs,
  type KernelShape,
  kernelParameters,
  type Layout,
  layoutOf,
  lengthWords,
  ownWord,
  resultsOf,
  shapeKey,
  WORKER,
} from '../../commands/kernel-arguments.ts';
import { chunkSizeOf, fixedPhase, type Launch, type Launcher, type Phase } from '../../commands/launch.ts';
import { inlineEntry } from '../../wasm/emit-wasm.ts';
import { emitIndexLoop, emitParts } from '../../wasm/index-loop.ts';
import { Code } from '../../wasm/wasm-code.ts';
import { type FunctionBody, I32 } from '../../wasm/wasm-encoder.ts';
import { type Int32, load } from '../../wasm/wasm-expressions.ts';
import { asInt32, type Int32Local } from '../../wasm/wasm-locals.ts';
import { fillMemory, forRange, lower, store, when } from '../../wasm/wasm-statements.ts';
import { releaseAll } from '../shared/monoid-code.ts';
import { planRow } from './row-plan.ts';
import { NOTED_ROWS, type NotedRow, rowCounter, rowCounterBytes } from './row-tally.ts';
import { emitRanks, emitTallies, type TallyTable } from './tally.ts';
import { TURNS, takesRowTurns, takesTurns } from './turn-tables.ts';

/**
 * Index of the kernel-specific argument word that holds the address of the result. The next constants are the indices
 * of further words.
 */
const INTO = 0;
const BINS = 1;
/**
 * Index of the word with the number of histograms in the result. In a segmented command, every segment (range of
 * elements) has one histogram.
 */
const RUNS = 2;
const SEGMENT = 3;
const RANKS = 4;
/**
 * Index of the first of three words that describe the tables to count into: the address of the first table, the number
 * of bytes from one worker's first table to the next worker's first table, and the total number of tables.
 */
const TABLES = 5;
const STRIDE = 6;
const TABLE_COUNT = 7;
/**
 * Index of the first of two words that describe the workers' private memory for counting rows: the address of worker
 * 0's memory, and the number of bytes per worker.
 */
const ROWS = 8;
const ROW_STRIDE = 9;
/** Index of the word with the number of bytes per table. A worker may have several tables, one after another. */
const TURN = 10;
const WORDS = 11;

/** Number of table words per chunk in the phases that clear tables or add them up. */
const TABLE_CHUNK = 16384;

/**
 * Estimated factor by which a shared table becomes cheaper if each worker first counts rows in private tables that it
 * uses in turn (see `turn-tables.ts`).
 */
const ROW_SHARING = 64;

/** Maximum total size of the private tables of all workers, in bytes. */
const PRIVATE_BYTES = 2 ** 26;

/** Launches a histogram. A command with segments counts each segment separately. */
export function launchHistogram(launcher: Launcher, command: HistogramCommand): Launch {
  return command.segment === undefined ? launchTables(launcher, command) : launchSegments(launcher, command);
}

/** Launches a histogram of each segment. One worker counts a whole segment, directly into the result. */
function launchSegments(launcher: Launcher, { extent, program, bins, segment = 1, into }: HistogramCommand): Launch {
  const shape: KernelShape = { programs: [program], stores: [], words: WORDS };
  const layout = layoutOf(shape.programs);
  const kernel = launcher.compile(`segments ${shapeKey(shape, layout)}`, () => [emitSegments(shape, layout)]);
  const length = lengthWords(extent, launcher.addresses);
  const runs = Math.ceil(length[2] / segment);
  const chunkSize = Math.max(1, Math.floor(chunkSizeOf(length[2], launcher.workers) / segment));
  const target = launcher.addresses.of(into, bins * runs);
  const own = [target, bins, runs, segment, 1, target, 0, 1, 0, 0, 0];
  return {
    words: argumentWords(shape, layout, launcher.addresses, length, chunkSize, own),
    phases: [{ run: kernel.functions[0]!, length: [0, 0, runs], chunkSize, minimum: 0 }],
  };
}

/**
 * Launches a histogram with one table, or with several tables that are added up.
 *
 * Each worker counts into a private table. If the table is small, the worker has {@link TURNS} private tables and uses
 * them in turn. At the end, all tables are added up. If private tables would be too large, or would have more words
 * than there are elements, all workers add atomically to one shared table instead.
 */
function launchTables(launcher: Launcher, command: HistogramCommand): Launch {
  const { extent, program, bins, histograms, inner, into } = command;
  const programs = inner === undefined ? [program] : [program, inner.row];
  const shape: KernelShape = { programs, stores: [], words: WORDS };
  const layout = layoutOf(programs);
  const length = lengthWords(extent, launcher.addresses);
  const ranks = inner?.ranks ?? 1;
  const runs = histograms ?? 1;
  const words = bins * runs;
  const turning = inner === undefined ? takesTurns(bins) : takesRowTurns(bins);
  // Rows are first counted in turn tables (private tables used in turn). These are added to a shared table only when
  // the next row is counted in another histogram, and at the end of a chunk. Sharing a table therefore costs little.
  const sharing = inner !== undefined && turning ? ROW_SHARING : 1;
  const worthwhile = worthTables(words, launcher.workers, (length[2] * ranks) / sharing);
  const tables = launcher.workers > 1 && worthwhile ? launcher.workers : 1;
  const shared = tables < launcher.workers;
  const inTurn = histograms === undefined && inner === undefined && !shared && turning;
  const turns = inTurn && worthTables(words * TURNS, tables, length[2]) ? TURNS : 1;
  const tableCount = tables * turns;
  const many = histograms !== undefined;
  const counting: Counting = { shape, layout, shared, turning, turns, many, ranks: inner?.ranks };
  const kind = `${many} ${inner && ranks <= 32} ${shared} ${turning} ${turns}`;
  const kernel = launcher.compile(`histogram ${kind} ${shapeKey(shape, layout)}`, () => [
    emitClear(),
    emitClearRows(),
    emitCounting(counting),
    emitMerge(),
  ]);
  const [clear, clearRows, count, merge] = kernel.functions as readonly [number, number, number, number];
  const target = launcher.addresses.of(into, words);
  const first = tableCount === 1 ? target : launcher.scratch(4 * words * tableCount);
  const rowBytes = inner === undefined ? 0 : rowCounterBytes(bins, resultsOf(inner.row).length - 1);
  const rowTables = inner === undefined ? 0 : launcher.scratch(launcher.workers * rowBytes);
  const stride = tables === 1 ? 0 : 4 * words * turns;
  const own = [target, bins, runs, 0, ranks, first, stride, tableCount, rowTables, rowBytes, 4 * words];
  const rows = Math.max(1, Math.ceil(chunkSizeOf(length[2] * ranks, launcher.workers) / ranks));
  const over = (run: number, size: number): Phase => ({
    run,
    length: [0, 0, size],
    chunkSize: TABLE_CHUNK,
    minimum: 0,
  });
  const phases = [over(clear, words * tableCount)];
  if (rowBytes > 0) phases.push(fixedPhase(clearRows, launcher.workers));
  phases.push({ run: count, length, chunkSize: rows, minimum: 0 });
  if (tableCount > 1) phases.push(over(merge, words));
  return { words: argumentWords(shape, layout, launcher.addresses, length, rows, own), phases };
}

function worthTables(words: number, workers: number, elements: number): boolean {
  return 4 * words * workers <= PRIVATE_BYTES && words * workers <= Math.max(TABLE_CHUNK, elements);
}

/** The properties of the command that the code of the counting kernel depends on. */
interface Counting {
  readonly shape: KernelShape;
  readonly layout: Layout;
  readonly shared: boolean;
  /** Whether workers count rows in turn tables (private tables used in turn); see {@link takesTurns}. */
  readonly turning: boolean;
  /** Number of tables per worker. */
  readonly turns: number;
  /** Whether the command has several histograms and the program selects one of them for each element. */
  readonly many: boolean;
  /**
   * Number of elements per row; undefined if the elements are not grouped in rows. The position of an element in its
   * row is its rank.
   */
  readonly ranks: number | undefined;
}

function emitCounting(counting: Counting): FunctionBody {
  const { shape, layout, shared, turns, many, ranks } = counting;
  const code = new Code(kernelParameters);
  const inputs = emitInputs(code, shape, layout, []);
  const address = emitTableOf(code, TABLES, STRIDE);
  const bins = emitOwnWord(code, BINS);
  const turn = turns > 1 ? emitOwnWord(code, TURN) : undefined;
  const table: TallyTable = { address, bins, runs: many ? emitOwnWord(code, RUNS) : undefined, shared, turn };
  const { from, to } = emitChunk(code, inputs.extent);
  if (ranks !== undefined) emitRowTallies(code, counting, inputs, table, from, to);
  else emitTallies(code, shape, layout, inputs, table, from, to);
  return code.finish();
}

/** The address of the worker's table or private memory, as a local. With a stride of 0, all workers share one table. */
function emitTableOf(code: Code, first: number, stride: number): Int32 {
  const address = emitOwnWord(code, first);
  address.set(address.add(WORKER.mul(ownWord(stride))));
  return address;
}

/**
 * Emits code that counts the elements of each active row, that is, of each row for which the program `row` returns true
 * as its first result. Values that do not depend on the rank (position in the row) are computed once per row.
 */
function emitRowTallies(
  code: Code,
  { shape, layout, turning, ranks: capacity }: Counting,
  inputs: KernelInputs,
  table: TallyTable,
  from: Int32Local,
  to: Int32,
): void {
  const ranks = emitOwnWord(code, RANKS);
  const first = code.local(I32);
  first.set(0);
  const countSlowly = (row: NotedRow): void => emitRanks(code, shape, layout, inputs, table, { ...row, first, ranks });
  const forActive = (start: Int32, end: Int32, body: (row: NotedRow) => void): void => {
    const index = code.local(I32);
    emitIndexLoop(code, {
      from: start,
      to: end,
      index,
      scalar: () => {
        const [active, ...leaves] = inlineEntry(code, inputs.environments[1]!, [index]);
        when(code, asInt32(active!), () => body({ index, leaves }));
        releaseAll(code, [active!, ...leaves]);
      },
    });
    code.release(index);
  };
  const plan = table.runs === undefined ? undefined : planRow(shape, layout, capacity!);
  if (plan === undefined) {
    forActive(from, to, countSlowly);
    return;
  }
  const own = emitTableOf(code, ROWS, ROW_STRIDE);
  const counter = rowCounter(code, { inputs, plan, table, ranks, own, turning });
  counter.begin();
  const end = code.local(I32);
  emitParts(code, from, to, NOTED_ROWS, (count) => {
    end.set(from.add(count));
    counter.beginBatch();
    forActive(from, end, counter.note);
    counter.countNoted(countSlowly);
  });
  code.release(end);
  counter.end();
}

function emitSegments(shape: KernelShape, layout: Layout): FunctionBody {
  const code = new Code(kernelParameters);
  const inputs = emitInputs(code, shape, layout, []);
  const into = emitOwnWord(code, INTO);
  const bins = emitOwnWord(code, BINS);
  const segment = emitOwnWord(code, SEGMENT);
  const runs = emitChunk(code, emitOwnWord(code, RUNS));
  const run = code.local(I32);
  const from = code.local(I32);
  const to = code.local(I32);
  const address = code.local(I32);
  const table: TallyTable = { address, bins, runs: undefined, shared: false };
  emitIndexLoop(code, {
    ...runs,
    index: run,
    scalar: () => {
      fillMemory(code, address.tee(into.add(run.mul(bins).shl(2))), 0, bins.shl(2));
      from.set(run.mul(segment));
      lower(code, from, inputs.extent);
      to.set(inputs.extent.sub(from));
      lower(code, to, segment);
      to.set(from.add(to));
      emitTallies(code, shape, layout, inputs, table, from, to);
    },
  });
  return code.finish();
}

/**
 * The part of an array of `words` words that the current chunk processes: its offset in bytes and its number of words,
 * as locals.
 */
function emitPart(code: Code, words: Int32): { readonly offset: Int32Local; readonly count: Int32 } {
  const offset = code.local(I32);
  const count = code.local(I32);
  offset.set(CHUNK.mul(TABLE_CHUNK));
  count.set(words.sub(offset));
  lower(code, count, TABLE_CHUNK);
  offset.set(offset.shl(2));
  return { offset, count };
}

const TABLE_WORDS = ownWord(BINS).mul(ownWord(RUNS));

function emitClear(): FunctionBody {
  const code = new Code(kernelParameters);
  const { offset, count } = emitPart(code, TABLE_WORDS.mul(ownWord(TABLE_COUNT)));
  fillMemory(code, ownWord(TABLES).add(offset), 0, count.shl(2));
  return code.finish();
}

/** Emits the function that clears the private memory for counting rows, one worker's memory per chunk. */
function emitClearRows(): FunctionBody {
  const code = new Code(kernelParameters);
  fillMemory(code, ownWord(ROWS).add(CHUNK.mul(ownWord(ROW_STRIDE))), 0, ownWord(ROW_STRIDE));
  return code.finish();
}

/** Emits the function that adds up all tables, bin by bin, and writes the sums to the result. */
function emitMerge(): FunctionBody {
  const code = new Code(kernelParameters);
  const { offset, count } = emitPart(code, TABLE_WORDS);
  const into = emitOwnWord(code, INTO);
  const first = emitOwnWord(code, TABLES);
  const stride = emitOwnWord(code, TURN);
  const tables = emitOwnWord(code, TABLE_COUNT);
  const table = code.local(I32);
  const sum = code.local(I32);
  forRange(code, count, () => {
    table.set(first.add(offset));
    sum.set(0);
    forRange(code, tables, () => {
      sum.set(sum.add(load(table)));
      table.set(table.add(stride));
    });
    store(code, into.add(offset), sum);
    offset.set(offset.add(4));
  });
  return code.finish();
}
