import { type ErrorDetails, type ErrorPlace, FunctorError } from '../../errors.ts';

/** Text of functors and where it stands. */
export interface Source {
  readonly text: string;
  /** The file that errors name. */
  readonly file: string;
  /** Line of that file, from 1, on which the text begins. */
  readonly firstLine: number;
}

/** Offset into the text of a source. */
export type Position = number;

/** An error at a place in the text, to be thrown. */
export function errorAt(
  source: Source,
  position: Position,
  code: string,
  sentence: string,
  details: Omit<ErrorDetails, 'place'> = {},
): FunctorError {
  return new FunctorError(`functor/${code}`, sentence, { ...details, place: placeOf(source, position) });
}

function placeOf({ text, file, firstLine }: Source, position: Position): ErrorPlace {
  const before = text.slice(0, position).split('\n');
  return { file, line: firstLine + before.length - 1, column: before.at(-1)!.length + 1 };
}
