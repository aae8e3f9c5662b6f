import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import type { HostColumn, HostTable } from '../../algorithms/tables/host-table.ts';
import {
  type BatchOptions,
  openTable,
  type TableField,
  type TableFile,
  type TableOptions,
} from '../../formats/index.ts';

/** The exact value of a cell; null for an empty cell. */
export type Cell = number | bigint | string | null;

/** The cell of a column in a row. */
export function cellAt(column: HostColumn, row: number): Cell {
  if (column.validity !== undefined && ((column.validity[row >>> 5]! >>> (row & 31)) & 1) === 0) return null;
  return column.type === 'string' ? column.dictionary[column.codes[row]!]! : column.values[row]!;
}

export function cellsOf(column: HostColumn, rows: number): Cell[] {
  return Array.from({ length: rows }, (_, row) => cellAt(column, row));
}

/** All cells of a table, column by column, and the number of rows in each batch. */
export interface ReadTable {
  readonly cells: { readonly [name: string]: Cell[] };
  readonly batchRows: readonly number[];
}

export async function readAll(table: TableFile, options: BatchOptions = {}): Promise<ReadTable> {
  const names = options.columns ?? table.fields.map(({ name }) => name);
  const cells = Object.fromEntries(names.map((name): [string, Cell[]] => [name, []]));
  const batchRows: number[] = [];
  let first = 0;
  for await (const batch of table.batches(options)) {
    if (batch.first !== first) throw new Error(`batch ${batchRows.length} begins at ${batch.first}, not at ${first}`);
    first += batch.rows;
    batchRows.push(batch.rows);
    for (const [name, column] of Object.entries(batch.columns)) cells[name]!.push(...cellsOf(column, batch.rows));
  }
  return { cells, batchRows };
}

export async function readPath(path: string, options?: TableOptions, batches?: BatchOptions): Promise<ReadTable> {
  const table = await openTable(path, options);
  try {
    return await readAll(table, batches);
  } finally {
    await table.close();
  }
}

const folder = await mkdtemp(join(tmpdir(), 'tables-'));
let files = 0;

/** A new path, which no test has used yet. */
export function newPath(ending = ''): string {
  return join(folder, `${files++}${ending}`);
}

export async function fileOf(bytes: Uint8Array | string, ending = ''): Promise<string> {
  const path = newPath(ending);
  await writeFile(path, bytes);
  return path;
}

/** A column to write: its field (name and type) and its cells. */
export interface Written {
  readonly field: TableField;
  readonly cells: readonly Cell[];
}

const text = fc.oneof(
  fc.constantFrom('', '"', ',', '\n', '\r\n', '\ufeff', ' a ', '007', 'null', 'NaN', 'ü€𝄞', 'a"b', '2020-01-01'),
  fc.string({ maxLength: 8 }).map((each) => Buffer.from(each).toString()),
);
const real = fc.oneof(fc.double(), fc.constantFrom(0, -0, Number.NaN, 1e300, 5e-324, 0.1, 2 ** 53, -1.5));
const float = fc.oneof(fc.float(), fc.constantFrom(0, -0, Number.NaN, Math.fround(0.1), Math.fround(1e38)));

type Kind = readonly [field: object, cell: fc.Arbitrary<Cell>];

const KINDS: readonly Kind[] = [
  [{ type: 'u32' }, fc.integer({ min: 0, max: 2 ** 32 - 1 })],
  [{ type: 'i32' }, fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })],
  [{ type: 'f32' }, float],
  [{ type: 'f64' }, real],
  [{ type: 'u64' }, fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })],
  [{ type: 'i64' }, fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })],
  [{ type: 'bool' }, fc.integer({ min: 0, max: 1 })],
  // Dates from 0000-01-01 to 9999-12-31, whose years have four digits.
  [{ type: 'date' }, fc.integer({ min: -719_528, max: 2_932_896 })],
  [{ type: 'string' }, text],
  [{ type: 'decimal', scale: 3 }, fc.bigInt({ min: -(10n ** 18n) + 1n, max: 10n ** 18n - 1n })],
  [{ type: 'decimal', scale: 0 }, fc.bigInt({ min: -(10n ** 18n) + 1n, max: 10n ** 18n - 1n })],
  [
    { type: 'timestamp', unit: 'us', utc: false },
    fc.bigInt({ min: -719_528n * 86_400_000_000n, max: 2_932_896n * 86_400_000_000n }),
  ],
];

const DAY = 86_400n;

/** The kinds of columns of Arrow: also those whose type a CSV cannot declare. */
export const ARROW_KINDS: readonly Kind[] = [
  ...KINDS,
  [{ type: 'decimal', scale: 30 }, fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })],
  ...(['s', 'ms', 'us', 'ns'] as const).map(
    (unit, i): Kind => [{ type: 'time', unit }, fc.bigInt({ min: 0n, max: DAY * 1000n ** BigInt(i) - 1n })],
  ),
];

/** Columns of any types, all with the same number of rows. */
export function someColumns(max = 100, kinds: readonly Kind[] = KINDS): fc.Arbitrary<readonly Written[]> {
  const size = fc.oneof(fc.constantFrom(0, 1, 31, 32, 33), fc.integer({ min: 0, max }));
  return fc
    .tuple(size, fc.array(fc.constantFrom(...kinds), { minLength: 1, maxLength: 6 }))
    .chain(([rows, chosen]) =>
      fc.tuple(
        ...chosen.map(([field, cell], i) =>
          fc
            .boolean()
            .chain((nullable) =>
              fc
                .array(nullable ? fc.option(cell, { freq: 3 }) : cell, { minLength: rows, maxLength: rows })
                .map((cells): Written => ({ field: { ...field, name: `c${i}`, nullable } as TableField, cells })),
            ),
        ),
      ),
    );
}

const ARRAYS = {
  u32: Uint32Array,
  i32: Int32Array,
  f32: Float32Array,
  f64: Float64Array,
  u64: BigUint64Array,
  i64: BigInt64Array,
  bool: Uint8Array,
  date: Int32Array,
  decimal: BigInt64Array,
  timestamp: BigInt64Array,
  time: BigInt64Array,
};

/** Converts cells to a host column. */
export function hostOf({ field, cells }: Written): HostColumn {
  const validity = new Uint32Array(Math.ceil(cells.length / 32));
  for (const [row, cell] of cells.entries()) if (cell !== null) validity[row >>> 5]! |= 1 << (row & 31);
  const valid = cells.includes(null) ? { validity } : {};
  if (field.type === 'string') {
    const dictionary = [...new Set(cells.filter((cell): cell is string => cell !== null))];
    const codes = Uint32Array.from(cells, (cell) => (cell === null ? 0 : dictionary.indexOf(cell as string)));
    return { type: 'string', codes, dictionary, ...valid };
  }
  const values = new ARRAYS[field.type](cells.length);
  for (const [row, cell] of cells.entries()) if (cell !== null) values[row] = cell as never;
  const type = field.type === 'timestamp' || field.type === 'time' ? 'i64' : field.type;
  return { ...(field.type === 'decimal' ? { scale: field.scale } : {}), type, values, ...valid } as HostColumn;
}

export function tableOf(columns: readonly Written[]): { readonly rows: number; readonly columns: HostTable } {
  return {
    rows: columns[0]!.cells.length,
    columns: Object.fromEntries(columns.map((column) => [column.field.name, hostOf(column)])),
  };
}

/** The types that a CSV file of these columns has to declare. */
export function declared(columns: readonly Written[]): TableOptions['types'] {
  return Object.fromEntries(
    columns.map(({ field }) => [field.name, field.type === 'decimal' ? `decimal(${field.scale})` : field.type]),
  ) as TableOptions['types'];
}
