import { describe, expect } from 'vitest';
import { Code } from '../../../backends/workers/wasm/wasm-code.ts';
import { encodeModule, F32, I32, I64, V128, type ValueType } from '../../../backends/workers/wasm/wasm-encoder.ts';
import {
  choose,
  Float32,
  f32,
  Int32,
  type Int64,
  i32,
  i64,
  type Lanes,
  load,
  load64,
  loadByte,
  loadF32,
  loadSplat,
  loadVector,
  truncSat,
  type Vector,
  v128,
} from '../../../backends/workers/wasm/wasm-expressions.ts';
import { assign } from '../../../backends/workers/wasm/wasm-locals.ts';
import { store } from '../../../backends/workers/wasm/wasm-statements.ts';
import { fc, test } from '../../law-test.ts';

const memory = new WebAssembly.Memory({ initial: 1, maximum: 65536, shared: true });
const words = new Int32Array(memory.buffer);

/** Emits a function of i32 parameters with `write`, and runs it. The function stores its results in `words`. */
function run(parameters: readonly number[], write: (code: Code, args: readonly Int32[]) => void): void {
  const code = new Code(parameters.map((): ValueType => I32));
  write(
    code,
    parameters.map((_, k) => code.parameter(k)),
  );
  const module = new WebAssembly.Module(encodeModule(new Map([['f', code.finish()]])));
  const { f } = new WebAssembly.Instance(module, { env: { memory } }).exports as { f: (...args: number[]) => void };
  f(...parameters);
}

/** Computes a value in WebAssembly; returns its words. */
function wordsOf(parameters: readonly number[], value: (...args: Int32[]) => Int32 | Float32 | Vector): number[] {
  words.fill(-1, 0, 4);
  run(parameters, (code, args) => store(code, i32(0), value(...args)));
  return [...words.slice(0, 4)];
}

function wordOf(parameters: readonly number[], value: (...args: Int32[]) => Int32 | Float32): number {
  return wordsOf(parameters, value)[0]!;
}

const EDGES = [0, 1, -1, 2, 31, 32, 33, 127, 128, -128, -129, 65535, 65536, 2 ** 31 - 1, -(2 ** 31), 0x55555555];
const word = fc.oneof(fc.constantFrom(...EDGES), fc.integer());
const bit = (holds: boolean): number => Number(holds);

type Binary = (a: Int32, b: Int32) => Int32;

const BINARY: { readonly [name: string]: readonly [Binary, (a: number, b: number) => number] } = {
  add: [(a, b) => a.add(b), (a, b) => a + b],
  sub: [(a, b) => a.sub(b), (a, b) => a - b],
  mul: [(a, b) => a.mul(b), Math.imul],
  and: [(a, b) => a.and(b), (a, b) => a & b],
  or: [(a, b) => a.or(b), (a, b) => a | b],
  xor: [(a, b) => a.xor(b), (a, b) => a ^ b],
  shl: [(a, b) => a.shl(b), (a, b) => a << b],
  shrS: [(a, b) => a.shrS(b), (a, b) => a >> b],
  shrU: [(a, b) => a.shrU(b), (a, b) => a >>> b],
  eq: [(a, b) => a.eq(b), (a, b) => bit(a === b)],
  ne: [(a, b) => a.ne(b), (a, b) => bit(a !== b)],
  ltS: [(a, b) => a.ltS(b), (a, b) => bit(a < b)],
  gtS: [(a, b) => a.gtS(b), (a, b) => bit(a > b)],
  ltU: [(a, b) => a.ltU(b), (a, b) => bit(a >>> 0 < b >>> 0)],
  gtU: [(a, b) => a.gtU(b), (a, b) => bit(a >>> 0 > b >>> 0)],
  leU: [(a, b) => a.leU(b), (a, b) => bit(a >>> 0 <= b >>> 0)],
  geU: [(a, b) => a.geU(b), (a, b) => bit(a >>> 0 >= b >>> 0)],
};

const DIVISIONS: { readonly [name: string]: readonly [Binary, (a: number, b: number) => number] } = {
  divU: [(a, b) => a.divU(b), (a, b) => (a >>> 0) / (b >>> 0)],
  remU: [(a, b) => a.remU(b), (a, b) => (a >>> 0) % (b >>> 0)],
  remS: [(a, b) => a.remS(b), (a, b) => a % b],
};

describe('integers of 32 bits', () => {
  describe.each(Object.entries(BINARY))('%s', (_, [emit, expected]) => {
    test.prop([word, word])('computes what JavaScript does', (a, b) => {
      expect(wordOf([a, b], emit)).toBe(expected(a, b) | 0);
    });
    test.prop([word, word])('computes the same with constants', (a, b) => {
      expect(wordOf([a], (x) => emit(x, i32(b)))).toBe(expected(a, b) | 0);
    });
  });

  describe.each(Object.entries(DIVISIONS))('%s', (_, [emit, expected]) => {
    test.prop([word, word.filter((b) => b !== 0)])('computes what JavaScript does', (a, b) => {
      expect(wordOf([a, b], emit)).toBe(expected(a, b) | 0);
    });
  });

  test.prop([word])('popcount, ctz and isZero equal their definitions', (a) => {
    const bits = (a >>> 0).toString(2).padStart(32, '0');
    expect(wordOf([a], (x) => x.popcount())).toBe([...bits].filter((one) => one === '1').length);
    expect(wordOf([a], (x) => x.ctz())).toBe(a === 0 ? 32 : 31 - Math.clz32(a & -a));
    expect(wordOf([a], (x) => x.isZero())).toBe(bit(a === 0));
  });

  test.prop([word, word, word])('select and choose return one of two values', (a, b, c) => {
    expect(wordOf([a, b, c], (x, y, z) => z.select(x, y))).toBe(c === 0 ? b : a);
    expect(wordOf([a, b, c], (x, y, z) => choose(z, x, y))).toBe(c === 0 ? b : a);
  });

  test.prop([word, word, word, word])('operands are emitted in the order they are written', (a, b, c, d) => {
    expect(wordOf([a, b, c, d], (w, x, y, z) => w.sub(x.sub(y)).sub(z))).toBe((a - (b - c) - d) | 0);
  });
});

const BINARY_64: {
  readonly [name: string]: readonly [(a: Int64, b: Int64) => Int64, (a: bigint, b: bigint) => bigint];
} = {
  add: [(a, b) => a.add(b), (a, b) => a + b],
  sub: [(a, b) => a.sub(b), (a, b) => a - b],
  mul: [(a, b) => a.mul(b), (a, b) => a * b],
  shl: [(a, b) => a.shl(b), (a, b) => a << (b & 63n)],
  shrU: [(a, b) => a.shrU(b), (a, b) => BigInt.asUintN(64, a) >> (b & 63n)],
};

describe('integers of 64 bits', () => {
  /** Computes a 64-bit value in WebAssembly; returns both of its words. */
  const halvesOf = (parameters: readonly number[], value: (...args: Int32[]) => Int64): readonly number[] => {
    run(parameters, (code, args) => {
      const local = code.local(I64);
      local.set(value(...args));
      store(code, i32(0), local.wrap());
      store(code, i32(4), local.shrU(32).wrap());
    });
    return [...words.slice(0, 2)];
  };
  const halves = (value: bigint): readonly number[] => [
    Number(BigInt.asIntN(32, value)),
    Number(BigInt.asIntN(32, value >> 32n)),
  ];

  describe.each(Object.entries(BINARY_64))('%s', (_, [emit, expected]) => {
    test.prop([word, word])('computes what BigInt does', (a, b) => {
      expect(halvesOf([a, b], (x, y) => emit(x.extendS(), y.extendS()))).toEqual(
        halves(BigInt.asIntN(64, expected(BigInt(a), BigInt(b)))),
      );
    });
  });

  test.prop([word, word])('signs, constants and comparisons', (a, b) => {
    expect(halvesOf([a], (x) => x.extendU())).toEqual([a, 0]);
    expect(halvesOf([], () => i64(a))).toEqual(halves(BigInt(a)));
    expect(wordOf([a, b], (x, y) => x.extendS().ltS(y.extendS()))).toBe(bit(a < b));
    expect(wordOf([a, b], (x, y) => x.extendU().gtS(y.extendU()))).toBe(bit(a >>> 0 > b >>> 0));
  });

  test.prop([word, word])('pairs of words are loaded', (a, b) => {
    words[64] = a;
    words[65] = b;
    const loaded = halvesOf([], () => load64(i32(240), 16));
    expect(loaded).toEqual([a, b]);
  });
});

const FLOATS = [0, -0, 1, -1, 0.5, 2 ** -149, 3e38, -3e38, 2 ** 31, 2 ** 32, Infinity, -Infinity, Number.NaN];
const float = fc.oneof(fc.constantFrom(...FLOATS), fc.float());
const bitsOf = (value: number): number => new Int32Array(Float32Array.of(value).buffer)[0]!;

describe('floats', () => {
  test.prop([float, float])('constants, comparison and bits', (a, b) => {
    expect(wordOf([], () => f32(a))).toBe(bitsOf(a));
    expect(wordOf([bitsOf(a)], (x) => x.reinterpret().reinterpret())).toBe(bitsOf(a));
    expect(wordOf([], () => f32(a).ne(f32(b)))).toBe(bit(Math.fround(a) !== Math.fround(b)));
  });

  test.prop([float])('convert to integers', (a) => {
    const clamped = (low: number, high: number): number =>
      Number.isNaN(a) ? 0 : Math.max(low, Math.min(high, Math.trunc(Math.fround(a)))) | 0;
    expect(wordOf([], () => truncSat(f32(a), true))).toBe(clamped(-(2 ** 31), 2 ** 31 - 1));
    expect(wordOf([], () => truncSat(f32(a), false))).toBe(clamped(0, 2 ** 32 - 1));
  });
});

const lanes = fc.tuple(word, word, word, word);
type Combine = readonly [(a: Vector, b: Vector) => Vector, (a: number, b: number) => number];

const VECTORS: { readonly [name: string]: Combine } = {
  add: [(a, b) => a.add(b), (a, b) => a + b],
  sub: [(a, b) => a.sub(b), (a, b) => a - b],
  mul: [(a, b) => a.mul(b), Math.imul],
  minU: [(a, b) => a.minU(b), (a, b) => Math.min(a >>> 0, b >>> 0)],
  ne: [(a, b) => a.ne(b), (a, b) => -bit(a !== b)],
  ltU: [(a, b) => a.ltU(b), (a, b) => -bit(a >>> 0 < b >>> 0)],
  geU: [(a, b) => a.geU(b), (a, b) => -bit(a >>> 0 >= b >>> 0)],
  and: [(a, b) => a.and(b), (a, b) => a & b],
  or: [(a, b) => a.or(b), (a, b) => a | b],
  xor: [(a, b) => a.xor(b), (a, b) => a ^ b],
  andNot: [(a, b) => a.andNot(b), (a, b) => a & ~b],
  neg: [(a) => a.neg(), (a) => -a],
  not: [(a) => a.not(), (a) => ~a],
};

describe('vectors', () => {
  describe.each(Object.entries(VECTORS))('%s', (_, [emit, expected]) => {
    test.prop([lanes, lanes])('computes lane by lane', (a, b) => {
      expect(wordsOf([], () => emit(v128(a), v128(b)))).toEqual(a.map((one, k) => expected(one, b[k]!) | 0));
    });
  });

  test.prop([lanes, word])('shifts', (a, by) => {
    expect(wordsOf([by], (x) => v128(a).shl(x))).toEqual(a.map((one) => one << by));
    expect(wordsOf([by], (x) => v128(a).shrU(x))).toEqual(a.map((one) => (one >>> by) | 0));
  });

  test.prop([lanes, lanes, lanes])('bitselect, bitmask and anyTrue', (a, b, mask) => {
    expect(wordsOf([], () => v128(a).bitselect(v128(b), v128(mask)))).toEqual(
      mask.map((bits, k) => (a[k]! & bits) | (b[k]! & ~bits)),
    );
    expect(wordOf([], () => v128(a).bitmask())).toBe(a.reduce((bits, one, k) => bits | (bit(one < 0) << k), 0));
    expect(wordOf([], () => v128(a).anyTrue())).toBe(bit(a.some((one) => one !== 0)));
  });

  test.prop([lanes, lanes, fc.tuple(...[0, 1, 2, 3].map(() => fc.nat(7)))])('shuffle', (a, b, choice) => {
    const both = [...a, ...b];
    expect(wordsOf([], () => v128(a).shuffle(v128(b), choice as unknown as Lanes))).toEqual(
      choice.map((lane) => both[lane]!),
    );
  });

  test.prop([lanes, word, fc.nat(3)])('lanes are extracted, replaced and splatted', (a, b, lane) => {
    expect(wordOf([], () => v128(a).extract(lane))).toBe(a[lane]);
    expect(wordOf([], () => v128(a).extractF32(lane).reinterpret())).toBe(a[lane]);
    expect(wordsOf([b], (x) => v128(a).replace(lane, x))).toEqual(a.with(lane, b));
    expect(wordsOf([b], (x) => x.splat())).toEqual([b, b, b, b]);
    expect(wordsOf([bitsOf(1.5)], (x) => x.reinterpret().splat())).toEqual([0, 1, 2, 3].map(() => bitsOf(1.5)));
  });

  test.prop([lanes, lanes, word])('two lanes of 64 bits', (a, b, c) => {
    const sums = new Int32Array(
      BigUint64Array.from(new BigUint64Array(Int32Array.from(a).buffer), (one, k) => {
        return one + new BigUint64Array(Int32Array.from(b).buffer)[k]!;
      }).buffer,
    );
    expect(wordsOf([], () => v128(a).addI64(v128(b)))).toEqual([...sums]);
    expect(wordsOf([], () => v128(a).extendLowU())).toEqual([a[0], 0, a[1], 0]);
    expect(wordsOf([], () => v128(a).extendHighU())).toEqual([a[2], 0, a[3], 0]);
    expect(wordOf([], () => v128(a).extractI64(1).wrap())).toBe(a[2]);
    expect(wordsOf([c], (x) => x.extendU().splat().replaceI64(1, 7))).toEqual([c, 0, 7, 0]);
  });

  test('swizzle selects bytes, and gives 0 for indices out of range', () => {
    const bytes = v128([0x03020100, 0x0c0d0e0f, 0x10101010, 0x05050505]);
    expect(wordsOf([], () => v128([0x44332211, 0x88776655, 0, 0x01020304]).swizzle(bytes))).toEqual([
      0x44332211, 0x04030201, 0, 0x66666666,
    ]);
  });

  test.prop([lanes])('are loaded whole or one word at a time', (a) => {
    words.set(a, 256);
    expect(wordsOf([], () => loadVector(i32(1000), 24))).toEqual([...a]);
    expect(wordsOf([], () => loadSplat(i32(1024), 8))).toEqual([a[2], a[2], a[2], a[2]]);
  });
});

describe('memory and locals', () => {
  test.prop([word])('loads and stores use the address plus the offset', (a) => {
    words[300] = a;
    expect(wordOf([1100], (at) => load(at, 100))).toBe(a);
    expect(wordOf([1100], (at) => loadF32(at, 100).reinterpret())).toBe(a);
    expect(wordOf([1100], (at) => loadByte(at, 101))).toBe((a >>> 8) & 255);
    run([1200, a], (code, [at, value]) => store(code, at!, value!, 40));
    expect(words[310]).toBe(a);
  });

  test.prop([word, word])('an expression reads a local at the time of its use', (a, b) => {
    run([a, b], (code, [x, y]) => {
      const local = code.local(I32);
      local.set(x!);
      const twice = local.add(local);
      store(code, i32(0), twice);
      store(code, i32(4), local.tee(y!).add(local));
      store(code, i32(8), twice);
    });
    expect([...words.slice(0, 3)]).toEqual([(2 * a) | 0, (2 * b) | 0, (2 * b) | 0]);
  });

  test('released locals are reused by type', () => {
    const code = new Code([I32]);
    const first = code.local(I32);
    const vector = code.local(V128);
    code.release(first);
    code.release(vector);
    expect([code.local(V128).id, code.local(I32).id, code.local(I32).id]).toEqual([2, 1, 3]);
  });

  test('a local refuses values of other types', () => {
    const code = new Code([]);
    expect(() => assign(code.local(F32), i32(1))).toThrow(RangeError);
    expect(() => assign(code.local(I32), i32(1))).not.toThrow();
    expect(code.local(F32)).toBeInstanceOf(Float32);
    expect(code.parameter(0)).toBeInstanceOf(Int32);
  });
});
