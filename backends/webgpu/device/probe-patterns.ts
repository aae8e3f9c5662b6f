import { evaluate } from '../../../primitives/ir/evaluate.ts';
import type {
  Literal,
  Local,
  Module,
  Operand,
  OperationName,
  ScalarType,
  Statement,
} from '../../../primitives/ir/ir.ts';
import { f32OfBits, SMALLEST_NORMAL_F32 } from '../../../primitives/ir/semantics.ts';
import type { Arithmetic } from './arithmetic.ts';

type Value = number | boolean;
/** The expression tree of a test pattern. The leaves are the operands `a`, `b` and `c` and f32 constants. */
type Expression = 'a' | 'b' | 'c' | number | readonly [OperationName, ScalarType, ...Expression[]];

/** A computation on which a device's results are compared with the specified results. */
export interface Pattern {
  readonly title: string;
  /** The forms of operations with which the emitter compensates for wrong results of this pattern. */
  readonly remedy: Partial<Arithmetic>;
  /**
   * The kind of operands: `floats` are normal numbers and zeros; `edges` are numbers whose products and quotients are
   * near the smallest normal number; `words` are integers; `specials` include NaN and infinities.
   */
  readonly operands: 'floats' | 'edges' | 'words' | 'specials';
  readonly expression: Expression;
}

const add = (x: Expression, y: Expression): Expression => ['add', 'f32', x, y];
const sub = (x: Expression, y: Expression): Expression => ['sub', 'f32', x, y];
const mul = (x: Expression, y: Expression): Expression => ['mul', 'f32', x, y];
const div = (x: Expression, y: Expression): Expression => ['div', 'f32', x, y];
const sqrt = (x: Expression): Expression => ['sqrt', 'f32', x];
const tenth = Math.fround(0.1);

const floats = (title: string, expression: Expression, remedy: Partial<Arithmetic> = {}): Pattern => ({
  title,
  remedy,
  operands: 'floats',
  expression,
});
const product = { product: 'guarded' } as const;
const cancelled = { sum: 'kept' } as const;
const sum = { sum: 'guarded' } as const;
const constant = { constant: 'guarded' } as const;
const quotient = { quotient: 'guarded' } as const;
const conversion = { conversion: 'integer' } as const;

export const patterns: readonly Pattern[] = [
  floats('a + b', add('a', 'b')),
  floats('a * b', mul('a', 'b')),
  { ...floats('a * b near 2^-126', mul('a', 'b'), { product: 'corrected' }), operands: 'edges' },
  { ...floats('a / b near 2^-126', div('a', 'c'), { quotient: 'corrected' }), operands: 'edges' },
  floats('a * b + c', add(mul('a', 'b'), 'c'), product),
  floats('c - a * b', sub('c', mul('a', 'b')), product),
  floats('a * b + a * c', add(mul('a', 'b'), mul('a', 'c')), product),
  floats('a * b / b', div(mul('a', 'b'), 'b'), product),
  floats('sqrt(a * a)', sqrt(mul('a', 'a')), product),
  floats('(a + b) - a', sub(add('a', 'b'), 'a'), cancelled),
  floats('(a - b) + b', add(sub('a', 'b'), 'b'), cancelled),
  floats('b + (a - b)', add('b', sub('a', 'b')), cancelled),
  floats('a - (a - b)', sub('a', sub('a', 'b')), cancelled),
  floats('(a + b) + c', add(add('a', 'b'), 'c'), sum),
  floats('a + (b + c)', add('a', add('b', 'c')), sum),
  floats('(a - b) - c', sub(sub('a', 'b'), 'c'), sum),
  floats('a - (b - c)', sub('a', sub('b', 'c')), sum),
  floats('a + 0', add('a', 0), constant),
  floats('a + f32(0u)', add('a', ['convert', 'f32', ['convert', 'u32', 0]]), constant),
  floats('0 - a', sub(0, 'a'), constant),
  floats('a * 0', mul('a', 0), constant),
  floats('0 / a', div(0, 'a'), constant),
  floats('a / 3', div('a', 3), constant),
  floats('a * 3 * 0.1', mul(mul('a', 3), tenth), constant),
  floats('a + 3 + 0.1', add(add('a', 3), tenth), constant),
  floats('0.1 - (3 - a)', sub(tenth, sub(3, 'a')), constant),
  floats('a / b', div('a', 'b'), { quotient: 'corrected' }),
  floats('a / b + c', add(div('a', 'b'), 'c'), quotient),
  floats('a / b * b', mul(div('a', 'b'), 'b'), quotient),
  floats('sqrt(a)', sqrt(['abs', 'f32', 'a']), { root: 'corrected' }),
  floats('sqrt(a) * sqrt(a)', mul(sqrt(['abs', 'f32', 'a']), sqrt(['abs', 'f32', 'a'])), { root: 'corrected' }),
  { title: 'f32(u32)', remedy: conversion, operands: 'words', expression: ['convert', 'f32', 'a'] },
  {
    title: 'f32(i32)',
    remedy: conversion,
    operands: 'words',
    expression: ['convert', 'f32', ['bits', 'i32', 'a']],
  },
  ...(['lt', 'le', 'eq', 'ne', 'gt', 'ge'] as const).map(
    (name): Pattern => ({
      title: `a ${name} b with NaN`,
      remedy: { comparison: 'bits' },
      operands: 'specials',
      expression: ['convert', 'u32', [name, 'bool', 'a', 'b']],
    }),
  ),
  ...(['floor', 'ceil', 'trunc', 'round'] as const).map((name) => floats(`${name}(a)`, [name, 'f32', 'a'])),
  { title: 'u32(f32)', remedy: {}, operands: 'specials', expression: ['convert', 'u32', 'a'] },
  { title: 'i32(f32)', remedy: {}, operands: 'specials', expression: ['convert', 'i32', 'a'] },
  ...(['u32', 'i32'] as const).map(
    (type): Pattern => ({
      title: `${type}(f32) of numbers`,
      remedy: { truncation: 'checked' },
      operands: 'specials',
      // The emitter knows that a maximum with −∞ is never NaN, so it leaves out the check for NaN.
      expression: ['convert', type, ['max', 'f32', 'a', Number.NEGATIVE_INFINITY]],
    }),
  ),
  ...(['min', 'max'] as const).flatMap((name) =>
    (['b', 0, 1, -1] as const).map(
      (second): Pattern => ({
        title: `${name}(a, ${second})`,
        remedy: { extremum: 'ranked' },
        operands: 'specials',
        expression: [name, 'f32', 'a', second],
      }),
    ),
  ),
];

const isNormalOrZero = (value: Value): boolean =>
  typeof value === 'boolean' || value === 0 || (Number.isFinite(value) && Math.abs(value) >= SMALLEST_NORMAL_F32);

/**
 * Returns the specified result of a pattern as a word. Returns undefined if the result is NaN, or if an operand, an
 * intermediate value or the result is a subnormal float. Unless the operands are `specials`, also returns undefined if
 * any of these values is infinite or NaN.
 */
export function expectedWord(
  { expression, operands }: Pattern,
  words: Readonly<Record<'a' | 'b' | 'c', number>>,
): number | undefined {
  let open = false;
  const compute = (part: Expression): [ScalarType, Value] => {
    const [type, value] = resolve(part);
    const special =
      operands === 'specials' && (Number.isNaN(value) || Math.abs(Number(value)) === Number.POSITIVE_INFINITY);
    if (type === 'f32' && !special && !isNormalOrZero(value)) open = true;
    return [type, value];
  };
  const resolve = (part: Expression): [ScalarType, Value] => {
    if (typeof part === 'number') return ['f32', part];
    if (typeof part === 'string') return operands === 'words' ? ['u32', words[part]] : ['f32', f32OfBits(words[part])];
    const [name, to, ...parts] = part;
    const args = parts.map(compute);
    return [
      to,
      evaluate(
        name,
        args[0]![0],
        to,
        args.map(([, value]) => value),
      ),
    ];
  };
  const [type, value] = compute(expression);
  // A NaN result is not compared, because its bits are not specified.
  if (open || (type === 'f32' && Number.isNaN(value))) return undefined;
  return type === 'f32' ? (evaluate('bits', 'f32', 'u32', [value]) as number) : Number(value) >>> 0;
}

/**
 * A module that evaluates the patterns on element i of their operands. The IR is written directly, because the recorder
 * would fold operations on literals on the host and the device would not be tested.
 */
export function probeModule(asked: readonly Pattern[]): Module {
  const body: Statement[] = [];
  let next = 1;
  const local = (type: ScalarType): Local => ({ kind: 'local', type, id: next++ });
  const index: Local = { kind: 'local', type: 'u32', id: 0 };
  const reads = new Map<string, Local>();
  const read = (name: string, type: ScalarType): Local => {
    const known = reads.get(name);
    if (known !== undefined) return known;
    const result = local(type);
    reads.set(name, result);
    body.push({ kind: 'read', local: result, array: name, index });
    return result;
  };
  const results = asked.map(({ expression, operands }) => {
    const compile = (part: Expression): Operand => {
      if (typeof part === 'number') return { kind: 'literal', type: 'f32', value: part };
      if (typeof part === 'string') return read(`${operands}-${part}`, operands === 'words' ? 'u32' : 'f32');
      const [name, to, ...parts] = part;
      const result = local(to);
      body.push({ kind: 'let', local: result, operation: { name, operands: parts.map(compile) } });
      return result;
    };
    return compile(expression);
  });
  const types = results.map((result) => (result as Local | Literal).type);
  const entry = { name: 'probe', parameters: [index], results: types, fast: false };
  return {
    functions: [{ ...entry, body: [...body, { kind: 'return', values: results }] }],
    arrays: new Map([...reads].map(([name, { type }]) => [name, type])),
    uniforms: new Map(),
  };
}
