import type { Code } from '../../wasm/wasm-code.ts';
import { I32, V128 } from '../../wasm/wasm-encoder.ts';
import { type Int32, loadVector, type Vector, v128 } from '../../wasm/wasm-expressions.ts';
import type { Int32Local } from '../../wasm/wasm-locals.ts';
import { store, when, whileTrue } from '../../wasm/wasm-statements.ts';
import { emitAdd, type TallyTable } from './tally.ts';

/** Number of private tables that consecutive elements use in turn. */
export const TURNS = 4;

/**
 * Maximum number of bins for which a worker has turn tables (private tables used in turn). The tables must stay in the
 * cache.
 */
const MAX_TURN_BINS = 2048;

/** The same for rows, whose elements are counted in few bins of one histogram after the other. */
const MAX_ROW_TURN_BINS = 16384;

/**
 * The elements of a histogram that are counted directly, per bin. An atomic addition to a shared histogram takes several
 * times as long as an addition in private tables, so fewer elements are counted directly.
 */
const DIRECT = { alone: 1, shared: 1 / 16 };

/** Whether a worker has turn tables (private tables used in turn) for a histogram with this number of bins. */
export function takesTurns(bins: number): boolean {
  return bins <= MAX_TURN_BINS;
}

/** Whether a worker has turn tables (private tables used in turn) for rows that are counted in this number of bins. */
export function takesRowTurns(bins: number): boolean {
  return bins <= MAX_ROW_TURN_BINS;
}

/**
 * Bytes of one worker's turn tables (private tables used in turn). Each table is padded to a multiple of the vector
 * size.
 */
export function turnBytes(bins: number): number {
  return takesRowTurns(bins) ? TURNS * 16 * Math.ceil(bins / 4) : 0;
}

/**
 * Emits code that counts the elements of several histograms, one histogram at a time.
 *
 * Consecutive elements often have the same bin, and a counter that was just stored can be loaded again only after
 * several cycles. Each worker therefore has four small private tables, which consecutive elements use in turn. Before
 * the next histogram starts, the tables are added to the current histogram. The private tables only pay off if a
 * histogram has at least as many elements as bins. The first elements of a histogram are therefore counted directly in
 * the histogram.
 */
export interface TurnTables {
  /**
   * The addresses of the tables, one per turn. While elements are counted directly, all addresses are the address of
   * the histogram.
   */
  readonly tables: readonly Int32[];
  /** Emits the code for the start of the kernel function. */
  begin(): void;
  /** Emits the code for the end of the kernel function. */
  end(): void;
  /** Emits code that switches to the histogram with this number. */
  enter(histogram: Int32): void;
  /**
   * Emits code that announces `count` further elements. Once the histogram has enough elements, the code switches to
   * the turn tables (private tables used in turn).
   */
  expect(count: Int32): void;
  /** Emits code that counts elements in the tables. `elements` emits the code with or without atomic additions. */
  count(elements: (atomically: boolean) => void): void;
}

/**
 * @param own - Address of the worker's private memory of {@link turnBytes} bytes, all 0; undefined without turn tables.
 *   The memory is all 0 again after `end`.
 */
export function turnTables(code: Code, table: TallyTable, own: Int32 | undefined): TurnTables {
  const [current, home, seen, at] = [code.local(I32), code.local(I32), code.local(I32), code.local(I32)];
  const tables = Array.from({ length: TURNS }, () => code.local(I32));
  const [first, ...others] = tables as [Int32Local, ...Int32Local[]];
  const stride = table.bins.add(3).and(-4).shl(2);
  const isTurning = first.ne(home);
  const flush = (): void => {
    if (own !== undefined) when(code, isTurning, () => emitFlush(code, table, home, tables, at, seen));
  };

  return {
    tables,
    begin() {
      current.set(-1);
      first.set(home.tee(0));
    },
    end: flush,
    enter(histogram) {
      when(code, histogram.ne(current), () => {
        flush();
        current.set(histogram);
        home.set(table.address.add(current.mul(table.bins).shl(2)));
        for (const one of tables) one.set(home);
        seen.set(0);
      });
    },
    expect(count) {
      if (own === undefined) return;
      const direct = table.bins.shrU(-Math.log2(table.shared ? DIRECT.shared : DIRECT.alone));
      when(code, seen.tee(seen.add(count)).geU(direct).and(isTurning.isZero()), () => {
        first.set(own);
        for (const [turn, one] of others.entries()) one.set(tables[turn]!.add(stride));
      });
    },
    count(elements) {
      if (!table.shared || own === undefined) {
        elements(table.shared);
        return;
      }
      when(
        code,
        isTurning,
        () => elements(false),
        () => elements(true),
      );
    },
  };
}

/**
 * Adds the turn tables (private tables used in turn) to the histogram at address `home`, and clears them. Overwrites
 * the locals `at` and `end`.
 */
function emitFlush(
  code: Code,
  { bins, shared }: TallyTable,
  home: Int32,
  tables: readonly Int32[],
  at: Int32Local,
  end: Int32Local,
): void {
  const [first, ...others] = tables.map((address) => address.add(at)) as [Int32, ...Int32[]];
  const sum = code.local(V128);
  const count = code.local(I32);
  at.set(0);
  end.set(bins.shl(2));
  whileTrue(code, at.ltU(end), () => {
    sum.set(others.reduce((all: Vector, other) => all.add(loadVector(other)), loadVector(first)));
    // Most counters are 0. Those of the padding are, so nothing is added beyond the end of the histogram.
    when(code, sum.anyTrue(), () => {
      for (const table of [first, ...others]) store(code, table, v128([0, 0, 0, 0]));
      for (const lane of [0, 1, 2, 3]) {
        when(code, count.tee(sum.extract(lane)), () => emitAdd(code, shared, home.add(at).add(4 * lane), count));
      }
    });
    at.set(at.add(16));
  });
  code.release(sum);
  code.release(count);
}
