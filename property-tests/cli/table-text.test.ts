import { describe, expect } from 'vitest';
import type { Condition, Expression, LiteralValue } from '../../algorithms/tables/index.ts';
import { quotedName } from '../../cli/table-text/parser.ts';
import { parseAggregates, parseColumns, parseCondition } from '../../cli/table-text/questions.ts';
import { UsageError } from '../../formats/usage-error.ts';
import { caseCount } from '../cases.ts';
import { fc, test } from '../law-test.ts';

const COLUMNS = ['fare', 'hour', 'card', 'And', 'Größe', 'two words', 'a"b', '9th', 'null'];
const where = (text: string) => parseCondition({ option: '--where', text }, COLUMNS);

const name = fc.constantFrom(...COLUMNS);
const literalValue: fc.Arbitrary<LiteralValue> = fc.oneof(
  fc.integer(),
  fc
    .double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 })
    .filter((value) => String(value).replace(/\D/g, '').length <= 15 || /e/.test(String(value))),
  fc.bigInt({ min: 10n ** 16n, max: 2n ** 64n }),
  fc.bigInt({ min: 10n ** 16n, max: 10n ** 18n }).map((units) => ({ units, scale: 3 })),
  fc.string({ maxLength: 6 }),
  fc.constantFrom(null),
);
const expression: fc.Arbitrary<Expression> = fc.letrec<{ any: Expression }>((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    name.map((each): Expression => ({ kind: 'column', name: each })),
    literalValue.map((value): Expression => ({ kind: 'literal', value })),
    fc.record({
      kind: fc.constantFrom('add' as const, 'sub' as const, 'mul' as const),
      left: tie('any'),
      right: tie('any'),
    }),
    fc.record({ kind: fc.constant('neg' as const), of: tie('any') }),
  ),
})).any;
const comparable = expression.filter((given) => given.kind !== 'literal' || given.value !== null);
const condition: fc.Arbitrary<Condition> = fc.letrec<{ any: Condition }>((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    fc.record({
      kind: fc.constant('compare' as const),
      operator: fc.constantFrom('<' as const, '<=' as const, '>' as const, '>=' as const, '=' as const, '<>' as const),
      left: comparable,
      right: comparable,
    }),
    fc.record({ kind: fc.constant('isNull' as const), of: expression }),
    fc.record({ kind: fc.constant('between' as const), of: comparable, low: comparable, high: comparable }),
    fc.record({
      kind: fc.constant('in' as const),
      of: expression,
      values: fc.array(literalValue, { minLength: 1, maxLength: 4 }),
    }),
    name.map((each): Condition => ({ kind: 'truth', of: { kind: 'column', name: each } })),
    fc.record({ kind: fc.constantFrom('always' as const, 'never' as const) }),
    fc.record({
      kind: fc.constantFrom('and' as const, 'or' as const),
      of: fc.array(tie('any'), { minLength: 2, maxLength: 3 }),
    }),
    fc.record({ kind: fc.constant('not' as const), of: tie('any') }),
  ),
})).any;

function literalText(value: LiteralValue): string {
  if (value === null) return 'null';
  if (typeof value === 'string') return `'${value.replaceAll("'", "''")}'`;
  if (Object.is(value, -0)) return '-0';
  if (typeof value !== 'object') return String(value);
  const digits = String(value.units);
  return `${digits.slice(0, -value.scale)}.${digits.slice(-value.scale)}`;
}

const SIGNS = { add: '+', sub: '-', mul: '*' };

function valueText(value: Expression): string {
  if (value.kind === 'column') return quotedName(value.name);
  if (value.kind === 'literal') return literalText(value.value);
  if (value.kind === 'neg') return `-(${valueText(value.of)})`;
  return `(${valueText(value.left)}) ${SIGNS[value.kind]} (${valueText(value.right)})`;
}

function textOf(given: Condition): string {
  switch (given.kind) {
    case 'compare':
      return `${valueText(given.left)}${given.operator}${valueText(given.right)}`;
    case 'isNull':
      return `${valueText(given.of)} is null`;
    case 'between':
      return `${valueText(given.of)} BETWEEN ${valueText(given.low)} And ${valueText(given.high)}`;
    case 'in':
      return `${valueText(given.of)} in (${given.values.map(literalText).join(', ')})`;
    case 'truth':
      return valueText(given.of);
    case 'always':
      return 'true';
    case 'never':
      return 'False';
    case 'not':
      return `not (${textOf(given.of)})`;
    case 'inPolygons':
      throw new RangeError('no text has polygons');
    default:
      return given.of.map((each) => `(${textOf(each)})`).join(` ${given.kind} `);
  }
}

test.prop([condition], { numRuns: caseCount(500) })('a condition printed as text parses to itself', (given) => {
  expect(where(textOf(given))).toEqual(given);
});

const of = (each: string): Expression => ({ kind: 'column', name: each });
const value = (each: LiteralValue): Expression => ({ kind: 'literal', value: each });

describe('words and symbols bind as in SQL', () => {
  test('and binds before or, not before and, products before sums', () => {
    const text = 'fare > 10 and (hour between 7 and 9 or not card)';
    expect(where(text)).toEqual({
      kind: 'and',
      of: [
        { kind: 'compare', operator: '>', left: of('fare'), right: value(10) },
        {
          kind: 'or',
          of: [
            { kind: 'between', of: of('hour'), low: value(7), high: value(9) },
            { kind: 'not', of: { kind: 'truth', of: of('card') } },
          ],
        },
      ],
    });
    expect(where('not card or card and hour = 1 + 2 * -hour - 3')).toEqual(
      where('(not (card)) or ((card) and (hour = ((1 + (2 * (-(hour)))) - 3)))'),
    );
    expect(where('hour not in (1, 2) and hour is not null and hour not between 1 and 2')).toEqual(
      where('(not (hour in (1, 2))) and (not (hour is null)) and (not (hour between 1 and 2))'),
    );
    expect(where('hour == 1 or hour != 1')).toEqual(where('hour = 1 or hour <> 1'));
  });
});

describe('aggregates and columns', () => {
  const aggregates = (text: string) => parseAggregates({ option: '--aggregate', text }, COLUMNS);
  test('parse to the aggregates and columns they name', () => {
    expect(
      aggregates(
        'count, avg(fare),Median( fare + 1 ), count(distinct hour), quantile(fare, 0.9), largest(fare, 3) as third, count(*) as "all rows", count(card)',
      ),
    ).toEqual({
      count: { kind: 'count' },
      'avg(fare)': { kind: 'avg', of: of('fare') },
      'Median( fare + 1 )': { kind: 'median', of: { kind: 'add', left: of('fare'), right: value(1) } },
      'count(distinct hour)': { kind: 'countDistinct', of: of('hour') },
      'quantile(fare, 0.9)': { kind: 'quantile', of: of('fare'), fraction: 0.9 },
      third: { kind: 'largest', of: of('fare'), k: 3 },
      'all rows': { kind: 'count' },
      'count(card)': { kind: 'count', of: of('card') },
    });
    expect(parseColumns({ option: '--group-by', text: 'hour, "two words"' }, COLUMNS)).toEqual(['hour', 'two words']);
  });

  test.each([
    ['average(fare)', 0, 'There are sum'],
    ['meadian(fare)', 0, 'Did you mean median?'],
    ['avg fare', 4, 'parenthesis is missing'],
    ['quantile(fare)', 13, 'comma is missing'],
    ['quantile(fare, 2)', 15, 'from 0 to 1'],
    ['smallest(fare, 1.5)', 15, 'whole number'],
    ['count, count', 7, 'Two columns would be named count'],
    ['count,', 6, 'missing at the end'],
    ['avg(fare) as 3', 13, 'A name is missing'],
  ])('%s is refused at column %i', (text, at, message) => {
    expect(() => aggregates(text)).toThrow(caretAt(text, at, message));
  });

  test('refuse a repeated column', () => {
    expect(() => parseColumns({ option: '--group-by', text: 'hour,hour' }, COLUMNS)).toThrow(
      caretAt('hour,hour', 5, 'named twice'),
    );
  });
});

/** A matcher for an error message that shows the text, with a caret below position `at` of the text. */
function caretAt(text: string, at: number, message: string): object {
  return expect.objectContaining({
    code: expect.stringMatching(/^usage\/(expression|unknown-column)$/),
    message: expect.toSatisfy(
      (said: string) => said.includes(`\n  ${text}\n  ${' '.repeat(at)}^`) && said.includes(message),
    ),
  });
}

describe('errors show their place', () => {
  test.each([
    ['fare > ', 7, 'missing at the end'],
    ['fare > and hour', 7, 'A value is missing'],

    ['fere > 10', 0, 'Did you mean fare?'],
    ['FARE > 10', 0, 'Did you mean fare?'],
    ['tow_words > 10', 0, 'Did you mean "two words"?'],
    ['other > 10', 0, 'There are fare, hour'],
    ['(fare > 10', 10, 'closing parenthesis is missing'],
    ['fare > 10)', 9, 'was never opened'],
    ['fare > 10 hour', 10, 'An operator is expected here'],
    ["fare like 'a%'", 5, 'Operators are <'],
    ['fare > 10 && hour > 3', 10, 'Write and.'],
    ['other = north', 0, "strings stand in 'single quotes'"],
    ["fare = 'x", 7, 'quote is not closed'],
    ['fare / 2 > 1', 5, 'cannot be divided'],
    ['fare > 10 # 3', 10, '# has no meaning'],
    ['1 < fare < 2', 9, 'between'],
    ['fare + 1', 0, 'not a condition'],
    ['(fare > 1) + 1 > 2', 1, 'a condition; a value is expected'],
    ['fare > 1 and 2', 13, 'Compare it'],
    ['fare between 1 or 2', 15, "'and' is missing"],
    ['fare in 1, 2', 8, 'list in parentheses'],
    ['fare in (hour)', 9, 'not columns'],
    ['fare = null', 7, "Write 'is null'"],
    ['not null <> fare', 4, "Write 'is null'"],
    ['fare between null and 3', 13, "Write 'is null'"],
    ['fare is 3', 8, "After 'is', null"],
    ['9th > 3', 0, 'double quotes'],
    ['abs(fare) > 3', 0, 'no function abs'],
  ] as [string, number, string][])('%s', (text, at, message) => {
    expect(() => where(text)).toThrow(caretAt(text, at, message));
  });

  test('in a long or multi-line text, the part around the place', () => {
    const long = `${'fare > 1 and '.repeat(40)}fere > 2`;
    expect(() => where(long)).toThrow(/\n {2}… .*fere > 2\n {2} +\^\n/);
    expect(() => where('fare >\n\t1 and fere')).toThrow(caretAt('fare >  1 and fere', 14, 'fare?'));
    expect(() => where(`${'('.repeat(1000)}fare`)).toThrow(/nested more than 200 deep/);
    expect(() => where('not '.repeat(1000))).toThrow(/nested more than 200 deep/);
  });

  test.prop(
    [
      fc.array(
        fc.constantFrom(
          'fare',
          'and',
          'or',
          'not',
          '(',
          ')',
          '<',
          '1',
          "'a'",
          'between',
          'in',
          ',',
          'is',
          'null',
          '-',
          '*',
          '"',
          'ü',
          '\ud800',
        ),
        { maxLength: 12 },
      ),
    ],
    { numRuns: caseCount(2000) },
  )('for any text', (words) => {
    try {
      where(words.join(' '));
    } catch (error) {
      expect(error).toBeInstanceOf(UsageError);
      expect((error as Error).message).toMatch(/^--where: .*\n {2}.*\n {2} *\^/);
    }
  });
});
