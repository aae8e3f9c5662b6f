import { BLANKS, errorAt, LINE_BREAKS, type Position, type SourceText } from './source.ts';

export interface Token {
  readonly kind: 'name' | 'number' | 'operator' | 'end';
  readonly text: string;
  readonly position: Position;
}

const blanks = new RegExp(`[${BLANKS}]+`, 'y');
const lineComment = new RegExp(`//[^${LINE_BREAKS}]*`, 'y');
const number = /0[xX][0-9a-fA-F]*\.?[0-9a-fA-F]*(?:[pP][+-]?\d*)?[iuf]?|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d*)?[iufh]?/y;
const name = /[A-Za-z_][A-Za-z0-9_]*/y;
const operator = /->|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||\+\+|--|[-+*/%&|^]=|[-+*/%&|^!~<>=(){}[\],;:.@]/y;

/** Splits a text into tokens and leaves out blanks and comments. The last token has the kind `end`. */
export function tokenize(source: SourceText): Token[] {
  const { text } = source;
  const tokens: Token[] = [];
  let at = 0;
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0];
  };
  while (at < text.length) {
    const position = { source, at };
    const skipped = (take(blanks) ?? take(lineComment))?.length ?? blockComment(position);
    if (skipped > 0) {
      at += skipped;
      continue;
    }
    const token = nextToken(take, position);
    if (token === undefined) {
      throw errorAt(position, 'syntax', `${characterAt(text, at)} is not in the supported subset of WGSL.`);
    }
    tokens.push(token);
    at += token.text.length;
  }
  tokens.push({ kind: 'end', text: 'the end of the text', position: { source, at } });
  return tokens;
}

/** The character at a position, for error messages. Invisible characters are shown by their code. */
function characterAt(text: string, at: number): string {
  const code = text.codePointAt(at)!;
  const character = String.fromCodePoint(code);
  return /^[\p{L}\p{N}\p{P}\p{S}]$/u.test(character)
    ? character
    : `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}

function nextToken(take: (pattern: RegExp) => string | undefined, position: Position): Token | undefined {
  for (const [kind, pattern] of [
    ['name', name],
    ['number', number],
    ['operator', operator],
  ] as const) {
    const text = take(pattern);
    if (text !== undefined) return { kind, text, position };
  }
  return undefined;
}

/** Length of the block comment that starts at a position; 0 if none starts there. Block comments can be nested. */
function blockComment(start: Position): number {
  const { text } = start.source;
  if (!text.startsWith('/*', start.at)) return 0;
  const mark = /\/\*|\*\//g;
  mark.lastIndex = start.at;
  let depth = 0;
  for (let found = mark.exec(text); found !== null; found = mark.exec(text)) {
    depth += found[0] === '/*' ? 1 : -1;
    if (depth === 0) return mark.lastIndex - start.at;
  }
  throw errorAt(start, 'syntax', 'A comment must be closed.', { remedy: 'Add */.' });
}
