import type { HistogramCommand } from '../../../../primitives/contract/backend.ts';
import {
  argumentWords,
  beginKernel,
  emitChunk,
  emitOwnWord,
  type KernelInputs,
  type KernelShape,
  lengthWords,
  resultsOf,
  shapeKey,
  shapeOf,
} from '../../commands/kernel-arguments.ts';
import { chunkSizeOf, fixedPhase, type Launch, type Launcher, type Phase } from '../../commands/launch.ts';
import { inlineEntry } from '../../wasm/emit-wasm.ts';
import { emitIndexLoop, emitParts } from '../../wasm/index-loop.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { type FunctionBody, I32 } from '../../wasm/wasm-encoder.ts';
import type { Int32 } from '../../wasm/wasm-expressions.ts';
import { asInt32, type Int32Local } from '../../wasm/wasm-locals.ts';
import { fillMemory, lower, when } from '../../wasm/wasm-statements.ts';
import { releaseAll } from '../shared/monoid-code.ts';
import {
  BINS,
  emitClear,
  emitClearRows,
  emitMerge,
  emitTableOf,
  INTO,
  overTables,
  RANKS,
  ROW_SHARING,
  ROW_STRIDE,
  ROWS,
  RUNS,
  SEGMENT,
  STRIDE,
  TABLES,
  TURN,
  WORDS,
  worthTables,
} from './count-tables.ts';
import { planRow } from './row-plan.ts';
import { NOTED_ROWS, type NotedRow, rowCounter, rowCounterBytes } from './row-tally.ts';
import { addLatest, beginLatest, emitRanks, emitTallies, type TallyTable } from './tally.ts';
import { TURNS, takesRowTurns, takesTurns } from './turn-tables.ts';

/** Launches a histogram. A command with segments counts each segment separately. */
export function launchHistogram(launcher: Launcher, command: HistogramCommand): Launch {
  return command.segment === undefined ? launchTables(launcher, command) : launchSegments(launcher, command);
}

/** Launches a histogram of each segment. One worker counts a whole segment, directly into the result. */
function launchSegments(launcher: Launcher, { extent, program, bins, segment = 1, into }: HistogramCommand): Launch {
  const shape = shapeOf([program], WORDS);
  const kernel = launcher.compile(`segments ${shapeKey(shape)}`, () => [emitSegments(shape)]);
  const length = lengthWords(extent, launcher.addresses);
  const runs = Math.ceil(length[2] / segment);
  const chunkSize = Math.max(1, Math.floor(chunkSizeOf(length[2], launcher.workers) / segment));
  const target = launcher.addresses.of(into, bins * runs);
  const own = [target, bins, runs, segment, 1, target, 0, 1, 0, 0, 0];
  return {
    words: argumentWords(shape, launcher.addresses, length, chunkSize, own),
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
  const shape = shapeOf(programs, WORDS);
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
  const counting: Counting = { shape, shared, turning, turns, many, ranks: inner?.ranks };
  const kind = `${many} ${inner && ranks <= 32} ${shared} ${turning} ${turns}`;
  const kernel = launcher.compile(`histogram ${kind} ${shapeKey(shape)}`, () => [
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
  const phases: Phase[] = [overTables(clear, words * tableCount)];
  if (rowBytes > 0) phases.push(fixedPhase(clearRows, launcher.workers));
  phases.push({ run: count, length, chunkSize: rows, minimum: 0 });
  if (tableCount > 1) phases.push(overTables(merge, words));
  return { words: argumentWords(shape, launcher.addresses, length, rows, own), phases };
}

/** The properties of the command that the code of the counting kernel depends on. */
interface Counting {
  readonly shape: KernelShape;
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
  const { shared, turns, many, ranks } = counting;
  const { code, inputs } = beginKernel(counting.shape);
  const address = emitTableOf(code, TABLES, STRIDE);
  const bins = emitOwnWord(code, BINS);
  const turn = turns > 1 ? emitOwnWord(code, TURN) : undefined;
  const latest = shared ? beginLatest(code) : undefined;
  const runs = many ? emitOwnWord(code, RUNS) : undefined;
  const table: TallyTable = { address, bins, runs, shared, latest, turn };
  const { from, to } = emitChunk(code, inputs.extent);
  if (ranks !== undefined) emitRowTallies(code, counting, inputs, table, from, to);
  else emitTallies(code, inputs, table, from, to);
  if (latest !== undefined) addLatest(code, latest);
  return code.finish();
}

/**
 * Emits code that counts the elements of each active row, that is, of each row for which the program `row` returns true
 * as its first result. Values that do not depend on the rank (position in the row) are computed once per row.
 */
function emitRowTallies(
  code: Code,
  { shape, turning, ranks: capacity }: Counting,
  inputs: KernelInputs,
  table: TallyTable,
  from: Int32Local,
  to: Int32,
): void {
  const ranks = emitOwnWord(code, RANKS);
  const first = code.local(I32);
  first.set(0);
  const countSlowly = (row: NotedRow): void => emitRanks(code, inputs, table, { ...row, first, ranks });
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
  const plan = table.runs === undefined ? undefined : planRow(shape, capacity!);
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

function emitSegments(shape: KernelShape): FunctionBody {
  const { code, inputs } = beginKernel(shape);
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
      emitTallies(code, inputs, table, from, to);
    },
  });
  return code.finish();
}
