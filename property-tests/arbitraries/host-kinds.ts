import { aWord, type Flaw, type Kind, someRecord } from '../../primitives/checks/kinds.ts';

/**
 * Kinds of test columns and their host arrays. `tiny` is u32 below 4. `normal` is f32 without subnormals, because a
 * device may flush subnormals to zero. `calm` is f32 whose sums are never subnormal, infinite or NaN. `sign` is 1 or
 * −1.
 */
export interface HostKinds {
  readonly u32: Uint32Array;
  readonly tiny: Uint32Array;
  readonly i32: Int32Array;
  readonly f32: Float32Array;
  readonly normal: Float32Array;
  readonly calm: Float32Array;
  readonly sign: Float32Array;
  readonly u8: Uint8Array;
  readonly i8: Int8Array;
  readonly u16: Uint16Array;
  readonly i16: Int16Array;
  readonly bool: boolean[];
}

export type HostKind = keyof HostKinds;

const KINDS: readonly HostKind[] = [
  ...(['u32', 'tiny', 'i32', 'f32', 'normal', 'calm', 'sign', 'u8', 'i8', 'u16', 'i16', 'bool'] as const),
];
export const aHostKind: Kind = aWord(KINDS);
/** Validator of a record that maps the name of every column to the kind of the column. */
export const someFields: Kind = (given, path, homes) =>
  someRecord(given, path, homes) ??
  Object.entries(given as object).reduce<Flaw | undefined>(
    (flaw, [name, kind]) => flaw ?? aHostKind(kind, `${path}.${name}`, homes),
    undefined,
  );
/** Validator of host columns, given as one array or as a record of arrays. */
export const someRows: Kind = (given, path, homes) => {
  if (Array.isArray(given) || ArrayBuffer.isView(given)) return undefined;
  const flaw = someRecord(given, path, homes);
  if (flaw !== undefined) return { ...flaw, expected: 'an array, or a record of arrays' };
  for (const [name, field] of Object.entries(given as object)) {
    const inside = someRows(field, `${path}.${name}`, homes);
    if (inside !== undefined) return inside;
  }
  return undefined;
};
