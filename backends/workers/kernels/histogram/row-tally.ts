import type { Node } from '../../../analyses/straight-line.ts';
import { type KernelInputs, loadScalar } from '../../commands/kernel-arguments.ts';
import { LaneCode } from '../../wasm/emit-lanes.ts';
import { scalarLocal } from '../../wasm/emit-wasm.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { I32 } from '../../wasm/wasm-encoder.ts';
import { type Int32, i32, load } from '../../wasm/wasm-expressions.ts';
import { asInt32, assign, type Int32Local, type ScalarLocal } from '../../wasm/wasm-locals.ts';
import { block, brIf, doWhile, store, when, whileTrue } from '../../wasm/wasm-statements.ts';
import type { RowPlan } from './row-plan.ts';
import { emitAdd, type TallyTable } from './tally.ts';
import { TURNS, turnBytes, turnTables } from './turn-tables.ts';

/** Rows that are evaluated before they are counted. */
export const NOTED_ROWS = 32;

/** Words of a row's note before its leaves: its index, and whether all its reads are in range. */
const NOTE_INDEX = 0;
const NOTE_SAFE = 1;
const NOTE_LEAVES = 2;

/** Bytes that a worker needs to count rows with `leaves` leaves: notes of rows, and tables. */
export function rowCounterBytes(bins: number, leaves: number): number {
  return noteBytes(leaves) + turnBytes(bins);
}

/** A multiple of the vector size; the last word keeps prefetching loads alive. */
function noteBytes(leaves: number): number {
  return 16 * Math.ceil((NOTED_ROWS * (NOTE_LEAVES + leaves) + 1) / 4);
}

/** Locals of an evaluated row: its index and its leaves. */
export interface NotedRow {
  readonly index: Int32Local;
  readonly leaves: readonly ScalarLocal[];
}

/**
 * Counts row after row into the histogram named by the row.
 *
 * Several rows are noted before they are counted, and the memory that all of them will read is touched together: rows
 * are often far apart in memory, and waiting for several cache misses at a time takes no longer than for one.
 */
export interface RowCounter {
  /** Emits the code at the start and at the end of a function. */
  begin(): void;
  end(): void;
  /**
   * Starts a batch of rows, notes a row, and counts the noted rows; rows that need bounds checks are left to `slow`.
   */
  beginBatch(): void;
  note(row: NotedRow): void;
  countNoted(slow: (row: NotedRow) => void): void;
}

/** The inputs of a row counter. */
export interface RowCounterInputs {
  readonly inputs: KernelInputs;
  readonly plan: RowPlan;
  readonly table: TallyTable;
  /** The number of ranks. */
  readonly ranks: Int32;
  /** The address of the worker's own memory of {@link rowCounterBytes}. */
  readonly own: Int32;
  /** Whether the worker has turn tables. */
  readonly turning: boolean;
}

export function rowCounter(code: Code, { inputs, plan, table, ranks, own, turning }: RowCounterInputs): RowCounter {
  const local = (): Int32Local => code.local(I32);
  const [count, from, to, bits] = [local(), local(), local(), local()];
  const [notes, touched, index] = [local(), local(), local()];
  const leaves = plan.leaves.map((type) => scalarLocal(code, type));
  const allNodes = [plan.bin, plan.histogram, ...(plan.mask === undefined ? [] : [plan.mask])];
  const stride = 4 * (NOTE_LEAVES + plan.leaves.length);
  const tablesAt = own.add(noteBytes(plan.leaves.length));
  const turns = turnTables(code, table, turning ? tablesAt : undefined);

  /** The row's lanes, with everything that the given nodes need from it computed. */
  const prepareLanes = (row: NotedRow, nodes: readonly Node[] = allNodes): LaneCode => {
    const lanes = new LaneCode(code, { ...inputs, index: from }, false);
    for (const [i, scalar] of [row.index, from, ...row.leaves].entries()) {
      if (i !== 1) lanes.bindInvariant(plan.parameters[i]!, scalar);
    }
    lanes.prepare(nodes);
    return lanes;
  };

  /** Prepares what the row counts: a range of ranks or a set of bits, and their number. */
  const prepareElements = (lanes: LaneCode): void => {
    if (plan.mask === undefined) {
      from.set(0);
      count.set(to.tee(ranks));
      return;
    }
    const ofRanks = i32(-1).shrU(i32(0).sub(ranks));
    count.set(bits.tee(lanes.value(plan.mask).and(ofRanks)).popcount());
  };

  const countLane = (lanes: LaneCode, lane: number, atomically: boolean): void => {
    lanes.begin(lane);
    const bin = asInt32(lanes.local(plan.bin));
    when(code, bin.ltU(table.bins), () => emitAdd(code, atomically, turns.tables[lane]!.add(bin.shl(2)), i32(1)));
  };

  /** Counts the ranks from `from` to `to`. */
  const countRun = (lanes: LaneCode, atomically: boolean): void => {
    const whole = local();
    const countAll = (): void => {
      for (let lane = 0; lane < TURNS; lane++) countLane(lanes, lane, atomically);
    };
    whole.set(to.sub(from).and(-TURNS).add(from));
    when(code, from.ltU(whole), () => doWhile(code, countAll, from.tee(from.add(TURNS)).ltU(whole)));
    block(code, (end) => {
      for (let lane = 0; lane < TURNS - 1; lane++) {
        brIf(code, end, from.add(lane).geU(to));
        countLane(lanes, lane, atomically);
      }
    });
    code.release(whole);
  };

  /** Counts the runs of set bits, from the lowest on. */
  const countBits = (lanes: LaneCode, atomically: boolean): void =>
    whileTrue(code, bits, () => {
      from.set(bits.ctz());
      // Adding the lowest set bit clears the lowest run and sets the bit after it; higher bits do not change.
      const lowest = bits.and(i32(0).sub(bits));
      bits.set(to.tee(bits.add(lowest)).and(bits));
      to.set(to.ctz());
      countRun(lanes, atomically);
    });

  const countElements = (lanes: LaneCode, atomically: boolean): void => {
    if (plan.mask === undefined) countRun(lanes, atomically);
    else countBits(lanes, atomically);
  };

  const countRow = (row: NotedRow): void => {
    const lanes = prepareLanes(row);
    turns.enter(lanes.value(plan.histogram));
    prepareElements(lanes);
    turns.expect(count);
    turns.count((atomically) => countElements(lanes, atomically));
  };

  const forEachNote = (end: Int32, body: (row: NotedRow) => void): void => {
    notes.set(own);
    whileTrue(code, notes.ltU(end), () => {
      index.set(load(notes, 4 * NOTE_INDEX));
      for (const [i, leaf] of leaves.entries()) {
        assign(leaf, loadScalar(plan.leaves[i]!, notes, 4 * (NOTE_LEAVES + i)));
      }
      body({ index, leaves });
      notes.set(notes.add(stride));
    });
  };

  const whereSafe = (body: () => void, otherwise?: () => void): void =>
    when(code, load(notes, 4 * NOTE_SAFE), body, otherwise);

  return {
    begin() {
      turns.begin();
      touched.set(0);
    },
    end() {
      turns.end();
      // The result of touching must be used, or the loads would be removed.
      store(code, own, touched, noteBytes(plan.leaves.length) - 4);
    },
    beginBatch() {
      notes.set(own);
    },
    note(row) {
      const safe = local();
      const lanes = prepareLanes(row);
      safe.set(lanes.inRange(ranks).and(lanes.value(plan.histogram).ltU(table.runs!)));
      store(code, notes, row.index, 4 * NOTE_INDEX);
      store(code, notes, safe, 4 * NOTE_SAFE);
      for (const [i, leaf] of row.leaves.entries()) store(code, notes, leaf, 4 * (NOTE_LEAVES + i));
      notes.set(notes.add(stride));
      code.release(safe);
    },
    countNoted(slow) {
      const end = local();
      end.set(notes);
      forEachNote(end, (row) => whereSafe(() => prepareLanes(row, [plan.bin]).touch(touched, ranks)));
      forEachNote(end, (row) =>
        whereSafe(
          () => countRow(row),
          () => slow(row),
        ),
      );
      code.release(end);
    },
  };
}
