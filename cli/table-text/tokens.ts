import { type OptionText, textError } from './text-error.ts';

/**
 * A token of a text. It is a word, a name in double quotes, a number, a string in single quotes, a sign, or the end of
 * the text.
 */
export interface Token {
  readonly kind: 'word' | 'name' | 'number' | 'string' | 'sign' | 'end';
  /** Contents of the token. Names and strings are without their quotes. */
  readonly text: string;
  /** Position of the token in the text. */
  readonly at: number;
  readonly end: number;
}

const PATTERNS: readonly (readonly [kind: Token['kind'], pattern: RegExp])[] = [
  ['word', /[\p{L}_][\p{L}\p{M}\p{N}_]*/uy],
  ['number', /(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y],
  ['string', /'(?:[^']|'')*'/y],
  ['name', /"(?:[^"]|"")*"/y],
  ['sign', /<=|>=|<>|!=|==|[<>=+\-*(),]/y],
];

/**
 * Splits a text into tokens. The last token marks the end of the text.
 *
 * @throws UsageError `usage/expression`.
 */
export function tokensOf(given: OptionText, columns: readonly string[] = []): Token[] {
  const { text } = given;
  const tokens: Token[] = [];
  for (let at = 0; ; ) {
    at += /^\s*/.exec(text.slice(at))![0].length;
    if (at === text.length) break;
    const token = tokenAt(given, at, columns);
    tokens.push(token);
    at = token.end;
  }
  return [...tokens, { kind: 'end', text: '', at: text.length, end: text.length }];
}

/** The signs that other languages use for logical operators, with the keywords that an error suggests instead. */
const WORDS_FOR: { readonly [sign: string]: string } = { '&': 'and', '|': 'or', '!': 'not' };

function tokenAt(given: OptionText, at: number, columns: readonly string[]): Token {
  const { text } = given;
  for (const [kind, pattern] of PATTERNS) {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found === undefined) continue;
    const end = at + found.length;
    if (kind === 'number' && /[\p{L}_]/u.test(text[end] ?? '')) {
      throw textError(given, at, 'A name cannot begin with a digit.', { remedy: 'Put it in double quotes.' });
    }
    return { kind, text: bare(kind, found), at, end };
  }
  const sign = String.fromCodePoint(text.codePointAt(at)!);
  if (sign === "'" || sign === '"') throw textError(given, at, 'This quote is not closed.');
  if (sign === '/' || sign === '%')
    throw textError(given, at, 'Columns cannot be divided, only added, subtracted and multiplied.');
  const word = WORDS_FOR[sign];
  throw textError(given, at, `${sign} has no meaning here.`, {
    remedy: word === undefined ? quotesFor(text, at, columns) : `Write ${word}.`,
  });
}

/** Says how to write the name of a column that stands without double quotes around a sign, such as `a.b`. */
function quotesFor(text: string, at: number, columns: readonly string[]): string {
  const isAround = (name: string): boolean => {
    const start = text.lastIndexOf(name, at);
    return name !== '' && start >= 0 && start + name.length > at;
  };
  const name = columns.find(isAround) ?? 'a name';
  return `Names that are not plain words stand in double quotes: "${name.replaceAll('"', '""')}".`;
}

function bare(kind: Token['kind'], found: string): string {
  if (kind === 'string') return found.slice(1, -1).replaceAll("''", "'");
  return kind === 'name' ? found.slice(1, -1).replaceAll('""', '"') : found;
}
