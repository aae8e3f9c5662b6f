import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';

/** Wraps a body in a call of `fn`. The body starts on its own line. */
const fnOf = (body: string, result = 'u32'): string =>
  `fn({ x: u32, y: u32, s: i32, a: f32, b: bool, p: { x: f32, y: f32 }, xs: array(u32), n: uniform(u32) }, ${result}, ({ x, y, s, a, b, p, xs, n }) => {
    void [x, y, s, a, b, p, xs, n];
    ${body}
  });`;

const mistakes: readonly (readonly [what: string, source: string])[] = [
  ['u32 + f32', fnOf('return x.add(a);')],
  ['f32 + u32', fnOf('return a.mul(x);', 'f32')],
  ['i32 + u32', fnOf('return s.add(x);', 'i32')],
  ['u32 < f32', fnOf('return select(x, y, x.lt(a));')],
  ['u32 = i32', fnOf('return select(x, y, x.eq(s));')],
  ['a sum of bools', fnOf('return select(x, y, b.add(b));')],
  ['an order comparison of bools', fnOf('return select(x, y, b.lt(b));')],
  ['a remainder of f32', fnOf('return a.rem(a);', 'f32')],
  ['bits of f32', fnOf('return a.and(a);', 'f32')],
  ['a shift of f32', fnOf('return a.shl(1);', 'f32')],
  ['a shift by i32', fnOf('return x.shl(s);')],
  ['a boolean literal as a number', fnOf('return x.add(true);')],
  ['a number as a boolean literal', fnOf('return select(x, y, b.and(1));')],
  ['u32 as a condition of If', fnOf('If(x, () => {}); return x;')],
  ['u32 as a condition of While', fnOf('While(() => x, () => {}); return x;')],
  ['u32 as a condition of select', fnOf('return select(x, y, x);')],
  ['a JavaScript boolean as a condition', fnOf('If(true, () => {}); return x;')],
  ['a selection between types', fnOf('return select(x, a, b);')],
  ['a selection between records', fnOf('void select(p, { x: a }, b); return x;')],
  ['an index of f32', fnOf('return xs.at(a);')],
  ['an index of i32', fnOf('return xs.at(s);')],
  ['a loop bound of f32', fnOf('For(0, a, () => {}); return x;')],
  ['a result of another type', fnOf('return a;')],
  ['a result that lacks a field', fnOf('return { lo: x };', 'u64')],
  ['a result with a field of another type', fnOf('return { lo: x, hi: a };', 'u64')],
  ['a scalar instead of a record', fnOf('return x;', 'u64')],
  ['a missing argument', fnOf('return add64({ a: { lo: x, hi: y } }).lo;')],
  ['an argument of another type', fnOf('return mortonEncode({ x, y: a });')],
  ['an argument that lacks a field', fnOf('return neg64({ a: { lo: x } }).lo;')],
  ['an assignment to a parameter', fnOf('x.set(y); return x;')],
  ['an assignment to a Let', fnOf('const l = Let(x); l.set(y); return l;')],
  ['a variable set to another type', fnOf('const v = Var(x); v.set(a); return v;')],
  ['a parameter that is not declared', 'fn({ x: u32 }, u32, ({ x, z }) => x.add(z));'],
  ['a parameter of no type', "fn({ x: 'u32' }, u32, () => 1);"],
  ['a field that a record lacks', fnOf('return p.z;', 'f32')],
  ['an array as a value', fnOf('return xs;')],
  ['a uniform of another type', fnOf('return n.add(a);')],
  ['a JavaScript operator', fnOf('return x * 2;')],
  ['a count of leading zeros of f32', fnOf('void clz(a); return x;')],
  ['a root of u32', fnOf('return sqrt(x);', 'f32')],
  ['a clamp between types', fnOf('return clamp(x, 0, a);')],
  ['an unknown operation', fnOf('return x.power(2);')],
  [
    'a text functor called with another type',
    "fn({ a: f32 }, u32, ({ a }) => wgsl('', { parameters: { x: u32 }, result: u32 })({ x: a }));",
  ],
];

const correct: readonly (readonly [what: string, source: string])[] = [
  ['literals and conversions', fnOf('return x.add(1).mul(u32(a)).add(u32(s)).add(u32(b));')],
  ['a record in and out', fnOf('return { lo: x, hi: y.add(1) };', 'u64')],
  ['a selection of records', fnOf('return select(p, { x: a, y: a }, b).x;', 'f32')],
  ['a selection with a literal', fnOf('return select(0, x, b).add(select(x, 1, b));')],
  ['control flow', fnOf('const v = Var(x); For(0, n, (i) => { If(xs.at(i).eq(v), () => Break()); }); return v;')],
  ['results returned only by Return', fnOf('If(b, () => Return(x)).Else(() => Return(0));')],
  ['a boolean literal', fnOf('return select(x, y, b.and(true));')],
  [
    'a helper over any integer',
    'const twice = <T extends "u32" | "i32">(v: Value<T>): Value<T> => v.add<T>(v); void twice;',
  ],
];

const directory = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');

interface Checked {
  readonly errors: readonly ts.Diagnostic[];
  readonly source: ts.SourceFile;
}

/** Type-checks a file that exists only in memory, as if it were in this folder. */
function check(lines: readonly string[]): Checked {
  const file = join(import.meta.dirname, 'functor-types-in-memory.ts');
  const { options } = ts.parseJsonConfigFileContent(
    ts.readConfigFile(join(directory, 'tsconfig.json'), ts.sys.readFile).config,
    ts.sys,
    directory,
  );
  const host = ts.createCompilerHost({ ...options, types: [] });
  const { getSourceFile, fileExists } = host;
  const text = lines.join('\n');
  host.fileExists = (name) => name === file || fileExists(name);
  host.getSourceFile = (name, version, ...rest) =>
    name === file ? ts.createSourceFile(name, text, version) : getSourceFile(name, version, ...rest);
  const program = ts.createProgram([file], { ...options, types: [] }, host);
  const source = program.getSourceFile(file)!;
  return { errors: [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)], source };
}

describe('tsc', () => {
  const names =
    'add64, array, bool, Break, clamp, clz, f32, fn, For, i32, If, Let, mortonEncode, neg64, Return, select, sqrt, u32, u64, uniform, type Value, Var, wgsl, While';
  const lines = [`import { ${names} } from '../../../primitives/functors/index.ts';`];
  const starts = [...correct, ...mistakes].map(([, source]) => {
    const start = lines.length;
    lines.push(...`{ ${source} }`.split('\n'));
    return start;
  });
  const { errors, source } = check(lines);
  const errorsOf = (sample: number): string[] =>
    errors
      .filter(({ start }) => {
        const { line } = source.getLineAndCharacterOfPosition(start!);
        return line >= starts[sample]! && line < (starts[sample + 1] ?? lines.length);
      })
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));

  test.each(correct.map(([what], i) => [what, i] as const))('accepts %s', (_, i) => {
    expect(errorsOf(i)).toEqual([]);
  });

  test.each(mistakes.map(([what], i) => [what, i] as const))('refuses %s', (_, i) => {
    expect(errorsOf(correct.length + i)).toHaveLength(1);
  });

  test('reports no other error', () => {
    expect(errors).toHaveLength(mistakes.length);
  });
});

describe('a program run by tsx', () => {
  test('gets the file and line of a wrong functor', () => {
    const file = join(directory, 'property-tests', 'fixtures', 'functor-mistake.ts');
    const output = execFileSync(process.execPath, ['--import', 'tsx', file], { cwd: directory, encoding: 'utf8' });
    expect(output.trim().split('\n')).toEqual([`${file}:12:13`, `${file}:17:16`]);
  });
});
