import { stat } from 'node:fs/promises';
import type { Note } from '../algorithms/notes.ts';
import { listNames, quoteName } from '../algorithms/quoted-names.ts';
import type { HostColumn } from '../algorithms/tables/host-table.ts';
import { openPointLayer, type PointTable, pointTable } from '../formats/polygons/point-layer.ts';
import type { PolygonLayer, PolygonLayerOptions } from '../formats/polygons/polygon-layer.ts';
import { openTable, tableFormatOf } from '../formats/tables/open-table.ts';
import type { TableField } from '../formats/tables/table-file.ts';
import { cellText, nullsOf } from '../formats/tables/write/cell-text.ts';
import { badRow, type CsvFile, type CsvRows, type CsvRowsOptions, openCsvRows } from '../formats/text/csv-rows.ts';
import { UsageError } from '../formats/usage-error.ts';
import { FormatError } from '../primitives/checks/errors.ts';
import { settled } from './index-layers.ts';
import { NUMBERS } from './neighbours-columns.ts';
import { numbersOf } from './neighbours-rows.ts';

/** Rows of numbers, and the layer whose points they are. */
export interface RowsFile extends CsvFile {
  readonly layer?: PolygonLayer | undefined;
  /** The notes on a layer, once it has been read. */
  readonly notes?: readonly Note[] | undefined;
}

/** Opens rows of numbers: a table in CSV, Parquet or Arrow or, with `reading`, the points of a layer. */
export async function openRows(
  file: string,
  options: CsvRowsOptions,
  reading: PolygonLayerOptions | undefined,
  signal: AbortSignal,
): Promise<RowsFile> {
  // Longitudes come round where points are asked, whatever file they are from.
  const { antimeridian: _, ...asWritten } = reading ?? {};
  const opened = reading && (await openPointLayer(file, asWritten, options.numbers));
  if (opened !== undefined) {
    if (options.areNamed) throw noEffect('columns', 'a layer', 'tables');
    const layer = await settled(opened, signal);
    const id = options.id ?? 'id';
    return rowsOfTable(pointTable(layer, id), layer.size, { ...options, id }, layer);
  }
  requireTableOptions(reading);
  if (((await tableFormatOf(file)) ?? 'csv') === 'csv') return openCsvRows(file, options);
  const table = await openTable(file);
  return rowsOfTable(table, (await stat(file)).size, options);
}

/** The texts of a column, by rows; empty for null. */
function textsOf(field: TableField, column: HostColumn): (row: number) => string {
  const [isNull, text] = [nullsOf(column), cellText(field, column)];
  return (row) => (isNull(row) ? '' : text(row));
}

function missingColumn({ file, fields }: PointTable, wanted: string): FormatError {
  return new FormatError('csv/missing-column', `The table has no ${wanted}.`, {
    got: listNames(
      fields.map(({ name }) => name),
      20,
    ),
    remedy: 'Name the columns by --columns.',
    place: { file },
  });
}

/** Throws if an option is given that only layers have. */
function requireTableOptions({ layer, geometryColumn, crs }: PolygonLayerOptions = {}): void {
  const given = { layer, 'geometry-column': geometryColumn, 'assume-crs': crs };
  for (const [option, value] of Object.entries(given)) {
    if (value === undefined) continue;
    throw noEffect(option, 'a table of points', 'layers');
  }
}

function noEffect(option: string, file: string, others: string): UsageError {
  return new UsageError('usage/contradiction', `--${option} has no effect with ${file}.`, {
    remedy: `Leave it out; it is for ${others}.`,
  });
}

/** The rows of a table as those of a CSV file. Its columns are found by their names in the same way. */
function rowsOfTable(table: PointTable, size: number, options: CsvRowsOptions, layer?: PolygonLayer): RowsFile {
  const { numbers, id, batchRows, faultOf, onBadRow } = options;
  const called = (wanted: readonly string[], isFit: (field: TableField) => boolean): TableField | undefined =>
    wanted
      .map((name) => table.fields.find((field) => field.name.toLowerCase() === name.toLowerCase() && isFit(field)))
      .find((field) => field !== undefined);
  const names = numbers.map((wanted) => {
    const field = called(wanted, ({ type }) => NUMBERS.has(type));
    if (field === undefined) throw missingColumn(table, `column of numbers called ${wanted.join(' or ')}`);
    return field.name;
  });
  const named = called([id ?? 'id'], () => true);
  if (id !== undefined && named === undefined) throw missingColumn(table, `column ${quoteName(id)}`);
  async function* batches(signal?: AbortSignal): AsyncGenerator<CsvRows> {
    let [first, row] = [0, 0];
    try {
      for await (const batch of table.batches({
        columns: named === undefined ? names : [...names, named.name],
        signal,
      })) {
        const read = names.map((name) => numbersOf(batch.columns[name]!, batch.rows).values);
        const texts = named && textsOf(named, batch.columns[named.name]!);
        for (let at = 0; at < batch.rows; ) {
          const kept: number[] = [];
          for (const most = batchRows(); at < batch.rows && kept.length < most; at++, row++) {
            const wrong = read.findIndex((values) => !Number.isFinite(values[at]!));
            const fault =
              wrong >= 0 ? `${names[wrong]} is no finite number` : faultOf?.(read.map((values) => values[at]!));
            if (fault === undefined) kept.push(at);
            else {
              const error = badRow(fault, { file: table.file, record: row });
              if (onBadRow === undefined) throw error;
              onBadRow(error);
            }
          }
          const count = kept.length;
          const bytesRead = table.rows === undefined ? 0 : Math.floor((size * row) / table.rows);
          yield {
            first,
            count,
            numbers: read.map((values) => Float64Array.from(kept, (place) => values[place]!)),
            names: texts && kept.map(texts),
            bytesRead,
          };
          first += count;
        }
      }
      yield { first, count: 0, numbers: names.map(() => new Float64Array()), names: named && [], bytesRead: size };
    } finally {
      await table.close();
    }
  }
  return {
    size,
    batches,
    layer,
    get notes() {
      return table.notes;
    },
  };
}
