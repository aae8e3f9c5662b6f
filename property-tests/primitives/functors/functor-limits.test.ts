import { afterAll, describe, expect } from 'vitest';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { createWorkersBackend } from '../../../backends/workers/index.ts';
import { FunctorError } from '../../../primitives/checks/errors.ts';
import { Context } from '../../../primitives/context/context.ts';
import {
  type Functor,
  fn,
  If,
  map,
  type Parameters,
  plus,
  reduce,
  type Shape,
  u32,
  Var,
  wgsl,
} from '../../../primitives/index.ts';
import { someOf } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';

const context = new Context(createReferenceBackend());
afterAll(() => context.close());

const LINE_ENDS = ['\n', '\v', '\f', '\r', '\r\n', '\u0085', '\u2028', '\u2029'];
const BLANKS = [...LINE_ENDS, ' ', '\t', '\u200e', '\u200f'];
const lineEnd = fc.constantFrom(...LINE_ENDS);
const blanks = fc.array(fc.constantFrom(...BLANKS), { minLength: 1, maxLength: 4 }).map((parts) => parts.join(''));

const inBody = (body: string): string => `fn f(x: u32) -> u32 { ${body} }`;
const repeat = (count: number, part: (i: number) => string, between = ''): string =>
  Array.from({ length: count }, (_, i) => part(i)).join(between);

async function valueAt(functor: Functor<Parameters, Shape>, x: number): Promise<unknown> {
  return context.read(map(functor, { x: context.column(Uint32Array.of(x)) }));
}

/**
 * Returns the error of a call. The error must come from the library, and its message must be short even for a long
 * functor text.
 */
function errorOf(call: () => unknown): FunctorError {
  try {
    call();
  } catch (error) {
    expect(error).toBeInstanceOf(FunctorError);
    expect((error as FunctorError).message.length).toBeLessThan(1000);
    return error as FunctorError;
  }
  throw new Error('nothing was thrown');
}

describe('line ends and blanks of WGSL', () => {
  test.prop([lineEnd, fc.string({ unit: fc.constantFrom(...'ab/* ') })])(
    'every line end ends a comment',
    async (end, comment) => {
      expect(await valueAt(wgsl(inBody(`return x //${comment}${end} + 1u;`)), 5)).toEqual(Uint32Array.of(6));
    },
  );

  test.prop([fc.array(blanks, { minLength: 6, maxLength: 6 })])('blanks can stand between tokens', async (gaps) => {
    const tokens = ['fn', ' f(x: u32) -> u32 {', 'return', ' x', '+', '1u', ';}'];
    const text = tokens.map((token, i) => `${token}${gaps[i] ?? ''}`).join('');
    expect(await valueAt(wgsl(text), 5)).toEqual(Uint32Array.of(6));
  });

  test.prop([fc.array(lineEnd, { maxLength: 20 })])(
    'line numbers in errors count every line end, CRLF as one',
    (ends) => {
      // The space after each line end separates a CR from a following LF, which would otherwise form a single line end.
      const apart = ends.map((end) => `${end} `).join('');
      expect(errorOf(() => wgsl(`${apart}fn f(x: u32) -> u32 { return y; }`)).place).toMatchObject({
        line: 1 + ends.length,
      });
    },
  );

  test.prop([fc.constantFrom('\u00a0', '\ufeff', '\u3000', '\u2003', '\u0000')])(
    'other blanks are refused',
    (blank) => {
      const { code, message } = errorOf(() => wgsl(inBody(`return${blank}x;`)));
      expect(code).toBe('functor/syntax');
      expect(message).toContain(`U+${blank.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`);
    },
  );

  test('block comments nest, across line ends too', async () => {
    const text = inBody(`return x /* a /* b // c */ \u2028 d */ + 1u;`);
    expect(await valueAt(wgsl(text), 5)).toEqual(Uint32Array.of(6));
    const deep = `${'/*'.repeat(100_000)}${'*/'.repeat(100_000)}${inBody('return x;')}`;
    expect(await valueAt(wgsl(deep), 5)).toEqual(Uint32Array.of(5));
  });
});

const MANY = 100_000;
const struct = (level: number): string => `struct S${level + 1} { a: S${level}, b: S${level} }`;

/** Functor texts that are too large: a description, the text, and the expected error code. */
const large: readonly (readonly [what: string, text: string, code: string])[] = [
  ['200,000 terms', inBody(`return ${repeat(200_000, () => 'x', ' + ')};`), 'functor/size'],
  ['200,000 bits', inBody(`return ${repeat(200_000, () => 'x', ' | ')};`), 'functor/size'],
  ['statements', inBody(`var y = x;${'y = y + 1u;'.repeat(MANY)}return y;`), 'functor/size'],
  ['branches', inBody(`var y = x;${'if x > 1u { y = 1u; }'.repeat(MANY)}return y;`), 'functor/size'],
  ['variables', inBody(`${repeat(MANY, (i) => `var a${i} = x;`)}return a7;`), 'functor/size'],
  ['values', inBody(`${repeat(MANY, (i) => `let a${i} = x + ${i}u;`)}return a7;`), 'functor/size'],
  ['parentheses', inBody(`return ${'('.repeat(MANY)}x${')'.repeat(MANY)};`), 'functor/syntax'],
  ['parentheses of sums', inBody(`return ${'(x + '.repeat(MANY)}x${')'.repeat(MANY)};`), 'functor/syntax'],
  ['signs', inBody(`return ${'~'.repeat(MANY)}x;`), 'functor/syntax'],
  ['calls in calls', inBody(`return ${'abs('.repeat(MANY)}x${')'.repeat(MANY)};`), 'functor/syntax'],
  ['blocks', inBody(`${'{'.repeat(MANY)}${'}'.repeat(MANY)}return x;`), 'functor/syntax'],
  ['branches in branches', inBody(`${'if x > 1u {'.repeat(200)}${'}'.repeat(200)}return x;`), 'functor/size'],
  ['else branches', inBody(`if x == 0u {}${repeat(MANY, () => ' else if x == 1u {}')}return x;`), 'functor/syntax'],
  ['parameters', `fn f(${repeat(10_000, (i) => `a${i}: u32`, ',')}) -> u32 { return a1; }`, 'functor/parameters'],
  ['fields', `struct S {${repeat(20_000, (i) => `a${i}: u32`, ',')}}${inBody('return x;')}`, 'functor/size'],
  [
    'structs of structs',
    `struct S0 { a: u32, b: u32 }${repeat(40, struct)}fn f(x: S40) -> u32 { return 1u; }`,
    'functor/size',
  ],
  [
    'functions that call the next',
    `${repeat(1000, (i) => `fn g${i}(x: u32) -> u32 { return g${i + 1}(x); }`)}fn g1000(x: u32) -> u32 { return x; }`,
    'functor/size',
  ],
  ['digits', inBody(`return ${'9'.repeat(1e6)};`), 'functor/literal'],
  ['hexadecimal digits', inBody(`return 0x${'9'.repeat(1e6)}u;`), 'functor/literal'],
  ['no number', inBody(`return 0${'9'.repeat(1e6)};`), 'functor/literal'],
  ['letters', inBody(`return ${'q'.repeat(1e6)};`), 'functor/unresolved'],
  ['letters of a type', `fn f(x: ${'q'.repeat(1e6)}) -> u32 { return x; }`, 'functor/type'],
  ['letters in place of a declaration', 'q'.repeat(1e6), 'functor/syntax'],
  ['open comments', '/*'.repeat(MANY), 'functor/syntax'],
];

describe('texts of extreme size', () => {
  test.each(someOf(large, 5))('%s', (_, text, code) => {
    const start = performance.now();
    expect(errorOf(() => wgsl(text)).code).toBe(code);
    expect(performance.now() - start).toBeLessThan(10_000);
  });

  test('large texts within the limits are accepted', async () => {
    const sum = wgsl(inBody(`return ${repeat(30_000, () => 'x', ' + ')};`));
    expect(await valueAt(sum, 3)).toEqual(Uint32Array.of(90_000));
    const zeros = wgsl(inBody(`return x + 0x${'0'.repeat(1000)}7u;`));
    expect(await valueAt(zeros, 3)).toEqual(Uint32Array.of(10));
    const chain = wgsl(
      inBody(`if x == 0u { return 1u; }${repeat(90, (i) => ` else if x == ${i}u { return ${i}u; }`)} return 7u;`),
    );
    expect(await valueAt(chain, 50)).toEqual(Uint32Array.of(50));
    const max = wgsl(`fn f(${repeat(255, (i) => `a${i}: u32`, ',')}) -> u32 { return a254; }`);
    expect(Object.keys(max.parameters)).toHaveLength(255);
  });
});

describe('chains of operations', () => {
  test('of any length compile on workers', async () => {
    await using workers = new Context(await createWorkersBackend({ workers: 1 }));
    const x = Uint32Array.from({ length: 70 }, (_, i) => i);
    for (const length of someOf([200, 400, 500, 520, 700, 1000, 1300, 2000, 5000], 3)) {
      const chain = fn({ x: u32 }, u32, ({ x }) =>
        Array.from({ length }, (_, i) => i).reduce((value, i) => value.mul(3).add(i), x),
      );
      const expected = x.map((each) => {
        let value = each;
        for (let i = 0; i < length; i++) value = (Math.imul(value, 3) + i) >>> 0;
        return value;
      });
      const own = workers.column(x);
      const summed = await workers.read(reduce(map(chain, { x: own }), plus(u32)));
      expect(await workers.read(map(chain, { x: own }))).toEqual(expected);
      expect(summed).toEqual(Uint32Array.of(expected.reduce((sum, each) => (sum + each) >>> 0, 0)));
    }
  }, 60_000);
});

describe('texts of many functions', () => {
  const chain = (count: number): string =>
    repeat(
      count,
      (i) => `fn step${i}(x: u32) -> u32 { return ${i === 0 ? 'x' : `step${i - 1}(x) * 3u`} + ${i}u; }`,
      '\n',
    );

  test('each of which calls the one before compile in linear time', () => {
    const time = (count: number): number => {
      const text = chain(count);
      const from = performance.now();
      expect(wgsl(text).module.functions).toHaveLength(count);
      return performance.now() - from;
    };
    time(300);
    const [few, many] = [Math.min(time(300), time(300)), Math.min(time(2400), time(2400))];
    // The second text has eight times as many functions as the first. Linear time grows by a factor of 8, and quadratic
    // time by a factor of 64.
    expect(many).toBeLessThan(24 * few + 50);
  });

  /** For each function of a text, the numbers of the earlier functions that it calls. */
  const calls = fc.array(fc.array(fc.nat(), { maxLength: 3 }), { minLength: 1, maxLength: 8 });
  test.prop([calls, fc.boolean(), fc.nat(9), fc.nat()])(
    'compute the result of their calls, in any order and with any entry',
    async (all, isReversed, x, which) => {
      const entry = which % all.length;
      const calleesOf = (i: number): number[] => (i === 0 ? [] : all[i]!.map((callee) => callee % i));
      const term = (i: number): string =>
        [`x * ${i + 2}u`, ...calleesOf(i).map((callee) => `m0_s${callee}(x + 1u)`)].join(' + ');
      const written = all.map((_, i) => `fn m0_s${i}(x: u32) -> u32 { return ${term(i)}; }`);
      const text = (isReversed ? written.toReversed() : written).join('\n');
      const value = (i: number, at: number): number =>
        calleesOf(i).reduce((sum, callee) => (sum + value(callee, at + 1)) >>> 0, Math.imul(at, i + 2) >>> 0);
      expect(await valueAt(wgsl(text, { entry: `m0_s${entry}` }), x)).toEqual(Uint32Array.of(value(entry, x)));
    },
  );
});

describe('limits of the builder', () => {
  const sizes = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`a${i}`, u32]));

  test('on parameters', () => {
    expect(errorOf(() => fn(sizes(256), u32, () => u32(1))).code).toBe('functor/parameters');
    expect(() => fn(sizes(255), u32, () => u32(1))).not.toThrow();
    expect(errorOf(() => fn({ x: u32 }, sizes(1024), () => ({}) as never)).code).toBe('functor/parameters');
  });

  test('on terms', async () => {
    const sum = (terms: number) =>
      fn({ x: u32 }, u32, ({ x }) => Array.from({ length: terms }, () => x).reduce((all, each) => all.add(each)));
    expect(errorOf(() => sum(200_000).module).code).toBe('functor/size');
    expect(await valueAt(sum(30_000) as never, 3)).toEqual(Uint32Array.of(90_000));
  });

  test('on blocks', () => {
    const nested = fn({ x: u32 }, u32, ({ x }) => {
      const y = Var(x);
      const nest = (depth: number): void => {
        If(x.gt(depth), () => (depth === 0 ? y.set(1) : nest(depth - 1)));
      };
      nest(200);
      return y;
    });
    expect(errorOf(() => nested.module).code).toBe('functor/size');
  });

  test('on helpers that call themselves', () => {
    const forever = (x: ReturnType<typeof u32>): ReturnType<typeof u32> => forever(x);
    const { code, cause } = errorOf(() => fn({ x: u32 }, u32, ({ x }) => forever(x)).module);
    expect(code).toBe('functor/size');
    expect(cause).toBeInstanceOf(RangeError);
  });
});
