import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { WebGpuBackend } from '../../../backends/webgpu/backend.ts';
import { guardedArithmetic, plainArithmetic } from '../../../backends/webgpu/device/arithmetic.ts';
import { emitModule } from '../../../backends/webgpu/wgsl/emit-wgsl.ts';
import type { Helper } from '../../../backends/webgpu/wgsl/wgsl-helpers.ts';
import { atan2, cbrt, f32, fn, sin } from '../../../primitives/index.ts';
import { evaluate } from '../../../primitives/ir/evaluate.ts';
import type { Local, Operand, OperationName, Statement } from '../../../primitives/ir/ir.ts';
import { costlyCaseCount } from '../../cases.ts';
import { runOnBackend } from '../../support/functor-on-backend.ts';
import {
  bind,
  bindingOf,
  give,
  literal,
  local,
  moduleOf,
  openTestBackend,
  randomWords,
  readAt,
  upload,
  valueOfWord,
  wordOf,
} from '../../support/webgpu-support.ts';

/**
 * An expression over f32 operands. `i` is the low half of a and `j` the high half of b, both converted to f32, so that
 * emitters know the bounds of `i` and `j`.
 */
type Expression = 'a' | 'b' | 'c' | 'i' | 'j' | number | readonly [OperationName, ...Expression[]];

const tenth = Math.fround(0.1);
/** Expressions that shader compilers tend to simplify, although this changes their results. */
const expressions: readonly Expression[] = [
  ['add', ['mul', 'a', 'b'], 'c'],
  ['sub', ['mul', 'a', 'b'], ['mul', 'a', 'c']],
  ['add', ['mul', 'a', 'b'], ['mul', 'a', 'c']],
  ['add', ['mul', 'a', 3], ['mul', 'b', 3]],
  ['div', ['mul', 'a', 'b'], 'b'],
  ['mul', ['div', 'a', 'b'], 'b'],
  ['add', ['sub', 'a', 'b'], 'b'],
  ['add', 'b', ['sub', 'a', 'b']],
  ['sub', 'a', ['sub', 'a', 'b']],
  ['sub', ['add', 'a', 'b'], 'a'],
  ['neg', ['sub', 'a', 'b']],
  ['sub', 'a', ['neg', 'b']],
  ['mul', 'a', 0],
  ['mul', 'a', -0],
  ['add', 'a', 0],
  ['sub', 0, 'a'],
  ['div', 0, 'a'],
  ['div', 'a', 3],
  ['div', tenth, 'a'],
  ['div', ['mul', 'a', 3], 3],
  ['mul', ['mul', 'a', 3], tenth],
  ['add', ['add', 'a', 3], tenth],
  ['sub', ['add', 'a', 3], 3],
  ['sub', tenth, ['sub', 3, 'a']],
  ['sqrt', ['mul', 'a', 'a']],
  ['add', ['mul', 'a', 2], ['mul', 'a', 2]],
];

const isNormalOrZero = (value: number): boolean =>
  value === 0 || (Number.isFinite(value) && Math.abs(value) >= 2 ** -126);

/** Numbers with similar exponents, so that rounding matters, and zeros of both signs. */
const operands = (count: number, seed: number): Uint32Array =>
  randomWords(count, seed).map((word, i) =>
    i % 9 === seed ? word & 0x80000000 : (word & 0x807fffff) | ((120 + ((word >>> 10) % 14)) << 23),
  );

/**
 * Evaluates expressions on a backend for every triple of operands. The result of each expression is a column of words.
 */
async function evaluateAll(backend: WebGpuBackend, columns: readonly Uint32Array[], asked: readonly Expression[]) {
  const n = columns[0]!.length;
  const index = local('u32', 0);
  const values = {
    ...{ a: local('f32', 1), b: local('f32', 2), c: local('f32', 3) },
    ...{ i: local('f32', 4), j: local('f32', 5) },
  };
  const [bitsOfA, bitsOfB, low, high] = [6, 7, 8, 9].map((id) => local('u32', id)) as [Local, Local, Local, Local];
  const body: Statement[] = [
    ...(['a', 'b', 'c'] as const).map((name) => readAt(values[name], name, index)),
    bind(bitsOfA, 'bits', values.a),
    bind(bitsOfB, 'bits', values.b),
    bind(low, 'and', bitsOfA, literal('u32', 0xffff)),
    bind(high, 'shr', bitsOfB, literal('u32', 16)),
    bind(values.i, 'convert', low),
    bind(values.j, 'convert', high),
  ];
  let next = 10;
  const compile = (part: Expression): Operand => {
    if (typeof part === 'number') return literal('f32', part);
    if (typeof part === 'string') return values[part];
    const result = local('f32', 0);
    const operation = bind(
      { ...result, id: next++ },
      part[0],
      ...part.slice(1).map((each) => compile(each as Expression)),
    );
    body.push(operation);
    return (operation as Extract<Statement, { kind: 'let' }>).local;
  };
  const results = asked.map(compile);
  const module = moduleOf(
    [index],
    results.map(() => 'f32'),
    [...body, give(...results)],
    { a: 'f32', b: 'f32', c: 'f32' },
  );
  const buffers = columns.map((column) => upload(backend, column));
  const arrays = new Map(buffers.map((buffer, i) => ['abc'[i]!, bindingOf(buffer, n, 'f32')]));
  const out = backend.allocate(asked.length * n);
  const stores = asked.map((_, value) => ({ buffer: out, offset: value * n, capacity: n, value }));
  backend.run({ kind: 'forEach', extent: n, program: { module, arrays, uniforms: new Map() }, stores });
  const words = await backend.read(out, 0, asked.length * n);
  for (const buffer of [out, ...buffers]) backend.release(buffer);
  return asked.map((_, i) => words.subarray(i * n, (i + 1) * n));
}

/** The result by the specification; undefined if the result or an intermediate value is not a normal number. */
function expected(expression: Expression, words: Readonly<Record<'a' | 'b' | 'c', number>>): number | undefined {
  if (typeof expression === 'number') return expression;
  if (expression === 'i') return words.a & 0xffff;
  if (expression === 'j') return words.b >>> 16;
  if (typeof expression === 'string') return valueOfWord('f32', words[expression]) as number;
  const args = expression.slice(1).map((part) => expected(part as Expression, words));
  if (args.some((value) => value === undefined || !isNormalOrZero(value))) return undefined;
  const value = evaluate(expression[0], 'f32', 'f32', args as number[]) as number;
  return isNormalOrZero(value) ? value : undefined;
}

async function expectRounded(backend: WebGpuBackend, columns: readonly Uint32Array[], asked: readonly Expression[]) {
  const [a, b, c] = columns;
  const results = await evaluateAll(backend, columns, asked);
  const wrong = asked.flatMap((expression, k) => {
    for (const [i, got] of results[k]!.entries()) {
      const wanted = expected(expression, { a: a![i]!, b: b![i]!, c: c![i]! });
      if (wanted === undefined || got === wordOf('f32', wanted)) continue;
      const of = [a, b, c].map((column) => valueOfWord('f32', column![i]!)).join(', ');
      return [`${JSON.stringify(expression)} of ${of}: ${valueOfWord('f32', got)}, not ${wanted}`];
    }
    return [];
  });
  expect(wrong).toEqual([]);
}

describe.each([
  ['chosen by the probe', {}],
  ['guarded', guardedArithmetic],
])('f32 arithmetic as %s', (_, arithmetic) => {
  let backend: WebGpuBackend;
  beforeAll(async () => {
    backend = await openTestBackend({ arithmetic });
  }, 60_000);
  afterAll(() => backend.close());

  test('is exact, and is reported as exact', () => {
    expect(backend.determinism).toMatchObject({ level: 'exact', ulp: 0 });
  });

  test('rounds after every operation, even where a compiler could simplify', async () => {
    await expectRounded(
      backend,
      [1, 2, 3].map((seed) => operands(3000, seed)),
      expressions,
    );
  });

  test('rounds after every operation when sums and products share terms, in any order', async () => {
    const { tree } = fc.letrec<{ tree: Expression }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 5, withCrossShrink: true },
        fc.constantFrom('a', 'b', 'c', 'i', 'j'),
        fc.tuple(fc.constantFrom('add', 'sub'), tie('tree'), tie('tree')),
        fc.tuple(fc.constantFrom('add', 'sub', 'mul'), tie('tree'), fc.constantFrom(0.5, 0.25, 2, 3, tenth)),
        fc.tuple(fc.constantFrom('mul', 'max'), tie('tree'), tie('tree')),
        fc.tuple(fc.constantFrom('neg', 'round', 'abs'), tie('tree')),
      ),
    }));
    const columns = [4, 5, 6].map((seed) => operands(300, seed));
    const property = fc.asyncProperty(fc.array(tree, { minLength: 12, maxLength: 12 }), (asked) =>
      expectRounded(backend, columns, asked),
    );
    // Pairs of equal operations on the same operand, which the compiler may merge.
    const twice: Expression[] = [
      ['add', ['abs', 'a'], ['sub', ['neg', 'a'], ['abs', 'a']]],
      ['sub', ['add', ['max', 'a', 'b'], 'c'], ['max', 'b', 'a']],
    ];
    await fc.assert(property, { numRuns: costlyCaseCount(12, 1), examples: [[twice]] });
  });

  test('keeps the sign of a zero combined with a zero folded from integer constants', async () => {
    const [q, folded, known] = [local('f32', 0), local('i32', 1), local('f32', 2)];
    const [sum, product, difference] = [local('f32', 3), local('f32', 4), local('f32', 5)];
    const body = [
      bind(folded, 'div', literal('i32', -1), literal('i32', -2)),
      bind(known, 'convert', folded),
      bind(sum, 'add', q, known),
      bind(product, 'mul', q, known),
      bind(difference, 'sub', known, q),
      give(sum, product, difference),
    ];
    const module = moduleOf([q], ['f32', 'f32', 'f32'], body);
    const inputs = { rows: [[0], [-0], [1.5], [-1.5]], arrays: {}, uniforms: {} };
    expect(await runOnBackend(backend, module, inputs)).toEqual([
      [0, 0, 0],
      [0, -0, 0],
      [1.5, 0, -1.5],
      [-1.5, -0, 1.5],
    ]);
  });

  test('keeps the sign of a zero combined with a zero read out of bounds', async () => {
    const [q, nothing] = [local('f32', 0), local('f32', 1)];
    const [quotient, product, sum] = [local('f32', 2), local('f32', 3), local('f32', 4)];
    const body: Statement[] = [
      { kind: 'read', local: nothing, array: 'xs', index: literal('u32', 2 ** 32 - 1) },
      bind(quotient, 'div', nothing, q),
      bind(product, 'mul', nothing, q),
      bind(sum, 'add', q, nothing),
      give(quotient, product, sum),
    ];
    const module = { ...moduleOf([q], ['f32', 'f32', 'f32'], body), arrays: new Map([['xs', 'f32' as const]]) };
    const inputs = { rows: [[-0], [2], [-2]], arrays: { xs: [1, 2] }, uniforms: {} };
    const [zero, ...others] = await runOnBackend(backend, module, inputs);
    expect(zero!.slice(1)).toEqual([-0, 0]);
    expect(others).toEqual([
      [0, 0, 2],
      [-0, -0, -2],
    ]);
  });

  test('rounds quotients and roots over the full range of exponents', async () => {
    const anywhere = (seed: number): Uint32Array => randomWords(60_000, seed);
    const roots: Expression[] = [['sqrt', ['abs', 'a']]];
    await expectRounded(backend, [anywhere(4), anywhere(5), anywhere(6)], [['div', 'a', 'b'], ...roots]);
  });

  test('rounds products with constants exactly, up to the smallest normal number', async () => {
    const factors = [
      0.1,
      0.5,
      0.2,
      0.75,
      1 - 2 ** -24,
      2 ** -20,
      2 ** -100,
      2 ** -126,
      2 ** -126 * 1.75,
      1,
      1.5,
      2 ** 20,
    ];
    const constants = [...factors, ...factors.map((factor) => -factor)].map(Math.fround);
    const edges = factors.flatMap((factor) => {
      const edge = wordOf('f32', Math.min(2 ** 100, 2 ** -126 / factor));
      return Array.from({ length: 41 }, (_, i) => edge + i - 20);
    });
    const a = Uint32Array.from([0, 0x800000, 0x800001, ...edges].flatMap((word) => [word, word | 0x80000000]));
    await expectRounded(
      backend,
      [a, a, a],
      constants.flatMap((constant): Expression[] => [
        ['mul', 'a', constant],
        ['mul', constant, 'a'],
      ]),
    );
  });

  test('min and max of a constant and any number equal the rules, bit for bit', async () => {
    const constants = [0, -0, 1, -1, 2 ** -126, -(2 ** -149), 3e38, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    const special = [
      0, 1, 0x7fffff, 0x800000, 0x3f800000, 0x3f800001, 0x3f7fffff, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fc00000,
    ];
    const a = Uint32Array.from([...special.flatMap((word) => [word, word | 0x80000000]), ...randomWords(200, 3)]);
    const asked = constants.flatMap((constant): Expression[] => [
      ['min', 'a', Math.fround(constant)],
      ['max', Math.fround(constant), 'a'],
    ]);
    const results = await evaluateAll(backend, [a, a, a], asked);
    for (const [k, [name, ...operands]] of (asked as [OperationName, ...Expression[]][]).entries()) {
      const wanted = Array.from(a, (word) => {
        const values = operands.map((each) => (each === 'a' ? valueOfWord('f32', word) : each)) as number[];
        return wordOf('f32', evaluate(name, 'f32', 'f32', values) as number);
      });
      expect({ k, words: [...results[k]!] }).toEqual({ k, words: wanted });
    }
  });

  test('rounds products and quotients at the edges of the range: near the smallest normal number, and below infinity', async () => {
    const mantissas = [0, 1, 2, 0x400000, 0x7ffffe, 0x7fffff];
    const numbers = [1, 2, 24, 126, 127, 128, 253, 254].flatMap((exponent) =>
      mantissas.map((mantissa) => (exponent << 23) | mantissa),
    );
    const a = Uint32Array.from(numbers.flatMap((x) => numbers.map(() => x)));
    const b = Uint32Array.from(numbers.flatMap(() => numbers));
    await expectRounded(
      backend,
      [a, b, b],
      [
        ['div', 'a', 'b'],
        ['sqrt', 'a'],
      ],
    );
  });
});

test('an arithmetic that is not exact on the device is reported', async () => {
  const backend = await openTestBackend({ arithmetic: plainArithmetic });
  expect(backend.arithmetic).toEqual(plainArithmetic);
  expect(backend.determinism.level).toBe('within-ulp');
  expect(backend.determinism.ulp).toBeGreaterThan(0);
  expect(backend.determinism.reasons.join('\n')).toMatch(/product is plain.*Not exact: /s);
  await backend.close();
});

test('fast functors compile to plain operations', () => {
  const [a, b, product, quotient] = [0, 1, 2, 3].map((id) => local('f32', id));
  const body = [bind(product!, 'mul', a!, b!), bind(quotient!, 'div', product!, literal('f32', 3)), give(quotient!)];
  const exact = moduleOf([a!, b!], ['f32'], body);
  const fast = { ...exact, functions: exact.functions.map((fn) => ({ ...fn, fast: true })) };
  const [guarded, plain] = [exact, fast].map((module) => {
    const helpers = new Set<Helper>();
    const unused = (): string => '';
    const environment = {
      prefix: '',
      arithmetic: guardedArithmetic,
      helpers,
      read: unused,
      length: unused,
      uniform: unused,
    };
    return { text: emitModule(module, environment), helpers: [...helpers] };
  });
  expect(guarded!.helpers).toEqual(['mul', 'div']);
  expect(plain!.helpers).toEqual([]);
  expect(plain!.text).toContain('(v0 * v1)');
});

test('fast functors call functions of the device, but for constants', () => {
  const quick = fn(
    'quick',
    { x: f32 },
    f32,
    ({ x }) =>
      sin(x)
        .add(cbrt(x))
        .add(atan2(f32(1), f32(2))),
    { fast: true },
  );
  const helpers = new Set<Helper>();
  const unused = (): string => '';
  const given = { prefix: 'p_', arithmetic: guardedArithmetic, helpers, read: unused, length: unused, uniform: unused };
  const entry = emitModule(quick.module, given).split('fn p_entry')[1]!;
  expect(entry).toMatch(/[^_]sin\(v0\)/);
  expect(entry).not.toMatch(/cbrt\(|atan2\(/);
});
