import type { FunctorError } from '../../errors.ts';
import { errorAt, type Position, type SourceText } from './source.ts';
import { type Token, tokenize } from './tokens.ts';

/** Words that WGSL keeps for itself and that no name may be. */
const keywords = new Set(
  'alias array bool break case const const_assert continue continuing default diagnostic discard else enable f16 f32 false fn for i32 if let loop override ptr requires return struct switch true u32 var while'.split(
    ' ',
  ),
);

/** Goes through the tokens of a text. */
export interface Reader {
  readonly source: SourceText;
  peek(ahead?: number): Token;
  next(): Token;
  is(text: string): boolean;
  /** Takes the token if it is the given one. */
  accept(text: string): boolean;
  /** Takes the given token or throws; `after` says what it belongs to. */
  expect(text: string, after: string): Token;
  /** Takes a name that is not a keyword; `what` says whose it is. */
  name(what: string): Token;
  error(position: Position, sentence: string, remedy?: string): FunctorError;
  /** Reads something that may hold others of its kind; fails where they are nested too deeply for the stack. */
  nested<T>(parse: (reader: Reader) => T): T;
}

/** Expressions and statements inside each other. */
const maximumDepth = 500;

export function createReader(source: SourceText): Reader {
  const tokens = tokenize(source);
  let at = 0;
  let depth = 0;
  const peek = (ahead = 0): Token => tokens[Math.min(at + ahead, tokens.length - 1)]!;
  const next = (): Token => {
    const token = peek();
    at++;
    return token;
  };
  const is = (text: string): boolean => peek().text === text && peek().kind !== 'end';
  const error = (position: Position, sentence: string, remedy?: string): FunctorError =>
    errorAt(source, position, 'syntax', sentence, { remedy });
  const accept = (text: string): boolean => is(text) && next() !== undefined;
  const reader: Reader = {
    source,
    peek,
    next,
    is,
    accept,
    error,
    expect(text, after) {
      if (is(text)) return next();
      throw error(peek().position, `A ${text} is wanted ${after}, this is ${peek().text}.`);
    },
    name(what) {
      const token = next();
      if (token.kind !== 'name') throw error(token.position, `A name is wanted for ${what}, this is ${token.text}.`);
      if (!keywords.has(token.text)) return token;
      throw error(token.position, `${token.text} is a word of WGSL and cannot name ${what}.`, 'Choose another name.');
    },
    nested(parse) {
      if (++depth > maximumDepth) throw error(peek().position, `More than ${maximumDepth} constructs are nested.`);
      const result = parse(reader);
      depth--;
      return result;
    },
  };
  return reader;
}
