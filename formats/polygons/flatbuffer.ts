/**
 * A table of a FlatBuffers message (https://flatbuffers.dev/internals). Wrong offsets cannot read outside the message:
 * `DataView` throws a `RangeError`. All functions in this file throw this error for invalid data.
 */
export interface FlatTable {
  readonly view: DataView;
  readonly at: number;
}

/** The root table of a message. The first four bytes of the message are the offset of this table. */
export function rootTable(view: DataView): FlatTable {
  return { view, at: view.getUint32(0, true) };
}

/**
 * Position of a field in the message. `field` is the field's number in the schema. Undefined if the field is absent and
 * so has its default value.
 */
function fieldOf({ view, at }: FlatTable, field: number): number | undefined {
  const layout = at - view.getInt32(at, true);
  const entry = 4 + 2 * field;
  if (entry + 2 > view.getUint16(layout, true)) return undefined;
  const offset = view.getUint16(layout + entry, true);
  return offset === 0 ? undefined : at + offset;
}

export function u8Field(table: FlatTable, field: number, otherwise: number): number {
  const at = fieldOf(table, field);
  return at === undefined ? otherwise : table.view.getUint8(at);
}

export function u16Field(table: FlatTable, field: number, otherwise: number): number {
  const at = fieldOf(table, field);
  return at === undefined ? otherwise : table.view.getUint16(at, true);
}

export function i32Field(table: FlatTable, field: number, otherwise: number): number {
  const at = fieldOf(table, field);
  return at === undefined ? otherwise : table.view.getInt32(at, true);
}

/**
 * Reads a field that is a 64-bit count, as f64. A count above 2^53 is rounded. Such a count is invalid anyway, and the
 * rounded count is still too large to pass the checks of the caller.
 */
export function u64Field(table: FlatTable, field: number, otherwise: number): number {
  const at = fieldOf(table, field);
  return at === undefined ? otherwise : Number(table.view.getBigUint64(at, true));
}

/** A vector (array) in a message. `start` is the position of its first element. */
export interface Vector {
  readonly view: DataView;
  readonly start: number;
  readonly length: number;
}

/** A field that is a vector; an empty vector if the field is absent. */
export function vectorField(table: FlatTable, field: number, elementBytes: number): Vector {
  const { view } = table;
  const at = fieldOf(table, field);
  if (at === undefined) return { view, start: 0, length: 0 };
  const vector = at + view.getUint32(at, true);
  const length = view.getUint32(vector, true);
  const start = vector + 4;
  if (start + length * elementBytes > view.byteLength) throw new RangeError('A vector is longer than its message.');
  return { view, start, length };
}

/** A field that is a table; undefined if the field is absent. */
export function tableField(table: FlatTable, field: number): FlatTable | undefined {
  const at = fieldOf(table, field);
  return at === undefined ? undefined : { view: table.view, at: at + table.view.getUint32(at, true) };
}

/** The table with the given index in a vector of tables. */
export function tableAt({ view, start }: Vector, index: number): FlatTable {
  const at = start + 4 * index;
  return { view, at: at + view.getUint32(at, true) };
}

/** A field that is a text; undefined if the field is absent. */
export function textField(table: FlatTable, field: number): string | undefined {
  if (fieldOf(table, field) === undefined) return undefined;
  const { view, start, length } = vectorField(table, field, 1);
  return new TextDecoder().decode(new Uint8Array(view.buffer, view.byteOffset + start, length));
}
