import { type HostMetric, recordOf } from '../algorithms/neighbours/metrics.ts';
import type { Note } from '../algorithms/notes.ts';
import { sameCrs } from '../formats/crs.ts';
import type { PointTable } from '../formats/polygons/point-layer.ts';
import type { PolygonLayerOptions } from '../formats/polygons/polygon-layer.ts';
import type { TableField } from '../formats/tables/table-file.ts';
import { UsageError } from '../formats/usage-error.ts';
import { OutOfMemoryError } from '../primitives/checks/errors.ts';
import type { BackendOptions } from './arguments.ts';
import { counted } from './grouped.ts';
import { crsMismatch } from './index-layers.ts';
import type { NeighboursOptions, PointsRequest } from './neighbours-arguments.ts';
import {
  type ColumnsOption,
  type CoordinateColumns,
  coordinateColumns,
  requireDegrees,
  requireIdColumn,
} from './neighbours-columns.ts';
import { type AnsweredBatch, batchSize, queryBatches, searchGraph } from './neighbours-graph.ts';
import type { NeighbourIndex, NeighbourJob } from './neighbours-index.ts';
import { type NeighbourFigures, neighbourSink } from './neighbours-outputs.ts';
import { collectPoints, requireRoom } from './neighbours-points.ts';
import { type LeftOut, type PlacedRows, pointRows } from './neighbours-rows.ts';
import type { NeighboursRun } from './neighbours-summary.ts';
import { noteTaker } from './note-taker.ts';
import {
  causeOf,
  inScope,
  type OutputWriter,
  openContext,
  type RunContext,
  type Surroundings,
  watchRun,
  whileWanted,
} from './run-support.ts';
import type { CsvReading } from './table-files.ts';

/** The functions of other layers that the command uses. Tests pass replacements. */
export interface NeighboursParts<C extends RunContext> {
  openPoints(path: string, reading: PointReading, signal: AbortSignal): Promise<PointTable>;
  /** Opens a context whose columns take at most `memoryBytes`. */
  openContext(options: BackendOptions, memoryBytes: number): Promise<C>;
  neighbourIndex(context: C, job: NeighbourJob): Promise<NeighbourIndex>;
}

/** How to read a file of points. */
export interface PointReading
  extends CsvReading,
    Pick<PolygonLayerOptions, 'id' | 'layer' | 'onBadRecord' | 'memoryBytes'> {
  /** Whether the columns of the coordinates are named, so that the file is a table. */
  readonly hasColumns: boolean;
}

/** The result of a search that was completed or interrupted. */
export interface Searched {
  readonly run: NeighboursRun;
  readonly figures: NeighbourFigures;
}

/**
 * Searches, and writes the results batch by batch. If the run is interrupted after the first results have been written,
 * the written results are kept.
 *
 * @throws Errors of the functions in `parts`; if {@link Surroundings.signal} is aborted before the first results have
 * been written, its abort reason.
 */
export async function searchNeighbours<C extends RunContext>(
  options: NeighboursOptions,
  parts: NeighboursParts<C>,
  { log, signal }: Surroundings,
  writer: OutputWriter,
): Promise<Searched> {
  const notes = noteTaker(log);
  const { asked, metric } = options;
  await using table = await openPoints(options, options.points, '--columns', parts, signal);
  await using asking = await openQueries(options, table, parts, signal);
  const points = await readPoints(options, table);
  const { count, coordinates } = points;
  const share = deviceShare(options.memoryBytes);
  await using opened = inScope(await openContext(options, (backend) => parts.openContext(backend, share)), signal);
  const context = opened.value;
  signal.throwIfAborted();
  const index = await parts.neighbourIndex(context, { asked, metric, points: coordinates }).catch((error: unknown) => {
    throw explained(error, options);
  });
  const sink = await neighbourSink(sinkOptions(options, table, asking, points, writer));
  const size = batchSize(index.maxQueries, asked.kind === 'nearest');
  const batches =
    asking === undefined
      ? queryBatches([points], size, options.withSelf ? undefined : 0)
      : queryBatches(asking.rows(), size);
  const total = asking === undefined ? count : asking.table.rows;
  /**
   * The last write that was started. After an interruption, the run waits for this write, so that no batch is written
   * only in part.
   */
  let writing: Promise<void> = Promise.resolve();
  const running = searchGraph({
    index,
    batches: () => whileWanted(batches, () => writer.isRead() || options.out !== '-' || options.plot !== undefined),
    total,
    isOnGpu: context.backend.name.startsWith('webgpu'),
    write(answered: AnsweredBatch): Promise<void> {
      size.learn(answered);
      writing = sink.add(answered);
      return writing;
    },
    signal,
    progressEvery: log.progressEvery,
  });
  await watchRun(running, log, 'queries').catch(async (error: unknown) => {
    await writing.catch(() => undefined);
    if (!signal.aborted || sink.figures().queries === 0) throw explained(error, options);
  });
  const figures = sink.figures();
  await sink.end();
  notes.take([...table.table.notes, ...(asking?.table.notes ?? [])]);
  notes.take(placeNotes(table, asking));
  notes.take(valueNotes(points, metric, table.columns));
  const answered = total !== undefined && figures.queries + (asking?.leftOut.count ?? 0) === total;
  const run: NeighboursRun = {
    points: options.points.path,
    queries: options.queries?.path,
    ...{ asked, metric, columns: table.columns.names, count },
    total: total === undefined ? undefined : total - (asking?.leftOut.count ?? 0),
    leftOut: { points: table.leftOut.count, queries: asking?.leftOut.count ?? 0 },
    way: index.way,
    backend: context.backend.name,
    partial: signal.aborted && !answered,
    notes: notes.all,
  };
  return { run, figures };
}

/**
 * Returns the number of bytes for the device: half of `memoryBytes`, but at least {@link MIN_ON_DEVICE}. The other half
 * is for points and results on the host.
 */
function deviceShare(memoryBytes: number): number {
  return Math.max(MIN_ON_DEVICE, Math.floor(memoryBytes / 2));
}

/** Minimum bytes for the device, even if `--memory` is smaller. */
const MIN_ON_DEVICE = 2 ** 26;

/** A table of points that has been opened. */
interface OpenPoints extends AsyncDisposable {
  readonly table: PointTable;
  readonly columns: CoordinateColumns;
  /** The column with the names of points; undefined if there is none. */
  readonly idField: TableField | undefined;
  readonly leftOut: LeftOut;
  rows(): AsyncIterable<PlacedRows>;
}

async function openPoints<C extends RunContext>(
  { onBadRecord, csv, metric, memoryBytes }: NeighboursOptions,
  { path, columns: given, id, layer }: PointsRequest,
  option: ColumnsOption['option'],
  parts: NeighboursParts<C>,
  signal: AbortSignal,
  like?: string,
): Promise<OpenPoints> {
  const reading = { ...csv, id, layer, onBadRecord, memoryBytes, hasColumns: given !== undefined };
  const table = await parts.openPoints(path, reading, signal);
  try {
    const columns = coordinateColumns(table, {
      option,
      given: given ?? (table.layer === undefined ? like : undefined),
    });
    const areDegrees = recordOf(metric).takesDegrees === true;
    if (areDegrees) requireDegrees(columns.names, option);
    if (id !== undefined) requireIdColumn(table, option === '--columns' ? '--id' : '--query-id', id);
    const leftOut = { count: 0, first: '' };
    return {
      ...{ table, columns, leftOut },
      idField: table.fields.find(({ name }) => name === id),
      rows: () => pointRows(table, { columns: columns.names, id, areDegrees, onBadRecord, signal }, leftOut),
      [Symbol.asyncDispose]: () => table.close(),
    };
  } catch (error) {
    await table.close();
    throw error;
  }
}

/**
 * Opens the table of queries. Its coordinate columns have the same names as the coordinate columns of the points,
 * unless an option names other columns.
 */
async function openQueries<C extends RunContext>(
  options: NeighboursOptions,
  points: OpenPoints,
  parts: NeighboursParts<C>,
  signal: AbortSignal,
): Promise<OpenPoints | undefined> {
  const { queries } = options;
  if (queries === undefined) return undefined;
  const { names } = points.columns;
  const like =
    points.table.layer === undefined ? names.map((name) => `"${name.replaceAll('"', '""')}"`).join(',') : undefined;
  const asking = await openPoints(options, queries, '--query-columns', parts, signal, like);
  const [own, other] = [points, asking].map(({ table }) => table.layer?.crs);
  if (own !== undefined && other !== undefined && !sameCrs(own, other)) {
    await asking[Symbol.asyncDispose]();
    throw crsMismatch({ name: points.table.file, crs: own }, { name: asking.table.file, crs: other });
  }
  if (asking.columns.names.length === names.length) return asking;
  await asking[Symbol.asyncDispose]();
  throw new UsageError('usage/dimensions', 'Points and queries have different numbers of coordinates.', {
    expected: `${counted(names.length, 'column')}, like ${names.join(', ')}`,
    got: asking.columns.names.join(', '),
    remedy: 'Name as many columns with --query-columns as with --columns.',
  });
}

async function readPoints({ memoryBytes }: NeighboursOptions, points: OpenPoints): Promise<PlacedRows> {
  const { table, columns } = points;
  const room = { file: table.file, bytes: memoryBytes / 2 };
  const dimensions = columns.names.length;
  if (table.rows !== undefined) requireRoom(table.rows, dimensions, room);
  return collectPoints(points.rows(), dimensions, room);
}

function sinkOptions(
  { asked, format, quoteFormulas, out }: NeighboursOptions,
  table: OpenPoints,
  asking: OpenPoints | undefined,
  { rows, names }: PlacedRows,
  writer: OutputWriter,
): Parameters<typeof neighbourSink>[0] {
  return {
    isRanked: asked.kind === 'nearest',
    format,
    quoteFormulas,
    pointRows: rows,
    pointNames: names,
    pointField: table.idField,
    queryField: (asking ?? table).idField,
    out,
    write: writer.write,
  };
}

/** Notes on rows of points and queries that were skipped. */
function placeNotes(points: OpenPoints, asking: OpenPoints | undefined): Note[] {
  return [points, ...(asking === undefined ? [] : [asking])].flatMap(({ table, leftOut: { count, first } }) => {
    if (count === 0) return [];
    const rows = count === 1 ? '1 row' : `${counted(count, 'row')}`;
    const message = `${rows} of ${table.file} without finite coordinates ${count === 1 ? 'was' : 'were'} skipped. ${first}`;
    return [{ code: 'neighbours/no-place', message, count }];
  });
}

/** Notes on what the distances are. */
function valueNotes({ count }: PlacedRows, metric: HostMetric, { names, areDegrees }: CoordinateColumns): Note[] {
  const degrees =
    `${names.join(' and ')} are treated as coordinates of a plane: distances are in degrees, not lengths on the ` +
    'ground. Use --metric sphere for metres.';
  return [
    ...(count === 0
      ? [{ code: 'neighbours/no-points', message: 'There are no points, so there are no neighbours.' }]
      : []),
    ...(areDegrees && !recordOf(metric).takesDegrees ? [{ code: 'neighbours/degrees', message: degrees }] : []),
  ];
}

/**
 * Converts an error about memory to an error that names the options of the command line. Other errors stay unchanged.
 */
function explained(given: unknown, { memoryBytes }: NeighboursOptions): unknown {
  const error = causeOf(given);
  if (!(error instanceof OutOfMemoryError) || error.code === 'memory/limit') return error;
  return new OutOfMemoryError('memory/limit', 'The search needs more memory than it may take.', {
    expected: `at most ${memoryBytes} bytes`,
    got: 'more',
    remedy: 'Raise --memory if the machine has more, or ask for fewer neighbours.',
    cause: error,
  });
}
