import {
  added,
  between,
  type ComparisonOperator,
  type Condition,
  column,
  type Expression,
  isNull,
  type LiteralValue,
  literal,
  multiplied,
  not,
  oneOf,
  subtracted,
  truth,
} from '../../algorithms/tables/index.ts';
import type { UsageError } from '../../formats/usage-error.ts';
import { nearestName } from '../../primitives/checks/suggest.ts';
import { MAX_DIGITS, numberOf } from './numbers.ts';
import { type OptionText, textError } from './text-error.ts';
import { type Token, tokensOf } from './tokens.ts';

/** A condition or an expression that was parsed from a text. `at` is its position in the text. */
export type Meaning =
  | { readonly value: Expression; readonly condition?: undefined; readonly at: number }
  | { readonly condition: Condition; readonly value?: undefined; readonly at: number };

/** A recursive-descent parser, which consumes tokens from left to right. */
export interface Parser {
  /** The next token. */
  peek(): Token;
  take(): Token;
  /** Consumes the next token if it is the given sign or word, ignoring case. Returns whether it was consumed. */
  takes(text: string): boolean;
  /**
   * Consumes the given sign or word. If the next token is a different one, throws an error with the sentence `what`.
   */
  wants(text: string, what: string): Token;
  /** Parses a condition or an expression, and consumes as many tokens as possible. */
  meaning(): Meaning;
  /** The condition that was parsed. Throws if it was a value. */
  conditionOf(read: Meaning): Condition;
  value(): Expression;
  /** Parses a number literal. */
  number(): number;
  /** Parses the name of a column. */
  columnName(): string;
  wrong(token: Token, sentence: string, remedy?: string): UsageError;
}

/** Keywords. A column whose name is a keyword must be in double quotes. */
const RESERVED = ['and', 'or', 'not', 'between', 'in', 'is', 'null', 'true', 'false', 'as'];
const COMPARISONS: { readonly [sign: string]: ComparisonOperator } = {
  '<': '<',
  '<=': '<=',
  '>': '>',
  '>=': '>=',
  '=': '=',
  '==': '=',
  '<>': '<>',
  '!=': '<>',
};
/** Maximum nesting depth, so that the call stack cannot overflow. */
const DEEPEST = 200;

export function parserOf(given: OptionText, columns: readonly string[]): Parser {
  const tokens = tokensOf(given, columns);
  let [next, depth] = [0, 0];
  const peek = (): Token => tokens[next]!;
  const take = (): Token => tokens[next < tokens.length - 1 ? next++ : next]!;
  const isNext = (text: string, token = peek()): boolean =>
    (token.kind === 'word' || token.kind === 'sign') && token.text.toLowerCase() === text;
  const takes = (text: string): boolean => isNext(text) && take() !== undefined;

  function wrong(token: Token, sentence: string, remedy?: string): UsageError {
    return textError(given, token.at, sentence, { remedy });
  }

  function wants(text: string, what: string): Token {
    if (isNext(text)) return take();
    throw wrong(peek(), `${what}.`);
  }

  function nested<A>(read: () => A): A {
    if (++depth > DEEPEST) throw wrong(peek(), `This is nested more than ${DEEPEST} deep.`);
    const result = read();
    depth--;
    return result;
  }

  function meaning(): Meaning {
    return nested(() => joined('or', () => joined('and', negation)));
  }

  function joined(word: 'and' | 'or', read: () => Meaning): Meaning {
    const first = read();
    if (!isNext(word)) return first;
    const all = [conditionOf(first)];
    while (takes(word)) all.push(conditionOf(read()));
    return { condition: { kind: word, of: all }, at: first.at };
  }

  function negation(): Meaning {
    const { at } = peek();
    if (!takes('not')) return comparison();
    return { condition: not(conditionOf(nested(negation))), at };
  }

  /**
   * Converts a parsed expression to a condition if it is a column of bools or a literal bool, and throws for other
   * expressions. A condition is returned unchanged.
   */
  function conditionOf(read: Meaning): Condition {
    if (read.condition !== undefined) return read.condition;
    const { value, at } = read;
    if (value.kind === 'column') return truth(value);
    if (value.kind === 'literal' && typeof value.value === 'boolean') return { kind: value.value ? 'always' : 'never' };
    throw textError(given, at, 'This is a value, not a condition.', {
      remedy: 'Compare it with something.',
    });
  }

  function comparison(): Meaning {
    const first = sum();
    const token = peek();
    const operator = token.kind === 'sign' ? COMPARISONS[token.text] : undefined;
    if (operator !== undefined) {
      take();
      const condition: Condition = { kind: 'compare', operator, left: comparable(first), right: comparable(sum()) };
      if (COMPARISONS[peek().text] !== undefined && peek().kind === 'sign') {
        throw wrong(peek(), 'Comparisons cannot be chained.', 'Write a < b and b < c, or b between a and c.');
      }
      return { condition, at: first.at };
    }
    if (takes('is')) return isNullOrNot(first);
    const isNegated = isNext('not') && ['between', 'in'].some((word) => isNext(word, tokens[next + 1]));
    if (isNegated) take();
    const condition = takes('between') ? range(first) : takes('in') ? list(first) : undefined;
    if (condition === undefined) return first;
    return { condition: isNegated ? not(condition) : condition, at: first.at };
  }

  function isNullOrNot(first: Meaning): Meaning {
    const isNegated = takes('not');
    wants('null', "After 'is', null or not null is expected");
    const condition = isNull(asValue(first));
    return { condition: isNegated ? not(condition) : condition, at: first.at };
  }

  function range(first: Meaning): Condition {
    const low = comparable(sum());
    wants('and', "The word 'and' is missing here: write x between 3 and 7");
    return between(comparable(first), low, comparable(sum()));
  }

  /**
   * Returns a value that can be compared. Throws if the value is the literal null: SQL allows comparisons with null,
   * but they are never true.
   */
  function comparable(read: Meaning): Expression {
    const value = asValue(read);
    if (value.kind !== 'literal' || value.value !== null) return value;
    throw textError(given, read.at, 'A comparison with null is never true.', {
      remedy: "Write 'is null' or 'is not null'.",
    });
  }

  function list(first: Meaning): Condition {
    wants('(', 'A list in parentheses is missing here: write x in (3, 7)');
    const values: LiteralValue[] = [];
    do {
      const token = peek();
      const value = asValue(sum());
      if (value.kind !== 'literal') throw wrong(token, 'A list holds numbers, strings and dates, not columns.');
      values.push(value.value);
    } while (takes(','));
    wants(')', 'A comma, or the closing parenthesis of the list, is missing here');
    return oneOf(asValue(first), values);
  }

  function asValue(read: Meaning): Expression {
    if (read.value !== undefined) return read.value;
    throw textError(given, read.at, 'This is a condition; a value is expected here.');
  }

  function sum(): Meaning {
    let left = product();
    for (;;) {
      const isSum = isNext('+');
      if (!isSum && !isNext('-')) return left;
      take();
      const [a, b] = [asValue(left), asValue(product())];
      left = { value: isSum ? added(a, b) : subtracted(a, b), at: left.at };
    }
  }

  function product(): Meaning {
    let left = factor();
    while (takes('*')) left = { value: multiplied(asValue(left), asValue(factor())), at: left.at };
    return left;
  }

  function factor(): Meaning {
    const { at } = peek();
    if (takes('+')) return { value: asValue(nested(factor)), at };
    if (!takes('-')) return primary();
    const next = peek();
    if (next.kind === 'number') return { value: literal(numberLiteral(take(), true)), at };
    if (isReal(next)) return { value: literal(-take().text), at };
    return { value: { kind: 'neg', of: asValue(nested(factor)) }, at };
  }

  function primary(): Meaning {
    const token = peek();
    const { at } = token;
    if (takes('(')) {
      const inner = meaning();
      wants(')', 'A closing parenthesis is missing here');
      return inner;
    }
    if (token.kind === 'number') return { value: literal(numberLiteral(take(), false)), at };
    if (isReal(token)) return { value: literal(Number(take().text)), at };
    if (token.kind === 'string') return { value: literal(take().text), at };
    for (const [word, value] of [
      ['null', null],
      ['true', true],
      ['false', false],
    ] as const)
      if (takes(word)) return { value: literal(value), at };
    return { value: column(columnName()), at };
  }

  /** Whether a token is NaN or Infinity, as floats are printed. A column of this name comes first. */
  function isReal({ kind, text }: Token): boolean {
    return kind === 'word' && (text === 'NaN' || text === 'Infinity') && !columns.includes(text);
  }

  function numberLiteral(token: Token, isNegative: boolean): LiteralValue {
    const value = numberOf(`${isNegative ? '-' : ''}${token.text}`);
    if (value !== undefined) return value;
    throw wrong(token, `A number has at most ${MAX_DIGITS} digits, and an exponent of at most ${MAX_DIGITS}.`);
  }

  function columnName(): string {
    const token = peek();
    const isName = token.kind === 'name' || (token.kind === 'word' && !RESERVED.includes(token.text.toLowerCase()));
    requireQuotes(given, token, columns);
    if (!isName)
      throw wrong(token, token.kind === 'end' ? 'Something is missing at the end.' : 'A value is missing here.');
    take();
    if (columns.includes(token.text)) return token.text;
    if (isNext('(')) throw wrong(token, `There is no function ${token.text} here.`);
    throw unknownColumn(given, token, columns);
  }

  return {
    peek,
    take,
    takes,
    wants,
    meaning,
    conditionOf,
    value: () => asValue(sum()),
    number() {
      const token = peek();
      if (token.kind !== 'number') throw wrong(token, 'A number is expected here.');
      return Number(take().text);
    },
    columnName,
    wrong,
  };
}

/** Throws if the text has the name of a column here that must be in double quotes, such as `a b`, without the quotes. */
function requireQuotes(given: OptionText, { kind, text, at }: Token, columns: readonly string[]): void {
  if (kind === 'name') return;
  const whole = columns.find((name) => quotedName(name) !== name && given.text.startsWith(name, at));
  if (whole === undefined || (kind === 'word' && (columns.includes(text) || RESERVED.includes(text.toLowerCase()))))
    return;
  const remedy = `Names that are not plain words stand in double quotes: ${quotedName(whole)}.`;
  throw textError(given, at, `The column "${whole}" needs quotes.`, { code: 'usage/unknown-column', remedy });
}

const SHOWN_COLUMNS = 12;

function unknownColumn(given: OptionText, { text, at }: Token, columns: readonly string[]): UsageError {
  const { option } = given;
  const nearest = nearestName(text, columns);
  const some = columns.slice(0, SHOWN_COLUMNS).join(', ') + (columns.length > SHOWN_COLUMNS ? ', …' : '');
  const others = option === '--where' ? `There are ${some}; strings stand in 'single quotes'.` : `There are ${some}.`;
  const remedy = nearest === undefined ? others : `Did you mean ${quotedName(nearest)}?`;
  return textError(given, at, `There is no column "${text}".`, { code: 'usage/unknown-column', remedy });
}

/** Returns a column name as users must write it: in double quotes if it is a keyword or not a plain word. */
export function quotedName(name: string): string {
  const isPlain = /^[\p{L}_][\p{L}\p{M}\p{N}_]*$/u.test(name) && !RESERVED.includes(name.toLowerCase());
  return isPlain ? name : `"${name.replaceAll('"', '""')}"`;
}
