import { describe, expect } from 'vitest';
import { FunctorError } from '../../../primitives/checks/errors.ts';
import { f32, u32 } from '../../../primitives/functors/functor.ts';
import { wgsl } from '../../../primitives/functors/text/wgsl.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';

function errorOf(make: () => unknown): FunctorError {
  try {
    make();
  } catch (error) {
    if (error instanceof FunctorError) return error;
    throw error;
  }
  throw new Error('no error');
}

/**
 * Returns the error of a functor text and its expected position. The character ‸ marks this position in the text, and
 * is removed before parsing.
 */
function errorIn(marked: string): { error: FunctorError; line: number; column: number } {
  const before = marked.slice(0, marked.indexOf('‸')).split('\n');
  const error = errorOf(() => wgsl(marked.replace('‸', ''), { name: 'lib/my.wgsl' }));
  return { error, line: before.length, column: before.at(-1)!.length + 1 };
}

const body = (statements: string): string => `fn f(x: u32, y: f32, b: bool) -> u32 {\n  ${statements}\n  return x;\n}`;
const captures = 'var<storage> xs: array<u32>;\nvar<uniform> n: u32;\nstruct P { x: u32, y: f32 }\n';

describe('errors in text report the place', () => {
  test.each([
    ['syntax', 'a character that WGSL lacks', body('let a = x ‸# 2u;')],
    ['syntax', 'a missing semicolon', body('let a = x\n  ‸let c = x;')],
    ['syntax', 'a missing brace', 'fn f() -> u32 { return 1u; ‸'],
    ['syntax', 'a comment that is not closed', `${body('')} ‸/* /* */`],
    ['syntax', 'an expression that is none', body('let a = ‸* x;')],
    ['syntax', 'mixed bitwise operators', body('let a = x & 1u ‸| 2u;')],
    ['syntax', 'mixed logical operators', body('let a = b && b ‸|| b;')],
    ['syntax', 'a sum as the operand of a shift', body('let a = x + 1u ‸<< 2u;')],
    ['syntax', 'chained comparisons', body('let a = x < 1u ‸< 2u;')],
    ['syntax', 'a keyword as a name', body('let ‸loop = x;')],
    ['syntax', 'a name of two underscores', body('let ‸__proto__ = x;')],
    ['syntax', 'a parameter with a name of two underscores', 'fn f(‸__proto__: u32) -> u32 { return 1u; }'],
    ['syntax', 'a name that is an underscore', 'fn f(‸_: u32) -> u32 { return 1u; }'],
    ['syntax', 'a let without value', body('let ‸a: u32;')],
    ['syntax', 'a call as a statement', body('f(x, y, b)‸;')],
    ['syntax', 'a switch', body('‸switch x { default {} }')],
    ['syntax', 'an attribute', `‸@compute ${body('')}`],
    ['syntax', 'something that is no declaration', `‸enable f16; ${body('')}`],
    ['syntax', 'a function that returns nothing', 'fn ‸f() { }'],
    ['syntax', 'an array that can be written', '‸var<storage, read_write> a: array<u32>;'],
    ['syntax', 'workgroup memory', '‸var<workgroup> a: u32;'],
    ['syntax', 'storage that is no array', 'var<storage> a: ‸u32;'],
    ['syntax', 'an address space in a function', body('var‸<private> a = 1u;')],
    ['syntax', 'statements after continuing', body('loop { continuing { break if b; } ‸_ = x; }')],
    ['syntax', 'statements after break if', body('loop { continuing { break if b; ‸_ = x; } }')],
    ['syntax', 'a struct without fields', 'struct ‸S { }'],
    ['syntax', 'two parameters of one name', 'fn f(a: u32, ‸a: u32) -> u32 { return a; }'],
    ['syntax', 'a pointer type', 'fn f(a: ‸ptr<function, u32>) -> u32 { return 0u; }'],
    ['syntax', 'a vector type without an end', 'fn f(a: vec2<f32‸) -> u32 { return 0u; }'],
    ['syntax', 'a vector type of a number', 'fn f(a: vec2<‸2>) -> u32 { return 0u; }'],
    ['literal', 'a number that is none', body('let a = ‸01;')],
    ['literal', 'a number of f16', body('let a = ‸1.0h;')],
    ['literal', 'an integer that is too large', body('let a: u32 = ‸4294967296;')],
    ['literal', 'a negative u32', body('let a: u32 = ‸-1;')],
    ['literal', 'a suffixed integer that is too large', body('let a = ‸2147483648i;')],
    ['literal', 'a fraction as an integer', body('let a: u32 = ‸1.5;')],
    ['literal', 'an f32 that is too large', body('let a: f32 = ‸1e39;')],
    ['literal', 'a division by zero without suffix', body('let a = 1 ‸/ 0;')],
    ['literal', 'an integer beyond 64 bits', body('let a = 1 << 62 ‸* 4;').replace('1 << 62', '(1 << 62)')],
    ['type', 'a type that is none', 'fn f(a: ‸vec5f) -> u32 { return 0u; }'],
    ['type', 'u32 + f32', body('let a = x ‸+ y;')],
    ['type', 'i32 + u32', body('let a = 1i ‸+ x;')],
    ['type', 'arithmetic on bool', body('let a = b ‸+ b;')],
    ['type', 'bits of f32', body('let a = y ‸| y;')],
    ['type', 'a logical operator on integers', body('let a = x ‸&& x;')],
    ['type', '! of u32', body('let a = ‸!x;')],
    ['type', '~ of f32', body('let a = ‸~y;')],
    ['type', '- of u32', body('let a = ‸-x;')],
    ['type', 'a count of i32', body('let a = x ‸<< 1i;')],
    ['type', 'a condition of u32', body('if ‸x { }')],
    ['type', 'a loop condition of u32', body('while ‸x { }')],
    ['type', 'an index of f32', captures + body('let a = xs[‸y];')],
    ['type', 'an index into a scalar', body('let a = ‸x[0];')],
    ['type', 'an array as a value', captures + body('let a = ‸xs;')],
    ['type', 'an array of a function as a value', body('var a: array<u32, 2>; let c = ‸a;')],
    ['type', 'an index of f32 into an array of a function', body('var a: array<u32, 2>; let c = a[‸y];')],
    ['type', 'an element that differs', body('var a: array<u32, 2>; a[0] = ‸y;')],
    ['type', 'a first element that differs', body('var a = array<u32, 2>(x, ‸y);')],
    ['type', 'a type of an array that differs', body('var a: array<u32, 2> = ‸array<u32, 3>();')],
    ['type', 'the length of an array of a function', body('var a: array<u32, 2>; let c = arrayLength(‸&a);')],
    ['arguments', 'too few elements', body('var ‸a = array<u32, 3>(x, x);')],
    ['index', 'an element that an array of a function lacks', body('var a: array<u32, 2>; a[‸2] = x;')],
    ['index', 'an element before the first', body('var a: array<u32, 2>; let c = a[‸-1];')],
    ['index', 'an element beyond the last, by arithmetic', body('var a: array<u32, 2>; a[1 ‸+ 1] = x;')],
    ['type', 'an element of a parameter that is no array', body('‸x[0] = x;')],
    ['unresolved', 'an element of what there is not', body('‸a[0] = x;')],
    ['syntax', 'an array that cannot be written', body('‸let a = array<u32, 2>(x, x);')],
    ['syntax', 'an array as the value of an assignment', body('var a: array<u32, 2>; a ‸= array<u32, 2>(x, x);')],
    ['argument', 'an array of no elements', body('var a: array<u32, ‸0>;')],
    ['argument', 'an array of too many elements', body('var a: array<u32, ‸257>;')],
    ['argument', 'a length that is a value', body('var a: array<u32, ‸x>;')],
    ['argument', 'a length that is a fraction', body('var a: array<u32, ‸2.0>;')],
    ['syntax', 'an array without a length', body('var a: array<u32‸>;')],
    ['syntax', 'an array of arrays', body('var a: array<‸array<u32, 2>, 2>;')],
    ['unresolved', 'an array out of its block', body('if b { var a: array<u32, 2>; }\n  let c = ‸a[0];')],
    ['unresolved', 'a field that elements lack', captures + body('var a: array<P, 2>; a[0]‸.z = 1u;')],
    ['declaration', 'an array that is declared twice', body('var a: array<u32, 2>; var ‸a: array<u32, 2>;')],
    ['type', 'a function as a value', body('let a = ‸f;')],
    ['type', 'a type as a value', captures + body('let a = ‸P;')],
    ['type', 'an annotation that differs', body('let a: f32 = ‸x;')],
    ['type', 'an assignment that differs', body('var a = 1u; a = ‸y;')],
    ['type', 'a compound assignment that differs', body('var a = 1u; a ‸+= y;')],
    ['type', 'a result that differs', 'fn f(y: f32) -> u32 { return ‸y; }'],
    ['type', 'an argument that differs', `fn g(a: u32) -> u32 { return a; }\n${body('let a = g(‸y);')}`],
    ['type', 'a field that differs', captures + body('let a = P(x, ‸x);')],
    ['type', 'a struct in arithmetic', captures + body('let a = P() ‸+ P();')],
    ['type', 'a field of a scalar', body('let a = x‸.y;')],
    ['type', 'arguments of min that differ', body('let a = min(x, ‸y);')],
    ['type', 'a selection by u32', body('let a = select(x, x, ‸x);')],
    ['type', 'a root of u32', body('let a = ‸sqrt(x);')],
    ['type', 'a bitcast of bool', body('let a = ‸bitcast<u32>(b);')],
    ['type', 'a pointer', body('let a = ‸&x;')],
    ['type', 'the length of a scalar', body('let a = arrayLength(‸&x);')],
    ['type', 'a bool in storage', 'var<storage> a: array<‸bool>;'],
    ['unresolved', 'a name that is not there', body('let a = ‸z;')],
    ['unresolved', 'a name out of its block', body('if b { let a = 1u; }\n  let c = ‸a;')],
    ['unresolved', 'a name before its declaration', body('let a = ‸c; let c = 1u;')],
    ['unresolved', 'a function that is not there', body('let a = ‸sine(y);')],
    ['unresolved', 'a field that is not there', captures + body('let a = P()‸.z;')],
    ['unresolved', 'an assignment to nothing', body('‸z = 1u;')],
    ['unresolved', 'a constant of a uniform', `${captures}const c = ‸n;`],
    [
      'unresolved',
      'a declaration that continue skips',
      body('loop { if b { continue; } let a = b; continuing { break if ‸a; } }'),
    ],
    ['declaration', 'a name twice in a block', body('let a = 1u; let ‸a = 2u;')],
    ['declaration', 'a parameter declared again', body('let ‸x = 1u;')],
    ['declaration', 'two functions of one name', 'fn f() -> u32 { return 1u; } fn ‸f() -> u32 { return 1u; }'],
    ['declaration', 'a parameter that is captured too', 'var<uniform> n: u32; fn ‸f(n: u32) -> u32 { return n; }'],
    ['assignment', 'an assignment to a let', body('let a = 1u; ‸a = 2u;')],
    ['assignment', 'an assignment to a parameter', body('‸x = 2u;')],
    ['assignment', 'an increment of a uniform', captures + body('‸n++;')],
    ['assignment', 'an assignment to an element', captures + body('xs‸[0] = 2u;')],
    ['assignment', 'an assignment to an expression', body('(x ‸+ 1u) = 2u;')],
    ['arguments', 'too few arguments', body('let a = ‸min(x);')],
    ['arguments', 'too many arguments', `fn g() -> u32 { return 1u; }\n${body('let a = ‸g(x);')}`],
    ['arguments', 'fields that are missing', captures + body('let a = ‸P(x);')],
    ['constant', 'a constant of a parameter', body('const a = ‸x;')],
    ['constant', 'a constant of a call', `fn g() -> u32 { return 1u; } const c = ‸g();`],
    ['no-return', 'a path without return', 'fn f(b: bool) -> u32 { if b { return 1u; } ‸}'],
    ['no-return', 'a loop that is left', 'fn f(b: bool) -> u32 { loop { if b { break; } } ‸}'],
    ['no-return', 'a while', 'fn f() -> u32 { while true { return 1u; } ‸}'],
    ['no-return', 'a return of nothing', 'fn f() -> u32 { ‸return; }'],
    ['outside-loop', 'a break outside of a loop', body('‸break;')],
    ['outside-loop', 'a continue outside of a loop', body('if b { ‸continue; }')],
    ['outside-loop', 'a return in continuing', body('loop { continuing { ‸return x; } }')],
    ['outside-loop', 'a break in continuing', body('loop { continuing { if b { ‸break; } break if b; } }')],
    ['recursion', 'a function that calls itself', 'fn f(x: u32) -> u32 { return ‸f(x); }'],
    [
      'recursion',
      'functions in a circle',
      'fn f(x: u32) -> u32 { return g(x); }\nfn g(x: u32) -> u32 { return ‸f(x); }',
    ],
    ['type', 'a mistake that is never reached', body('return x; let a = x ‸+ y;')],
    ['type', 'a mistake in a function that nothing calls', `${body('let a = x ‸+ y;')}\nfn g() -> u32 { return 1u; }`],
  ])('functor/%s: %s', (code, _, marked) => {
    const { error, line, column } = errorIn(marked);
    expect(`${error.code} ${error.place!.file}:${error.place!.line}:${error.place!.column}`).toBe(
      `functor/${code} lib/my.wgsl:${line}:${column}`,
    );
    expect(error.message).toMatch(/^lib\/my\.wgsl:\d+:\d+: .*\.$/);
  });

  test('operands of different types are reported with the expected type', () => {
    expect(errorOf(() => wgsl('fn f(x: u32, y: f32) -> u32 { return x + y; }')).message).toBe(
      'wgsl:1:40: The operands of + have different types. Expected u32, got f32. Convert one of them with u32(…), i32(…) or f32(…).',
    );
  });

  test('a template tag reports the file and line of its author', () => {
    const make = () => wgsl`
      fn f(x: u32, y: f32) -> u32 {
        return x + y;
      }`;
    const { place } = errorOf(make);
    const here = new Error().stack!.split('\n')[1]!.match(/:(\d+):\d+\)?$/)![1]!;
    expect(place!.file).toMatch(/property-tests\/primitives\/functors\/functor-text-errors\.test\.ts$/);
    expect(place!.line).toBe(Number(here) - 3);
  });

  test.each(['q', 'x'])('line breaks of the values of a template string are no lines of its file, for %s', (name) => {
    const values = ['let a = x;\n\r\n  let b =', 'a;\n // a comment\n'];
    const make = () => wgsl`
      fn f(x: u32) -> u32 {
        ${values[0]!} ${name}; let c = ${values[1]!}
        return c ^ 1f;
      }`;
    const { place, code } = errorOf(make);
    const here = new Error().stack!.split('\n')[1]!.match(/:(\d+):\d+\)?$/)![1]!;
    expect(code).toBe(name === 'q' ? 'functor/unresolved' : 'functor/type');
    expect(place!.line).toBe(Number(here) - (name === 'q' ? 4 : 3));
  });

  test('a signature that differs from the options is refused', () => {
    const text = 'struct P { x: u32, y: u32 } fn f(p: P) -> f32 { return 1.0; }';
    expect(wgsl(text, { parameters: { p: { y: u32, x: u32 } }, result: f32 }).functorName).toBe('f');
    expect(errorOf(() => wgsl(text, { result: u32 })).code).toBe('functor/signature');
    expect(errorOf(() => wgsl(text, { parameters: { p: u32 } })).message).toContain(
      'Expected { p: u32 }, got { p: { x: u32, y: u32 } }.',
    );
  });

  test('a missing text or entry is reported', () => {
    expect(errorOf(() => wgsl('')).message).toContain('The text has no function.');
    expect(errorOf(() => wgsl('fn f() -> u32 { return 1u; }', { entry: 'g' })).message).toContain('no function g');
  });
});

describe('for any text', () => {
  const good = `
    struct P { x: u32, y: f32 }
    var<storage> xs: array<u32>; const N = 3;
    fn g(p: P, b: bool) -> u32 { return select(p.x, u32(p.y), b && N > 2); }
    fn f(x: u32) -> u32 {
      var v = P(x, 1.5); /* a /* nested */ comment */
      for (var i = 0u; i < N; i++) { v.x += xs[i] ^ (x << 3u); if v.x > 9u { continue; } else if x == 1u { break; } }
      loop { v.y *= 0.5; continuing { break if v.y < 0.1f; } }
      return g(v, true);
    }`;
  const pieces = [...good.matchAll(/\w+|\s+|[^\w\s]/g)].map(([piece]) => piece);
  const edit = fc.record({
    at: fc.nat(pieces.length - 1),
    remove: fc.nat(3),
    insert: fc.array(fc.constantFrom(...pieces), { maxLength: 3 }),
  });

  const errorOrFunctor = (text: string): void => {
    try {
      expect(wgsl(text).functorName).toBeTypeOf('string');
    } catch (error) {
      if (!(error instanceof FunctorError)) throw error;
      expect(error.place?.line).toBeGreaterThan(0);
    }
  };

  test('the unchanged example compiles', () => {
    expect(wgsl(good).functorName).toBe('f');
  });

  test.prop([fc.array(edit, { minLength: 1, maxLength: 4 })], { numRuns: caseCount(1000) })(
    'a text with pieces removed, added and moved compiles or throws a FunctorError with a place',
    (edits) => {
      const changed = [...pieces];
      for (const { at, remove, insert } of edits) changed.splice(at, remove, ...insert);
      errorOrFunctor(changed.join(''));
    },
  );

  test.each([
    ['parentheses', `fn f() -> u32 { return ${'('.repeat(1e5)}1u${')'.repeat(1e5)}; }`],
    ['signs', `fn f() -> i32 { return ${'- '.repeat(1e5)}1i; }`],
    ['sums', `fn f() -> u32 { return 1u${' + 1u'.repeat(1e5)}; }`],
    ['blocks', `fn f() -> u32 { ${'{'.repeat(1e5)}${'}'.repeat(1e5)} return 1u; }`],
    ['branches', `fn f() -> u32 { if true { } ${'else if true { } '.repeat(1e5)} return 1u; }`],
    ['fields', `fn f() -> u32 { return 1u${'.a'.repeat(1e5)}; }`],
    ['comments', `${'/*'.repeat(1e5)}${'*/'.repeat(1e5)} fn f() -> u32 { return 1u; }`],
  ])('unbounded %s compile or throw a FunctorError', (_, text) => errorOrFunctor(text));

  test.prop([fc.string({ unit: 'binary', maxLength: 60 })])(
    'random characters compile or throw a FunctorError',
    errorOrFunctor,
  );
});
