import type { Code } from '../../wasm/wasm-code.ts';
import { I32, V128 } from '../../wasm/wasm-encoder.ts';
import { type Int32, load, loadVector, type Vector, v128 } from '../../wasm/wasm-expressions.ts';
import type { Int32Local } from '../../wasm/wasm-locals.ts';
import { fillMemory, store, when, whileTrue } from '../../wasm/wasm-statements.ts';
import { emitAdd, type TallyTable } from './tally.ts';

/** Number of elements counted side by side, each into a separate table. */
export const TURNS = 4;

/** Maximum number of bins for which workers have such tables, which must stay in the cache. */
const MAX_TURN_BINS = 2048;

/** Whether workers have turn tables. */
export function takesTurns(bins: number): boolean {
  return bins <= MAX_TURN_BINS;
}

/** Bytes of the tables of one worker; each is a multiple of the vector size. */
export function turnBytes(bins: number): number {
  return takesTurns(bins) ? TURNS * 16 * Math.ceil(bins / 4) : 0;
}

/**
 * The tables into which the elements of the current histogram are counted.
 *
 * After storing a counter, a processor takes several cycles until it can load it again, and neighbouring elements often
 * share a bin. So every worker has small tables that elements use in turn; they are added to the histogram before the
 * next histogram starts. This pays off once there are as many elements as bins, so the first elements of a histogram
 * are counted in place.
 */
export interface TurnTables {
  /** The addresses of the tables, in turn. */
  readonly tables: readonly Int32[];
  /** Emits the code at the start and at the end of a function. */
  begin(): void;
  end(): void;
  /** Switches to a histogram, by its number. */
  enter(histogram: Int32): void;
  /** Must precede the counting of `count` elements. */
  expect(count: Int32): void;
  /** Emits the counting code; `atomically` says whether it must count atomically. */
  count(elements: (atomically: boolean) => void): void;
}

/** @param own - The address of the worker's own memory of {@link turnBytes}; undefined if there is none. */
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
      if (own !== undefined) fillMemory(code, own, 0, stride.mul(TURNS));
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
      when(code, seen.tee(seen.add(count)).geU(table.bins), () => {
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

/** Adds the tables to the histogram at `home` and clears them; `at` and `end` are locals for temporary use. */
function emitFlush(
  code: Code,
  { bins, shared }: TallyTable,
  home: Int32,
  tables: readonly Int32[],
  at: Int32Local,
  end: Int32Local,
): void {
  const forEach = (step: number, body: () => void): void => {
    at.set(0);
    whileTrue(code, at.ltU(end), () => {
      body();
      at.set(at.add(step));
    });
  };
  const [first, ...others] = tables.map((address) => address.add(at)) as [Int32, ...Int32[]];
  const sum = code.local(V128);
  end.set(bins.shl(2));
  // The sums are collected in the first table, which is a multiple of the vector size, and added to the histogram from
  // there, which may not be.
  forEach(16, () => {
    sum.set(others.reduce((all: Vector, other) => all.add(loadVector(other)), loadVector(first)));
    store(code, first, sum);
    for (const other of others) store(code, other, v128([0, 0, 0, 0]));
  });
  code.release(sum);
  forEach(4, () =>
    when(code, load(first), () => {
      emitAdd(code, shared, home.add(at), load(first));
      store(code, first, 0);
    }),
  );
}
