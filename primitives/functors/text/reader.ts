import type { FunctorError } from '../../checks/errors.ts';
import { errorAt, type Position, type SourceText } from './source.ts';
import { type Token, tokenize } from './tokens.ts';

/** Keywords and reserved words of WGSL, which cannot be used as names. */
const keywords = new Set(
  'alias array bool break case const const_assert continue continuing default diagnostic discard else enable f16 f32 false fn for i32 if let loop override ptr requires return struct switch true u32 var while'.split(
    ' ',
  ),
);

/** Reads the tokens of a text. */
export interface Reader {
  peek(ahead?: number): Token;
  next(): Token;
  is(text: string): boolean;
  /** Consumes the next token if it is `text`; returns whether the token was consumed. */
  accept(text: string): boolean;
  /**
   * Consumes the next token, which must be `text`; otherwise throws. `after` says in the error what precedes the token.
   * Where `>` ends a template, it is also taken from a token that begins with it, as the `>>` of `array<vec2<f32>>`.
   */
  expect(text: string, after: string): Token;
  /** Consumes a name that is not a reserved word; otherwise throws. `what` says in the error what is named. */
  name(what: string): Token;
  error(position: Position, sentence: string, remedy?: string): FunctorError;
  /**
   * Runs a parser for a construct that may contain constructs of the same kind, such as an expression. Throws if the
   * nesting is too deep for the stack.
   */
  nested<T>(parse: (reader: Reader) => T): T;
}

/** Maximum nesting depth of expressions and statements. */
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
    errorAt(position, 'syntax', sentence, { remedy });
  const accept = (text: string): boolean => is(text) && next() !== undefined;
  const reader: Reader = {
    peek,
    next,
    is,
    accept,
    error,
    expect(text, after) {
      if (is(text)) return next();
      const { kind, text: found, position } = peek();
      if (text === '>' && found.startsWith(text)) {
        tokens[at] = { kind, text: found.slice(1), position: { source, at: position.at + 1 } };
        return { kind, text, position };
      }
      throw error(peek().position, `Expected ${text} ${after}, got ${peek().text}.`);
    },
    name(what) {
      const token = next();
      if (token.kind !== 'name') throw error(token.position, `Expected a name for ${what}, got ${token.text}.`);
      if (token.text === '_' || token.text.startsWith('__')) {
        throw error(
          token.position,
          `${token.text} cannot name ${what}: WGSL has no names that begin with two underscores, or are one.`,
          'Choose another name.',
        );
      }
      if (!keywords.has(token.text)) return token;
      throw error(
        token.position,
        `${token.text} is a reserved word of WGSL and cannot name ${what}.`,
        'Choose another name.',
      );
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
