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

/** Number of bits of a mask. */
const WORD_BITS = 32;

/**
 * Number of rows per batch. Before the first row of a batch is counted, a note about each row of the batch is stored in
 * private memory.
 */
export const NOTED_ROWS = 32;

/**
 * Index of a word in a note, which describes one row. Word `NOTE_INDEX` is the index of the row. Word `NOTE_SAFE` says
 * whether the row's reads and histogram are in range. The values computed once per row start at word `NOTE_LEAVES`.
 */
const NOTE_INDEX = 0;
const NOTE_SAFE = 1;
const NOTE_LEAVES = 2;

/**
 * Bytes of private memory that a worker needs to count rows: the notes of a batch, and the turn tables (private tables
 * used in turn). `leaves` is the number of values computed once per row.
 */
export function rowCounterBytes(bins: number, leaves: number): number {
  return noteBytes(leaves) + turnBytes(bins);
}

/**
 * Bytes of the notes that describe the rows of a batch, padded to the vector size. Includes one more word, which stores
 * the result of the prefetching loads.
 */
function noteBytes(leaves: number): number {
  return 16 * Math.ceil((NOTED_ROWS * (NOTE_LEAVES + leaves) + 1) / 4);
}

/** A row to count, as locals: its index, and the values computed once per row. */
export interface NotedRow {
  readonly index: Int32Local;
  readonly leaves: readonly ScalarLocal[];
}

/**
 * Emits code that counts the elements of rows. The program selects a histogram for each row.
 *
 * Rows are often far apart in memory, so the first read of a row misses the cache. The code therefore first notes a
 * batch of rows and prefetches their contiguous reads, then counts the rows. The cache misses of a batch overlap.
 */
export interface RowCounter {
  /** Emits the code for the start of the kernel function. */
  begin(): void;
  /** Emits the code for the end of the kernel function. */
  end(): void;
  /** Emits code that starts a batch of at most {@link NOTED_ROWS} rows. */
  beginBatch(): void;
  /** Adds a row to the batch. */
  note(row: NotedRow): void;
  /** Emits code that counts the rows of the batch. `slow` emits the code for rows whose reads need bounds checks. */
  countNoted(slow: (row: NotedRow) => void): void;
}

/** The inputs of a row counter. */
export interface RowCounterInputs {
  readonly inputs: KernelInputs;
  readonly plan: RowPlan;
  readonly table: TallyTable;
  /** Number of elements per row. */
  readonly ranks: Int32;
  /** Address of the worker's private memory, which has {@link rowCounterBytes} bytes. */
  readonly own: Int32;
  /** Whether the worker has turn tables, which are private tables that consecutive elements use in turn. */
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

  /** Binds the parameters of the program to a row, and computes the loop-invariant values that `nodes` need. */
  const prepareLanes = (row: NotedRow): LaneCode => {
    const lanes = new LaneCode(code, { ...inputs, index: from }, false);
    for (const [i, scalar] of [row.index, from, ...row.leaves].entries()) {
      if (i !== 1) lanes.bindInvariant(plan.parameters[i]!, scalar);
    }
    lanes.prepare(allNodes);
    return lanes;
  };

  /**
   * Emits code that determines the ranks (positions in the row) to count. With a mask, these are the set bits of the
   * local `bits`; without a mask, the range `from … to − 1`. The local `count` becomes the number of these ranks.
   */
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
    when(code, bin.ltU(table.bins), () =>
      emitAdd(code, atomically, turns.tables[lane % TURNS]!.add(bin.shl(2)), i32(1)),
    );
  };

  /** Counts the elements with the ranks (positions in the row) `from … to − 1`. */
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

  /**
   * Counts the elements whose ranks are set in the mask `bits`. Consecutive set bits are counted together, from the
   * lowest bits on.
   */
  const countBits = (lanes: LaneCode, atomically: boolean): void =>
    whileTrue(code, bits, () => {
      from.set(bits.ctz());
      // Adding the lowest set bit to `bits` clears the lowest run (consecutive set bits) and sets the bit after the
      // run. Higher bits do not change.
      const lowest = bits.and(i32(0).sub(bits));
      bits.set(to.tee(bits.add(lowest)).and(bits));
      to.set(to.ctz());
      countRun(lanes, atomically);
    });

  /** Counts all elements of a row of 32, without a loop. */
  const countWhole = (lanes: LaneCode): void => {
    from.set(0);
    for (let rank = 0; rank < WORD_BITS; rank++) countLane(lanes, rank, false);
  };

  const countElements = (lanes: LaneCode, atomically: boolean): void => {
    if (plan.mask === undefined) countRun(lanes, atomically);
    else if (atomically) countBits(lanes, true);
    else {
      when(
        code,
        bits.eq(-1),
        () => countWhole(lanes),
        () => countBits(lanes, false),
      );
    }
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
      // Stores the result of the prefetching loads. The compiler would remove the loads if their result were not used.
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
      when(code, safe, () => lanes.touch(touched, ranks));
      code.release(safe);
    },
    countNoted(slow) {
      const end = local();
      end.set(notes);
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
