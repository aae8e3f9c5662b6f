import { afterAll, beforeAll, describe, expect } from 'vitest';
import { compileJavaScript } from '../../../backends/reference/emit-javascript.ts';
import { createWorkersBackend } from '../../../backends/workers/index.ts';
import { explainVectorization } from '../../../backends/workers/wasm/explain-vectorization.ts';
import type { Backend } from '../../../primitives/contract/backend.ts';
import { Break, Continue, For, If, Return, Var, While } from '../../../primitives/functors/control.ts';
import { array, f32, fn, u32, uniform } from '../../../primitives/functors/functor.ts';
import type { Module } from '../../../primitives/ir/ir.ts';
import { operationNames } from '../../../primitives/ir/operations.ts';
import { bitsOfF32, fmax, fmin } from '../../../primitives/ir/semantics.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { cases, describeCase, moduleOfCase, runCase, valueOfWord, wrongAt } from '../../support/every-operation.ts';
import { bind, randomWords } from '../../support/workers-programs.ts';
import { arbitraryModule } from './workers-arbitrary-module.ts';

describe('every operation', () => {
  let backend: Backend;
  beforeAll(async () => {
    backend = await createWorkersBackend({ workers: 1, inlineNanoseconds: Number.POSITIVE_INFINITY });
  });
  afterAll(async () => {
    await backend.close();
  });

  test.each(cases.map((one) => [describeCase(one), one] as const))(
    '%s computes what its rule defines',
    async (_, one) => {
      expect(wrongAt(one, await runCase(backend, one, moduleOfCase(one, true)))).toEqual([]);
    },
  );

  test.each(cases.map((one) => [describeCase(one), one] as const))(
    '%s computes the same in vectors',
    async (_, one) => {
      const { vectorizes } = explainVectorization(moduleOfCase(one, false));
      expect(vectorizes).toBe(!(one.name === 'rem' || (one.name === 'div' && one.to !== 'f32')));
      expect(wrongAt(one, await runCase(backend, one, moduleOfCase(one, false)))).toEqual([]);
    },
  );

  test('the cases cover every operation', () => {
    expect(new Set(cases.map(({ name }) => name))).toEqual(new Set(operationNames));
  });
});

describe('min and max with a constant', () => {
  const values = [0, -0, 1, -1, 3, -3, 2 ** -149, -(2 ** -149), 3e38, Infinity, -Infinity, Number.NaN, 2.5, -2.5];
  let backend: Backend;
  beforeAll(async () => {
    backend = await createWorkersBackend({ workers: 1, inlineNanoseconds: Number.POSITIVE_INFINITY });
  });
  afterAll(async () => {
    await backend.close();
  });

  test.each([0, -0, 3, -3, 2 ** -149, -(2 ** -149), Infinity, -Infinity])('%d', async (bound) => {
    const extrema = fn({ i: u32, x: array(f32) }, { a: f32, b: f32, c: f32, d: f32 }, ({ i, x }) => {
      const value = x.at(i);
      const number = f32(bound);
      return { a: value.min(bound), b: value.max(bound), c: number.min(value), d: number.max(value) };
    });
    expect(explainVectorization(extrema.module)).toMatchObject({ vectorizes: true });
    const words = Uint32Array.from(values, bitsOfF32);
    const program = bind(backend, extrema.module, { x: { words, storage: 'f32', length: words.length } });
    const outs = [fmin, fmax, fmin, fmax].map((rule) => ({ rule, buffer: backend.allocate(values.length) }));
    const stores = outs.map(({ buffer }, value) => ({ buffer, offset: 0, capacity: values.length, value }));
    backend.run({ kind: 'forEach', extent: values.length, program, stores });
    for (const { rule, buffer } of outs) {
      const got = new Float32Array((await backend.read(buffer, 0, values.length)).slice().buffer);
      expect([...got]).toEqual(values.map((value) => rule(Math.fround(value), Math.fround(bound))));
    }
  });
});

/** A failure is reported at once: to shrink a list of hundreds of numbers would take minutes, and tell no more. */
const RUNS = { numRuns: caseCount(400), endOnFailure: true };

describe('random functors', () => {
  const n = 67;
  const words = ['a', 'b', 'c'].map((_, i) => {
    const random = randomWords(n + 32, 11 + i);
    return i === 2
      ? random.map((word) => bitsOfF32(((word >>> 20) - 2048) / 16))
      : random.map((word) => word >>> (word & 31));
  });
  let backend: Backend;
  beforeAll(async () => {
    backend = await createWorkersBackend({ workers: 1, inlineNanoseconds: Number.POSITIVE_INFINITY });
  });
  afterAll(async () => {
    await backend.close();
  });

  /** Runs a functor of the index in WebAssembly and in JavaScript. Describes the first difference of the results. */
  const firstDifference = async (module: Module, k: number): Promise<string | undefined> => {
    const storages = ['u32', 'i32', 'f32'] as const;
    const captures = words.map(
      (array, i) => ['abc'[i]!, { words: array, offset: 16, length: n, storage: storages[i]! }] as const,
    );
    const program = bind(backend, module, Object.fromEntries(captures), { k });
    const types = module.functions.at(-1)!.results;
    const out = backend.allocate(n * types.length);
    backend.run({
      kind: 'forEach',
      extent: n,
      program,
      stores: types.map((_, value) => ({ buffer: out, offset: value * n, capacity: n, value })),
    });
    const got = await backend.read(out, 0, n * types.length);
    const readers = words.map((array, i) => {
      const at = (index: number): number | boolean => valueOfWord(storages[i]!, array[16 + index]!);
      return ['abc'[i]!, { at, length: () => n }] as const;
    });
    const entry = compileJavaScript(module)(new Map(readers), new Map([['k', k]]));
    for (const { buffer } of program.arrays.values()) backend.release(buffer);
    backend.release(out);
    for (let i = 0; i < n; i++) {
      for (const [result, expected] of entry(i).entries()) {
        const value = valueOfWord(types[result]!, got[result * n + i]!);
        const same = Number.isNaN(expected) ? Number.isNaN(value) : Object.is(value, expected);
        if (!same) return `result ${result} at ${i} is ${value}, not ${expected}`;
      }
    }
    return undefined;
  };

  test.prop([arbitraryModule('none'), fc.nat(40)], RUNS)(
    'without loops give the same results four at once as one by one',
    async (module, k) => {
      expect(explainVectorization(module)).toEqual({ vectorizes: true });
      expect(await firstDifference(module, k)).toBeUndefined();
    },
  );

  test.prop([arbitraryModule('even'), fc.nat(40)], RUNS)(
    'with loops of equal numbers of rounds give the same results vectorised as one by one',
    async (module, k) => {
      expect(explainVectorization(module)).toEqual({ vectorizes: true });
      expect(await firstDifference(module, k)).toBeUndefined();
    },
  );

  test.prop([arbitraryModule('any'), fc.nat(40)], RUNS)(
    'with loops, breaks, continues and early returns equal the interpreter',
    async (module, k) => {
      expect(await firstDifference(module, k)).toBeUndefined();
    },
  );
});

describe('control flow', () => {
  test('break, continue and return leave the right loop or function', async () => {
    const backend = await createWorkersBackend({ workers: 1, inlineNanoseconds: Number.POSITIVE_INFINITY });
    const search = fn('search', { from: u32, limit: u32 }, u32, ({ from, limit }) => {
      const found = Var(u32(0));
      For(from, from.add(limit), (x) => {
        If(x.and(1).eq(0), () => Continue());
        For(3, x, (divisor) => {
          If(divisor.mul(divisor).gt(x), () => Break());
          If(x.rem(divisor).eq(0), () => {
            found.set(found.add(divisor));
            Continue();
          });
          found.set(found.add(1));
          If(found.gt(200), () => Return(x));
        });
        If(x.rem(7).eq(3), () => Continue());
        found.set(found.xor(x));
      });
      return found;
    });
    const entry = fn({ i: u32 }, { first: u32, second: u32 }, ({ i }) => {
      const first = search({ from: i, limit: i.rem(40) });
      const rounds = Var(u32(0));
      While(
        () => rounds.lt(100),
        () => {
          rounds.set(rounds.add(1));
          If(rounds.and(3).ne(0), () => Continue());
          If(search({ from: rounds, limit: 5 }).gt(i), () => Break());
        },
      );
      return { first, second: u32(rounds) };
    });
    const n = 300;
    const out = backend.allocate(2 * n);
    backend.run({
      kind: 'forEach',
      extent: n,
      program: bind(backend, entry.module),
      stores: [
        { buffer: out, offset: 0, capacity: n, value: 0 },
        { buffer: out, offset: n, capacity: n, value: 1 },
      ],
    });
    const oracle = compileJavaScript(entry.module)(new Map(), new Map());
    const expected = Array.from({ length: n }, (_, i) => oracle(i));
    expect(Array.from(await backend.read(out, 0, 2 * n))).toEqual([
      ...expected.map(([first]) => first),
      ...expected.map(([, second]) => second),
    ]);
    await backend.close();
  });
});

describe('explainVectorization', () => {
  test('tells why a functor runs one index at a time', () => {
    const gathering = fn({ i: u32, xs: array(u32) }, u32, ({ i, xs }) => xs.at(xs.at(i)));
    const dividing = fn({ i: u32 }, u32, ({ i }) => i.div(3));
    const shifting = fn({ i: u32, xs: array(u32), by: uniform(u32) }, u32, ({ i, xs, by }) => xs.at(i.add(by).sub(2)));
    const long = fn({ i: u32 }, u32, ({ i }) => {
      const values = Array.from({ length: 100 }, () => i);
      for (let k = 0; k < 10_000; k++) values[k % 100] = values[k % 100]!.mul(3).xor(k);
      return values.reduce((sum, value) => sum.add(value));
    });
    const deep = fn({ i: u32 }, u32, ({ i }) => {
      let value = i;
      for (let k = 0; k < 10_000; k++) value = value.mul(3).xor(i);
      return value;
    });
    const table = fn({ i: u32, xs: array(u32) }, u32, ({ i, xs }) => xs.at(0).div(7).add(i));
    expect(explainVectorization(gathering.module).reason).toMatch(/index of its own/);
    expect(explainVectorization(dividing.module).reason).toMatch(/divides integers/);
    expect(explainVectorization(long.module).reason).toMatch(/more than 4096 values/);
    expect(explainVectorization(deep.module).reason).toMatch(/a chain of more than 1024 values/);
    expect(explainVectorization(shifting.module)).toEqual({ vectorizes: true });
    expect(explainVectorization(table.module)).toEqual({ vectorizes: true });
  });
});
