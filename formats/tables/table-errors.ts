import { type ErrorPlace, FormatError, QuadrilleError } from '../../primitives/checks/errors.ts';
import type { TableField, UnreadField } from './table-file.ts';

/** The error for a file that violates its format. */
export function damaged(what: string, fault: string, place: ErrorPlace, cause?: unknown): FormatError {
  return new FormatError('format/damaged-table', `${what} is damaged: ${fault}.`, {
    remedy: 'Copy, download or write the file again.',
    place,
    cause,
  });
}

/**
 * Returns an error of this package unchanged. Converts any other error, such as an error of a library, to one that
 * reports that the file is damaged.
 */
export function asDamage(error: unknown, what: string, place: ErrorPlace): unknown {
  if (error instanceof QuadrilleError) return error;
  const fault = error instanceof Error ? error.message.replace(/\.$/, '') : 'it cannot be read';
  return damaged(what, fault, place, error);
}

/** The error for a file that uses a feature of its format that this reader does not support. */
export function unsupported(sentence: string, got: string, file: string, remedy: string): FormatError {
  return new FormatError('format/unsupported-table', sentence, {
    expected: 'a table without it',
    got,
    remedy,
    place: { file },
  });
}

/**
 * A value that its format allows, but that the column's type in memory cannot hold. Thrown while a column is decoded;
 * {@link valueError} names the file and the column.
 */
export class ValueFault extends RangeError {
  static {
    ValueFault.prototype.name = 'ValueFault';
  }

  /** Index of the value. At first an index among the values being decoded, in the end a row. */
  readonly index: number;
  readonly expected: string;
  readonly got: unknown;

  constructor(index: number, { expected, got }: { readonly expected: string; readonly got: unknown }) {
    super('a value cannot be read');
    this.index = index;
    this.expected = expected;
    this.got = got;
  }

  at(index: number): ValueFault {
    return new ValueFault(index, this);
  }
}

/** The error for a value that cannot be read. `first` is the index of the first row of the group or batch. */
export function valueError(file: string, name: string, first: number, fault: ValueFault): FormatError {
  const row = first + fault.index;
  return new FormatError(
    'format/unreadable-value',
    `The column "${name}" has a value in row ${row} (counted from 0) that is not read.`,
    {
      expected: fault.expected,
      got: fault.got,
      remedy: 'Leave the column out (name others with --columns), or write it as another type.',
      place: { file, record: row },
      cause: fault,
    },
  );
}

const WIDEST = 2n ** 63n - 1n;

/** The fault of a decimal, given in units of its last digit, that does not fit 64 bits. */
export function wideDecimal(index: number, units: bigint, scale: number): ValueFault {
  const digits = scale === 0 ? '' : ` × 10^−${scale}`;
  return new ValueFault(index, { expected: `at most ${WIDEST}${digits} (64 bits)`, got: `${units}${digits}` });
}

/** The fault of bytes that are not UTF-8, in a column of strings. */
export function noText(index: number, bytes: Uint8Array): ValueFault {
  const digits = Array.from(bytes.subarray(0, 12), (byte) => byte.toString(16).padStart(2, '0')).join('');
  return new ValueFault(index, { expected: 'text in UTF-8', got: `the bytes ${digits}` });
}

/** The fields with the given names, in the order of the names. Without names, all fields. */
export function chosenFields(
  file: string,
  fields: readonly TableField[],
  unread: readonly UnreadField[],
  names: readonly string[] | undefined,
): TableField[] {
  if (names === undefined) return [...fields];
  return [...new Set(names)].map((name) => {
    const field = fields.find((each) => each.name === name);
    if (field !== undefined) return field;
    const refused = unread.find((each) => each.name === name);
    throw refused === undefined ? unknownColumn(file, name, fields) : unreadColumn(file, refused);
  });
}

function unknownColumn(file: string, name: string, fields: readonly TableField[]): FormatError {
  return new FormatError('format/unknown-column', `There is no column "${name}".`, {
    expected: fields.length === 0 ? 'none: the table has no columns' : fields.map((field) => field.name).join(', '),
    got: name,
    remedy: 'Name a column of the table.',
    place: { file },
  });
}

function unreadColumn(file: string, { name, what }: UnreadField): FormatError {
  return new FormatError('format/unsupported-column', `The column "${name}" holds ${what}, which are not read.`, {
    remedy: 'Leave it out, or convert it to numbers, dates or strings.',
    place: { file },
  });
}

/** Throws if two columns have the same name, because a table is a record with column names as keys. */
export function checkNames(file: string, names: readonly string[], hint?: string): void {
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name)) {
      throw new FormatError('format/repeated-column', `Several columns are called "${name}".`, {
        remedy: hint ?? 'Give every column a name of its own.',
        place: { file },
      });
    }
    seen.add(name);
  }
}
