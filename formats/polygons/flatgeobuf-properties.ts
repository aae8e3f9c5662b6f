import { FormatError } from '../../primitives/checks/errors.ts';
import { missingColumn, nameText } from '../text/record-name.ts';
import { describeFeature, type FeaturePlace } from './feature.ts';
import { type FlatTable, type Vector, vectorField } from './flatbuffer.ts';
import type { FlatGeobufColumn } from './flatgeobuf-header.ts';
import { wholeValue } from './table-values.ts';

const BINARY = 14;

type Columns = readonly FlatGeobufColumn[];

/**
 * For each column type of fixed size, the size of a value and a function that reads a value. The index is the number of
 * the type. The types that are not in this array are texts and bytes; a value of such a type begins with its length.
 */
const FIXED: readonly (readonly [bytes: number, read: (view: DataView, at: number) => unknown])[] = [
  [1, (view, at) => view.getInt8(at)],
  [1, (view, at) => view.getUint8(at)],
  [1, (view, at) => view.getUint8(at) !== 0],
  [2, (view, at) => view.getInt16(at, true)],
  [2, (view, at) => view.getUint16(at, true)],
  [4, (view, at) => view.getInt32(at, true)],
  [4, (view, at) => view.getUint32(at, true)],
  [8, (view, at) => view.getBigInt64(at, true)],
  [8, (view, at) => view.getBigUint64(at, true)],
  [4, (view, at) => view.getFloat32(at, true)],
  [8, (view, at) => view.getFloat64(at, true)],
];

/** A property of a feature: the number of its column, and the bytes of its value. */
interface StoredProperty {
  readonly column: number;
  readonly from: number;
  readonly bytes: number;
}

/**
 * The properties of a feature. It stores them as pairs of a column index and a value, and omits those whose value is null.
 *
 * @throws RangeError if a value extends beyond the feature.
 */
function* storedProperties({ view, start, length }: Vector, columns: Columns): Generator<StoredProperty> {
  for (let next = start; next < start + length; ) {
    const column = view.getUint16(next, true);
    if (columns[column] === undefined) throw new RangeError('A property refers to a column that does not exist.');
    const fixed = FIXED[columns[column].type];
    const from = next + 2 + (fixed === undefined ? 4 : 0);
    const bytes = fixed === undefined ? view.getUint32(next + 2, true) : fixed[0];
    if (from + bytes > start + length) throw new RangeError('A property is longer than its feature.');
    yield { column, from, bytes };
    next = from + bytes;
  }
}

function storedValue(view: DataView, type: number, { from, bytes }: StoredProperty): unknown {
  const fixed = FIXED[type];
  return fixed === undefined ? textOf(view, from, bytes) : fixed[1](view, from);
}

/**
 * Returns the value of a feature's property as text, which becomes the name of the feature.
 *
 * @throws RangeError if a value extends beyond the feature.
 * @throws FormatError if the property is missing, or is neither text nor a number.
 */
export function propertyText(feature: FlatTable, columns: Columns, property: string, at: FeaturePlace): string {
  const stored = vectorField(feature, 1, 1);
  for (const found of storedProperties(stored, columns)) {
    const { name, type } = columns[found.column]!;
    if (name !== property) continue;
    if (type >= BINARY) throw binaryName(property, at);
    return nameText(storedValue(stored.view, type, found), property, at);
  }
  if (columns.some(({ name }) => name === property)) return nameText(null, property, at);
  const names = columns.map(({ name }) => name);
  throw missingColumn(property, names, at);
}

/** Whether the values of a column can be attributes: texts, numbers or truth values, but not bytes. */
export function isAttribute({ type }: FlatGeobufColumn): boolean {
  return type < BINARY;
}

/**
 * The values of a feature in the columns `read`, by name; null where it has none. Whole numbers that f64 does not have
 * keep their digits, as in `jsonValueOf`.
 *
 * @throws RangeError if a value extends beyond the feature.
 */
export function propertiesOf(
  feature: FlatTable,
  columns: Columns,
  read: ReadonlySet<FlatGeobufColumn>,
): Readonly<Record<string, unknown>> {
  const values = new Map(Array.from(read, ({ name }): [string, unknown] => [name, null]));
  const stored = vectorField(feature, 1, 1);
  for (const found of storedProperties(stored, columns)) {
    const column = columns[found.column]!;
    if (!read.has(column)) continue;
    const { name, type } = column;
    const value = storedValue(stored.view, type, found);
    values.set(name, typeof value === 'bigint' ? wholeValue(value) : value);
  }
  return Object.fromEntries(values);
}

function textOf(view: DataView, at: number, bytes: number): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(new Uint8Array(view.buffer, view.byteOffset + at, bytes));
}

function binaryName(property: string, at: FeaturePlace): FormatError {
  return new FormatError(
    'format/bad-name',
    `The ${JSON.stringify(property)} of ${describeFeature(at)} cannot name it.`,
    {
      expected: 'a text or a number',
      got: 'bytes',
      remedy: 'Name the polygons by another property.',
      place: { file: at.file, record: at.index },
    },
  );
}
