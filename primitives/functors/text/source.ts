import { type ErrorDetails, type ErrorPlace, FunctorError } from '../../checks/errors.ts';
import { shortenedWords } from '../../checks/given.ts';

/** A WGSL text with functors, and where it comes from. */
export interface SourceText {
  readonly text: string;
  /** The file that error messages name. */
  readonly file: string;
  /** The line of `file` on which the text starts, counted from 1. */
  readonly firstLine: number;
  /** The parts of the text that are values of a template string: from where to where. Their line breaks are not the file's. */
  readonly values?: readonly (readonly [from: number, to: number])[];
}

/** A position in a text: the number of UTF-16 code units before it. */
export interface Position {
  readonly source: SourceText;
  readonly at: number;
}

/**
 * The line-break characters of WGSL, for a character class in a regular expression. CR followed by LF is a single line
 * break.
 */
export const LINE_BREAKS = '\\n\\v\\f\\r\\u0085\\u2028\\u2029';
/** WGSL's blank characters: line breaks, and invisible characters within a line. */
export const BLANKS: string = ` \\t\\u200e\\u200f${LINE_BREAKS}`;

const lineBreak = new RegExp(`\\r\\n|[${LINE_BREAKS}]`);
const lineBreaks = new RegExp(`[${LINE_BREAKS}]`, 'g');

/** Makes an error at a position in the text. Long quotations of the text are cut. */
export function errorAt(
  position: Position,
  code: string,
  sentence: string,
  details: Omit<ErrorDetails, 'place'> = {},
): FunctorError {
  const { expected, got } = details;
  const brief = { ...details, expected: withoutLongWords(expected), got: withoutLongWords(got) };
  return new FunctorError(`functor/${code}`, shortenedWords(sentence), { ...brief, place: placeOf(position) });
}

function withoutLongWords(detail: unknown): unknown {
  if (Array.isArray(detail)) return detail.map(withoutLongWords);
  return typeof detail === 'string' ? shortenedWords(detail) : detail;
}

function placeOf({ source, at }: Position): ErrorPlace {
  const { file, firstLine } = source;
  const before = ownText(source).slice(0, at).split(lineBreak);
  return { file, line: firstLine + before.length - 1, column: before.at(-1)!.length + 1 };
}

/** The text, as long as before, with blanks for the line breaks of values. */
function ownText({ text, values = [] }: SourceText): string {
  let own = '';
  for (const [from, to] of values) own += text.slice(own.length, from) + text.slice(from, to).replace(lineBreaks, ' ');
  return own + text.slice(own.length);
}
