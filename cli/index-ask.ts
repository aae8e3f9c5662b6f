import type { Observable } from 'rxjs';
import type { FillRule, Zones } from '../algorithms/geometry/polygons.ts';
import { type MaqTree, type MaqTreeWithEdges, uploadMaqTree } from '../algorithms/maq-tree/index.ts';
import type { NoteTally } from '../algorithms/notes.ts';
import { decompose, type QuadrantsWithEdges } from '../algorithms/quadrants/index.ts';
import {
  areasByRegion,
  areasByWindow,
  joinPolygons,
  placePoints,
  placeWindows,
  queryPoints,
  type SharedAreas,
} from '../algorithms/queries/index.ts';
import type { MaqFile } from '../formats/results/maq-file.ts';
import { graph, type ProgressReport } from '../graph/index.ts';
import type { Context } from '../primitives/context/context.ts';
import { addHalves } from './index-halves.ts';
import { placeZones } from './index-place.ts';
import { quadrantBytes } from './memory.ts';

/** A batch of consecutive queries from a file. */
export interface QueryBatch {
  /** Index, from 0, of the batch's first query among all queries that were not skipped. */
  readonly first: number;
  readonly count: number;
  /** Names of the queries; undefined if queries are named by their numbers. */
  readonly names: readonly string[] | undefined;
  /**
   * For each query, its row number in the file, from 0; skipped rows have numbers too. If undefined, queries are
   * numbered consecutively from `first`.
   */
  readonly numbers?: Float64Array | undefined;
  /** Number of bytes of the file that this batch takes up, to compute the progress. */
  readonly bytes: number;
  readonly asked: AskedPoints | AskedWindows | AskedPolygons;
}

export interface AskedPoints {
  readonly kind: 'points';
  readonly x: Float64Array;
  readonly y: Float64Array;
}

export interface AskedWindows {
  readonly kind: 'windows';
  readonly left: Float64Array;
  readonly bottom: Float64Array;
  readonly right: Float64Array;
  readonly top: Float64Array;
  /**
   * Number of the window to which each row belongs. A window that crosses the antimeridian consists of two rows.
   * Undefined if every window is one row.
   */
  readonly windowOf: Uint32Array | undefined;
}

export interface AskedPolygons {
  readonly kind: 'polygons';
  readonly zones: Zones;
}

/** Pairs of a query and a polygon that was found for the query. If the queries are points, the pairs have no areas. */
export interface Answers {
  readonly batch: Omit<QueryBatch, 'asked'>;
  /** For each pair, the index of its query in the batch. */
  readonly query: Uint32Array;
  readonly set: Uint32Array;
  readonly polygon: Uint32Array;
  readonly areas: AnswerAreas | undefined;
}

/**
 * Bounds of the area that a query and a polygon share, in square units of the domain's coordinates. `sure` is 1 if even
 * the lower bound `min` exceeds the threshold `above` of the job.
 */
export interface AnswerAreas {
  readonly min: Float64Array;
  readonly max: Float64Array;
  readonly sure: Uint8Array;
}

/** The queries to answer in one run of the command, and how to answer them. */
export interface QueryJob {
  readonly file: MaqFile;
  /** Reads the queries in batches. */
  readonly batches: (signal: AbortSignal) => AsyncIterable<QueryBatch>;
  /** Size of the file of queries, in bytes. */
  readonly totalBytes: number;
  /**
   * Threshold of shared areas, in square units of the coordinates. Pairs whose shared area cannot exceed the threshold
   * are omitted.
   */
  readonly above: number;
  /**
   * Whether query polygons are compared only by their quadrants (quadtree squares), not by their edges. The comparison
   * of quadrants is faster, but also finds some polygons that share no area with the query.
   */
  readonly filterOnly: boolean;
  /** Maximum bytes for queries that are being answered. */
  readonly memoryBytes: number;
  readonly onBadRecord: 'stop' | 'skip';
  /** The fill rule of query polygons. */
  readonly fill: FillRule;
  /** Whether longitudes wrap around at the ends of the domain. */
  readonly comesRound: boolean;
  readonly tally: NoteTally;
  /** Called with the answers in the order of the queries. Returns a promise for which the run waits. */
  readonly take: (answers: Answers) => Promise<void>;
  readonly signal: AbortSignal;
  readonly progressEvery: number;
}

/** A run of {@link askTree} that is in progress. */
export interface QueryRun {
  readonly result: Promise<unknown>;
  /** Reports of how many bytes of the query file have been answered. */
  readonly progress$: Observable<ProgressReport>;
}

/**
 * Answers queries with a graph of three stages: read, answer on the device, and write. Queues between the stages are
 * bounded.
 */
export function askTree(context: Context, job: QueryJob): QueryRun {
  const tree: MaqTree | MaqTreeWithEdges = uploadMaqTree(context, job.file.tree);
  const run = graph('query', (g) => {
    const read = g.source('read', ({ signal }: { signal: AbortSignal }) => job.batches(signal));
    const answered = g.stage('ask', read, (batch) => answerBatch(context, tree, job, batch));
    return g.sink('take', answered, job.take, { progress: ({ batch }) => batch.bytes });
  }).run(context, { signal: job.signal, total: job.totalBytes, progressEvery: job.progressEvery });
  return { result: run.result.finally(() => context.dispose(tree)), progress$: run.progress$ };
}

async function answerBatch(
  context: Context,
  tree: MaqTree | MaqTreeWithEdges,
  job: QueryJob,
  { asked, ...batch }: QueryBatch,
): Promise<Answers> {
  switch (asked.kind) {
    case 'points':
      return { ...(await polygonsAt(context, tree as MaqTreeWithEdges, job, asked)), batch, areas: undefined };
    case 'windows':
      return { ...(await polygonsInWindows(context, tree, job, asked)), batch };
    case 'polygons':
      return polygonsSharing(context, tree, job, batch, asked.zones);
  }
}

async function polygonsAt(context: Context, tree: MaqTreeWithEdges, { file }: QueryJob, points: AskedPoints) {
  const placed = placePoints(context, points, file.domain);
  try {
    const found = await queryPoints(context, tree, placed);
    const { point, set, polygon } = await context.read({ ...found }).finally(() => context.dispose(found));
    return { query: point, set, polygon };
  } finally {
    context.dispose(placed);
  }
}

async function polygonsInWindows(context: Context, tree: MaqTree, job: QueryJob, windows: AskedWindows) {
  const placed = placeWindows(context, windows, job.file.domain);
  try {
    const { windowOf } = windows;
    const above = windowOf === undefined ? stepsAbove(job) : 0n;
    const found = await areasByWindow(context, tree, placed, { above });
    return await readAreas(context, found, job, windowOf);
  } finally {
    context.dispose(placed);
  }
}

/** Memory that quadrants need while they are sorted and joined, relative to their own bytes. */
const QUADRANT_FACTOR = 4;

/** Maximum number of pairs of quadrants on the device at the same time. */
const CAPACITY = 2 ** 22;

async function polygonsSharing(
  context: Context,
  tree: MaqTree | MaqTreeWithEdges,
  job: QueryJob,
  batch: Answers['batch'],
  zones: Zones,
): Promise<Answers> {
  const { domain, levels } = job.file;
  const { onBadRecord, fill, comesRound, tally, memoryBytes, filterOnly } = job;
  const placing = { domain, fill, onBadRecord, comesRound, tally, mayLeave: true, remedy: BEYOND_REMEDY };
  const { names, polygons } = placeZones(zones, batch.first, placing);
  const quadrants = await decompose(context, polygons, {
    levels,
    memoryBytes: quadrantBytes(memoryBytes),
    maxBytes: memoryBytes / QUADRANT_FACTOR,
    keepsEdges: !filterOnly,
  });
  try {
    const shared = await areasByRegion(context, tree, quadrants, { above: stepsAbove(job), capacity: CAPACITY });
    const areas = await readAreas(context, shared, job);
    const own = { ...batch, names, count: names.length };
    if (filterOnly) return { ...areas, batch: own };
    const exact = await joinPolygons(context, tree as MaqTreeWithEdges, quadrants as QuadrantsWithEdges, {
      capacity: CAPACITY,
    });
    const pairs = await context.read({ ...exact }).finally(() => context.dispose(exact));
    return { ...onlyPairs(areas, pairs), batch: own };
  } finally {
    context.dispose(quadrants);
  }
}

const BEYOND_REMEDY = 'Check the coordinates of the polygon, or leave such polygons out with --on-bad-record skip.';

/**
 * Area of a grid cell of the domain (a square whose side is one step of the grid), in square units of the coordinates.
 */
function areaOfStep({ domain }: MaqFile): number {
  return (domain.size / 2 ** 30) ** 2;
}

/** Converts the threshold from square units to square steps of the domain's grid, rounded down. */
function stepsAbove({ above, file }: QueryJob): bigint {
  const steps = Math.floor(above / areaOfStep(file));
  return steps < 2 ** 63 ? BigInt(steps) : 2n ** 63n;
}

type AreaRows = Pick<Answers, 'query' | 'set' | 'polygon'> & { readonly areas: AnswerAreas };

async function readAreas(
  context: Context,
  shared: SharedAreas,
  job: QueryJob,
  windowOf?: Uint32Array,
): Promise<AreaRows> {
  const { region, set, polygon, min, max } = shared;
  const read = await context
    .read({ region, set, polygon, min: { ...min }, max: { ...max } })
    .finally(() => context.dispose(shared));
  const found = windowOf === undefined ? read : addHalves(read, windowOf, stepsAbove(job));
  const step = areaOfStep(job.file);
  const above = stepsAbove(job);
  const areaOf = ({ lo, hi }: Words): Float64Array =>
    Float64Array.from(lo, (low, row) => (hi[row]! * 2 ** 32 + low) * step);
  const [aboveHigh, aboveLow] = [Number(above >> 32n), Number(above & 0xffffffffn)];
  const isSure = (low: number, row: number): number => {
    const high = found.min.hi[row]!;
    return high > aboveHigh || (high === aboveHigh && low > aboveLow) ? 1 : 0;
  };
  return {
    query: found.region,
    set: found.set,
    polygon: found.polygon,
    areas: { min: areaOf(found.min), max: areaOf(found.max), sure: Uint8Array.from(found.min.lo, isSure) },
  };
}

interface Words {
  readonly lo: Uint32Array;
  readonly hi: Uint32Array;
}

/**
 * Selects the rows whose query and polygon also occur in `pairs`. Both `rows` and `pairs` are sorted by query, set and
 * polygon.
 */
function onlyPairs(rows: AreaRows, pairs: Pick<Answers, 'query' | 'set' | 'polygon'>): AreaRows {
  const kept: number[] = [];
  for (let row = 0, pair = 0; row < rows.query.length && pair < pairs.query.length; ) {
    const order =
      rows.query[row]! - pairs.query[pair]! ||
      rows.set[row]! - pairs.set[pair]! ||
      rows.polygon[row]! - pairs.polygon[pair]!;
    if (order === 0) kept.push(row);
    if (order <= 0) row++;
    if (order >= 0) pair++;
  }
  const { min, max, sure } = rows.areas;
  return {
    query: Uint32Array.from(kept, (row) => rows.query[row]!),
    set: Uint32Array.from(kept, (row) => rows.set[row]!),
    polygon: Uint32Array.from(kept, (row) => rows.polygon[row]!),
    areas: {
      min: Float64Array.from(kept, (row) => min[row]!),
      max: Float64Array.from(kept, (row) => max[row]!),
      sure: Uint8Array.from(kept, (row) => sure[row]!),
    },
  };
}
