import type { Backend } from '../../primitives/contract/backend.ts';
import { evaluate } from '../../primitives/ir/evaluate.ts';
import type { Local, Module, OperationName, ScalarType, Statement } from '../../primitives/ir/ir.ts';
import { operationNames, typeOf } from '../../primitives/ir/operations.ts';
import { bitsOfF32, f32OfBits } from '../../primitives/ir/semantics.ts';
import { bind, randomWords } from './workers-programs.ts';

const scalars: readonly ScalarType[] = ['u32', 'i32', 'f32', 'bool'];

export interface Case {
  readonly name: OperationName;
  readonly operands: readonly ScalarType[];
  readonly to: ScalarType;
}

/** All operations, each with every combination of types that it accepts. */
export const cases: readonly Case[] = operationNames.flatMap((name) =>
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

/**
 * The words of the first, second and third operands. The first two are all pairs of edge cases, then random pairs. In
 * some random pairs, both words are equal. The third operand is a random bit.
 */
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

/**
 * A module that computes out[i] = operation(a[i], b[i], c[i]). If `scattered` is true, the elements are read at
 * `i xor 0` instead of `i`, because vector code cannot handle such an index.
 */
export function moduleOfCase({ name, operands, to }: Case, scattered: boolean): Module {
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

/** Interprets a word as a value of a type. */
export function valueOfWord(type: ScalarType, word: number): number | boolean {
  if (type === 'bool') return word !== 0;
  return type === 'f32' ? f32OfBits(word) : type === 'i32' ? word | 0 : word;
}

export function describeCase({ name, operands, to }: Case): string {
  return `${name}(${operands.join(', ')}): ${to}`;
}

/** Runs the module of a case on all inputs; returns the words of the results. */
export async function runCase(backend: Backend, one: Case, module: Module): Promise<Uint32Array> {
  const captures = one.operands.map((type, i) => {
    // In memory, every word except 0 means true. To test this, some words of bool operands are neither 0 nor 1.
    const words = type === 'bool' ? inputs[i]!.map((word) => (word % 3 === 0 ? 0 : word)) : inputs[i]!;
    return [arrays[i]!, { words, length, storage: type === 'bool' ? ('u32' as const) : type }] as const;
  });
  const program = bind(backend, module, Object.fromEntries(captures));
  const out = backend.allocate(length);
  backend.run({
    kind: 'forEach',
    extent: length,
    program,
    stores: [{ buffer: out, offset: 0, capacity: length, value: 0 }],
  });
  const got = await backend.read(out, 0, length);
  for (const { buffer } of program.arrays.values()) backend.release(buffer);
  backend.release(out);
  return got;
}

/** Describes the first results that semantics.ts does not allow. Returns an empty list if all are correct. */
export function wrongAt(one: Case, got: Uint32Array): string[] {
  const { name, operands, to } = one;
  const wrong: string[] = [];
  for (let i = 0; i < length && wrong.length < 3; i++) {
    const args = operands.map((type, k) =>
      type === 'bool' ? inputs[k]![i]! % 3 !== 0 : valueOfWord(type, inputs[k]![i]!),
    );
    const expected = evaluate(name, operands[0]!, to, args);
    const value = valueOfWord(to, got[i]!);
    const same = to === 'f32' && Number.isNaN(expected) ? Number.isNaN(value) : Object.is(value, expected);
    // `bits` of a NaN may return any word, because the bits of a NaN are not specified.
    const unspecified = name === 'bits' && operands[0] === 'f32' && Number.isNaN(args[0] as number);
    if (!same && !unspecified) wrong.push(`${args.join(', ')} gave ${value}, not ${expected}`);
    if (to === 'bool' && got[i]! > 1) wrong.push(`a bool is stored as ${got[i]}`);
  }
  return wrong;
}
