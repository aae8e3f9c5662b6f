import { fc, test } from '@fast-check/vitest';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { compileJavaScript } from '../backends/reference/emit-javascript.ts';
import { createWorkersBackend } from '../backends/workers/backend.ts';
import { explainVectorization } from '../backends/workers/straight-line.ts';
import type { Backend } from '../primitives/backend.ts';
import { Break, Continue, For, If, Return, Var, While } from '../primitives/functors/control.ts';
import { array, fn, u32, uniform } from '../primitives/functors/functor.ts';
import type { Local, Module, OperationName, ScalarType, Statement } from '../primitives/functors/ir.ts';
import { bitsOfF32, evaluate, f32OfBits, typeOf } from '../primitives/functors/semantics.ts';
import { arbitraryModule } from './workers-arbitrary-module.ts';
import { bind, randomWords } from './workers-programs.ts';

const operations: readonly OperationName[] = [
  ...(['add', 'sub', 'mul', 'div', 'rem', 'min', 'max', 'and', 'or', 'xor', 'shl', 'shr'] as const),
  ...(['eq', 'ne', 'lt', 'le', 'gt', 'ge', 'neg', 'not', 'abs', 'clz', 'ctz', 'popcount'] as const),
  ...(['floor', 'ceil', 'trunc', 'round', 'sqrt', 'convert', 'bits', 'mulhi', 'select'] as const),
];
const scalars: readonly ScalarType[] = ['u32', 'i32', 'f32', 'bool'];

interface Case {
  readonly name: OperationName;
  readonly operands: readonly ScalarType[];
  readonly to: ScalarType;
}

/** Every operation on every combination of types that it takes. */
const cases: readonly Case[] = operations.flatMap((name) =>
  scalars.flatMap((a) => {
    const operandLists: ScalarType[][] = [[a], [a, a], [a, a, 'bool']];
    if (a !== 'u32') operandLists.push([a, 'u32']);
    return operandLists.flatMap((operands) =>
      scalars.flatMap((to) => (typeOf(name, operands, to) === to ? [{ name, operands, to }] : [])),
    );
  }),
);

const edges: readonly number[] = [
  ...[0, 1, 2, 3, 31, 32, 33, 63, 0x7f, 0x80, 0xffff, 0x10000, 0x7ffffffe, 0x7fffffff, 0x80000000, 0x80000001],
  ...[0xfffffffe, 0xffffffff, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0xffc00001, 0x00000001, 0x807fffff],
  ...[0x00800000, 0x80800000, 0x7f7fffff, 0xff7fffff],
  ...[0.5, -0.5, 1.5, -1.5, 2.5, 0.49999997, -0.49999997, 8388607.5, 8388608.5, 16777217, -0, 1e-40].map(bitsOfF32),
  ...[4294967296, 4294967040, 2147483648, 2147483520, -2147483648, -2147483904, -1, -0.999, 1e30, -1e30].map(bitsOfF32),
];

/** Pairs of words: all pairs of edges, then random ones, some of them alike. */
const inputs: readonly Uint32Array[] = (() => {
  const a = edges.flatMap((x) => edges.map(() => x));
  const b = edges.flatMap(() => edges);
  const random = randomWords(6000, 77);
  const c = randomWords(a.length + 4000, 3).map((word) => word & 1);
  const near = Array.from(random.subarray(0, 1000), (word, i) => word + (i % 3) - 1);
  return [
    Uint32Array.from([...a, ...random.subarray(0, 3000), ...random.subarray(0, 1000)]),
    Uint32Array.from([...b, ...random.subarray(3000), ...near]),
    c,
  ];
})();

const length = inputs[0]!.length;
const arrays = ['a', 'b', 'c'];

/** out = operation(a[i], b[i], c[i]); with `scattered`, elements are read at an index that no vector can follow. */
function moduleOf({ name, operands, to }: Case, scattered: boolean): Module {
  const index: Local = { kind: 'local', type: 'u32', id: 0 };
  const twice: Local = { kind: 'local', type: 'u32', id: 9 };
  const at = scattered ? twice : index;
  const values = operands.map((type, i): Local => ({ kind: 'local', type, id: i + 1 }));
  const result: Local = { kind: 'local', type: to, id: 10 };
  const body: Statement[] = [
    {
      kind: 'let',
      local: twice,
      operation: { name: 'xor', operands: [index, { kind: 'literal', type: 'u32', value: 0 }] },
    },
    ...values.map((local, i): Statement => ({ kind: 'read', local, array: arrays[i]!, index: at })),
    { kind: 'let', local: result, operation: { name, operands: values } },
    { kind: 'return', values: [result] },
  ];
  return {
    functions: [{ name: 'entry', parameters: [index], results: [to], body, fast: false }],
    arrays: new Map(operands.map((type, i) => [arrays[i]!, type])),
    uniforms: new Map(),
  };
}

/** The value that a word stands for. */
function valueOfWord(type: ScalarType, word: number): number | boolean {
  if (type === 'bool') return word !== 0;
  return type === 'f32' ? f32OfBits(word) : type === 'i32' ? word | 0 : word;
}

function describeCase({ name, operands, to }: Case): string {
  return `${name}(${operands.join(', ')}): ${to}`;
}

describe('every operation', () => {
  let backend: Backend;
  beforeAll(async () => {
    backend = await createWorkersBackend({ workers: 1, inlineNanoseconds: Number.POSITIVE_INFINITY });
  });
  afterAll(async () => {
    await backend.close();
  });

  const run = async (one: Case, module: Module): Promise<Uint32Array> => {
    const captures = one.operands.map((type, i) => {
      // Some bools in memory are other numbers than 1.
      const words = type === 'bool' ? inputs[i]!.map((word) => (word % 3 === 0 ? 0 : word)) : inputs[i]!;
      return [arrays[i]!, { words, length, storage: type === 'bool' ? ('u32' as const) : type }] as const;
    });
    const program = bind(backend, module, Object.fromEntries(captures));
    const out = backend.allocate(length);
    backend.forEach(length, program, [{ buffer: out, offset: 0, capacity: length, value: 0 }]);
    const got = await backend.read(out, 0, length);
    for (const { buffer } of program.arrays.values()) backend.release(buffer);
    backend.release(out);
    return got;
  };

  const wrongAt = (one: Case, got: Uint32Array): string[] => {
    const { name, operands, to } = one;
    const wrong: string[] = [];
    for (let i = 0; i < length && wrong.length < 3; i++) {
      const args = operands.map((type, k) =>
        type === 'bool' ? inputs[k]![i]! % 3 !== 0 : valueOfWord(type, inputs[k]![i]!),
      );
      const expected = evaluate(name, operands[0]!, to, args);
      const value = valueOfWord(to, got[i]!);
      const same = to === 'f32' && Number.isNaN(expected) ? Number.isNaN(value) : Object.is(value, expected);
      // Bits of a NaN are not specified.
      const unspecified = name === 'bits' && operands[0] === 'f32' && Number.isNaN(args[0] as number);
      if (!same && !unspecified) wrong.push(`${args.join(', ')} gave ${value}, not ${expected}`);
      if (to === 'bool' && got[i]! > 1) wrong.push(`a bool is stored as ${got[i]}`);
    }
    return wrong;
  };

  test.each(cases.map((one) => [describeCase(one), one] as const))('%s computes what its rule says', async (_, one) => {
    expect(wrongAt(one, await run(one, moduleOf(one, true)))).toEqual([]);
  });

  test.each(cases.map((one) => [describeCase(one), one] as const))(
    '%s computes the same in vectors',
    async (_, one) => {
      const { vectorizes } = explainVectorization(moduleOf(one, false));
      expect(vectorizes).toBe(!(one.name === 'rem' || (one.name === 'div' && one.to !== 'f32')));
      expect(wrongAt(one, await run(one, moduleOf(one, false)))).toEqual([]);
    },
  );

  test('the cases cover every operation', () => {
    expect(new Set(cases.map(({ name }) => name)).size).toBe(operations.length);
  });
});

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

  /** Runs a functor of the index on both sides and names the first results that differ. */
  const firstDifference = async (module: Module, k: number): Promise<string | undefined> => {
    const storages = ['u32', 'i32', 'f32'] as const;
    const captures = words.map(
      (array, i) => ['abc'[i]!, { words: array, offset: 16, length: n, storage: storages[i]! }] as const,
    );
    const program = bind(backend, module, Object.fromEntries(captures), { k });
    const types = module.functions.at(-1)!.results;
    const out = backend.allocate(n * types.length);
    backend.forEach(
      n,
      program,
      types.map((_, value) => ({ buffer: out, offset: value * n, capacity: n, value })),
    );
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

  test.prop([arbitraryModule(false), fc.nat(40)], { numRuns: 400 })(
    'without loops give the same four at once as one by one',
    async (module, k) => {
      expect(explainVectorization(module)).toEqual({ vectorizes: true });
      expect(await firstDifference(module, k)).toBeUndefined();
    },
  );

  test.prop([arbitraryModule(true), fc.nat(40)], { numRuns: 400 })(
    'with loops, breaks, continues and early returns give what the oracle gives',
    async (module, k) => {
      expect(await firstDifference(module, k)).toBeUndefined();
    },
  );
});

describe('control flow', () => {
  test('jumps leave the loops and functions that they are meant to leave', async () => {
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
    backend.forEach(n, bind(backend, entry.module), [
      { buffer: out, offset: 0, capacity: n, value: 0 },
      { buffer: out, offset: n, capacity: n, value: 1 },
    ]);
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
  test('says why a functor runs one index at a time', () => {
    const looping = fn({ i: u32 }, u32, ({ i }) => {
      const sum = Var(i);
      For(0, i, (k) => sum.set(sum.add(k)));
      return sum;
    });
    const gathering = fn({ i: u32, xs: array(u32) }, u32, ({ i, xs }) => xs.at(xs.at(i)));
    const dividing = fn({ i: u32 }, u32, ({ i }) => i.div(3));
    const shifting = fn({ i: u32, xs: array(u32), by: uniform(u32) }, u32, ({ i, xs, by }) => xs.at(i.add(by).sub(2)));
    const table = fn({ i: u32, xs: array(u32) }, u32, ({ i, xs }) => xs.at(0).div(7).add(i));
    expect(explainVectorization(looping.module).reason).toMatch(/has a loop/);
    expect(explainVectorization(gathering.module).reason).toMatch(/index of its own/);
    expect(explainVectorization(dividing.module).reason).toMatch(/divides integers/);
    expect(explainVectorization(shifting.module)).toEqual({ vectorizes: true });
    expect(explainVectorization(table.module)).toEqual({ vectorizes: true });
  });
});
