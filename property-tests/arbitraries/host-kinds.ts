import { aWord, type Flaw, type Kind, someRecord } from '../../primitives/kinds.ts';
import type { HostKind } from './columns.ts';

const KINDS: readonly HostKind[] = [
  ...(['u32', 'tiny', 'i32', 'f32', 'normal', 'calm', 'sign', 'u8', 'i8', 'u16', 'i16', 'bool'] as const),
];
export const aHostKind: Kind = aWord(KINDS);
/** Kinds of columns, by name. */
export const someFields: Kind = (given, path, homes) =>
  someRecord(given, path, homes) ??
  Object.entries(given as object).reduce<Flaw | undefined>(
    (flaw, [name, kind]) => flaw ?? aHostKind(kind, `${path}.${name}`, homes),
    undefined,
  );
/** Columns on the host: arrays, or records of such. */
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
