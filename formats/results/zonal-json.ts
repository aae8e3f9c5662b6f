import type { Sample } from '../../algorithms/geometry/raster.ts';
import { type Note, someNotes } from '../../algorithms/notes.ts';
import { columnsByName } from '../../algorithms/zonal/statistic-columns.ts';
import type { StatisticColumn } from '../../algorithms/zonal/statistic-kinds.ts';
import { type AnyHistogram, aHistogram, type Binning } from '../../algorithms/zonal/types.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aRecord, aText, type Kind, optional, where } from '../../primitives/checks/kinds.ts';
import { jsonAttributes, requireAttributes, someAttributes } from '../polygons/attribute-cells.ts';
import type { ZoneAttribute } from '../polygons/zone-attributes.ts';
import { inChunks } from '../text/text-chunks.ts';
import {
  binCounts,
  cellColumns,
  isOfValues,
  rowsByZone,
  statisticOf,
  type Tabled,
  tabledStatistics,
  valueOfRow,
} from './zonal-statistics.ts';

/** Facts about the computation of a zonal histogram that the histogram itself does not contain. */
export interface ZonalRun {
  /** Path of the file with the zones, as given by the user. */
  readonly zones: string;
  /** Path of the raster, or the paths of the rasters that are parts of one surface. */
  readonly raster: string | readonly string[];
  /** The backend, such as `workers` or `webgpu (NVIDIA H200)`. */
  readonly backend: string;
  /** All notes of the run: notes on reading the files, and notes on counting cells. */
  readonly notes: readonly Note[];
  /** Attributes of the zones, as `readZones` gives them: a member `attributes` of each zone. Default: none. */
  readonly attributes?: readonly ZoneAttribute[] | undefined;
}

/**
 * Writes the whole result as one JSON object:
 *
 * ```json
 * {
 *   "source": { "zones": "counties.json", "raster": "ndvi.tif" },
 *   "backend": "workers",
 *   "sample": "f32",
 *   "binning": { "kind": "even", "low": 0, "high": 1, "width": 0.05 },
 *   "gridStep": [4.7e-8, 4.7e-8],
 *   "notes": [{ "code": "zones/ring-closed", "message": "…", "zone": "Adams", "count": 3 }],
 *   "zones": [
 *     {
 *       "name": "Adams",
 *       "bins": [{ "lower": 0, "upper": 0.05, "count": 12 }],
 *       "cells": 13, "nodata": 1, "below": 0, "above": 0,
 *       "stats": { "min": 0.01, "max": 0.04, "mean": 0.03, "sum": 0.36 }
 *     }
 *   ]
 * }
 * ```
 *
 * Zones are in input order, one per line. Counts up to 2^53 − 1 are numbers. Larger counts are decimal strings, because
 * numbers would lose digits, and so are values of i64 and u64. Of a surface, `source` has a list `rasters` in place of `raster`. `stats` has the statistics
 * that the job named, else `min`, `max`, `mean` and `sum`; those of values are null if no cell of the zone has data. It is
 * null if the histogram has no statistics. By fractions, each zone has `count`, and all counts but `cells` are areas. Infinite values are the strings "Infinity" and "-Infinity". The text is
 * generated in chunks.
 *
 * @example
 * const triangle = '{ "type": "Polygon", "coordinates": [[[8.6, 46.3], [8.7, 46.3], [8.7, 46.4]]] }';
 * const { zones } = parseZones(triangle);
 * const raster = await openGeoTiff('examples/relief.tif');
 * const binning = { kind: 'even', low: 0, high: 3000, width: 1500 } as const;
 * const histogram = await zonalHistogram(ctx, { zones, raster, binning });
 * await raster.close();
 * const run = { zones: 'triangle', raster: 'relief.tif', backend: 'reference', notes: [] };
 * JSON.parse([...zonalJson(histogram, run)].join('')).zones[0].bins[0]; // { lower: 0, upper: 1500, count: 2132 }
 */
export function zonalJson(histogram: AnyHistogram, run: ZonalRun): Generator<string, void, undefined> {
  requireArguments('zonalJson', { histogram, run }, { histogram: aHistogram, run: aRun });
  return inChunks(pieces(histogram, run));
}

const aRun: Kind = aRecord<ZonalRun>({
  zones: aText,
  raster: where('a path, or at least one path', isOnePathOrMore),
  backend: aText,
  notes: someNotes,
  attributes: optional(someAttributes),
});

function isOnePathOrMore(given: unknown): boolean {
  if (!Array.isArray(given)) return typeof given === 'string';
  return given.length > 0 && given.every((path) => typeof path === 'string');
}

/** What the zones of a raster have in common. */
export interface RasterFacts {
  /** Path of the raster. Undefined if it is the same for all, or several are one surface. */
  readonly raster?: string | undefined;
  /** Number of the band, if there are several. */
  readonly band?: number | undefined;
  readonly sample: Sample;
  readonly gridStep: readonly [x: number, y: number];
}

/** The raster and the band of some zones, each undefined if it is the same for all. */
export type RowsOf = Pick<RasterFacts, 'raster' | 'band'>;

/** The parts of a JSON object with the histograms of several rasters; see {@link zonalJsonByRaster}. */
export interface JsonByRaster {
  /** The zones of the next raster. */
  rows(histogram: AnyHistogram, of: RowsOf): Generator<string, void, undefined>;
  end(notes: readonly Note[]): Generator<string, void, undefined>;
}

/**
 * Writes the result of several rasters as one JSON object like that of {@link zonalJson}, with a field `raster` in every
 * zone, and with `sample` and `gridStep` in a list `rasters`. The notes come last, when all rasters have been counted.
 */
export function zonalJsonByRaster(run: {
  readonly zones: string;
  /** Paths of the rasters. */
  readonly paths: readonly string[];
  readonly rasters: readonly RasterFacts[];
  readonly backend: string;
  readonly binning: Binning;
  readonly attributes?: readonly ZoneAttribute[] | undefined;
}): JsonByRaster {
  const { zones, paths, rasters, backend, binning, attributes } = run;
  const source = paths.length === 1 ? { zones, raster: paths[0] } : { zones, rasters: paths };
  const lead = leads(`${JSON.stringify({ source, backend, binning, rasters }).slice(0, -1)},"zones":[`);
  return {
    rows: (histogram, of) => inChunks(zonePieces(histogram, lead, attributes, membersOfRows(of))),
    end: (notes) => inChunks([lead.last(), `\n],"notes":${JSON.stringify(notes)}}\n`]),
  };
}

/** The parts of a JSON list with the statistics of one or more rasters; see {@link statisticsJson}. */
export interface JsonStatistics {
  /** The zones of the next raster or band, each with its name and number, if they are given. Tables have the same zones. */
  rows(tables: readonly Tabled[], of?: RowsOf): Generator<string, void, undefined>;
  end(): Generator<string, void, undefined>;
}

/**
 * Writes the statistics of all zones as a JSON list with an object for each zone, one per line. Its members are the columns
 * of `statisticsCsv`, with values as in {@link zonalJson}; `frac` is an object with the share of each value.
 */
export function statisticsJson(attributes: readonly ZoneAttribute[] = []): JsonStatistics {
  const lead = leads('[');
  return {
    rows: (tables, of = {}) => inChunks(statisticsPieces(tables, lead, attributes, of)),
    end: () => inChunks([`${lead.last()}\n]\n`]),
  };
}

/** Members of the object of each zone, each before a comma. */
function membersOfRows({ raster, band }: RowsOf): string {
  return `${raster === undefined ? '' : `"raster":${JSON.stringify(raster)},`}${band === undefined ? '' : `"band":${band},`}`;
}

/** The objects of all zones. */
function* statisticsPieces(
  tables: readonly Tabled[],
  lead: Leads,
  attributes: readonly ZoneAttribute[],
  of: RowsOf,
): Generator<string> {
  const { names } = tables[0]!;
  const first = membersOfRows(of);
  const members = tables.map((table) => membersOf(table, tabledStatistics(table)));
  const columnNames = members.flatMap((member) => member.names);
  const ofRows = (['raster', 'band'] as const).filter((name) => of[name] !== undefined);
  requireAttributes(attributes, [...ofRows, 'zone', ...columnNames], names.length);
  const attributesOf = jsonAttributes(attributes);
  for (const [zone, name] of names.entries()) {
    const own = members.map(({ of }) => of(zone)).join();
    yield `${lead.next()}\n{${first}"zone":${JSON.stringify(name)},${attributesOf(zone)}${own}}`;
  }
}

function* pieces(histogram: AnyHistogram, run: ZonalRun): Generator<string> {
  const { binning, sample, gridStep } = histogram;
  const { zones, raster, backend, notes, attributes } = run;
  const source = typeof raster === 'string' ? { zones, raster } : { zones, rasters: raster };
  const head = { source, backend, sample, binning, gridStep, notes };
  const lead = leads(`${JSON.stringify(head).slice(0, -1)},"zones":[`);
  yield* zonePieces(histogram, lead, attributes, '');
  yield `${lead.last()}\n]}\n`;
}

/** What comes before each zone of a list: the beginning of the list before the first, a comma before the others. */
interface Leads {
  next(): string;
  /** The beginning of a list without zones, else nothing. */
  last(): string;
}

function leads(beginning: string): Leads {
  let lead = beginning;
  return {
    next() {
      const before = lead;
      lead = ',';
      return before;
    },
    last: () => (lead === ',' ? '' : lead),
  };
}

/** The zones of a histogram, each with the text `fields` before its name. */
function* zonePieces(
  histogram: AnyHistogram,
  lead: Leads,
  attributes: readonly ZoneAttribute[] | undefined,
  fields: string,
): Generator<string> {
  const { names, bins } = histogram;
  requireAttributes(attributes ?? [], [], names.length);
  const own = jsonAttributes(attributes ?? []);
  const attributesOf = (zone: number): string =>
    attributes === undefined ? '' : `"attributes":{${own(zone).slice(0, -1)}},`;
  const integers = histogram.exact?.values;
  const { statistics } = histogram;
  const statisticsOf = statistics && membersOf(histogram, columnsByName(statistics));
  const counts = binCounts(histogram).bins;
  let bin = 0;
  for (const [zone, name] of names.entries()) {
    yield `${lead.next()}\n{${fields}"name":${JSON.stringify(name)},${attributesOf(zone)}"bins":[`;
    for (let first = true; bins.zone[bin] === zone; bin++, first = false) {
      const value = integers && integer(integers[bin]!);
      const edges = `"lower":${value ?? bins.lower[bin]},"upper":${value ?? bins.upper[bin]}`;
      yield `${first ? '' : ','}{${edges},"count":${textOf(counts, bin)}}`;
    }
    const stats = statisticsOf === undefined ? 'null' : `{${statisticsOf.of(zone)}}`;
    yield `],${totals(histogram, zone)},"stats":${stats}}`;
  }
}

function totals(histogram: AnyHistogram, zone: number): string {
  const { below, above } = binCounts(histogram);
  return countsOf([...cellColumns(histogram), ['below', below], ['above', above]], zone);
}

function countsOf(columns: readonly (readonly [name: string, column: StatisticColumn])[], zone: number): string {
  return columns.map(([name, column]) => `"${name}":${textOf(column, zone)}`).join();
}

/** The names of some statistics in a table, and those of a zone as members of a JSON object. */
function membersOf(
  table: Tabled,
  columns: readonly (readonly [name: string, column: StatisticColumn])[],
): { readonly names: readonly string[]; of(zone: number): string } {
  const names = columns.map(([name]) => `${table.prefix ?? ''}${name}`);
  const written = columns.map(([name, column], at) => {
    const key = JSON.stringify(names[at]);
    if (isOfValues(column)) return (zone: number) => `${key}:${textOf(column, zone)}`;
    const own = statisticOf(table, name, column);
    return (zone: number) => `${key}:${numberText(own(zone))}`;
  });
  return { names, of: (zone) => written.map((write) => write(zone)).join() };
}

/** The statistic of a zone: a number, or an object with a number for each value. */
function textOf(column: StatisticColumn, zone: number): string {
  if (isOfValues(column)) {
    const [from, to] = rowsByZone(column)(zone);
    const shares = Array.from(
      column.share.subarray(from, to),
      (share, i) => `"${valueOfRow(column, from + i)}":${number(share)}`,
    );
    return `{${shares.join()}}`;
  }
  return numberText(column[zone]!);
}

function numberText(value: number | bigint): string {
  return typeof value === 'bigint' ? integer(value) : JSON.stringify(number(value));
}

/** Formats a number. Infinite values become strings and NaN becomes null, because JSON has only finite numbers. */
function number(value: number): number | string | null {
  if (Number.isNaN(value)) return null;
  return Number.isFinite(value) ? value : String(value);
}

function integer(whole: bigint): string {
  const max = BigInt(Number.MAX_SAFE_INTEGER);
  return whole <= max && whole >= -max ? `${whole}` : `"${whole}"`;
}
