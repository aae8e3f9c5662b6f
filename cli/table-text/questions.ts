import type { Aggregate, Aggregates, Condition } from '../../algorithms/tables/index.ts';
import { remedyFor, suggest } from '../../primitives/checks/suggest.ts';
import { type Parser, parserOf } from './parser.ts';
import type { OptionText } from './text-error.ts';
import type { Token } from './tokens.ts';

/**
 * Parses a condition such as `fare > 10 and (hour between 7 and 9 or not card)`. Comparisons are `< <= > >= = <>`,
 * `between … and …`, `in (…)` and `is null`. They compare columns, numbers, `'strings'`, dates written as strings, and
 * sums, differences and products of these. A column of bools is also a condition. Conditions are combined by `and`,
 * `or`, `not` and parentheses. Keywords may be in lower or upper case. Names of columns are case-sensitive, and must be
 * in double quotes if they are not plain words.
 *
 * @throws UsageError `usage/expression`, `usage/unknown-column`. The message shows the text with a caret at the error.
 */
export function parseCondition(given: OptionText, columns: readonly string[]): Condition {
  const parser = parserOf(given, columns);
  const meaning = parser.meaning();
  expectEnd(parser, 'An operator is expected here, or the end.', OPERATORS);
  return parser.conditionOf(meaning);
}

/**
 * Parses comma-separated names of columns.
 *
 * @throws UsageError `usage/expression`, `usage/unknown-column`.
 */
export function parseColumns(given: OptionText, columns: readonly string[]): string[] {
  const parser = parserOf(given, columns);
  const names: string[] = [];
  do {
    const token = parser.peek();
    const name = parser.columnName();
    if (names.includes(name)) throw parser.wrong(token, `The column "${name}" is named twice.`);
    names.push(name);
  } while (parser.takes(','));
  expectEnd(parser, 'A comma is expected here, or the end.');
  return names;
}

const PLAIN: { readonly [name: string]: 'sum' | 'avg' | 'min' | 'max' | 'variance' | 'median' } = {
  sum: 'sum',
  avg: 'avg',
  mean: 'avg',
  min: 'min',
  max: 'max',
  variance: 'variance',
  median: 'median',
};
const QUANTILES = { quantile: 'quantile', quantile_cont: 'quantileCont' } as const;
const FUNCTIONS = [...Object.keys(PLAIN), 'count', ...Object.keys(QUANTILES), 'smallest', 'largest'];

/**
 * Parses aggregates such as
 * `count, avg(fare), median(fare), count(distinct zone), quantile(fare, 0.9), largest(fare, 3) as third`. The name of
 * an aggregate is the word after `as` or, without `as`, the text of the aggregate.
 *
 * @throws UsageError `usage/expression`, `usage/unknown-column`.
 */
export function parseAggregates(given: OptionText, columns: readonly string[]): Aggregates {
  const parser = parserOf(given, columns);
  const all = new Map<string, Aggregate>();
  do {
    const first = parser.peek();
    const aggregate = parseAggregate(parser);
    const name = parser.takes('as') ? aliasOf(parser) : given.text.slice(first.at, parser.peek().at).trim();
    if (all.has(name))
      throw parser.wrong(first, `Two columns would be named ${name}.`, "Give one of them another name with 'as NAME'.");
    all.set(name, aggregate);
  } while (parser.takes(','));
  expectEnd(parser, 'A comma is expected here, or the end.');
  return Object.fromEntries(all);
}

function parseAggregate(parser: Parser): Aggregate {
  const token = parser.take();
  const name = token.kind === 'word' ? token.text.toLowerCase() : '';
  if (!FUNCTIONS.includes(name)) throw unknownFunction(parser, token);
  if (name === 'count' && !parser.takes('(')) return { kind: 'count' };
  if (name !== 'count') parser.wants('(', `A parenthesis is missing here: write ${name}(x)`);
  const aggregate = argumentsOf(parser, name);
  parser.wants(')', 'A closing parenthesis is missing here');
  return aggregate;
}

function argumentsOf(parser: Parser, name: string): Aggregate {
  if (name === 'count') {
    if (parser.takes('*')) return { kind: 'count' };
    const isDistinct = parser.takes('distinct');
    return { kind: isDistinct ? 'countDistinct' : 'count', of: parser.value() };
  }
  const of = parser.value();
  const kind = PLAIN[name];
  if (kind !== undefined) return { kind, of };
  const quantile = Object.hasOwn(QUANTILES, name) ? QUANTILES[name as keyof typeof QUANTILES] : undefined;
  parser.wants(',', `A comma is missing here: write ${name}(x, ${quantile === undefined ? 3 : 0.9})`);
  const token = parser.peek();
  const number = parser.number();
  if (quantile !== undefined) {
    if (number <= 1) return { kind: quantile, of, fraction: number };
    throw parser.wrong(token, 'A quantile is a fraction from 0 to 1.');
  }
  if (Number.isInteger(number) && number >= 1) return { kind: name as 'smallest' | 'largest', of, k: number };
  throw parser.wrong(token, 'A whole number of at least 1 is expected here.');
}

function aliasOf(parser: Parser): string {
  const token = parser.take();
  if (token.kind === 'word' || token.kind === 'name') return token.text;
  throw parser.wrong(token, 'A name is missing here.');
}

function unknownFunction(parser: Parser, token: Token): Error {
  if (token.kind === 'end') return parser.wrong(token, 'An aggregate is missing at the end.');
  const remedy = remedyFor(suggest(token.text.toLowerCase(), FUNCTIONS), `There are ${FUNCTIONS.join(', ')}.`);
  return parser.wrong(token, 'This is not an aggregate.', remedy);
}

const OPERATORS = 'Operators are < <= > >= = <> between, in, is null, and, or, + - *.';

function expectEnd(parser: Parser, sentence: string, remedy?: string): void {
  const token = parser.peek();
  if (token.kind === 'end') return;
  const isUnopened = token.text === ')' && token.kind === 'sign';
  if (isUnopened) throw parser.wrong(token, 'This parenthesis was never opened.');
  throw parser.wrong(token, sentence, remedy);
}
