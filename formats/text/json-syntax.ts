/** Position and reason of a JSON syntax error. */
export interface JsonFault {
  /** Index of the offending character. If the text ends too early, this is the length of the text. */
  readonly offset: number;
  readonly line: number;
  readonly column: number;
  readonly reason: string;
}

/**
 * Finds the first place where a text violates the grammar of JSON (RFC 8259); undefined if it is valid.
 *
 * `JSON.parse` reports that there is an error, but does not reliably report the position. This function reads every
 * character once, and nesting needs no call stack.
 */
export function findJsonFault(text: string): JsonFault | undefined {
  const closers: string[] = [];
  let expected: Expected = 'value';
  let at = skipSpace(text, 0);
  while (at < text.length) {
    const step: SyntaxStep = STEPS[expected](text, at, closers);
    if (typeof step === 'string') return fault(text, at, step);
    expected = step.next;
    at = skipSpace(text, step.end);
  }
  return expected === 'end' ? undefined : fault(text, at, 'the text ends too early');
}

type Expected = 'value' | 'valueOrClose' | 'key' | 'keyOrClose' | 'colon' | 'separator' | 'end';
type SyntaxStep = string | { readonly end: number; readonly next: Expected };

const STEPS: Readonly<Record<Expected, (text: string, at: number, closers: string[]) => SyntaxStep>> = {
  value: readValue,
  valueOrClose: (text, at, closers) => (text[at] === ']' ? readClose(at, closers) : readValue(text, at, closers)),
  key: readKey,
  keyOrClose: (text, at, closers) => (text[at] === '}' ? readClose(at, closers) : readKey(text, at)),
  colon: (text, at) => (text[at] === ':' ? { end: at + 1, next: 'value' } : "expected ':' after a key"),
  separator: readSeparator,
  end: () => 'expected nothing after the value',
};

function readValue(text: string, at: number, closers: string[]): SyntaxStep {
  const first = text[at]!;
  if (first === '[' || first === '{') {
    closers.push(first === '[' ? ']' : '}');
    return { end: at + 1, next: first === '[' ? 'valueOrClose' : 'keyOrClose' };
  }
  const end = first === '"' ? endOfString(text, at) : endOfMatch(LITERAL, text, at);
  if (end !== undefined) return { end, next: closers.length === 0 ? 'end' : 'separator' };
  if (first === '"') return 'this string is not closed or holds a bad escape';
  if (endOfMatch(NOT_A_NUMBER, text, at) !== undefined) return 'NaN and Infinity are not numbers of JSON';
  return 'expected a value';
}

function readKey(text: string, at: number): SyntaxStep {
  const end = text[at] === '"' ? endOfString(text, at) : undefined;
  return end === undefined ? 'expected a key in double quotes' : { end, next: 'colon' };
}

function readSeparator(text: string, at: number, closers: string[]): SyntaxStep {
  const closer = closers.at(-1)!;
  if (text[at] === closer) return readClose(at, closers);
  if (text[at] !== ',') return `expected ',' or '${closer}'`;
  return { end: at + 1, next: closer === ']' ? 'value' : 'key' };
}

function readClose(at: number, closers: string[]): SyntaxStep {
  closers.pop();
  return { end: at + 1, next: closers.length === 0 ? 'end' : 'separator' };
}

const LITERAL = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const NOT_A_NUMBER = /NaN|-?Infinity/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

function endOfMatch(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

function endOfString(text: string, at: number): number | undefined {
  let end = at + 1;
  while (end < text.length) {
    const character = text[end]!;
    if (character === '"') return end + 1;
    if (character < ' ') return undefined;
    const next = character === '\\' ? endOfMatch(ESCAPE, text, end) : end + 1;
    if (next === undefined) return undefined;
    end = next;
  }
  return undefined;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') at++;
  return at;
}

function fault(text: string, offset: number, reason: string): JsonFault {
  const lineStart = offset === 0 ? 0 : text.lastIndexOf('\n', offset - 1) + 1;
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line++;
  return { offset, line, column: offset - lineStart + 1, reason };
}
