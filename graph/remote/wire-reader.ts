import { GraphError } from '../../primitives/checks/errors.ts';
import type { Column } from '../../primitives/columns/column.ts';
import type { Grid } from '../../primitives/columns/grid.ts';
import type { Context } from '../../primitives/context/context.ts';
import { badBytes, COLUMN_TYPES, MAX_DEPTH, MAX_DIGITS, TAGS, typedArrayClasses, typedArrayName } from './wire-form.ts';

/**
 * Reads a value in the wire form. Columns are made on the context that `landing` returns; `landing` is called only if
 * there are columns. Memory and time are O(bytes), whatever the bytes say.
 *
 * @throws `GraphError` `graph/remote-bytes` for bytes that {@link writeValue} does not write, and the errors of
 * `landing`. The columns that were made are added to `columns`; none is left after an error.
 */
export function readValue(bytes: Uint8Array, landing: () => unknown, columns: Column[] = []): unknown {
  const reader = new Reader(bytes, landing);
  try {
    const value = reader.value(0);
    reader.end();
    for (const column of reader.columns) columns.push(column);
    return value;
  } catch (error) {
    disposeAll(reader.columns);
    throw error;
  }
}

/** Frees columns of whatever contexts. */
export function disposeAll(columns: readonly Column[]): void {
  for (const column of columns) column.context?.dispose(column);
}

/** Reads what {@link writePieces} wrote, from the byte `start` on. */
export function readPieces(bytes: Uint8Array, start: number): readonly Uint8Array[] {
  const reader = new Reader(bytes, () => undefined, start);
  const pieces = Array.from({ length: reader.count(1) }, () => reader.block());
  reader.end();
  return pieces;
}

class Reader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #landing: () => unknown;
  readonly columns: Column[] = [];
  /** The objects in the order in which they began; undefined while an object is incomplete. */
  readonly #known: (object | undefined)[] = [];
  #at: number;

  constructor({ buffer, byteOffset, byteLength }: Uint8Array, landing: () => unknown, start = 0) {
    // A Node Buffer becomes a plain array, because its slices are not copies.
    this.#bytes = new Uint8Array(buffer, byteOffset, byteLength);
    this.#view = new DataView(buffer, byteOffset, byteLength);
    this.#landing = landing;
    this.#at = start;
  }

  value(depth: number): unknown {
    const tag = this.#byte();
    switch (tag) {
      case TAGS.undefined:
        return undefined;
      case TAGS.null:
        return null;
      case TAGS.false:
        return false;
      case TAGS.true:
        return true;
      case TAGS.number:
        return this.#view.getFloat64(this.#skip(8), true);
      case TAGS.bigint:
        return this.#bigint();
      case TAGS.utf8:
      case TAGS.utf16:
        return this.#text(tag);
      case TAGS.known:
        return this.#again();
      default:
        return this.#object(tag, depth);
    }
  }

  #object(tag: number, depth: number): object {
    if (depth === MAX_DEPTH) throw this.#bad('it has too many objects inside one another');
    const number = this.#known.push(undefined) - 1;
    const value = this.#objectOf(tag, depth + 1);
    this.#known[number] = value;
    return value;
  }

  #objectOf(tag: number, depth: number): object {
    switch (tag) {
      case TAGS.array: {
        const array: unknown[] = [];
        for (let left = this.count(1); left > 0; left--) array.push(this.value(depth));
        return array;
      }
      case TAGS.object:
        return this.#fields({}, depth);
      case TAGS.bareObject:
        return this.#fields(Object.create(null), depth);
      case TAGS.map: {
        const map = new Map<unknown, unknown>();
        for (let left = this.count(2); left > 0; left--) map.set(this.value(depth), this.value(depth));
        return map;
      }
      case TAGS.set: {
        const set = new Set<unknown>();
        for (let left = this.count(1); left > 0; left--) set.add(this.value(depth));
        return set;
      }
      case TAGS.buffer:
        return this.#copy();
      case TAGS.typedArray:
        return this.#typedArray();
      case TAGS.column:
        return this.#column();
      case TAGS.grid:
        return this.#grid();
      default:
        throw this.#bad(`${tag} is no kind of value`);
    }
  }

  #fields(object: object, depth: number): object {
    for (let left = this.count(3); left > 0; left--) {
      const key = this.#text(this.#byte());
      // An assignment to `__proto__` would change the prototype.
      Object.defineProperty(object, key, {
        value: this.value(depth),
        writable: true,
        enumerable: true,
        configurable: true,
      });
    }
    return object;
  }

  #typedArray(): object {
    const kind = this.#byte();
    const type = typedArrayClasses[kind];
    if (type === undefined) throw this.#bad(`this platform has no ${typedArrayName(kind)}`);
    const buffer = this.#copy();
    if (buffer.byteLength % type.BYTES_PER_ELEMENT !== 0) throw this.#bad('an array ends inside an element');
    return new type(buffer);
  }

  #grid(): Column {
    const [rows, columns] = [this.count(0), this.count(0)];
    if (this.#byte() !== TAGS.column) throw this.#bad('it has a grid without a column');
    return this.#column({ rows, columns });
  }

  #column(grid?: Grid): Column {
    const type = COLUMN_TYPES[this.#byte()];
    if (type === undefined) throw this.#bad('it has a column of an unknown type');
    const buffer = this.#copy();
    const cells = type === 'bool' ? buffer.byteLength : buffer.byteLength / 4;
    if (grid !== undefined && grid.rows * grid.columns !== cells) throw this.#bad('a grid has another number of cells');
    if (type !== 'bool' && buffer.byteLength % 4 !== 0) throw this.#bad('a column ends inside an element');
    const context = this.#landing() as Context | undefined;
    if (typeof context?.column !== 'function') throw noContext();
    const column = context.column(
      type === 'bool'
        ? Array.from(new Uint8Array(buffer), (flag) => flag !== 0)
        : new { f32: Float32Array, i32: Int32Array, u32: Uint32Array }[type](buffer),
      grid,
    );
    this.columns.push(column);
    return column;
  }

  #bigint(): bigint {
    const sign = this.#byte();
    const digits = this.block();
    if (sign > 1 || digits.length === 0 || digits.length > MAX_DIGITS || !digits.every(isHexDigit))
      throw this.#bad('it has a bigint that is no number');
    const size = BigInt(`0x${UTF8.decode(digits)}`);
    return sign === 1 ? -size : size;
  }

  #text(tag: number): string {
    const bytes = this.block();
    if (tag === TAGS.utf16) {
      if (bytes.length % 2 !== 0) throw this.#bad('a text ends inside a character');
      return textOfUnits(bytes);
    }
    if (tag !== TAGS.utf8) throw this.#bad('it has a key that is no text');
    try {
      return UTF8.decode(bytes);
    } catch {
      throw this.#bad('it has a text that is not UTF-8');
    }
  }

  #again(): object {
    const number = this.count(0);
    const known = this.#known[number];
    if (known === undefined) throw this.#bad(`it refers to object ${number}, which is not complete`);
    return known;
  }

  #copy(): ArrayBuffer {
    return this.block().slice().buffer as ArrayBuffer;
  }

  /** Reads bytes after their number. The result is a view of the message. */
  block(): Uint8Array {
    const length = this.count(1);
    const start = this.#skip(length);
    return this.#bytes.subarray(start, start + length);
  }

  /** Reads a number of parts that take at least `size` bytes each. So more parts than bytes are refused at once. */
  count(size: number): number {
    let count = 0;
    for (let place = 1; ; place *= 128) {
      const byte = this.#byte();
      count += (byte & 127) * place;
      if (count > Number.MAX_SAFE_INTEGER) throw this.#bad('a number of parts is too large');
      if (byte < 128) break;
    }
    if (count * size > this.#bytes.length - this.#at) throw this.#bad('it ends too early');
    return count;
  }

  end(): void {
    if (this.#at < this.#bytes.length) throw this.#bad('it has bytes after its end');
  }

  #byte(): number {
    return this.#bytes[this.#skip(1)]!;
  }

  #skip(bytes: number): number {
    const start = this.#at;
    if (bytes > this.#bytes.length - start) throw this.#bad('it ends too early');
    this.#at += bytes;
    return start;
  }

  #bad(reason: string): GraphError {
    return badBytes(reason, this.#at);
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const isHexDigit = (code: number): boolean => (code >= 48 && code <= 57) || (code >= 97 && code <= 102);

/** Makes a text of UTF-16 code units. A `TextDecoder` would replace lone surrogates. */
function textOfUnits(bytes: Uint8Array): string {
  const units = new Uint16Array(bytes.slice().buffer);
  let text = '';
  for (let i = 0; i < units.length; i += 8192) text += String.fromCharCode(...units.subarray(i, i + 8192));
  return text;
}

function noContext(): GraphError {
  return new GraphError('graph/no-context', 'A column came from another process, and there is no context for it.', {
    remedy: 'Give a context: to run() of the graph, and to the workers.',
  });
}
