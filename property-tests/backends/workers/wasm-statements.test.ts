import { describe, expect } from 'vitest';
import { Code } from '../../../backends/workers/wasm/wasm-code.ts';
import { encodeModule, I32, type ValueType } from '../../../backends/workers/wasm/wasm-encoder.ts';
import { type Int32, i32, i64, load, load64, v128 } from '../../../backends/workers/wasm/wasm-expressions.ts';
import type { Int32Local } from '../../../backends/workers/wasm/wasm-locals.ts';
import {
  atomicAdd,
  atomicAdd64,
  atomicStore,
  block,
  br,
  brIf,
  call,
  copyMemory,
  doWhile,
  fillMemory,
  forRange,
  forRounds,
  leave,
  loop,
  lower,
  raise,
  store,
  swap,
  when,
  whileTrue,
} from '../../../backends/workers/wasm/wasm-statements.ts';
import { fc, test } from '../../law-test.ts';

const memory = new WebAssembly.Memory({ initial: 1, maximum: 65536, shared: true });
const words = new Int32Array(memory.buffer);

type Write = (code: Code, args: readonly Int32Local[]) => void;

/** Emits and runs a function of i32 parameters. It can call the functions `others`, which are numbered from 1. */
function run(parameters: readonly number[], write: Write, ...others: readonly (readonly [number, Write])[]): void {
  const bodies = [[parameters.length, write] as const, ...others].map(([count, body]) => {
    const code = new Code(Array.from({ length: count }, (): ValueType => I32));
    body(
      code,
      Array.from({ length: count }, (_, k) => code.parameter(k)),
    );
    return code.finish();
  });
  const module = new WebAssembly.Module(encodeModule(new Map(bodies.map((body, k) => [`f${k}`, body]))));
  const { f0 } = new WebAssembly.Instance(module, { env: { memory } }).exports as { f0: (...args: number[]) => void };
  f0(...parameters);
}

/** Runs code that records numbers. Returns the recorded numbers in order. */
function noted(
  parameters: readonly number[],
  write: (code: Code, note: (value: Int32 | number) => void, args: readonly Int32Local[]) => void,
): number[] {
  words[0] = 4;
  run(parameters, (code, args) => {
    const at = code.local(I32);
    const note = (value: Int32 | number): void => {
      at.set(load(0));
      store(code, at, value);
      store(code, i32(0), at.add(4));
    };
    write(code, note, args);
  });
  return [...words.slice(1, words[0]! / 4)];
}

const small = fc.nat(9);
const word = fc.oneof(fc.constantFrom(0, 1, -1, 2 ** 31 - 1, -(2 ** 31)), fc.integer());

describe('conditions', () => {
  test.prop([word])('when runs one of two branches', (a) => {
    const branches = noted([a], (code, note, [x]) => {
      when(
        code,
        x!,
        () => note(1),
        () => note(2),
      );
      when(code, x!.isZero(), () => note(3));
    });
    expect(branches).toEqual(a === 0 ? [2, 3] : [1]);
  });

  test.prop([word, word])('lower and raise compare unsigned', (a, b) => {
    const [low, high] = noted([a, b], (code, note, [x, y]) => {
      const local = code.local(I32);
      local.set(x!);
      lower(code, local, y!);
      note(local);
      local.set(x!);
      raise(code, local, y!);
      note(local);
    });
    expect([low! >>> 0, high! >>> 0]).toEqual([Math.min(a >>> 0, b >>> 0), Math.max(a >>> 0, b >>> 0)]);
  });

  test.prop([word, word])('swap exchanges two locals', (a, b) => {
    const swapped = noted([a, b], (code, note, [x, y]) => {
      swap(code, x!, y!);
      note(x!);
      note(y!);
    });
    expect(swapped).toEqual([b, a]);
  });
});

describe('loops', () => {
  test.prop([small, small, fc.integer({ min: 1, max: 4 })])(
    'run as many rounds as loops of JavaScript',
    (from, to, step) => {
      const counted = noted([from, to], (code, note, [x, end]) => {
        const index = code.local(I32);
        index.set(x!);
        whileTrue(code, index.ltU(end!), () => {
          note(index);
          index.set(index.add(step));
        });
        note(-1);
        index.set(x!);
        forRounds(code, index, end!, step, () => note(index));
        note(-2);
        index.set(x!);
        doWhile(code, () => note(index), index.tee(index.add(step)).ltU(end!));
        note(-3);
        forRange(code, end!, note);
      });
      const rounds: number[] = [];
      for (let i = from; i < to; i += step) rounds.push(i);
      const atLeastOne = rounds.length === 0 ? [from] : rounds;
      expect(counted).toEqual([...rounds, -1, ...rounds, -2, ...atLeastOne, -3, ...Array(to).keys()]);
    },
  );

  test.prop([small, small])('nest, and branches to outer labels leave all inner blocks', (rows, columns) => {
    const visited = noted([rows, columns], (code, note, [height, width]) => {
      block(code, (out) => {
        forRange(code, height!, (row) => {
          forRange(code, width!, (column) => {
            block(code, (next) => {
              when(code, row.add(column).and(1), () => br(code, next));
              note(row.shl(8).or(column));
            });
            when(code, row.eq(3).and(column.eq(4)), () => br(code, out));
          });
        });
        note(-1);
      });
      note(-2);
    });
    const expected: number[] = [];
    const walk = (): void => {
      for (let row = 0; row < rows; row++) {
        for (let column = 0; column < columns; column++) {
          if ((row + column) % 2 === 0) expected.push((row << 8) | column);
          if (row === 3 && column === 4) return;
        }
      }
      expected.push(-1);
    };
    walk();
    expect(visited).toEqual([...expected, -2]);
  });

  test.prop([small])('a branch to the label of a loop starts its next round', (rounds) => {
    const counted = noted([rounds], (code, note, [left]) => {
      loop(code, (again) => {
        note(left!);
        left!.set(left!.sub(1));
        brIf(code, again, left!.gtS(0));
      });
    });
    expect(counted).toEqual(rounds === 0 ? [0] : Array.from({ length: rounds }, (_, k) => rounds - k));
  });
});

describe('functions', () => {
  test.prop([word, word])('call passes its arguments in order', (a, b) => {
    run([a, b], (code, [x, y]) => call(code, 1, [x!, y!.add(1), i32(7)]), [
      3,
      (code, args) => {
        for (const [k, arg] of args.entries()) store(code, i32(4 * k), arg);
      },
    ]);
    expect([...words.slice(0, 3)]).toEqual([a, (b + 1) | 0, 7]);
  });

  test.prop([word])('leave skips the rest of the function', (a) => {
    const seen = noted([a], (code, note, [x]) => {
      when(code, x!, () => leave(code));
      note(1);
    });
    expect(seen).toEqual(a === 0 ? [1] : []);
  });
});

describe('memory', () => {
  test.prop([fc.nat(64), fc.nat(64), fc.nat(255)])('is filled and copied', (at, bytes, byte) => {
    const all = new Uint8Array(memory.buffer);
    const expected = Uint8Array.from({ length: 256 }, (_, k) => k);
    all.set(expected, 1024);
    run([1024 + at, bytes], (code, [to, count]) => {
      fillMemory(code, to!, byte, count!);
      copyMemory(code, i32(1024 + 128), i32(1024 + 32), count!);
    });
    expected.fill(byte, at, at + bytes);
    expected.copyWithin(128, 32, 32 + bytes);
    expect([...all.slice(1024, 1280)]).toEqual([...expected]);
  });

  test.prop([word, word])('atomic statements', (a, b) => {
    words.set([a, 0, a, -1], 0);
    run([b], (code, [x]) => {
      atomicAdd(code, i32(0), x!);
      atomicStore(code, i32(4), a);
      atomicAdd64(code, i32(0), i64(1), 8);
      store(code, i32(32), load64(8).wrap());
    });
    const pair = BigInt.asIntN(64, (BigInt(-1) << 32n) + BigInt(a >>> 0) + 1n);
    expect(words[0]).toBe((a + b) | 0);
    expect(words[1]).toBe(a);
    expect(words[8]).toBe(Number(BigInt.asIntN(32, pair)));
    expect(words[3]).toBe(Number(BigInt.asIntN(32, pair >> 32n)));
  });

  test.prop([fc.tuple(word, word, word, word)])('vectors are stored whole', (lanes) => {
    run([], (code) => store(code, i32(0), v128(lanes), 64));
    expect([...words.slice(16, 20)]).toEqual([...lanes]);
  });
});
