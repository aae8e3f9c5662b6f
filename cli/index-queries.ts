import { type NoteTally, noteTally } from '../algorithms/notes.ts';
import { turnedInto } from '../algorithms/quadrants/come-round.ts';
import { DOMAIN_STEPS, type Domain, stepOf } from '../algorithms/quadrants/domain.ts';
import { shortName } from '../algorithms/quoted-names.ts';
import { isGeographicCrs, sameCrs } from '../formats/crs.ts';
import type { CoordinateNames } from '../formats/polygons/point-layer.ts';
import type { PolygonBatches, PolygonLayer, PolygonLayerOptions } from '../formats/polygons/polygon-layer.ts';
import type { MaqFile } from '../formats/results/maq-file.ts';
import type { CsvRows, CsvRowsOptions } from '../formats/text/csv-rows.ts';
import type { Answers, AskedPoints, AskedWindows, QueryBatch } from './index-ask.ts';
import { halvesOf } from './index-halves.ts';
import { canAssume, crsBehind, crsMismatch, settleCrs } from './index-layers.ts';
import { placeNotes } from './index-place.ts';
import type { QueryOptions } from './index-query-arguments.ts';
import type { RowsFile } from './index-rows.ts';
import type { Log } from './log.ts';

/** A file of queries, which are read in batches. */
export interface QuerySource {
  readonly totalBytes: number;
  batches(signal: AbortSignal): AsyncIterable<QueryBatch>;
  /** Called with the answers to a batch. The number of answers determines the size of the next batches. */
  learn(answers: Answers): void;
  /** Counts query polygons that are skipped or have overlapping parts. `tellNotes` logs the counts. */
  readonly tally: NoteTally;
  /** Logs notes on the queries, after all of them have been read. */
  tellNotes(log: Log): void;
}

/** The functions that open files of queries. Tests pass replacements. */
export interface QueryReaders {
  openLayer(file: string, options: PolygonLayerOptions): Promise<PolygonLayer>;
  /** Opens rows of numbers. With `reading`, they may be the points of a layer. */
  openRows(
    file: string,
    options: CsvRowsOptions,
    reading: PolygonLayerOptions | undefined,
    signal: AbortSignal,
  ): Promise<RowsFile>;
}

/** Opens the file of queries that the command line names. */
export async function openQueries(
  options: QueryOptions,
  file: MaqFile,
  readers: QueryReaders,
  signal: AbortSignal,
): Promise<QuerySource> {
  if (options.kind === 'polygons') return polygonQueries(options, file, readers, signal);
  return rowQueries(options, options.kind, file, readers, signal);
}

export const POINT_COLUMNS: CoordinateNames = [
  ['x', 'lon', 'longitude', 'long', 'lng', 'easting'],
  ['y', 'lat', 'latitude', 'northing'],
];
const WINDOW_COLUMNS = [
  ['left', 'minx', 'xmin', 'west'],
  ['bottom', 'miny', 'ymin', 'south'],
  ['right', 'maxx', 'xmax', 'east'],
  ['top', 'maxy', 'ymax', 'north'],
];

/**
 * Number of queries in the first batch. The number of answers to this batch shows how many queries give about `ANSWERS`
 * answers, and so determines the size of the next batches.
 */
const FIRST_ROWS = 2 ** 12;
const ANSWERS = 2 ** 21;
const MIN_ROWS = 2 ** 8;
/**
 * The maximum number of points in a batch is the number of nodes of the tree divided by this number, within the limits
 * `MAX_POINTS`. Every batch visits all nodes once, so batches should be larger for larger trees.
 */
const NODES_A_POINT = 16;
const MAX_POINTS = [2 ** 17, 2 ** 20] as const;
/** Maximum number of windows in a batch. It is low, because a window can intersect many quadrants of each polygon. */
const MAX_WINDOWS = 2 ** 12;
const GROWTH = 8;

function maxRows(kind: 'points' | 'windows', { nodes }: MaqFile['tree']): number {
  if (kind === 'windows') return MAX_WINDOWS;
  return Math.min(MAX_POINTS[1], Math.max(MAX_POINTS[0], Math.floor(nodes.level.length / NODES_A_POINT)));
}

async function rowQueries(
  { queries, reading, tree, csv, columns, memoryBytes }: QueryOptions,
  kind: 'points' | 'windows',
  file: MaqFile,
  readers: QueryReaders,
  opening: AbortSignal,
): Promise<QuerySource> {
  const { domain, tree: built, sets } = file;
  const max = maxRows(kind, built);
  let size: number = FIRST_ROWS;
  let [beyond, flat, atEnds] = [0, 0, 0];
  const isGeographic = sets.some(({ crs }) => isGeographicCrs(crs));
  const comesRound = reading.antimeridian === 'unwrap' && isGeographic;
  const faultOf = kind === 'points' ? undefined : comesRound ? heightFault : windowFault;
  const skipping = reading.onBadRecord === 'skip' ? skippedRows(faultOf) : undefined;
  const rows = await readers.openRows(
    queries,
    {
      numbers: columns?.map((name) => [name]) ?? (kind === 'points' ? POINT_COLUMNS : WINDOW_COLUMNS),
      areNamed: columns !== undefined,
      id: reading.id,
      ...csv,
      batchRows: () => size,
      faultOf: skipping?.faultOf ?? faultOf,
      onBadRow: skipping?.onBadRow,
    },
    kind === 'points' ? { ...reading, memoryBytes } : undefined,
    opening,
  );
  if (rows.layer !== undefined) await commonSystem({ queries, reading, tree }, file, rows.layer, opening);
  return {
    totalBytes: rows.size,
    tally: noteTally(),
    async *batches(signal) {
      let before = 0;
      for await (const batch of rows.batches(signal)) {
        const { first, count, names, bytesRead } = batch;
        const asked = askedOf(kind, batch, comesRound ? domain : undefined);
        if (asked.kind === 'points') {
          const isNoted = (x: number, y: number): boolean => isGeographic && isAtEnd(x, y);
          beyond += countPoints(asked, (x, y) => !isNoted(x, y) && isPointBeyond(x, y, domain));
          atEnds += countPoints(asked, isNoted);
        } else {
          beyond += countWindows(asked, count, (row) => isWindowBeyond(asked, row, domain));
          flat += countWindows(asked, count, (row) => isWindowFlat(asked, row, domain));
        }
        const numbers = skipping?.take(count);
        yield { first, count, names, numbers, bytes: bytesRead - before, asked };
        before = bytesRead;
      }
    },
    learn({ batch, query }) {
      const fitting = Math.floor((ANSWERS * batch.count) / Math.max(1, query.length));
      size = Math.max(MIN_ROWS, Math.min(max, GROWTH * size, fitting));
    },
    tellNotes(log) {
      for (const note of rows.notes ?? []) log.note(note);
      skipping?.tellNotes(log);
      if (beyond > 0) {
        const [thing, why] = kind === 'points' ? ['point', 'in no polygon'] : ['window', 'without area in any polygon'];
        const things = beyond === 1 ? `1 ${thing} is` : `${beyond} ${thing}s are`;
        const message = `${things} outside the domain of ${tree}, and so ${why}.`;
        log.note({ code: `index/${kind}-beyond-domain`, message, count: beyond });
      }
      if (atEnds > 0) {
        const points = atEnds === 1 ? '1 point is' : `${atEnds} points are`;
        const message = `${points} at longitude 180 or latitude 90: polygons that end there do not hold them.`;
        log.note({ code: 'index/points-at-ends', message, count: atEnds });
      }
      if (flat > 0) {
        const windows = flat === 1 ? '1 window has no area and shares' : `${flat} windows have no area and share`;
        log.note({ code: 'index/flat-windows', message: `${windows} no area with any polygon.`, count: flat });
      }
    },
  };
}

type FaultOf = CsvRowsOptions['faultOf'];

/**
 * Creates the callbacks `faultOf` and `onBadRow` for a CSV reader that skips invalid rows. The callbacks record the row
 * numbers of the valid rows.
 */
function skippedRows(faultOf: FaultOf) {
  const kept: number[] = [];
  let [row, bad, firstBad] = [0, 0, ''];
  return {
    // The reader calls this function for every row whose numbers are finite. If the function returns a fault, or if a
    // number is missing or not finite, the reader calls `onBadRow`.
    faultOf(numbers: readonly number[]): string | undefined {
      const fault = faultOf?.(numbers);
      if (fault === undefined) kept.push(row++);
      return fault;
    },
    onBadRow({ message }: Error): void {
      row++;
      if (bad++ === 0) firstBad = message;
    },
    /** Removes and returns the row numbers of the next `count` valid rows. */
    take: (count: number): Float64Array => Float64Array.from(kept.splice(0, count)),
    tellNotes(log: Log): void {
      if (bad === 0) return;
      const rows = bad === 1 ? '1 row was skipped' : `${bad} rows were skipped`;
      log.note({ code: 'csv/bad-rows', message: `${rows}. ${firstBad}`, count: bad });
    },
  };
}

function windowFault([left, bottom, right, top]: readonly number[]): string | undefined {
  if (left! > right!) return `left ${left} is above right ${right}`;
  return heightFault([left!, bottom!, right!, top!]);
}

function heightFault([, bottom, , top]: readonly number[]): string | undefined {
  return bottom! > top! ? `bottom ${bottom} is above top ${top}` : undefined;
}

/** Converts rows to queries. If a domain is given, longitudes are moved into the domain by full turns. */
function askedOf(
  kind: 'points' | 'windows',
  { numbers }: CsvRows,
  domain: Domain | undefined,
): AskedPoints | AskedWindows {
  const [a, b, c, d] = numbers as [Float64Array, Float64Array, Float64Array, Float64Array];
  if (kind === 'points') return { kind, x: domain === undefined ? a : a.map((x) => turnedInto(x, domain)), y: b };
  if (domain !== undefined) return { kind, ...halvesOf(numbers, domain) };
  return { kind, left: a, bottom: b, right: c, top: d, windowOf: undefined };
}

function countPoints({ x, y }: AskedPoints, isSo: (x: number, y: number) => boolean): number {
  let count = 0;
  for (let row = 0; row < x.length; row++) if (isSo(x[row]!, y[row]!)) count++;
  return count;
}

function isPointBeyond(x: number, y: number, domain: Domain): boolean {
  const isIn = (step: number): boolean => step >= 0 && step < DOMAIN_STEPS;
  return !isIn(stepOf(x, domain.left, domain.size)) || !isIn(stepOf(y, domain.bottom, domain.size));
}

/** Whether a point is on the right or top end of the map of the earth, which polygons, being half-open, do not hold. */
function isAtEnd(longitude: number, latitude: number): boolean {
  return longitude === 180 || latitude === 90;
}

/** Counts the windows whose rows all satisfy `isSo`. A window divided at the end of the domain has two rows. */
function countWindows({ left, windowOf }: AskedWindows, count: number, isSo: (row: number) => boolean): number {
  const others = new Uint8Array(count);
  for (let row = 0; row < left.length; row++) if (!isSo(row)) others[windowOf?.[row] ?? row] = 1;
  return others.reduce((sum, other) => sum + 1 - other, 0);
}

function isWindowBeyond({ left, bottom, right, top }: AskedWindows, row: number, domain: Domain): boolean {
  const isOut = (low: number, high: number, from: number): boolean =>
    stepOf(high, from, domain.size) <= 0 || stepOf(low, from, domain.size) >= DOMAIN_STEPS;
  return isOut(left[row]!, right[row]!, domain.left) || isOut(bottom[row]!, top[row]!, domain.bottom);
}

/** Whether opposite sides of a window are on the same step of the grid. Such a window has no area. */
function isWindowFlat({ left, bottom, right, top }: AskedWindows, row: number, domain: Domain): boolean {
  const isFlat = (low: number, high: number, from: number): boolean =>
    stepOf(low, from, domain.size) === stepOf(high, from, domain.size);
  return isFlat(left[row]!, right[row]!, domain.left) || isFlat(bottom[row]!, top[row]!, domain.bottom);
}

/** The system of a tree. Throws if that of a layer of queries is another one. */
async function commonSystem(
  { queries, reading, tree }: Pick<QueryOptions, 'queries' | 'reading' | 'tree'>,
  { sets }: MaqFile,
  layer: PolygonLayer,
  opening: AbortSignal,
) {
  const crs = sets.find((set) => set.crs !== undefined)?.crs;
  const requireSameCrs = (own: string | undefined): void => {
    if (own === undefined || crs === undefined || sameCrs(own, crs)) return;
    // `--assume-crs` can name only coordinate systems with a code. If the tree's system has no code, the system that
    // the user assumes for the queries is accepted as the tree's system.
    if (reading.crs !== undefined && !canAssume(crs)) return;
    throw crsMismatch({ name: tree, crs }, { name: queries, crs: own });
  };
  const set = { layer, crs: layer.crs };
  await settleCrs([set], opening, crs);
  requireSameCrs(set.crs);
  return { crs, requireSameCrs };
}

async function polygonQueries(
  { queries, reading, fill, tree, memoryBytes }: QueryOptions,
  file: MaqFile,
  readers: QueryReaders,
  opening: AbortSignal,
): Promise<QuerySource> {
  const layer = await readers.openLayer(queries, { ...reading, memoryBytes });
  const { crs, requireSameCrs } = await commonSystem({ queries, reading, tree }, file, layer, opening);
  const tally = noteTally();
  let batches: PolygonBatches | undefined;
  return {
    totalBytes: layer.size,
    tally,
    async *batches(signal) {
      batches = layer.batches(signal);
      let [first, before] = [0, 0];
      let readThrough = false;
      for await (const { zones, bytesRead } of batches) {
        requireSameCrs(batches.crs);
        // The coordinates are not the longitudes and latitudes that they were taken for. The file may state a system
        // behind its polygons, which explains more than that these are outside of the domain.
        if (!readThrough && layer.assumesCrs && batches.crs === undefined) {
          readThrough = true;
          requireSameCrs(await crsBehind(layer, signal));
        }
        const { names } = zones;
        yield { first, count: names.length, names, bytes: bytesRead - before, asked: { kind: 'polygons', zones } };
        first += names.length;
        before = bytesRead;
      }
      requireSameCrs(batches.crs);
    },
    learn: () => undefined,
    tellNotes(log) {
      for (const note of batches!.notes()) log.note(note);
      if (batches!.crs === undefined && crs !== undefined) {
        const message = `The coordinate system of ${queries} is not known; assumed to be ${shortName(crs)}, like ${tree}.`;
        log.note({ code: 'index/crs-assumed', message });
      }
      for (const note of placeNotes({ tally, fill })) log.note(note);
    },
  };
}
