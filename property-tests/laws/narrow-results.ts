import fc from 'fast-check';
import { columnsOf, type Table, withColumns } from '../../primitives/columns/column.ts';
import * as q from '../../primitives/index.ts';
import { rowsOf } from '../arbitraries/columns.ts';
import { present, presentation } from '../arbitraries/presentations.ts';
import { bitsOfHalf, nearestHalf } from '../support/half-floats.ts';
import { FIELDS, type Given, RESULTS } from '../support/results-of-primitives.ts';
import { assertSameBytes, type HostTable } from './compare.ts';
import { type Law, law } from './law.ts';

const sizes = fc.oneof(
  { arbitrary: fc.integer({ min: 0, max: 70 }), weight: 3 },
  { arbitrary: fc.constantFrom(0, 1, 2, 3, 4, 5, 31, 32, 33, 63, 64, 65, 257), weight: 3 },
);

/** What a column in a format keeps of the numbers of an unpacked one. */
function kept(format: q.PackedFormat<'u32' | 'i32' | 'f32' | 'bool'>, given: HostTable): HostTable {
  const numbers = given as Uint32Array;
  switch (format) {
    case 'u8':
      return Uint32Array.from(Uint8Array.from(numbers));
    case 'u16':
      return Uint32Array.from(Uint16Array.from(numbers));
    case 'i8':
      return Int32Array.from(Int8Array.from(numbers));
    case 'i16':
      return Int32Array.from(Int16Array.from(numbers));
    case 'f16': {
      const words = new Uint32Array(numbers.buffer, numbers.byteOffset, numbers.length);
      return new Float32Array(words.map((bits) => bitsOfHalf(nearestHalf(bits))).buffer);
    }
    default:
      return given;
  }
}

const FORMATS = { u32: ['u8', 'u16'], i32: ['i8', 'i16'], f32: ['f16', 'f16'], bool: ['bits', 'bits'] } as const;
type Format = (typeof FORMATS)[keyof typeof FORMATS][number];

/** The formats of all columns of a table, in its fields. */
function formatsOf(result: Table, half: 0 | 1): unknown {
  if (result instanceof q.Column) return FORMATS[result.type as keyof typeof FORMATS][half];
  return Object.fromEntries(Object.entries(result).map(([name, field]) => [name, formatsOf(field, half)]));
}

/** A table packed on the host, whose formats are given in its fields. */
function packedOnHost(read: HostTable, formats: unknown): HostTable {
  if (typeof formats === 'string') return kept(formats as Format, read);
  const fields = Object.entries(formats as object);
  return Object.fromEntries(
    fields.map(([name, format]) => [
      name,
      packedOnHost((read as { readonly [name: string]: HostTable })[name]!, format),
    ]),
  );
}

const half = fc.constantFrom<0 | 1>(0, 1);
const isEven = q.fn({ at: q.u32 }, q.bool, ({ at }) => at.and(1).eq(0));

const lookUps = {
  u32: q.fn({ row: q.u32, table: q.array(q.u32) }, q.u32, ({ row, table }) => table.at(row)),
  i32: q.fn({ row: q.u32, table: q.array(q.i32) }, q.i32, ({ row, table }) => table.at(row)),
  f32: q.fn({ row: q.u32, table: q.array(q.f32) }, q.f32, ({ row, table }) => table.at(row)),
  bool: q.fn({ row: q.u32, table: q.array(q.bool) }, q.bool, ({ row, table }) => table.at(row)),
};

/** Packed columns as other primitives read them: in reverse order, as rows or as arrays, and every other row. */
function readAgain(packed: Table, asArrays: boolean): { readonly reversed: Table; readonly even: Table } {
  const columns = columnsOf(packed);
  const reversed = columns.map((column) => {
    if (!asArrays) return q.reverse(column);
    const row = q.reverse(q.sequence(column.length));
    return q.map(lookUps[column.type as 'u32'], { row, table: column as q.Column<'u32'> });
  });
  const even = columns.map((column) => q.copyIf(column, q.map(isEven, { at: q.sequence(column.length) })));
  return { reversed: withColumns(packed, reversed), even: withColumns(packed, even) };
}

type Rows = Given['rows'];

/** What primitives are given, for rows in a form and for the same rows as cells. */
function givenOf(context: q.Context, host: Given['host'], rows: Rows, cells: Rows): Given {
  const grid = { rows: 1, columns: host.n.length };
  const ends = [0, 0, 3, 3, 4, 40].map((end) => Math.min(end, host.n.length));
  return { context, host, rows, cells: q.asGrid(cells, grid), segments: context.column(Uint32Array.from(ends)) };
}

/** That the results of primitives, packed, are what packing leaves of them, and are read by other primitives. */
export function narrowResultsLaw(primitives: readonly string[]): Law {
  return law(
    'what a primitive returns, packed, is what the formats keep of it, and is read by other primitives',
    [fc.constantFrom(...primitives), rowsOf(FIELDS, sizes), presentation, half],
    async (run, primitive, host, how, half) => {
      let formats: unknown;
      const { plain, packed, again } = (await run((context) => {
        const given = givenOf(context, host, present(context, host, how), present(context, host, 'stored'));
        const plain = RESULTS[primitive]!(given);
        formats = formatsOf(plain, half);
        const packed = q.narrow(plain, formats as never);
        return { plain, packed, again: readAgain(packed, half === 1) };
      })) as { readonly [name: string]: HostTable };
      const expected = packedOnHost(plain!, formats);
      assertSameBytes(packed!, expected, `packed ${primitive}`);
      const { reversed, even } = again as { readonly [name: string]: HostTable };
      const backwards = picked(expected, (array) => array.slice().reverse());
      assertSameBytes(reversed!, backwards, `reversed ${primitive}`);
      const others = picked(expected, (array) => array.filter((_, i) => i % 2 === 0));
      assertSameBytes(even!, others, `every other row of ${primitive}`);
    },
  );
}

/** That primitives return the same of packed rows as of the same rows unpacked. */
export function packedRowsLaw(primitives: readonly string[]): Law {
  return law(
    'packed rows are as good as others',
    [fc.constantFrom(...primitives), rowsOf(FIELDS, sizes), presentation, half],
    async (run, primitive, full, how, half) => {
      const formats = { n: FORMATS.u32[half], i: FORMATS.i32[half], f: 'f16', calm: 'f16', b: 'bits' } as const;
      const numbers = packedOnHost(full as unknown as HostTable, formats);
      const host = { ...(numbers as unknown as Given['host']), b: full.b };
      const { packed, plain } = (await run((context) => {
        const rows = present(context, host, how);
        const cells = present(context, host, 'stored');
        const packed = RESULTS[primitive]!(givenOf(context, host, q.narrow(rows, formats), q.narrow(cells, formats)));
        return { packed, plain: RESULTS[primitive]!(givenOf(context, host, rows, cells)) };
      })) as { readonly [name: string]: HostTable };
      assertSameBytes(packed!, plain!, `${primitive} of packed rows`);
    },
  );
}

function picked(read: HostTable, pick: (array: Uint32Array) => Uint32Array): HostTable {
  if (ArrayBuffer.isView(read)) return pick(read as Uint32Array);
  return Object.fromEntries(Object.entries(read).map(([name, field]) => [name, picked(field, pick)]));
}

const all = Object.keys(RESULTS);

export const narrowResultsLaws: readonly Law[] = [narrowResultsLaw(all), packedRowsLaw(all)];
