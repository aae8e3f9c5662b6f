import type { Node } from '../../../analyses/straight-line.ts';
import { emitLoadScalar, emitStoreScalar, type KernelInputs } from '../../commands/kernel-arguments.ts';
import { LaneCode } from '../../wasm/emit-lanes.ts';
import { scalarLocal } from '../../wasm/emit-wasm.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { I32, op } from '../../wasm/wasm-encoder.ts';
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
  readonly index: number;
  readonly leaves: readonly number[];
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
  /** Local of the number of ranks. */
  readonly ranks: number;
  /** Local of the address of the worker's own memory of {@link rowCounterBytes}. */
  readonly own: number;
  /** Whether the worker has turn tables. */
  readonly turning: boolean;
}

export function rowCounter(code: Code, { inputs, plan, table, ranks, own, turning }: RowCounterInputs): RowCounter {
  const local = (): number => code.local(I32);
  const [count, from, to, bits] = [local(), local(), local(), local()];
  const [notes, touched, index] = [local(), local(), local()];
  const leaves = plan.leaves.map((type) => scalarLocal(code, type));
  const allNodes = [plan.bin, plan.histogram, ...(plan.mask === undefined ? [] : [plan.mask])];
  const stride = 4 * (NOTE_LEAVES + plan.leaves.length);
  const pushTables = (): void => {
    code.get(own);
    code.i32(noteBytes(plan.leaves.length));
    code.op(op.i32Add);
  };
  const turns = turnTables(code, table, turning ? pushTables : undefined);

  /** The row's lanes, with everything that the given nodes need from it computed. */
  const prepareLanes = (row: NotedRow, nodes: readonly Node[] = allNodes): LaneCode => {
    const lanes = new LaneCode(code, { ...inputs, index: from }, false);
    [row.index, from, ...row.leaves].forEach((scalar, i) => {
      if (i !== 1) lanes.bindInvariant(plan.parameters[i]!, scalar);
    });
    lanes.prepare(nodes);
    return lanes;
  };

  /** Prepares what the row counts: a range of ranks or a set of bits, and their number. */
  const prepareElements = (lanes: LaneCode): void => {
    if (plan.mask === undefined) {
      code.i32(0);
      code.set(from);
      code.get(ranks);
      code.tee(to);
      code.set(count);
      return;
    }
    lanes.push(plan.mask);
    code.i32(-1);
    code.i32(0);
    code.get(ranks);
    code.op(op.i32Sub, op.i32ShrU, op.i32And);
    code.tee(bits);
    code.op(op.i32Popcnt);
    code.set(count);
  };

  const countLane = (lanes: LaneCode, lane: number, atomically: boolean): void => {
    lanes.begin(lane);
    const bin = lanes.local(plan.bin);
    code.get(bin);
    code.get(table.bins);
    code.op(op.i32LtU);
    code.when(() => {
      code.get(turns.tables[lane]!);
      code.get(bin);
      code.i32(2);
      code.op(op.i32Shl, op.i32Add);
      emitAdd(code, atomically, () => code.i32(1));
    });
  };

  /** Counts the ranks from `from` to `to`. */
  const countRun = (lanes: LaneCode, atomically: boolean): void => {
    const whole = local();
    code.get(to);
    code.get(from);
    code.op(op.i32Sub);
    code.i32(-TURNS);
    code.op(op.i32And);
    code.get(from);
    code.op(op.i32Add);
    code.set(whole);
    code.get(from);
    code.get(whole);
    code.op(op.i32LtU);
    code.when(() => {
      const again = code.loop();
      for (let lane = 0; lane < TURNS; lane++) countLane(lanes, lane, atomically);
      code.get(from);
      code.i32(TURNS);
      code.op(op.i32Add);
      code.tee(from);
      code.get(whole);
      code.op(op.i32LtU);
      code.brIf(again);
      code.end();
    });
    const rest = code.block();
    for (let lane = 0; lane < TURNS - 1; lane++) {
      code.get(from);
      code.i32(lane);
      code.op(op.i32Add);
      code.get(to);
      code.op(op.i32GeU);
      code.brIf(rest);
      countLane(lanes, lane, atomically);
    }
    code.end();
    code.release(whole);
  };

  /** Counts the runs of set bits, from the lowest on. */
  const countBits = (lanes: LaneCode, atomically: boolean): void => {
    code.while(
      () => code.get(bits),
      () => {
        code.get(bits);
        code.op(op.i32Ctz);
        code.set(from);
        // Adding the lowest set bit clears the lowest run and sets the bit after it; higher bits do not change.
        code.get(bits);
        code.get(bits);
        code.i32(0);
        code.get(bits);
        code.op(op.i32Sub, op.i32And, op.i32Add);
        code.tee(to);
        code.get(bits);
        code.op(op.i32And);
        code.set(bits);
        code.get(to);
        code.op(op.i32Ctz);
        code.set(to);
        countRun(lanes, atomically);
      },
    );
  };

  const countElements = (lanes: LaneCode, atomically: boolean): void => {
    if (plan.mask === undefined) countRun(lanes, atomically);
    else countBits(lanes, atomically);
  };

  const countRow = (row: NotedRow): void => {
    const lanes = prepareLanes(row);
    turns.enter(() => lanes.push(plan.histogram));
    prepareElements(lanes);
    turns.expect(count);
    turns.count((atomically) => countElements(lanes, atomically));
  };

  const forEachNote = (end: number, body: (row: NotedRow) => void): void => {
    code.get(own);
    code.set(notes);
    code.while(
      () => {
        code.get(notes);
        code.get(end);
        code.op(op.i32LtU);
      },
      () => {
        code.get(notes);
        emitLoadScalar(code, 'u32', index, 4 * NOTE_INDEX);
        leaves.forEach((leaf, i) => {
          code.get(notes);
          emitLoadScalar(code, plan.leaves[i]!, leaf, 4 * (NOTE_LEAVES + i));
        });
        body({ index, leaves });
        code.get(notes);
        code.i32(stride);
        code.op(op.i32Add);
        code.set(notes);
      },
    );
  };

  const whereSafe = (body: () => void, otherwise?: () => void): void => {
    code.get(notes);
    code.memory(op.i32Load, 4 * NOTE_SAFE);
    code.when(body, otherwise);
  };

  return {
    begin() {
      turns.begin();
      code.i32(0);
      code.set(touched);
    },
    end() {
      turns.end();
      // The result of touching must be used, or the loads would be removed.
      code.get(own);
      code.get(touched);
      code.memory(op.i32Store, noteBytes(plan.leaves.length) - 4);
    },
    beginBatch() {
      code.get(own);
      code.set(notes);
    },
    note(row) {
      const safe = local();
      const lanes = prepareLanes(row);
      lanes.pushInRange(ranks);
      lanes.push(plan.histogram);
      code.get(table.runs!);
      code.op(op.i32LtU, op.i32And);
      code.set(safe);
      code.get(notes);
      emitStoreScalar(code, 'u32', row.index, 4 * NOTE_INDEX);
      code.get(notes);
      emitStoreScalar(code, 'u32', safe, 4 * NOTE_SAFE);
      row.leaves.forEach((leaf, i) => {
        code.get(notes);
        emitStoreScalar(code, plan.leaves[i]!, leaf, 4 * (NOTE_LEAVES + i));
      });
      code.get(notes);
      code.i32(stride);
      code.op(op.i32Add);
      code.set(notes);
      code.release(safe);
    },
    countNoted(slow) {
      const end = local();
      code.get(notes);
      code.set(end);
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
