import type { AnyHistogram } from '../algorithms/zonal/index.ts';
import type { StatisticColumn } from '../algorithms/zonal/statistic-kinds.ts';
import { overMemory } from '../formats/memory.ts';
import type { LayerWriter, WrittenZones } from '../formats/polygons/write/layer-writer.ts';
import { type LayerEnding, loadLayerWriter } from '../formats/polygons/write/layer-writers.ts';
import type { ZoneAttribute } from '../formats/polygons/zone-attributes.ts';
import { statisticsCsv, statisticsRows } from '../formats/results/zonal-csv.ts';
import { type RowsOf, statisticsJson } from '../formats/results/zonal-json.ts';
import { isOfValues, type Tabled } from '../formats/results/zonal-statistics.ts';
import { statisticsTable, wideTables, type ZonalTable } from '../formats/results/zonal-table.ts';
import type { TableField } from '../formats/tables/table-file.ts';
import type { RowsWriter } from '../formats/tables/write/text-writers.ts';
import { type FileChunks, inChunks } from '../formats/text/text-chunks.ts';
import { UsageError } from '../formats/usage-error.ts';
import { sharesOf } from './memory.ts';
import { formatOfName, isArrowFile, isJsonFile, LAYER_ENDINGS } from './values.ts';

/** Appends a text to an output. */
export type Write = (path: string, chunks: FileChunks) => Promise<void>;

/** A file of tables, which are appended one after the other. */
export interface TableOutput<T extends readonly unknown[]> {
  add(...table: T): Promise<void>;
  end(): Promise<void>;
}

/** An Arrow file, to which tables are appended as record batches. They have the columns of the first. */
export function arrowOutput(path: string, write: Write): TableOutput<[table: ZonalTable]> {
  let first: { readonly fields: readonly TableField[]; readonly writer: RowsWriter } | undefined;
  const append = (chunk: string | Uint8Array): Promise<void> => write(path, [chunk]);
  return {
    async add({ fields, rows }) {
      if (first === undefined) {
        // Loads the library that writes Arrow.
        const { arrowRows } = await import('../formats/tables/write/arrow-rows.ts');
        first = { fields, writer: arrowRows(fields) };
        await append(first.writer.begin());
      }
      const other = fields.find(({ type }, at) => type !== first!.fields[at]?.type);
      if (other !== undefined) throw otherTypes(other.name);
      await append(first.writer.add(rows));
    },
    end: () => append(first!.writer.end()),
  };
}

function otherTypes(column: string): UsageError {
  const sentence = `The rasters have different types of cells, so one Arrow file cannot hold their column ${column}.`;
  return new UsageError('zonal/other-types', sentence, {
    remedy: 'Write CSV or JSON, a file for each raster, or columns for each (--wide).',
  });
}

/** A file of zones with the rows of tables as attributes. */
function layerOutput(
  path: string,
  ending: LayerEnding,
  zones: WrittenZones,
  write: Write,
): TableOutput<[table: ZonalTable]> {
  let writer: LayerWriter | undefined;
  return {
    async add({ fields, rows }) {
      if (writer === undefined) {
        writer = (await loadLayerWriter(ending))(fields, zones);
        await write(path, [writer.begin(rows)]);
      }
      await write(path, writer.add(rows));
    },
    async end() {
      if (writer?.end !== undefined) await write(path, [writer.end()]);
    },
  };
}

/** A file of tables whose columns have types; undefined if those of this file have none. */
function typedOutput(path: string, zones: WrittenZones, write: Write): TableOutput<[table: ZonalTable]> | undefined {
  if (isArrowFile(path)) return arrowOutput(path, write);
  const ending = formatOfName(path, LAYER_ENDINGS);
  return ending && layerOutput(path, ending, zones, write);
}

/** The zones, the columns of a table that come before those of statistics, and how texts are written. */
interface TableOptions {
  readonly zones: WrittenZones;
  readonly attributes: readonly ZoneAttribute[] | undefined;
  readonly quoteFormulas: boolean;
}

/**
 * A file of statistics, to which the rows of one raster after the other are appended: CSV, JSON, Arrow, or a layer of the
 * zones.
 */
export function statisticsOutput(
  path: string,
  { zones, attributes, quoteFormulas }: TableOptions,
  write: Write,
): TableOutput<[of: RowsOf, histogram: AnyHistogram]> {
  const typed = typedOutput(path, zones, write);
  if (typed !== undefined) {
    const { add, end } = typed;
    return { add: (of, histogram) => add(statisticsTable(histogram, { ...of, attributes })), end };
  }
  if (isJsonFile(path)) {
    const json = statisticsJson(attributes);
    return { add: (of, histogram) => write(path, json.rows([histogram], of)), end: () => write(path, json.end()) };
  }
  let header = true;
  return {
    async add(of, histogram) {
      await write(path, statisticsCsv(histogram, { ...of, attributes, quoteFormulas, header }));
      header = false;
    },
    end: async () => undefined,
  };
}

/**
 * A file of statistics with a row for each zone, which has those of all rasters as columns. They are held until the last
 * raster has been counted.
 *
 * @param prefixes - What stands before the names of statistics, for each raster that will be added.
 */
export function wideOutput(
  path: string,
  prefixes: readonly string[],
  { zones, attributes, quoteFormulas }: TableOptions,
  memoryBytes: number,
  write: Write,
): TableOutput<[of: RowsOf, histogram: AnyHistogram]> {
  const tables: Tabled[] = [];
  const { counters: allowed } = sharesOf(memoryBytes);
  let bytes = 0;
  return {
    async add(_, { names, cells, nodata, areas, statistics, exact }) {
      const integers = exact && { statistics: exact.statistics };
      tables.push({ prefix: prefixes[tables.length], names, cells, nodata, areas, statistics, exact: integers });
      const others = [areas, exact?.statistics, statistics].flatMap((columns) => Object.values(columns ?? {}));
      const columns = [cells, nodata, ...others] as StatisticColumn[];
      const least = bytesOf(columns.filter((column) => !isOfValues(column)));
      bytes += bytesOf(columns);
      const needed = bytes + (prefixes.length - tables.length) * least;
      if (needed > allowed) throw tooWide(needed, names.length, prefixes.length, allowed);
    },
    async end() {
      const typed = typedOutput(path, zones, write);
      if (typed !== undefined) {
        for (const table of wideTables(tables, { attributes })) await typed.add(table);
        await typed.end();
      } else if (isJsonFile(path)) {
        const json = statisticsJson(attributes);
        await write(path, json.rows(tables));
        await write(path, json.end());
      } else await write(path, inChunks(statisticsRows(tables, { attributes, quoteFormulas })));
    },
  };
}

function bytesOf(columns: readonly (StatisticColumn | undefined)[]): number {
  let bytes = 0;
  for (const column of columns) {
    if (column === undefined) continue;
    for (const array of isOfValues(column) ? Object.values(column) : [column]) bytes += array?.byteLength ?? 0;
  }
  return bytes;
}

function tooWide(needed: number, zones: number, rasters: number, allowed: number): Error {
  return overMemory('The statistics of all rasters are too large to be held for a table with --wide.', {
    ...{ needed, allowed, what: `${zones} zones in ${rasters} rasters or bands` },
    instead: 'leave --wide out: rows are written raster by raster',
  });
}
