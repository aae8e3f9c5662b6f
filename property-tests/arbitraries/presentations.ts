import fc from 'fast-check';
import { aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { isPlain } from '../../primitives/checks/given.ts';
import { aWord, type Kind, where } from '../../primitives/checks/kinds.ts';
import type { Column } from '../../primitives/columns/column.ts';
import type { ColumnTypeOf, HostArray } from '../../primitives/columns/host-array.ts';
import type { Context } from '../../primitives/context/context.ts';
import {
  bool,
  copyIf,
  fn,
  gather,
  i32,
  LocalArray,
  map,
  reverse,
  type Scalar,
  sequence,
  slice,
  u32,
} from '../../primitives/index.ts';
import type { ScalarType } from '../../primitives/ir/ir.ts';
import { someRows } from './host-kinds.ts';

/** The forms in which a primitive may receive the same rows. */
const presentations = [
  'stored',
  'slice',
  'reversed view',
  'gathered view',
  'view by a local array',
  'slice of a view',
  'device count',
  'full device count',
  'slice of a device count',
  'view of a device count',
] as const;
export type Presentation = (typeof presentations)[number];

/** Draws the form in which a primitive receives its rows. */
export const presentation: fc.Arbitrary<Presentation> = fc.constantFrom(...presentations);

type HostTable = { readonly [name: string]: HostArray };
type Presented<H extends HostTable> = { readonly [K in keyof H]: Column<ColumnTypeOf<H[K]>> };

/** Whether an argument is a record with at least one column. */
const isTable = (rows: unknown): boolean =>
  typeof rows === 'object' && rows !== null && isPlain(rows) && Object.keys(rows).length > 0;
const someColumns: Kind = (given, path, homes) =>
  where('a record of arrays', isTable)(given, path, homes) ?? someRows(given, path, homes);

/**
 * Makes a table of host rows in one of several forms: stored unchanged; transformed on the host and restored by a view;
 * or placed among rows that must not be visible. In the forms with a device count, only the device knows the length of
 * the table.
 *
 * @example
 * const { x } = present(ctx, { x: Uint32Array.of(1, 2) }, 'device count');
 * await ctx.read(x); // Uint32Array [1, 2]
 */
export function present<H extends HostTable>(context: Context, rows: H, how: Presentation): Presented<H> {
  requireArguments(
    'present',
    { context, rows, how },
    { context: aContext, rows: someColumns, how: aWord(presentations) },
  );
  const upload = (table: HostTable): Presented<H> =>
    Object.fromEntries(Object.entries(table).map(([name, array]) => [name, context.column(array)])) as Presented<H>;
  const length = lengthOf(rows);
  const reversed = (): Presented<H> => reverse(upload(mapArrays(rows, (array) => pick(array, length, backwards))));
  const padded = (before: number, after: number): Presented<H> =>
    upload(mapArrays(rows, (array) => pick(array, length + before + after, (i) => i - before)));
  const chosen = (): Presented<H> => {
    const among = mapArrays(rows, (array) => pick(array, 2 * length + 1, (i) => (i % 2 === 1 ? (i - 1) / 2 : -1)));
    const flags = Array.from({ length: 2 * length + 1 }, (_, i) => i % 2 === 1);
    return copyIf(upload(among), context.column(flags));
  };
  switch (how) {
    case 'stored':
      return upload(rows);
    case 'slice':
      return slice(padded(3, 2), 3, 3 + length);
    case 'reversed view':
      return reversed();
    case 'gathered view': {
      const order = context.column(Uint32Array.from({ length }, (_, i) => backwards(i, length)));
      return gather(upload(mapArrays(rows, (array) => pick(array, length, backwards))), order);
    }
    case 'view by a local array':
      return throughArrays(upload(rows));
    case 'slice of a view':
      return slice(
        gather(padded(1, 4), context.column(Uint32Array.from({ length: length + 5 }, (_, i) => i))),
        1,
        1 + length,
      );
    case 'device count':
      return chosen();
    case 'full device count':
      return copyIf(upload(rows), context.column(Array.from({ length }, () => true)));
    case 'slice of a device count': {
      const flags = Array.from({ length: length + 7 }, (_, i) => i < length + 2);
      return slice(copyIf(padded(2, 5), context.column(flags)), 2);
    }
    case 'view of a device count':
      return reverse(reverse(chosen()));
  }
}

/**
 * The same columns, each row of which goes through an element of a local array with a computed index. Columns of f32
 * stay as they are, because functors need not keep the bits of a NaN.
 */
function throughArrays<C extends { readonly [name: string]: Column }>(columns: C): C {
  const through = (column: Column): Column => {
    if (column.type === 'f32') return column;
    const type = scalars[column.type] as Scalar<ScalarType>;
    const kept = fn({ x: type, i: u32 }, type, ({ x, i }) => {
      const elements = LocalArray(3, type(column.type === 'bool' ? false : 0));
      elements.set(i.rem(3), x);
      return elements.at(i.rem(3));
    });
    return map(kept, { x: column, i: sequence(column.length) });
  };
  return Object.fromEntries(Object.entries(columns).map(([name, x]) => [name, through(x)])) as C;
}

const scalars = { bool, i32, u32 };

function lengthOf(rows: HostTable): number {
  return Object.values(rows)[0]!.length;
}

const backwards = (i: number, length: number): number => length - 1 - i;

function mapArrays(rows: HostTable, change: (array: HostArray) => HostArray): HostTable {
  return Object.fromEntries(Object.entries(rows).map(([name, array]) => [name, change(array)]));
}

/**
 * Copies element `from(i)` of an array for every i. If `from(i)` is out of range, stores a value that a test would
 * notice.
 */
function pick(array: HostArray, length: number, from: (i: number, length: number) => number): HostArray {
  const take = <A extends { [i: number]: unknown }>(result: A, source: ArrayLike<unknown>, junk: unknown): A => {
    for (let i = 0; i < length; i++) {
      const at = from(i, source.length);
      result[i] = at >= 0 && at < source.length ? source[at] : junk;
    }
    return result;
  };
  if (!ArrayBuffer.isView(array)) return take(new Array<boolean>(length), array as readonly boolean[], true);
  if (array instanceof Float32Array) {
    // Elements are copied as words, so that every NaN keeps its bits.
    const words = new Uint32Array(array.buffer, array.byteOffset, array.length);
    return new Float32Array(take(new Uint32Array(length), words, 0x4d2b3c4d).buffer);
  }
  const Kind = array.constructor as new (length: number) => Exclude<typeof array, Float32Array>;
  return take(new Kind(length), array, 77);
}
