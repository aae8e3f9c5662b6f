import type { Observable } from 'rxjs';
import type { Zones } from '../algorithms/geometry/polygons.ts';
import {
  buildMaqTree,
  type HostMaqTree,
  type HostMaqTreeWithEdges,
  readMaqTree,
  type SetPart,
} from '../algorithms/maq-tree/index.ts';
import {
  type DomainPolygons,
  decompose,
  type Quadrants,
  type QuadrantsWithEdges,
} from '../algorithms/quadrants/index.ts';
import { type GraphRun, graph, type ProgressReport } from '../graph/index.ts';
import type { Context } from '../primitives/context/context.ts';
import { CrsTurned, commonCrs, type LayerSet, standardDomain } from './index-layers.ts';
import { type Placing, placeZones } from './index-place.ts';
import { quadrantBytes } from './memory.ts';

/** How to build a tree: the sets of polygons, which are read in batches, and the settings. */
export interface TreeJob {
  readonly sets: readonly LayerSet[];
  readonly placing: Placing;
  /**
   * Whether the domain is the standard domain of longitudes and latitudes. If so, the coordinates of all sets must be
   * longitudes and latitudes.
   */
  readonly isStandard: boolean;
  readonly levels: number;
  readonly keepsEdges: boolean;
  /** Maximum bytes for the tree and its intermediate data. */
  readonly memoryBytes: number;
  readonly signal: AbortSignal;
  /** Minimum time between two progress reports, in milliseconds. */
  readonly progressEvery: number;
}

/** A tree, and statistics of its polygons. */
export interface BuiltTree {
  readonly tree: HostMaqTree | HostMaqTreeWithEdges;
  /** For each set, the names of its polygons. */
  readonly names: readonly (readonly string[])[];
  readonly figures: BuildFigures;
}

export interface BuildFigures {
  readonly polygons: number;
  readonly vertices: number;
  readonly quadrants: number;
}

/** The construction of a tree, in progress. */
export interface TreeRun {
  readonly result: Promise<BuiltTree>;
  /** Progress in bytes of the input files. Bytes count once their polygons have been decomposed to quadrants. */
  readonly progress$: Observable<ProgressReport>;
  /** The statistics so far. */
  figures(): BuildFigures;
}

interface Batch {
  readonly set: number;
  /** Number of bytes that this batch takes up in its file. The progress is computed from these numbers. */
  readonly bytes: number;
}

type ReadBatch = Batch & { readonly zones: Zones };
type PlacedBatch = Batch & { readonly polygons: DomainPolygons; readonly firstPolygon: number };
type DecomposedBatch = Batch & SetPart;

/** The polygons of one set that have been read and decomposed so far. */
interface SetUnderWay {
  /** Number of polygons read so far, including skipped ones. */
  read: number;
  readonly names: string[];
  readonly parts: SetPart[];
}

/**
 * Builds a tree. A graph with bounded queues reads batches of polygons, places them in the domain, and decomposes them
 * to quadrants. So a batch can be parsed while another batch is decomposed on the device. The quadrants stay on the
 * device. At the end, one tree is built from the quadrants of all batches.
 */
export function buildTree(context: Context, job: TreeJob): TreeRun {
  const { levels, keepsEdges, memoryBytes, sets, placing } = job;
  const deviceBytes = quadrantBytes(memoryBytes);
  const maxTotal = memoryBytes / QUADRANT_FACTOR;
  let total = 0;
  const underWay = sets.map((): SetUnderWay => ({ read: 0, names: [], parts: [] }));
  const figures = { polygons: 0, vertices: 0, quadrants: 0 };

  const place = ({ set, bytes, zones }: ReadBatch): PlacedBatch => {
    const own = underWay[set]!;
    const firstPolygon = own.names.length;
    const { names, polygons } = placeZones(zones, own.read, placing);
    own.read += zones.names.length;
    for (const name of names) own.names.push(name);
    return { set, bytes, polygons, firstPolygon };
  };
  const split = async ({ set, bytes, polygons, firstPolygon }: PlacedBatch): Promise<DecomposedBatch> => {
    const maxBytes = maxTotal - total;
    const quadrants = await decompose(context, polygons, { levels, memoryBytes: deviceBytes, maxBytes, keepsEdges });
    total += bytesOf(quadrants);
    figures.polygons += polygons.polygonRings.length - 1;
    figures.vertices += polygons.x.length;
    figures.quadrants += quadrants.level.length as number;
    return { set, bytes, quadrants, firstPolygon };
  };
  const gather = ({ set, quadrants, firstPolygon }: DecomposedBatch): void => {
    underWay[set]!.parts.push({ quadrants, firstPolygon });
  };
  const free = ({ quadrants }: { readonly quadrants: Quadrants }): void => context.dispose(quadrants);

  const run: GraphRun<number> = graph('index', (g) => {
    const read = g.source('read', ({ signal }: { signal: AbortSignal }) => batchesOf(job, signal));
    const placed = g.stage('place', read, place);
    const decomposed = g.stage('decompose', placed, split, { discardResult: free });
    return g.sink('gather', decomposed, gather, { discard: free, progress: ({ bytes }) => bytes });
  }).run(context, {
    signal: job.signal,
    total: sets.reduce((sum, { layer }) => sum + layer.size, 0),
    progressEvery: job.progressEvery,
  });
  const finish = async (): Promise<BuiltTree> => {
    const parts = underWay.map((set) => set.parts);
    try {
      await run.result;
      return { tree: await treeOf(context, parts), names: underWay.map(({ names }) => names), figures };
    } finally {
      context.dispose(parts);
    }
  };
  return { result: finish(), progress$: run.progress$, figures: () => ({ ...figures }) };
}

/**
 * Memory that quadrants need until the tree is written, divided by the size of the quadrants. The quadrants are on the
 * device while they are sorted and the tree is built, then on the host, and then in the encoded file.
 */
const QUADRANT_FACTOR = 8;

function bytesOf({ level, ...rest }: Quadrants | QuadrantsWithEdges): number {
  const edges = 'edges' in rest ? (rest.edges.edge.length as number) : 0;
  return 20 * (level.length as number) + 12 * edges;
}

/** Iterates over the batches of all sets, one set after another. */
async function* batchesOf({ sets, isStandard }: TreeJob, signal: AbortSignal): AsyncGenerator<ReadBatch> {
  for (const [set, of] of sets.entries()) {
    let before = 0;
    const batches = of.layer.batches(signal);
    for await (const { zones, bytesRead } of batches) {
      learnCrs(batches.crs, of);
      yield { set, zones, bytes: bytesRead - before };
      before = bytesRead;
    }
    learnCrs(batches.crs, of);
    of.notes = batches.notes();
  }

  function learnCrs(crs: string | undefined, set: LayerSet): void {
    if (crs === set.crs) return;
    set.crs = crs;
    const common = commonCrs(sets);
    if (isStandard && standardDomain(common) === undefined) throw new CrsTurned();
  }
}

async function treeOf(
  context: Context,
  sets: readonly (readonly SetPart[])[],
): Promise<HostMaqTree | HostMaqTreeWithEdges> {
  const tree = await buildMaqTree(context, sets, { frees: true });
  try {
    return await readMaqTree(context, tree);
  } finally {
    context.dispose(tree);
  }
}
