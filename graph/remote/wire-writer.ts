import { GraphError } from '../../primitives/checks/errors.ts';
import { describeGiven, isColumn, isPlain, withArticle } from '../../primitives/checks/given.ts';
import type { Column } from '../../primitives/columns/column.ts';
import { COLUMN_TYPES, MAX_DEPTH, MAX_DIGITS, TAGS, typedArrayClasses } from './wire-form.ts';

/**
 * Writes a value in the wire form. An object that the value has several times is written once, and is one object again
 * after reading. Columns are read from their context.
 *
 * @throws `GraphError` `graph/remote-value` for a value that cannot leave the process. `root` names the value in paths,
 * such as `item.parts[2]`. The columns of the value are added to `columns`.
 */
export async function writeValue(value: unknown, root: string, columns: Column[] = []): Promise<Uint8Array> {
  const writer = new Writer();
  try {
    writer.value(value, root, 0);
  } catch (error) {
    writer.abandon();
    throw error;
  } finally {
    for (const column of writer.columns) columns.push(column);
  }
  return writer.bytes();
}

/** Joins pieces to one array. */
export function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

/** A growing array of bytes, with pieces that are known later. */
class Writer {
  readonly #pieces: (Uint8Array | Promise<Uint8Array>)[] = [];
  #buffer = new Uint8Array(64);
  #view = new DataView(this.#buffer.buffer);
  #length = 0;
  /** Objects by the order in which they were begun. */
  readonly #known: Map<object, number> = new Map();
  /** Objects that are being written. An object inside itself is a circle. */
  readonly #open: Set<object> = new Set();
  readonly columns: Column[] = [];

  async bytes(): Promise<Uint8Array> {
    if (this.#pieces.length === 0) return this.#buffer.subarray(0, this.#length);
    this.#cut();
    return joined(await Promise.all(this.#pieces));
  }

  /** Must be called if the bytes are not wanted. Errors of columns that are being read are then ignored. */
  abandon(): void {
    for (const piece of this.#pieces) if (piece instanceof Promise) piece.catch(() => {});
  }

  value(value: unknown, path: string, depth: number): void {
    if (typeof value === 'number') this.#number(value);
    else if (typeof value === 'string') this.#text(value);
    else if (typeof value === 'bigint') this.#bigint(value, path);
    else if (typeof value === 'boolean') this.#byte(value ? TAGS.true : TAGS.false);
    else if (value === undefined) this.#byte(TAGS.undefined);
    else if (value === null) this.#byte(TAGS.null);
    else if (typeof value === 'object') this.#object(value, path, depth);
    else throw refused(path, describeGiven(value));
  }

  #number(value: number): void {
    this.#byte(TAGS.number);
    this.#reserve(8);
    this.#view.setFloat64(this.#length, value, true);
    this.#length += 8;
  }

  #object(value: object, path: string, depth: number): void {
    const number = this.#known.get(value);
    if (this.#open.has(value)) throw refused(path, 'an object that contains itself');
    if (number !== undefined) {
      this.#byte(TAGS.known);
      this.count(number);
      return;
    }
    if (depth === MAX_DEPTH) throw refused(path, `more than ${MAX_DEPTH} objects inside one another`);
    this.#known.set(value, this.#known.size);
    this.#open.add(value);
    if (Array.isArray(value)) this.#array(value, path, depth + 1);
    else if (isColumn(value) && !isPlain(value)) this.#column(value as Column, path);
    else if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) this.#binary(value, path);
    else if (isExactly(value, Map)) this.#map(value, path, depth + 1);
    else if (isExactly(value, Set)) this.#set(value, path, depth + 1);
    else this.#fields(value, path, depth + 1);
    this.#open.delete(value);
  }

  #array(value: readonly unknown[], path: string, depth: number): void {
    if (Object.getPrototypeOf(value) !== Array.prototype) throw refused(path, instanceName(value));
    const keys = Object.keys(value);
    if (keys.length !== value.length || keys.at(-1) !== (value.length === 0 ? undefined : String(value.length - 1)))
      throw refused(path, 'an array with holes or with properties that are not elements');
    this.#byte(TAGS.array);
    this.count(value.length);
    for (let i = 0; i < value.length; i++) this.value(value[i], `${path}[${i}]`, depth);
  }

  #fields(value: object, path: string, depth: number): void {
    if (!isPlain(value) || Symbol.toStringTag in value) throw refused(path, instanceName(value));
    if (Object.getOwnPropertySymbols(value).length > 0) throw refused(path, 'an object with symbols as keys');
    const entries = Object.entries(value);
    this.#byte(Object.getPrototypeOf(value) === null ? TAGS.bareObject : TAGS.object);
    this.count(entries.length);
    for (const [key, field] of entries) {
      this.#text(key);
      this.value(field, /^[A-Za-z_$][\w$]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`, depth);
    }
  }

  #map(value: ReadonlyMap<unknown, unknown>, path: string, depth: number): void {
    this.#byte(TAGS.map);
    this.count(value.size);
    let i = 0;
    for (const [key, field] of value) {
      this.value(key, `${path}.keys[${i}]`, depth);
      this.value(field, `${path}.values[${i++}]`, depth);
    }
  }

  #set(value: ReadonlySet<unknown>, path: string, depth: number): void {
    this.#byte(TAGS.set);
    this.count(value.size);
    let i = 0;
    for (const each of value) this.value(each, `${path}.values[${i++}]`, depth);
  }

  #binary(value: ArrayBufferView | ArrayBuffer, path: string): void {
    const isView = ArrayBuffer.isView(value);
    const prototype = Object.getPrototypeOf(value);
    const kind = typedArrayClasses.findIndex((each) => each?.prototype === prototype);
    if (isView ? kind < 0 : prototype !== ArrayBuffer.prototype) throw refused(path, instanceName(value));
    let bytes: Uint8Array;
    try {
      bytes = isView ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : new Uint8Array(value);
    } catch {
      throw refused(path, 'an array whose buffer was transferred');
    }
    this.#byte(isView ? TAGS.typedArray : TAGS.buffer);
    if (isView) this.#byte(kind);
    this.block(bytes);
  }

  #column(column: Column, path: string): void {
    const { context, type, grid } = column;
    if (context === undefined) throw refused(path, 'a column without a context');
    this.columns.push(column);
    if (grid !== undefined) {
      this.#byte(TAGS.grid);
      this.count(grid.rows);
      this.count(grid.columns);
    }
    this.#byte(TAGS.column);
    this.#byte(COLUMN_TYPES.indexOf(type));
    this.#cut();
    this.#pieces.push(blockOf(context.read(column)));
  }

  #bigint(value: bigint, path: string): void {
    const digits = (value < 0n ? -value : value).toString(16);
    if (digits.length > MAX_DIGITS) throw refused(path, `a bigint of ${digits.length} hexadecimal digits`);
    this.#byte(TAGS.bigint);
    this.#byte(value < 0n ? 1 : 0);
    this.block(UTF8.encode(digits));
  }

  #text(text: string): void {
    if (!LONE_SURROGATE.test(text)) {
      this.#byte(TAGS.utf8);
      this.block(UTF8.encode(text));
      return;
    }
    this.#byte(TAGS.utf16);
    const units = Uint16Array.from({ length: text.length }, (_, i) => text.charCodeAt(i));
    this.block(new Uint8Array(units.buffer));
  }

  /** Writes bytes after their number. */
  block(bytes: Uint8Array): void {
    this.count(bytes.length);
    this.#reserve(bytes.length);
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** Writes a whole number, seven bits a byte, the lowest first. */
  count(count: number): void {
    let rest = count;
    for (; rest >= 128; rest = Math.floor(rest / 128)) this.#byte((rest % 128) + 128);
    this.#byte(rest);
  }

  #byte(byte: number): void {
    this.#reserve(1);
    this.#buffer[this.#length++] = byte;
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#buffer.length) return;
    const grown = new Uint8Array(Math.max(needed, this.#buffer.length * 2));
    grown.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = grown;
    this.#view = new DataView(grown.buffer);
  }

  #cut(): void {
    this.#pieces.push(this.#buffer.slice(0, this.#length));
    this.#length = 0;
  }
}

async function blockOf(read: Promise<ArrayBufferView>): Promise<Uint8Array> {
  const { buffer, byteOffset, byteLength } = await read;
  const writer = new Writer();
  writer.block(new Uint8Array(buffer, byteOffset, byteLength));
  return writer.bytes();
}

/** Writes several pieces after their number, each after its length. */
export async function writePieces(pieces: readonly Uint8Array[]): Promise<Uint8Array> {
  const writer = new Writer();
  writer.count(pieces.length);
  for (const piece of pieces) writer.block(piece);
  return writer.bytes();
}

const UTF8 = new TextEncoder();
const LONE_SURROGATE = /\p{Surrogate}/u;

function isExactly<T extends object>(value: object, type: { readonly prototype: T }): value is T {
  return Object.getPrototypeOf(value) === type.prototype;
}

function instanceName(value: object): string {
  const name = Object.getPrototypeOf(value)?.constructor?.name;
  return typeof name === 'string' && name !== '' && name !== 'Object' ? withArticle(name) : describeGiven(value);
}

function refused(path: string, got: string): GraphError {
  return new GraphError('graph/remote-value', `${path} cannot be sent to another process.`, {
    expected: 'undefined, null, a boolean, number, bigint, text, array, plain object, Map, Set, typed array or column',
    got,
    remedy: 'Send plain data, and make other objects from the data on the other side.',
  });
}
