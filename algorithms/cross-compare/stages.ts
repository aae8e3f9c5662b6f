import { type GraphBuilder, type Migrator, migrator, type Port } from '../../graph/index.ts';
import { ArgumentError } from '../../primitives/checks/errors.ts';
import type { Context } from '../../primitives/context/context.ts';
import { aggregate, sizeOfSide, sizeOfTask, weightOfTask } from './aggregate.ts';
import { countMeetings } from './box-meetings.ts';
import { type BoxIndex, filterPairs, indexBoxes } from './filter.ts';
import type { CrossCompareJob } from './job.ts';
import type { MatchOptions } from './matching.ts';
import { ownSignals } from './own-signal.ts';
import { replaceable } from './stand-in.ts';
import type { LabelSide, PolygonSide, TileComparison, TileSide, TileTask } from './tile-comparison.ts';
import type { TilePair } from './tile-pairs.ts';
import { NO_LABELS, NO_POLYGONS } from './tile-side.ts';

/** What the stages of the graph need: options of the job, the context, and the matching options. */
export type Stages<T extends { readonly name: string }> = Pick<
  CrossCompareJob<T>,
  'parse' | 'onError' | 'parseLanes' | 'batchPairs' | 'migrate' | 'reopen'
> & {
  readonly context: Context;
  readonly matching: MatchOptions;
};

type ReadSide<T> = (tile: T, signal: AbortSignal) => Promise<TileSide>;

/** A tile after parsing. Its two sides are both polygons or both label images. */
type ParsedTile = { readonly tile: string } & (
  | { readonly p: PolygonSide; readonly q: PolygonSide }
  | { readonly p: LabelSide; readonly q: LabelSide }
);

/** A tile after the stage `build`. A tile of polygons has an index over side q; a tile of label images has none. */
interface BuiltTile {
  readonly parsed: ParsedTile;
  readonly index: BoxIndex | undefined;
}

/** Limits of the queue in front of a stage: number of tiles, and their bytes. */
const WAITING = { items: 4, bytes: 2 ** 25 };
const BATCH_PAIRS = 2 ** 15;
const BATCH_BYTES = 2 ** 25;

/**
 * The graph of the scheme `pipelined`: parser, builder, filter, batching and aggregator, each as a stage. Tiles keep
 * their order.
 */
export function pipelined<T extends { readonly name: string }>(
  g: GraphBuilder<Context>,
  tiles: Port<TilePair<T>>,
  stages: Stages<T>,
): Port<TileComparison[]> {
  const { batchPairs = BATCH_PAIRS } = stages;
  const balance = migrator();
  const parsed = parseStage(g, tiles, stages, balance);
  const built = g.stage('build', parsed, build, { capacity: WAITING, sizeOf: sizeOfParsed });
  const tasks = g.stage('filter', built, filter, { capacity: WAITING, sizeOf: ({ parsed }) => sizeOfParsed(parsed) });
  const batches = g.batch('batch', tasks, {
    items: batchPairs,
    weight: (task) => Math.max(1, weightOfTask(task)),
    bytes: BATCH_BYTES,
    sizeOf: sizeOfTask,
  });
  return aggregateStage(g, batches, stages, balance);
}

function parseStage<T extends { readonly name: string }>(
  g: GraphBuilder<Context>,
  tiles: Port<TilePair<T>>,
  { context, parse, migrate, onError = 'stop', parseLanes = DEFAULT_LANES }: Stages<T>,
  balance: Migrator,
): Port<ParsedTile> {
  const underOwn = ownSignals();
  const readBy =
    (read: ReadSide<T>) =>
    (pair: TilePair<T>, { signal }: { readonly signal: AbortSignal }) =>
      underOwn(signal, (own) => parsePair(pair, read, own));
  if (migrate?.parseOnGpu === undefined) {
    return g.stage('parse', tiles, readBy(parse), { lanes: parseLanes, ordered: true, onError });
  }
  // Skips the tile that failed. Nothing is reported here, because the graph's run reports it through `errors$`.
  const onFailed = (): void => {};
  const stage = balance.upstream('parse', {
    cpu: readBy(parse),
    gpu: readBy(migrate.parseOnGpu),
    gpuRunsOn: placeOf(context),
    cpuLanes: parseLanes,
    gpuLanes: GPU_TILES,
    ordered: true,
    onFailed: onError === 'skip' ? onFailed : undefined,
  });
  return g.pipe('parse', tiles, stage);
}

const DEFAULT_LANES = 2;
/** Number of tiles parsed on the GPU at the same time. The host prepares one tile while the GPU works on the other. */
const GPU_TILES = 2;

async function parsePair<T>({ tile, p, q }: TilePair<T>, read: ReadSide<T>, signal: AbortSignal): Promise<ParsedTile> {
  const side = (source: T | undefined) => (source === undefined ? undefined : read(source, signal));
  const [ofP, ofQ] = await Promise.all([side(p), side(q)]);
  const isLabels = (ofP ?? ofQ)?.labels !== undefined;
  const none = isLabels ? NO_LABELS : NO_POLYGONS;
  const parsed = { tile, p: ofP ?? none, q: ofQ ?? none };
  if ((parsed.p.labels === undefined) !== (parsed.q.labels === undefined)) throw mixedSides(tile);
  return parsed as ParsedTile;
}

function mixedSides(tile: string): ArgumentError {
  return new ArgumentError('compare/mixed-sides', `The sides of the tile ${JSON.stringify(tile)} are of two kinds.`, {
    expected: 'both sides as polygons, or both as label images',
    got: 'one of each',
    remedy: 'Trace the label image into polygons.',
  });
}

function build(parsed: ParsedTile): BuiltTile {
  return { parsed, index: parsed.q.regions === undefined ? undefined : indexBoxes(parsed.q.regions) };
}

function filter({ parsed, index }: BuiltTile): TileTask {
  const { tile } = parsed;
  if (isPolygons(parsed)) return { tile, p: parsed.p, q: parsed.q, candidates: filterPairs(parsed.p.regions, index!) };
  const { p, q } = parsed;
  return { tile, p, q, meetings: countMeetings(p.labels, q.labels) };
}

function isPolygons(parsed: ParsedTile): parsed is Extract<ParsedTile, { readonly p: PolygonSide }> {
  return parsed.p.regions !== undefined;
}

function sizeOfParsed({ p, q }: ParsedTile): number {
  return sizeOfSide(p) + sizeOfSide(q);
}

function aggregateStage<T extends { readonly name: string }>(
  g: GraphBuilder<Context>,
  batches: Port<TileTask[]>,
  { context, matching, migrate, reopen }: Stages<T>,
  balance: Migrator,
): Port<TileComparison[]> {
  const on = (place: Context, again: Stages<T>['reopen']) => {
    const onContext = replaceable(place, again);
    return (batch: TileTask[]) => onContext((ready) => aggregate(ready, batch, matching));
  };
  const runsOn = placeOf(context);
  if (migrate === undefined) {
    return g.stage('aggregate', batches, on(context, reopen), { capacity: BATCHES_WAITING, runsOn });
  }
  const stage = balance.downstream('aggregate', {
    gpu: on(context, undefined),
    cpu: on(migrate.cpu, reopen),
    gpuRunsOn: runsOn,
    cpuLanes: CPU_BATCHES,
    capacity: BATCHES_WAITING,
    sizeOf: pairsOf,
    ordered: true,
  });
  return g.pipe('aggregate', batches, stage);
}

function placeOf({ backend }: Context): 'cpu' | 'gpu' {
  return backend.name === 'webgpu' ? 'gpu' : 'cpu';
}

const BATCHES_WAITING = 4;
/**
 * Number of batches on the CPU at the same time. Batches leave the stage in order, so a batch that the CPU has finished
 * counts until the GPU has finished all earlier batches.
 */
const CPU_BATCHES = 2;

/** Cost of a batch: the sum of the costs of its tiles, in candidate pairs, plus one per tile. */
function pairsOf(batch: readonly TileTask[]): number {
  return batch.reduce((sum, task) => sum + weightOfTask(task) + 1, 0);
}

/**
 * The graph of the schemes without pipelining. One stage parses, builds, filters and aggregates each tile. Only one
 * tile at a time is aggregated.
 */
export function unpipelined<T extends { readonly name: string }>(
  g: GraphBuilder<Context>,
  tiles: Port<TilePair<T>>,
  { context, matching, parse, reopen, onError }: Stages<T>,
  lanes: number = DEFAULT_LANES,
): Port<TileComparison[]> {
  const inTurn = oneAtATime();
  const onContext = replaceable(context, reopen);
  const underOwn = ownSignals();
  const unread = new Set<unknown>();
  const read: ReadSide<T> = async (tile, signal) => {
    try {
      return await parse(tile, signal);
    } catch (cause) {
      unread.add(cause);
      throw cause;
    }
  };
  const compare = async (pair: TilePair<T>, { signal }: { readonly signal: AbortSignal }) => {
    const task = filter(build(await underOwn(signal, (own) => parsePair(pair, read, own))));
    return inTurn(() => onContext((ready) => aggregate(ready, [task], matching)));
  };
  // A tile is skipped only if the error occurred while the tile was read. Later errors come from the device.
  const orElse = (cause: unknown) => (onError === 'skip' && unread.has(cause) ? 'skip' : 'stop');
  return g.stage('compare', tiles, compare, { lanes, ordered: true, onError: { orElse } });
}

/** Returns a function that runs tasks one after another, in the order of the calls. */
function oneAtATime(): <R>(work: () => Promise<R>) => Promise<R> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return result;
  };
}
