import { type NoteTally, noteTally } from '../algorithms/notes.ts';
import { sameCrs } from '../formats/crs.ts';
import type { CsvFile, CsvRows, CsvRowsOptions } from '../formats/csv-rows.ts';
import type { MaqFile } from '../formats/maq-file.ts';
import type { PolygonBatches, PolygonLayer, PolygonLayerOptions } from '../formats/polygon-layers/polygon-layer.ts';
import type { Answers, AskedPoints, AskedWindows, QueryBatch } from './index-ask.ts';
import { crsMismatch } from './index-layers.ts';
import { BEYOND_SENTENCES } from './index-place.ts';
import type { QueryOptions } from './index-query-arguments.ts';
import type { Log } from './log.ts';

/** Queries in a file, read as they are needed. */
export interface QuerySource {
  readonly totalBytes: number;
  batches(signal: AbortSignal): AsyncIterable<QueryBatch>;
  /** Hears of answers, so that the next batches are as large as is good. */
  learn(answers: Answers): void;
  /** Counts what is left out. */
  readonly tally: NoteTally;
  /** Says what was noticed, once all are read. */
  tellNotes(log: Log): void;
}

/** The parts that read. */
export interface QueryReaders {
  openLayer(file: string, options: PolygonLayerOptions): Promise<PolygonLayer>;
  openRows(file: string, options: CsvRowsOptions): Promise<CsvFile>;
}

/** Opens the queries that a command line names. */
export async function openQueries(options: QueryOptions, file: MaqFile, readers: QueryReaders): Promise<QuerySource> {
  if (options.kind === 'polygons') return polygonQueries(options, file, readers);
  return rowQueries(options, options.kind, file, readers);
}

const POINT_COLUMNS = [
  ['x', 'lon', 'longitude', 'long', 'lng', 'easting'],
  ['y', 'lat', 'latitude', 'northing'],
];
const WINDOW_COLUMNS = [
  ['left', 'minx', 'xmin', 'west'],
  ['bottom', 'miny', 'ymin', 'south'],
  ['right', 'maxx', 'xmax', 'east'],
  ['top', 'maxy', 'ymax', 'north'],
];

/** Rows of a batch: few at first, and then as many as make about so many answers. */
const FIRST_ROWS = 2 ** 12;
const ANSWERS = 2 ** 21;
const LEAST_ROWS = 2 ** 8;
/** Every batch looks at all nodes of the tree once: points are asked of large trees in large batches. */
const NODES_A_POINT = 16;
const MOST_POINTS = [2 ** 17, 2 ** 20] as const;
/** A window meets many quadrants for every polygon. */
const MOST_WINDOWS = 2 ** 12;
const GROWTH = 8;

function mostRows(kind: 'points' | 'windows', { nodes }: MaqFile['tree']): number {
  if (kind === 'windows') return MOST_WINDOWS;
  return Math.min(MOST_POINTS[1], Math.max(MOST_POINTS[0], Math.floor(nodes.level.length / NODES_A_POINT)));
}

async function rowQueries(
  { queries, reading, tree }: QueryOptions,
  kind: 'points' | 'windows',
  { domain, tree: built }: MaqFile,
  readers: QueryReaders,
): Promise<QuerySource> {
  const most = mostRows(kind, built);
  let size: number = FIRST_ROWS;
  let [bad, firstBad, beyond] = [0, '', 0];
  const rows = await readers.openRows(queries, {
    numbers: kind === 'points' ? POINT_COLUMNS : WINDOW_COLUMNS,
    id: reading.id,
    faultOf: kind === 'points' ? undefined : windowFault,
    batchRows: () => size,
    onBadRow:
      reading.onBadRecord !== 'skip'
        ? undefined
        : ({ message }) => {
            if (bad++ === 0) firstBad = message;
          },
  });
  return {
    totalBytes: rows.size,
    tally: noteTally(),
    async *batches(signal) {
      let before = 0;
      for await (const batch of rows.batches(signal)) {
        const { first, count, names, bytesRead } = batch;
        if (kind === 'points') beyond += countBeyond(batch, domain);
        yield { first, count, names, bytes: bytesRead - before, asked: askedOf(kind, batch) };
        before = bytesRead;
      }
    },
    learn({ batch, query }) {
      const fitting = Math.floor((ANSWERS * batch.count) / Math.max(1, query.length));
      size = Math.max(LEAST_ROWS, Math.min(most, GROWTH * size, fitting));
    },
    tellNotes(log) {
      if (bad > 0) {
        const rows = bad === 1 ? '1 row was left out' : `${bad} rows were left out`;
        log.note({ code: 'csv/bad-rows', message: `${rows}. ${firstBad}`, count: bad });
      }
      if (beyond > 0) {
        const points = beyond === 1 ? '1 point is' : `${beyond} points are`;
        const message = `${points} beyond the domain of ${tree}, and in no polygon.`;
        log.note({ code: 'index/points-beyond-domain', message, count: beyond });
      }
    },
  };
}

function windowFault([left, bottom, right, top]: readonly number[]): string | undefined {
  if (left! > right!) return `left ${left} is above right ${right}`;
  return bottom! > top! ? `bottom ${bottom} is above top ${top}` : undefined;
}

function askedOf(kind: 'points' | 'windows', { numbers }: CsvRows): AskedPoints | AskedWindows {
  const [a, b, c, d] = numbers as [Float64Array, Float64Array, Float64Array, Float64Array];
  return kind === 'points' ? { kind, x: a, y: b } : { kind, left: a, bottom: b, right: c, top: d };
}

function countBeyond({ numbers: [x, y], count }: CsvRows, { left, bottom, size }: MaqFile['domain']): number {
  let beyond = 0;
  for (let row = 0; row < count; row++) {
    const [atX, atY] = [x![row]! - left, y![row]! - bottom];
    if (!(atX >= 0 && atX < size && atY >= 0 && atY < size)) beyond++;
  }
  return beyond;
}

async function polygonQueries(
  { queries, reading, tree }: QueryOptions,
  file: MaqFile,
  readers: QueryReaders,
): Promise<QuerySource> {
  const layer = await readers.openLayer(queries, reading);
  const crs = file.sets.find((set) => set.crs !== undefined)?.crs;
  const tally = noteTally();
  let batches: PolygonBatches | undefined;
  const requireSameCrs = (own: string | undefined): void => {
    if (own === undefined || crs === undefined || sameCrs(own, crs)) return;
    throw crsMismatch({ name: tree, crs }, { name: queries, crs: own });
  };
  requireSameCrs(layer.crs);
  return {
    totalBytes: layer.size,
    tally,
    async *batches(signal) {
      batches = layer.batches(signal);
      let [first, before] = [0, 0];
      for await (const { zones, bytesRead } of batches) {
        requireSameCrs(batches.crs);
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
        const message = `The coordinate system of ${queries} is not known; taken to be that of ${tree}, ${crs}.`;
        log.note({ code: 'index/crs-assumed', message });
      }
      for (const note of tally.notes(BEYOND_SENTENCES)) log.note(note);
    },
  };
}
