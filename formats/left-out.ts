import type { Note, NoteTally } from '../algorithms/notes.ts';
import { FormatError, GeometryError } from '../primitives/checks/errors.ts';

/** What to do with a record that is wrong: throw its error, or leave the record out and note it. */
export type OnBadRecord = 'stop' | 'skip';

/** Counts of records that were left out, and for each code of their notes the message of the first error. */
export interface LeftOut {
  readonly tally: NoteTally;
  readonly firstErrors: Map<string, string>;
}

/**
 * The error for a record that is null, or lacks its geometry or its name. Such records are common in files that are
 * otherwise in order, so readers always leave them out, with a note.
 */
export class IncompleteRecord extends FormatError {
  static {
    IncompleteRecord.prototype.name = 'IncompleteRecord';
  }
}

/**
 * Notes that a record is left out, or throws its error. Incomplete records are always left out. Other records that are
 * wrong are left out if `onBadRecord` is `skip`.
 */
export function leaveOut(
  error: unknown,
  record: number,
  onBadRecord: OnBadRecord | undefined,
  { tally, firstErrors }: LeftOut,
): void {
  const isBad = error instanceof FormatError || error instanceof GeometryError;
  const isIncomplete = error instanceof IncompleteRecord;
  if (!isBad || !(isIncomplete || onBadRecord === 'skip')) throw error;
  const code = isIncomplete ? 'polygons/incomplete-records' : 'polygons/bad-records';
  tally.add(code, String(record));
  if (!firstErrors.has(code)) firstErrors.set(code, error.message);
}

/** Adds the message of the first error to each note on records that were left out. */
export function withFirstErrors(notes: readonly Note[], { firstErrors }: Pick<LeftOut, 'firstErrors'>): Note[] {
  return notes.map((note) => {
    const first = firstErrors.get(note.code);
    return first === undefined ? note : { ...note, message: `${note.message} ${first}` };
  });
}

/** Sentences for the notes on records that were left out. The argument of a function is the number of records. */
export const LEFT_OUT_SENTENCES: Readonly<Record<string, (count: number) => string>> = {
  'polygons/incomplete-records': (n) =>
    `${n === 1 ? '1 record is null or lacks its geometry or its name, and was' : `${n} records are null or lack their geometry or their name, and were`} left out`,
  'polygons/bad-records': (n) =>
    `${n === 1 ? '1 record' : `${n} records`} could not be read and ${n === 1 ? 'was' : 'were'} left out`,
};
