import { requireOneOf, requireOptions, requireRecord } from './checks/arguments.ts';
import { anything } from './checks/kinds.ts';
import {
  Column,
  type ColumnOwner,
  columnsOf,
  requireType,
  sameLength,
  storageOf,
  type Table,
  viewColumn,
  withColumns,
} from './columns/column.ts';
import { destination, extentOf, fuse, programOf } from './columns/program.ts';
import { wordsOf } from './columns/words.ts';
import { type ContextOption, inContext, requireContext } from './context/context-option.ts';
import { u32 } from './functors/functor.ts';
import { f16OfF32Bits, f32BitsOfF16 } from './functors/standard/half-floats.ts';
import type { U32, Value } from './functors/value.ts';
import type { ScalarType } from './ir/ir.ts';
import { storeBits } from './pack-bits.ts';
import { PACKED_TYPES, type PackedStorage } from './prepared/inputs.ts';

/** The storage formats in which a column of a type can be packed. */
export type PackedFormat<T extends ScalarType> = T extends 'u32'
  ? 'u8' | 'u16'
  : T extends 'i32'
    ? 'i8' | 'i16'
    : T extends 'f32'
      ? 'f16'
      : 'bits';

/** The storage format of a column, or of those fields of a table that are to be packed, by name. */
export type PackedFormats<C extends Table> =
  C extends Column<infer T>
    ? PackedFormat<T>
    : { readonly [K in keyof C]?: (C[K] extends Table ? PackedFormats<C[K]> : never) | undefined };

/** The type of column that each format packs, and the number of elements that share a word. */
const FORMATS: Readonly<Record<PackedFormat<ScalarType>, readonly [ScalarType, number]>> = {
  u8: [PACKED_TYPES.u8, 4],
  u16: [PACKED_TYPES.u16, 2],
  i8: [PACKED_TYPES.i8, 4],
  i16: [PACKED_TYPES.i16, 2],
  f16: ['f32', 2],
  bits: ['bool', 32],
};

/**
 * Stores the columns of a table in fewer bits each, several elements to a word: those for which a format is given. Takes
 * the result of any primitive, stored or a view, which is computed as it is packed. The columns are of the same type as
 * before, and every primitive and functor reads them.
 *
 * - `u8`, `u16`, `i8`, `i16` keep the lowest bits of every integer, as an assignment to an element of a typed array does,
 *   so what is out of range wraps. Stored as `context.column` stores a typed array of that format.
 * - `f16` keeps the nearest of the numbers of IEEE 754 binary16, with 11 significant bits, and that with an even last bit
 *   if two are equally near. Numbers from 65520 on become infinite, those up to 2⁻²⁵ zero, with their sign. Infinities
 *   and −0 stay, and a NaN stays one, with its sign and the highest 9 bits of its payload, by {@link f16OfF32Bits} and
 *   {@link f32BitsOfF16}.
 * - `bits` keeps 32 flags in a word, as `packBits` does.
 * - f32 becomes an integer by a functor first: `u32(x)` truncates, saturates, and gives 0 for NaN.
 *
 * The bits are the same on all backends. `f16` and `bits` are views that read what is stored: `materialize` stores
 * them unpacked, and so does a functor that captures them as an array. Columns without a format are returned as they are.
 *
 * - Work O(n), span O(1). Deterministic. Takes between a half and a 32nd of the memory of unpacked columns, and of the
 *   bandwidth of every command that reads them. Every thread writes whole words. Columns of as many elements to a word
 *   are packed in one launch. An empty input gives an empty column. Accepts device counts (lengths that only the device
 *   knows).
 * - Primitives store their results in whole words, also of packed inputs. In `context.scope(() => narrow(sort(x),
 *   'u8'))`, the unpacked result is freed at once.
 * - Equivalent loop: `const out = new Uint16Array(n); for (let i = 0; i < n; i++) out[i] = values[i]`.
 *
 * @throws {@link ArgumentError} `column/type` if the type of a column is not that of its format: u32 for `u8` and
 * `u16`, i32 for `i8` and `i16`, f32 for `f16`, bool for `bits`; `argument/type` for another format, `options/unknown` for
 * a format of a column that the table does not have.
 * @example
 * const heights = narrow(ctx.column(Uint32Array.of(1, 65535, 65536)), 'u16');
 * const slopes = narrow(ctx.column(Float32Array.of(0.1, 2049, 65520)), 'f16');
 * await ctx.read({ heights, slopes });
 * // { heights: Uint32Array [1, 65535, 0], slopes: Float32Array [0.0999755859375, 2048, Infinity] }
 *
 * const cells = ctx.column(Uint32Array.of(3, 3, 7));
 * const visits = ctx.scope(() => narrow(runLengthEncode(cells), { keys: 'u8', values: 'u16' }));
 * await ctx.read(visits); // { keys: Uint32Array [3, 7], values: Uint32Array [2, 1] }
 */
export function narrow<C extends Table>(table: C, format: PackedFormats<C>, options?: ContextOption): C {
  return inContext('narrow', options, () => {
    const columns = columnsOf(table, 'narrow', 'table');
    const formats = formatsOf(table, format, 'table', 'format');
    const context = requireContext(columns, 'narrow');
    return context.scope(() => {
      const fields = columns.map((column, i): Field => ({ column, format: formats[i] }));
      const packed = packFields(context, fields);
      return withColumns(
        table,
        fields.map((field) => packed.get(field) ?? field.column),
      );
    });
  });
}

/** The format of each column of a table, depth first; undefined for columns that stay as they are. */
function formatsOf(table: Table, given: unknown, path: string, argument: string): (Field['format'] | undefined)[] {
  if (table instanceof Column) {
    requireOneOf('narrow', argument, given, Object.keys(FORMATS));
    const format = given as Field['format'];
    requireType(table, [FORMATS[format!][0]], path, 'narrow');
    return [format];
  }
  requireRecord('narrow', argument, given, 'a record of formats, by the names of the columns');
  const names = Object.keys(table);
  requireOptions(
    'narrow',
    Object.fromEntries(names.map((name) => [name, anything])),
    given as object,
    undefined,
    argument,
  );
  return names.flatMap((name) => {
    const [own, field] = [(given as Record<string, unknown>)[name], table[name]!];
    if (own === undefined) return columnsOf(field).map(() => undefined);
    return formatsOf(field, own, `${path}.${name}`, `${argument}.${name}`);
  });
}

/** A column of a table, and the format in which it is packed, if it is. */
interface Field {
  readonly column: Column;
  readonly format: PackedFormat<ScalarType> | undefined;
}

/** Packs the columns that have a format. Those that are alike in length and number of elements to a word share a launch. */
function packFields(context: ColumnOwner, fields: readonly Field[]): Map<Field, Column> {
  const packed = new Map<Field, Column>();
  let rest = fields.filter(({ format }) => format !== undefined);
  while (rest.length > 0) {
    const [{ column, format }] = rest as [Field];
    const perWord = FORMATS[format!][1];
    const alike = rest.filter(
      (each) => sameLength(each.column.length, column.length) && FORMATS[each.format!][1] === perWord,
    );
    const pack = format === 'bits' ? packFlags : packNumbers;
    for (const [i, stored] of pack(context, alike, perWord).entries()) packed.set(alike[i]!, stored);
    rest = rest.filter((each) => !packed.has(each));
  }
  return packed;
}

/** Memory for the words of a packed column. */
function wordsFor(context: ColumnOwner, { length, capacity }: Column, perWord: number) {
  const count = Math.ceil(capacity / perWord);
  const memory = context.allocate(count, typeof length === 'number' ? undefined : length.memory);
  return new Column<'u32'>(context, 'u32', count, { kind: 'stored', memory, storage: 'u32', offset: 0 });
}

/** The same memory, read in another storage format. */
function storedAs(words: Column, { length, grid }: Column, storage: PackedStorage): Column {
  const source = { ...words.source, kind: 'stored', storage } as Column['source'];
  return new Column(words.context, PACKED_TYPES[storage], length, source, grid);
}

/** Stores the lowest bits of integers, and f32 as f16. */
function packNumbers(context: ColumnOwner, fields: readonly Field[], perWord: number): Column[] {
  const bits = 32 / perWord;
  const [{ length }] = fields.map(({ column }) => column) as [Column];
  const given = fields.map(({ column, format }) => (format === 'f16' ? wordsOf(column) : column));
  const words = fields.map(({ column }) => wordsFor(context, column, perWord));
  const rounded = fields.map(({ format }) => format === 'f16');
  const program = fuse(
    'narrow',
    [],
    words.map(() => 'u32' as const),
    (index, _, loader) => {
      const first = index.mul(perWord);
      const rows = Array.from({ length: perWord }, (_, i) => loader.loadWithin(given, first.add(i), length));
      return fields.map((_, field) => {
        const parts = rows.map((row, i) => lowest(row[field]!, rounded[field]!, bits).shl(bits * i));
        return parts.reduce((word, part) => word.or(part));
      });
    },
    { by: [packNumbers, perWord, ...rounded], columns: given, lengths: [length] },
  );
  const count = words[0]!.capacity;
  context.backend.run({
    kind: 'forEach',
    // Of a length that only the device knows, at least the words that have elements, and not all that there may be.
    extent: typeof length === 'number' ? count : extentOf({ ...length, limit: count }),
    program: programOf(program, context, count),
    stores: words.map((column, value) => ({ ...destination(column), value })),
  });
  return fields.map(({ column, format }, i) =>
    format === 'f16'
      ? numbersOf(column, storedAs(words[i]!, column, 'u16'))
      : storedAs(words[i]!, column, format as PackedStorage),
  );
}

function lowest(value: Value<ScalarType>, isRounded: boolean, bits: number): U32 {
  return isRounded ? f16OfF32Bits({ bits: value as U32 }) : u32(value as U32).and(2 ** bits - 1);
}

/** The f32 that are stored as f16. */
function numbersOf({ context, length, grid }: Column, halves: Column): Column {
  const view = fuse(
    { name: 'f16', kind: 'narrow' },
    [],
    ['u32'],
    (index, _, loader) => [f32BitsOfF16({ half: loader.load([halves], index)[0] as U32 })],
    { by: [numbersOf], columns: [halves] },
  );
  return viewColumn(context ?? halves.context, 'f32', length, view, 0, grid);
}

/** Stores flags as bits. The results read a bit of a word for each flag. */
function packFlags(context: ColumnOwner, fields: readonly Field[], perWord: number): Column[] {
  return fields.map(({ column }) => {
    const words = wordsFor(context, column, perWord);
    storeBits(context, column as Column<'bool'>, words);
    const view = fuse(
      { name: 'bits', kind: 'narrow' },
      [],
      [storageOf('bool')],
      (index, _, loader) => [(loader.load([words], index.shr(5))[0] as U32).shr(index.and(31)).and(1)],
      { by: [packFlags], columns: [words] },
    );
    return viewColumn(context, 'bool', column.length, view, 0, column.grid);
  });
}
