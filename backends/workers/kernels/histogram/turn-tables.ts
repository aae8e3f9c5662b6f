import type { Code } from '../../wasm/wasm-code.ts';
import { I32, op, simd, V128 } from '../../wasm/wasm-encoder.ts';
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
  /** Locals of the addresses of the tables, in turn. */
  readonly tables: readonly number[];
  /** Emits the code at the start and at the end of a function. */
  begin(): void;
  end(): void;
  /** Switches to the histogram whose address `push` pushes. */
  enter(push: () => void): void;
  /** Must precede the counting of `count` elements (a local). */
  expect(count: number): void;
  /** Emits the counting code; `atomically` says whether it must count atomically. */
  count(elements: (atomically: boolean) => void): void;
}

/** @param own - Pushes the address of the worker's own memory of {@link turnBytes}; undefined if there is none. */
export function turnTables(code: Code, table: TallyTable, own: (() => void) | undefined): TurnTables {
  const [current, home, seen, at] = [code.local(I32), code.local(I32), code.local(I32), code.local(I32)];
  const tables = Array.from({ length: TURNS }, () => code.local(I32));

  const pushStride = (): void => {
    code.get(table.bins);
    code.i32(3);
    code.op(op.i32Add);
    code.i32(-4);
    code.op(op.i32And);
    code.i32(2);
    code.op(op.i32Shl);
  };
  const isTurning = (): void => {
    code.get(tables[0]!);
    code.get(home);
    code.op(op.i32Ne);
  };
  const flush = (): void => {
    if (own === undefined) return;
    isTurning();
    code.when(() => emitFlush(code, table, home, tables, at, seen));
  };

  return {
    tables,
    begin() {
      code.i32(-1);
      code.set(current);
      code.i32(0);
      code.tee(home);
      code.set(tables[0]!);
      if (own === undefined) return;
      own();
      code.i32(0);
      pushStride();
      code.i32(TURNS);
      code.op(op.i32Mul);
      code.memoryFill();
    },
    end: flush,
    enter(push) {
      push();
      code.get(current);
      code.op(op.i32Ne);
      code.when(() => {
        flush();
        push();
        code.set(current);
        code.get(table.address);
        code.get(current);
        code.get(table.bins);
        code.op(op.i32Mul);
        code.i32(2);
        code.op(op.i32Shl, op.i32Add);
        code.set(home);
        for (const one of tables) {
          code.get(home);
          code.set(one);
        }
        code.i32(0);
        code.set(seen);
      });
    },
    expect(count) {
      if (own === undefined) return;
      code.get(seen);
      code.get(count);
      code.op(op.i32Add);
      code.tee(seen);
      code.get(table.bins);
      code.op(op.i32GeU);
      code.when(() => {
        own();
        tables.forEach((one, turn) => {
          code.set(one);
          if (turn === TURNS - 1) return;
          code.get(one);
          pushStride();
          code.op(op.i32Add);
        });
      });
    },
    count(elements) {
      if (!table.shared || own === undefined) {
        elements(table.shared);
        return;
      }
      isTurning();
      code.when(
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
  home: number,
  tables: readonly number[],
  at: number,
  end: number,
): void {
  const pushAddress = (base: number): void => {
    code.get(base);
    code.get(at);
    code.op(op.i32Add);
  };
  const forEach = (step: number, body: () => void): void => {
    code.i32(0);
    code.set(at);
    code.while(
      () => {
        code.get(at);
        code.get(end);
        code.op(op.i32LtU);
      },
      () => {
        body();
        code.get(at);
        code.i32(step);
        code.op(op.i32Add);
        code.set(at);
      },
    );
  };
  const [first, ...others] = tables as [number, ...number[]];
  const sum = code.local(V128);
  code.get(bins);
  code.i32(2);
  code.op(op.i32Shl);
  code.set(end);
  // The sums are collected in the first table, which is a multiple of the vector size, and added to the histogram from
  // there, which may not be.
  forEach(16, () => {
    pushAddress(first);
    code.simdMemory(simd.load);
    for (const other of others) {
      pushAddress(other);
      code.simdMemory(simd.load);
      code.simd(simd.i32x4Add);
    }
    code.set(sum);
    pushAddress(first);
    code.get(sum);
    code.simdMemory(simd.store);
    for (const other of others) {
      pushAddress(other);
      code.v128([0, 0, 0, 0]);
      code.simdMemory(simd.store);
    }
  });
  code.release(sum);
  forEach(4, () => {
    pushAddress(first);
    code.memory(op.i32Load);
    code.when(() => {
      pushAddress(home);
      emitAdd(code, shared, () => {
        pushAddress(first);
        code.memory(op.i32Load);
      });
      pushAddress(first);
      code.i32(0);
      code.memory(op.i32Store);
    });
  });
}
