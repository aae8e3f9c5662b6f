import type { Code } from '../../wasm/wasm-code.ts';
import { I32, op, simd, V128 } from '../../wasm/wasm-encoder.ts';
import { emitAdd, type TallyTable } from './tally.ts';

/** Elements that are counted side by side, each into a table of its own. */
export const TURNS = 4;

/** Most bins of which a worker keeps such tables: they have to stay in the cache. */
const MAX_TURN_BINS = 2048;

/** Whether a worker has tables to count in turn. */
export function takesTurns(bins: number): boolean {
  return bins <= MAX_TURN_BINS;
}

/** Bytes of the tables of one worker: each is whole vectors. */
export function turnBytes(bins: number): number {
  return takesTurns(bins) ? TURNS * 16 * Math.ceil(bins / 4) : 0;
}

/**
 * Where the elements of the histogram at hand are counted.
 *
 * A processor that has just stored a counter takes several cycles until it can load it again, and neighbours often share a
 * bin. Therefore every worker has small tables to which elements go in turn, and which are added to the histogram when
 * another one follows. That pays from as many elements as there are bins; the first ones of a histogram are counted in
 * place.
 */
export interface TurnTables {
  /** Locals of the address of the table that an element goes to. */
  readonly tables: readonly number[];
  /** Code that comes first in a function, and code that comes last. */
  begin(): void;
  end(): void;
  /** Turns to a histogram, which `push` pushes. */
  enter(push: () => void): void;
  /** Before so many elements, in a local, are counted. */
  expect(count: number): void;
  /** Runs the code that counts, with whether it has to count atomically. */
  count(elements: (atomically: boolean) => void): void;
}

/** @param own - Pushes the address of {@link turnBytes} of the worker's own; undefined where there are none. */
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

/** Adds the tables to the histogram at `home` and clears them; `at` and `end` are locals that it may use. */
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
  // The sums go to the first table, which is whole vectors, and from there to the histogram, which may not be.
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
