import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { WebGpuBackend } from '../../../backends/webgpu/backend.ts';
import { guardedArithmetic } from '../../../backends/webgpu/device/arithmetic.ts';
import { evaluate } from '../../../primitives/ir/evaluate.ts';
import type { Module, OperationName, ScalarType, Statement } from '../../../primitives/ir/ir.ts';
import { operationNames, typeOf } from '../../../primitives/ir/operations.ts';
import { test } from '../../law-test.ts';
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

const types: readonly ScalarType[] = ['u32', 'i32', 'f32', 'bool'];

interface Case {
  readonly name: OperationName;
  readonly operands: readonly ScalarType[];
  readonly to: ScalarType;
}

/** Every operation that accepts operands of a type, with every possible result type. */
function casesOf(type: ScalarType): Case[] {
  return operationNames.flatMap((name): Case[] => {
    if (name === 'convert' || name === 'bits') {
      const targets = types.filter((to) => to !== type && typeOf(name, [type], to) !== undefined);
      return targets.map((to) => ({ name, operands: [type], to }));
    }
    const shapes: ScalarType[][] = [[type], [type, type], [type, 'u32'], [type, type, 'bool']];
    const operands = shapes.find((shape) => typeOf(name, shape) !== undefined);
    return operands === undefined ? [] : [{ name, operands, to: typeOf(name, operands)! }];
  });
}

const edges: Record<ScalarType, readonly (number | boolean)[]> = {
  u32: [
    0, 1, 2, 3, 31, 32, 33, 255, 65535, 65536, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff, 16777217,
  ],
  i32: [0, 1, -1, 2, -2, 31, 32, 65535, -65536, 2147483647, -2147483648, -2147483647, 16777217, -16777219],
  f32: [
    ...[
      0, -0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 3, 1e-20, -1e20, 3.4028234663852886e38,
      1.1754943508222875e-38,
    ],
    ...[
      16777216,
      8388609.5,
      4294967040,
      4294967296,
      -4294967296,
      2147483648,
      2147483520,
      -2147483648,
      -2147483904,
      1 / 3,
      4,
      2,
    ],
  ].map(Math.fround),
  bool: [false, true],
};

/** Operands as words: all pairs of edge cases, then random words. Random f32 cover all exponents. */
function operandsOf(type: ScalarType, count: number): [Uint32Array, Uint32Array] {
  const edge = edges[type].map((value) => wordOf(type, value));
  const random = randomWords(2 * count, 7).map((word) => (type === 'bool' ? word & 1 : word));
  const pairs = edge.flatMap((a) => edge.map((b): [number, number] => [a, b]));
  const pick = (side: 0 | 1): Uint32Array =>
    Uint32Array.from(
      { length: pairs.length + count },
      (_, i) => pairs[i]?.[side] ?? random[2 * (i - pairs.length) + side]!,
    );
  return [pick(0), pick(1)];
}

/** A module that evaluates all cases of a type on the elements of arrays a and b. */
function moduleFor(cases: readonly Case[], type: ScalarType): Module {
  const [index, a, b] = [local('u32', 0), local(type, 1), local(type, 2)];
  const [word, condition] = [local('u32', 3), local('bool', 4)];
  const body: Statement[] = [
    readAt(a, 'a', index),
    readAt(b, 'b', index),
    readAt(word, 'w', index),
    bind(condition, 'lt', word, literal('u32', 0x80000000)),
  ];
  const operandOf = (kind: ScalarType, at: number) => (at === 2 ? condition : kind !== type ? word : at === 0 ? a : b);
  const results = cases.map(({ name, operands, to }, i) => {
    const result = local(to, 5 + i);
    body.push(bind(result, name, ...operands.map(operandOf)));
    return result;
  });
  return moduleOf(
    [index],
    cases.map(({ to }) => to),
    [...body, give(...results)],
    { a: type, b: type, w: 'u32' },
  );
}

const isNormalOrZero = (value: number | boolean): boolean =>
  typeof value === 'boolean' || value === 0 || (Number.isFinite(value) && Math.abs(value) >= 2 ** -126);

describe.each([
  ['chosen', {}],
  ['guarded', guardedArithmetic],
])('WGSL as %s', (_, arithmetic) => {
  let backend: WebGpuBackend;
  beforeAll(async () => {
    backend = await openTestBackend({ arithmetic });
  });
  afterAll(() => backend.close());

  test.each(types)('computes every operation on %s as semantics.ts defines', async (type) => {
    const cases = casesOf(type);
    const [a, b] = operandsOf(type, 3000);
    const n = a.length;
    const buffers = { a: upload(backend, a), b: upload(backend, b), w: upload(backend, b) };
    const out = backend.allocate(cases.length * n);
    const arrays = new Map(
      Object.entries(buffers).map(([name, buffer]) => [
        name,
        bindingOf(buffer, n, name === 'w' || type === 'bool' ? 'u32' : type),
      ]),
    );
    backend.run({
      kind: 'forEach',
      extent: n,
      program: { module: moduleFor(cases, type), arrays, uniforms: new Map() },
      stores: cases.map((_, value) => ({ buffer: out, offset: value * n, capacity: n, value })),
    });
    const got = await backend.read(out, 0, cases.length * n);
    const wrong: string[] = [];
    for (const [k, { name, operands, to }] of cases.entries()) {
      for (let i = 0; i < n; i++) {
        const args = operands.map((kind, at) =>
          at === 2 ? b[i]! < 0x80000000 : kind !== type ? b[i]! : valueOfWord(type, at === 0 ? a[i]! : b[i]!),
        );
        const wanted = evaluate(name, type, to, args);
        const inputs = type === 'f32' ? args : [];
        if (![...inputs, ...(to === 'f32' ? [wanted] : [])].every(isNormalOrZero)) continue;
        if (got[k * n + i] !== wordOf(to, wanted)) {
          wrong.push(`${name}(${args.join(', ')}) → ${to}: ${valueOfWord(to, got[k * n + i]!)}, not ${wanted}`);
        }
      }
    }
    expect(wrong.slice(0, 20)).toEqual([]);
  });
});
