/** Where an error happened, as far as known. */
export interface ErrorPlace {
  /** File that the error is about, as the user named it, or the source file of a functor. */
  readonly file?: string | undefined;
  /** Line in that file, from 1. */
  readonly line?: number | undefined;
  /** Column in that line, from 1. */
  readonly column?: number | undefined;
  /** Record, feature or row inside the file. */
  readonly record?: string | number | undefined;
  /** Block of a raster (a strip or a tile), from 0. */
  readonly block?: number | undefined;
  /** Frame of a video, from 0. */
  readonly frame?: number | undefined;
  /** Byte of a file or a stream, from 0. */
  readonly byte?: number | undefined;
  /** Node of the dataflow graph, as `graph/node`. */
  readonly node?: string | undefined;
}

/** The details that every error of this library carries besides its message. */
export interface ErrorDetails {
  readonly expected?: unknown;
  readonly got?: unknown;
  /** How the user can fix it, as an imperative sentence. */
  readonly remedy?: string | undefined;
  readonly place?: ErrorPlace | undefined;
  readonly cause?: unknown;
}

/**
 * The base class of this library's errors: one sentence, a stable `code`, the expected and the given value, a remedy,
 * the place, and the `cause`.
 *
 * Codes are `kind/reason`, in lower case with hyphens, and never change once published.
 */
export class QuadrilleError extends Error {
  static {
    // A literal, because minifiers rename classes. On the prototype, because stack traces read it from there.
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

function compose(sentence: string, { place, expected, got, remedy }: ErrorDetails): string {
  const where = describePlace(place);
  const difference = expected === undefined ? '' : ` Expected ${show(expected)}, got ${show(got)}.`;
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
 * The value as JSON or, for values without JSON such as circular objects, the name of its class. Describing a value
 * must never throw.
 */
function jsonOf(value: object): string {
  try {
    return JSON.stringify(value) ?? Object.prototype.toString.call(value);
  } catch {
    return Object.prototype.toString.call(value);
  }
}

/** A functor that does not type-check, at the author's file and line. */
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

/** A file that cannot be read: missing, truncated, foreign, unsupported. */
export class FormatError extends QuadrilleError {
  static {
    FormatError.prototype.name = 'FormatError';
  }
}

/** Geometry that cannot be placed on the integer grid. */
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

/** A capacity that is too small for the data; `got` is the capacity needed. */
export class CapacityError extends QuadrilleError {
  static {
    CapacityError.prototype.name = 'CapacityError';
  }
}

/** A dataflow graph that is wired wrongly, or a node that failed. */
export class GraphError extends QuadrilleError {
  static {
    GraphError.prototype.name = 'GraphError';
  }
}

/** An optional package that is needed and not installed; the remedy has the command that installs it. */
export class PackageError extends QuadrilleError {
  static {
    PackageError.prototype.name = 'PackageError';
  }
}
