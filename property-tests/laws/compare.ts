import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aFlag, aText } from '../../primitives/checks/kinds.ts';
import { someRows } from '../arbitraries/host-kinds.ts';

/** A table in host memory: a typed array, or a record of tables, as `Context.read` returns it. */
export type HostTable = ArrayLike<number> | { readonly [name: string]: HostTable };

/**
 * Throws if two tables differ, with an error that names the field, the row and both values. Numbers are compared with
 * `Object.is`: NaN equals NaN, and −0 differs from 0.
 *
 * @example
 * const differs = () => assertSame({ x: [1, 0] }, { x: [1, -0] });
 * assert.throws(differs);
 * assertSame([NaN], [NaN]); // undefined
 */
export function assertSame(actual: HostTable, expected: HostTable, what = 'result'): void {
  requireArguments('assertSame', { actual, expected, what }, { actual: someRows, expected: someRows, what: aText });
  compare(actual, expected, what);
}

function compare(actual: HostTable, expected: HostTable, what: string): void {
  if (isArray(actual) && isArray(expected)) {
    assertSameArray(actual, expected, what);
    return;
  }
  const [left, right] = [actual, expected] as { readonly [name: string]: HostTable }[];
  const names = [left, right].map((table) => Object.keys(table!).join(', '));
  if (names[0] !== names[1]) throw new Error(`${what} has the fields ${names[0]} and should have ${names[1]}`);
  for (const name of Object.keys(left!)) compare(left![name]!, right![name]!, `${what}.${name}`);
}

function assertSameArray(actual: ArrayLike<number>, expected: ArrayLike<number>, what: string): void {
  const rows = Math.min(actual.length, expected.length);
  for (let i = 0; i < rows; i++) {
    if (!Object.is(actual[i], expected[i])) {
      throw new Error(`${what}[${i}] of ${actual.length} is ${show(actual[i]!)} and should be ${show(expected[i]!)}`);
    }
  }
  if (actual.length !== expected.length) {
    throw new Error(`${what} has ${actual.length} rows and should have ${expected.length}`);
  }
}

function show(value: number): string {
  return Object.is(value, -0) ? '-0' : `${value}`;
}

/**
 * Throws if the bytes of two tables differ. All NaNs count as equal unless `nanBits` is set: the bits of a NaN that an
 * operation computes are not specified, but code that only moves values must keep them.
 *
 * @example
 * assertSameBytes(Float32Array.of(NaN, 1), Float32Array.of(NaN, 1), 'sums'); // undefined
 */
export function assertSameBytes(actual: HostTable, expected: HostTable, what: string, nanBits = false): void {
  const kinds = { actual: someRows, expected: someRows, what: aText, nanBits: aFlag };
  requireArguments('assertSameBytes', { actual, expected, what, nanBits }, kinds);
  compare(words(actual, nanBits), words(expected, nanBits), what);
}

/** Converts the f32 arrays of a table to their bits. Unless `nanBits` is set, all NaNs get the same bits. */
export function words(table: HostTable, nanBits = true): HostTable {
  if (!isArray(table)) {
    return Object.fromEntries(Object.entries(table).map(([name, field]) => [name, words(field, nanBits)]));
  }
  if (!(table instanceof Float32Array)) return table;
  const bits = new Uint32Array(table.buffer, table.byteOffset, table.length);
  return nanBits ? bits : bits.map((word) => ((word & 0x7fffffff) > 0x7f800000 ? 0x7fc00000 : word));
}

function isArray(table: HostTable): table is ArrayLike<number> {
  return ArrayBuffer.isView(table) || Array.isArray(table);
}
