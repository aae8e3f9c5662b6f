import fc from 'fast-check';
import type { Condition, Expression, HostColumn, HostTable, LiteralValue } from '../../algorithms/tables/index.ts';

/** A cell of the expected result: floats are numbers, integers are bigints, and decimals are bigints in hundredths. */
export type Cell = number | bigint | boolean | string | null;

/** Random rows with nulls in two forms: `rows` as records, and `host` as columns. */
export interface SampleTable {
  readonly host: HostTable;
  readonly rows: readonly { readonly [name: string]: Cell }[];
}

const WORDS = ['', 'a', 'ab', 'b', 'zebra', 'é', '\u{1f600}', '\uffff'];
const F32_VALUES: readonly number[] = [
  0,
  -0,
  1,
  -1,
  0.5,
  2.25,
  -3.75,
  1e10,
  Number.NaN,
  Infinity,
  -Infinity,
  16777216,
  0.1,
].map(Math.fround);
const F64_VALUES = [0, -0, 0.1, -0.1, 1e300, -1e300, Number.NaN, Infinity, -Infinity, 3, 2 ** 53];
const NAMES = ['u', 'v', 'i', 'j', 'f', 'g', 'l', 'm', 'n', 'd', 'b', 't', 's'] as const;

/** Values of each type. They come from small sets, so that they are often equal, or are limits of the type. */
const cells: { readonly [name: string]: fc.Arbitrary<Cell> } = {
  u: fc.oneof(fc.nat({ max: 5 }), fc.constantFrom(2 ** 31, 2 ** 32 - 1)).map(BigInt),
  v: fc.nat({ max: 5 }).map(BigInt),
  i: fc.oneof(fc.integer({ min: -4, max: 4 }), fc.constantFrom(-(2 ** 31), 2 ** 31 - 1)).map(BigInt),
  j: fc.integer({ min: -4, max: 4 }).map(BigInt),
  f: fc.constantFrom(...F32_VALUES),
  g: fc.constantFrom(...F32_VALUES),
  l: fc.oneof(fc.bigInt({ min: -3n, max: 3n }), fc.constantFrom(-(2n ** 63n), 2n ** 63n - 1n, 2n ** 32n)),
  m: fc.oneof(fc.bigInt({ min: 0n, max: 3n }), fc.constantFrom(2n ** 64n - 1n, 2n ** 63n)),
  n: fc.constantFrom(...F64_VALUES),
  d: fc.bigInt({ min: -500n, max: 500n }),
  b: fc.boolean(),
  t: fc.integer({ min: -3, max: 3 }).map(BigInt),
  s: fc.constantFrom(...WORDS),
};

const MAX_ROWS = 90;

/** Random tables with nulls in some columns. */
export const sampleTable: fc.Arbitrary<SampleTable> = fc
  .record({
    rows: fc.array(fc.record(Object.fromEntries(Object.entries(cells))), { maxLength: MAX_ROWS, size: 'max' }),
    nullable: fc.subarray([...NAMES]),
    seed: fc.integer(),
  })
  .map(({ rows, nullable, seed }) => {
    const withNulls = rows.map((row, i) =>
      Object.fromEntries(
        NAMES.map((name, k): [string, Cell] => {
          const isNull = nullable.includes(name) && ((i * 7 + k * 13 + (seed >>> 3)) >>> 0) % 4 === 0;
          return [name, isNull ? null : row[name]!];
        }),
      ),
    );
    return { rows: withNulls, host: hostOf(withNulls, nullable) };
  });

function hostOf(rows: SampleTable['rows'], nullable: readonly string[]): HostTable {
  return Object.fromEntries(NAMES.map((name) => [name, columnOf(name, rows, nullable.includes(name))]));
}

/** Collects the cells of a column from rows. The values stored for nulls are arbitrary and must not matter. */
function columnOf(name: string, rows: SampleTable['rows'], isNullable: boolean): HostColumn {
  const validity = isNullable ? new Uint32Array(Math.ceil(rows.length / 32)) : undefined;
  if (validity) for (const [i, row] of rows.entries()) if (row[name] !== null) validity[i >> 5]! |= 1 << (i & 31);
  const big = rows.map((row) => (typeof row[name] === 'bigint' ? row[name] : 1n));
  const numbers = rows.map((row) => Number(row[name] ?? 1));
  switch (name) {
    case 'u':
      return { type: 'u32', values: Uint32Array.from(numbers), validity };
    case 'v':
      return { type: 'u32', values: Uint8Array.from(numbers), validity };
    case 'i':
      return { type: 'i32', values: Int32Array.from(numbers), validity };
    case 'j':
      return { type: 'i32', values: Int16Array.from(numbers), validity };
    case 'f':
    case 'g':
      return { type: 'f32', values: Float32Array.from(numbers), validity };
    case 'l':
      return { type: 'i64', values: BigInt64Array.from(big), validity };
    case 'm':
      return { type: 'u64', values: BigUint64Array.from(big), validity };
    case 'n':
      return { type: 'f64', values: Float64Array.from(numbers), validity };
    case 'd':
      return { type: 'decimal', scale: 2, values: BigInt64Array.from(big), validity };
    case 'b':
      return { type: 'bool', values: Uint8Array.from(numbers), validity };
    case 't':
      return { type: 'date', values: Int32Array.from(numbers), validity };
    default: {
      const dictionary = [...WORDS].reverse();
      const codes = Uint32Array.from(rows, (row) => Math.max(0, dictionary.indexOf(row[name] as string)));
      return { type: 'string', codes, dictionary, validity };
    }
  }
}

const operator = fc.constantFrom('<', '<=', '>', '>=', '=', '<>');
const column = (name: string): Expression => ({ kind: 'column', name });
const literal = (value: LiteralValue): Expression => ({ kind: 'literal', value });

const numbers: fc.Arbitrary<LiteralValue> = fc.oneof(
  fc.integer({ min: -5, max: 5 }),
  fc.constantFrom(0.5, -0.5, 2.01, 1e20, -1e20, Infinity, Number.NaN, 2 ** 31, -(2 ** 31), null, 2n ** 63n),
);

/** For each column, literals that can be compared with it. */
const literals: { readonly [name: string]: fc.Arbitrary<LiteralValue> } = {
  ...Object.fromEntries([...'uvijlmd'].map((name) => [name, numbers])),
  f: fc.constantFrom(...F32_VALUES, 0.1, null),
  g: fc.constantFrom(...F32_VALUES, null),
  n: fc.constantFrom(...F64_VALUES, null),
  b: fc.constantFrom(true, false, null),
  t: fc.constantFrom(0, 1, '1970-01-02', '1969-12-30', null),
  s: fc.constantFrom(...WORDS, 'aa', 'zz', null),
};

const named = fc.constantFrom(...NAMES);
const pair = fc.constantFrom(
  ['u', 'v'],
  ['u', 'i'],
  ['i', 'j'],
  ['i', 'l'],
  ['f', 'g'],
  ['j', 'd'],
  ['v', 'm'],
  ['s', 's'],
  ['n', 'n'],
);
const weights = fc.integer({ min: -1000, max: 1000 });

/** Linear combinations Σ aᵢ·xᵢ of integer columns. */
const semiLinear = fc
  .record({
    names: fc.subarray(['v', 'i', 'j', 'd', 'u'], { minLength: 1 }),
    factors: fc.array(weights, { minLength: 5, maxLength: 5 }),
  })
  .map(({ names, factors }) =>
    names
      .map((name, i): Expression => ({ kind: 'mul', left: column(name), right: literal(factors[i]!) }))
      .reduce((left, right) => ({ kind: 'add', left, right })),
  );

const comparison: fc.Arbitrary<Condition> = fc.oneof(
  fc
    .record({ name: named, operator, pick: fc.nat() })
    .chain(({ name, operator: how }) =>
      literals[name]!.map(
        (value): Condition => ({ kind: 'compare', operator: how, left: column(name), right: literal(value) }),
      ),
    ),
  fc.record({ pair, operator }).map(
    ({ pair: [a, b], operator: how }): Condition => ({
      kind: 'compare',
      operator: how,
      left: column(a!),
      right: column(b!),
    }),
  ),
  fc
    .record({ left: semiLinear, operator, value: numbers })
    .map(
      ({ left, operator: how, value }): Condition => ({ kind: 'compare', operator: how, left, right: literal(value) }),
    ),
  named.map((name): Condition => ({ kind: 'isNull', of: column(name) })),
  named.chain((name) =>
    fc.array(literals[name]!, { maxLength: 5 }).map((values): Condition => ({ kind: 'in', of: column(name), values })),
  ),
  named.chain((name) =>
    fc
      .tuple(literals[name]!, literals[name]!)
      .map(([low, high]): Condition => ({ kind: 'between', of: column(name), low: literal(low), high: literal(high) })),
  ),
  fc.constant<Condition>({ kind: 'truth', of: column('b') }),
  fc.constantFrom<Condition>({ kind: 'always' }, { kind: 'never' }),
);

/** Random conditions, nested to any depth. */
export const sampleCondition: fc.Arbitrary<Condition> = fc.letrec<{ any: Condition }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    { weight: 3, arbitrary: comparison },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('not' as const), of: tie('any') }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constantFrom('and' as const, 'or' as const),
        of: fc.array(tie('any'), { maxLength: 3 }),
      }),
    },
  ),
})).any;

type Row = SampleTable['rows'][number];

/** The cell if it is an integer or a decimal, otherwise undefined. */
function exact(cell: Cell): bigint | undefined {
  return typeof cell === 'bigint' ? cell : undefined;
}

interface Evaluated {
  readonly value: Cell;
  /** Number of decimal places if `value` is a bigint: the exact value is `value` / 10^`scale`. */
  readonly scale: number;
}

/** The value of an expression in a row. */
function valueAt(row: Row, expression: Expression): Evaluated {
  switch (expression.kind) {
    case 'column':
      return { value: row[expression.name]!, scale: expression.name === 'd' ? 2 : 0 };
    case 'literal': {
      const { value } = expression;
      return { value: typeof value === 'object' && value !== null ? value.units : value, scale: 0 };
    }
    case 'neg':
      return valueAt(row, { kind: 'sub', left: { kind: 'literal', value: 0 }, right: expression.of });
    default: {
      const [a, b] = [valueAt(row, expression.left), valueAt(row, expression.right)];
      if (a.value === null || b.value === null) return { value: null, scale: 0 };
      const isFloat = [a, b].some(({ value }) => typeof value === 'number' && !Number.isInteger(value));
      if (isFloat || (typeof a.value === 'number' && typeof b.value === 'number')) throw new RangeError('not exact');
      const [x, y] = [BigInt(a.value), BigInt(b.value)];
      if (expression.kind === 'mul') return { value: x * y, scale: a.scale + b.scale };
      const scale = Math.max(a.scale, b.scale);
      const [p, q] = [x * 10n ** BigInt(scale - a.scale), y * 10n ** BigInt(scale - b.scale)];
      return { value: expression.kind === 'add' ? p + q : p - q, scale };
    }
  }
}

/** Compares two values; returns −1, 0 or 1. NaN is the greatest number. */
export function order(a: Evaluated, b: Evaluated): number {
  const [x, y] = [a.value, b.value];
  if (typeof x === 'string' && typeof y === 'string') {
    return Math.sign(Buffer.compare(Buffer.from(x), Buffer.from(y)));
  }
  const [p, q] = [exact(x), exact(y)];
  if (p !== undefined && q !== undefined) {
    const [left, right] = [p * 10n ** BigInt(b.scale), q * 10n ** BigInt(a.scale)];
    return left < right ? -1 : Number(left > right);
  }
  if (p !== undefined && typeof y === 'number') return orderWithNumber(p, a.scale, y);
  if (q !== undefined && typeof x === 'number') return -orderWithNumber(q, b.scale, x);
  const [u, v] = [Number(x), Number(y)];
  if (Number.isNaN(u) || Number.isNaN(v)) return Number(Number.isNaN(u)) - Number(Number.isNaN(v));
  return u < v ? -1 : Number(u > v);
}

/** Compares a scaled integer with a number that has at most two decimal places. */
function orderWithNumber(units: bigint, scale: number, number: number): number {
  if (Number.isNaN(number) || number === Infinity) return -1;
  if (number === -Infinity) return 1;
  const [left, right] = [
    units * 100n,
    BigInt(Math.abs(number) < 1e6 ? Math.round(number * 100) : number) *
      (Math.abs(number) < 1e6 ? 1n : 100n) *
      10n ** BigInt(scale),
  ];
  return left < right ? -1 : Number(left > right);
}

/** Whether a condition is true for a row; null if its truth is unknown because of nulls. */
export function truthAt(row: Row, condition: Condition, isHeld?: (x: number, y: number) => boolean): boolean | null {
  switch (condition.kind) {
    case 'always':
      return true;
    case 'never':
      return false;
    case 'not': {
      const truth = truthAt(row, condition.of, isHeld);
      return truth === null ? null : !truth;
    }
    case 'and':
    case 'or': {
      const decides = condition.kind === 'or';
      const truths = condition.of.map((each) => truthAt(row, each, isHeld));
      if (truths.includes(decides)) return decides;
      return truths.includes(null) ? null : !decides;
    }
    case 'inPolygons': {
      const [x, y] = [row[condition.x]!, row[condition.y]!];
      return x === null || y === null ? null : isHeld!(Number(x), Number(y));
    }
    case 'isNull':
      return valueAt(row, condition.of).value === null;
    case 'truth':
      return valueAt(row, condition.of).value as boolean | null;
    case 'between': {
      const { of, low, high } = condition;
      return truthAt(row, {
        kind: 'and',
        of: [
          { kind: 'compare', operator: '>=', left: of, right: low },
          { kind: 'compare', operator: '<=', left: of, right: high },
        ],
      });
    }
    case 'in': {
      const of = condition.values.map(
        (value): Condition => ({
          kind: 'compare',
          operator: '=',
          left: condition.of,
          right: { kind: 'literal', value },
        }),
      );
      return truthAt(row, { kind: 'or', of });
    }
    case 'compare': {
      const [a, b] = [evaluated(row, condition.left, condition.right), evaluated(row, condition.right, condition.left)];
      if (a.value === null || b.value === null) return null;
      const sign = order(a, b);
      return { '<': sign < 0, '<=': sign <= 0, '>': sign > 0, '>=': sign >= 0, '=': sign === 0, '<>': sign !== 0 }[
        condition.operator
      ];
    }
  }
}

/**
 * Evaluates one side of a comparison. A literal is rounded to f32 if the other side is f32, and parsed if the other
 * side is a date.
 */
function evaluated(row: Row, expression: Expression, other: Expression): Evaluated {
  const found = valueAt(row, expression);
  if (expression.kind !== 'literal' || other.kind !== 'column') return found;
  if ('fg'.includes(other.name) && typeof found.value === 'number')
    return { value: Math.fround(found.value), scale: 0 };
  if (other.name === 't' && typeof found.value === 'string')
    return { value: BigInt(Date.parse(found.value) / 86_400_000), scale: 0 };
  return found;
}
