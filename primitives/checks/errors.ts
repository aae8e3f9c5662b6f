/** Where an error happened. Only the known fields are present. */
export interface ErrorPlace {
  /** File with the error: a data file as the user named it, or the source file of a functor. */
  readonly file?: string | undefined;
  /** Line in `file`, counted from 1. */
  readonly line?: number | undefined;
  /** Column in the line, counted from 1. */
  readonly column?: number | undefined;
  /** Record, feature or row of the file. */
  readonly record?: string | number | undefined;
  /** Block of a raster file (a strip or a tile), counted from 0. */
  readonly block?: number | undefined;
  /** Frame of a video, counted from 0. */
  readonly frame?: number | undefined;
  /** Byte position in a file or a stream, counted from 0. */
  readonly byte?: number | undefined;
  /** Node of the dataflow graph, in the form `graph/node`. */
  readonly node?: string | undefined;
}

/** The details of an error of this library, besides its message and its code. */
export interface ErrorDetails {
  readonly expected?: unknown;
  readonly got?: unknown;
  /** How the user can fix the problem, as an imperative sentence. */
  readonly remedy?: string | undefined;
  readonly place?: ErrorPlace | undefined;
  readonly cause?: unknown;
}

/**
 * The base class of this library's errors. An error has one sentence as its message and a stable `code`. It may also
 * have the expected and the given value, a remedy, the place, and the `cause`.
 *
 * Codes have the form `kind/reason`, in lower case with hyphens. Once published, a code never changes.
 */
export class QuadrilleError extends Error {
  static {
    // The name is a literal, because minifiers rename classes. The prototype holds the name, because stack traces read
    // the prototype's name.
    QuadrilleError.prototype.name = 'QuadrilleError';
  }

  readonly code: string;
  readonly expected: unknown;
  readonly got: unknown;
  readonly remedy: string | undefined;
  readonly place: ErrorPlace | undefined;

  constructor(code: string, sentence: string, details: ErrorDetails = {}) {
    super(compose(sentence, details), details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.expected = details.expected;
    this.got = details.got;
    this.remedy = details.remedy;
    this.place = details.place;
  }
}

function compose(sentence: string, details: ErrorDetails): string {
  const { place, expected, got, remedy } = details;
  const where = describePlace(place);
  // Where the sentence says what was given, an error has no `got`, which is not the same as having got `undefined`.
  const given = 'got' in details ? `, got ${show(got)}` : '';
  const difference = expected === undefined ? '' : ` Expected ${show(expected)}${given}.`;
  return `${where}${sentence}${difference}${remedy === undefined ? '' : ` ${remedy}`}`;
}

function describePlace(place: ErrorPlace | undefined): string {
  if (place === undefined) return '';
  const position = [place.file, place.line, place.column].filter((part) => part !== undefined).join(':');
  const record = place.record === undefined ? '' : `record ${place.record}`;
  const block = place.block === undefined ? '' : `block ${place.block}`;
  const frame = place.frame === undefined ? '' : `frame ${place.frame}`;
  const byte = place.byte === undefined ? '' : `byte ${place.byte}`;
  const parts = [place.node, position, record, block, frame, byte].filter((part) => part !== undefined && part !== '');
  return parts.length === 0 ? '' : `${parts.join(', ')}: `;
}

function show(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'bigint') return `${value}`;
  if (Array.isArray(value)) return value.map(show).join(', ');
  return typeof value === 'object' && value !== null ? jsonOf(value) : String(value);
}

/**
 * Returns the value as JSON. If the value cannot be converted (for example, because it is circular), returns the name
 * of its class. Never throws, because the result becomes part of an error's message.
 */
function jsonOf(value: object): string {
  try {
    return JSON.stringify(value) ?? Object.prototype.toString.call(value);
  } catch {
    return Object.prototype.toString.call(value);
  }
}

/** A functor whose code is invalid, such as one with wrong types. `place` is the line of the code, where known. */
export class FunctorError extends QuadrilleError {
  static {
    FunctorError.prototype.name = 'FunctorError';
  }
}

/** An invalid argument of a call, such as a column of the wrong type. */
export class ArgumentError extends QuadrilleError {
  static {
    ArgumentError.prototype.name = 'ArgumentError';
  }
}

/** A file that cannot be read: it is missing, truncated or in the wrong format, or it uses an unsupported feature. */
export class FormatError extends QuadrilleError {
  static {
    FormatError.prototype.name = 'FormatError';
  }
}

/** Geometry that cannot be placed on the integer grid, because its coordinates are invalid or outside the grid. */
export class GeometryError extends QuadrilleError {
  static {
    GeometryError.prototype.name = 'GeometryError';
  }
}

/** A device that was lost, or an adapter that is missing. */
export class DeviceLostError extends QuadrilleError {
  static {
    DeviceLostError.prototype.name = 'DeviceLostError';
  }
}

/** A request for more memory than the backend has or an option allows. */
export class OutOfMemoryError extends QuadrilleError {
  static {
    OutOfMemoryError.prototype.name = 'OutOfMemoryError';
  }
}

/** A capacity that is too small for the data. `got` is the number of rows that the data needs. */
export class CapacityError extends QuadrilleError {
  static {
    CapacityError.prototype.name = 'CapacityError';
  }
}

/** A dataflow graph with wrong connections, or a node of a graph that failed. */
export class GraphError extends QuadrilleError {
  static {
    GraphError.prototype.name = 'GraphError';
  }
}

/** An optional package that is needed but not installed. The remedy contains the command that installs the package. */
export class PackageError extends QuadrilleError {
  static {
    PackageError.prototype.name = 'PackageError';
  }
}
