import type { Context } from '../../primitives/index.ts';
import type { BoundaryEdges } from '../quadrants/boundary-edges.ts';
import { type NumberedPart, partsWithEdges } from './concatenate-sets.ts';
import { buildOnHost, gathered } from './host-build.ts';
import { type HostMaqTree, type HostMaqTreeWithEdges, uploadMaqTree } from './host-tree.ts';
import type { MaqTree, MaqTreeWithEdges } from './tree.ts';

/** The most quadrants, passages and edges, together, of a tree that is built on the host. */
const MOST_ROWS = 2 ** 19;

/** Whether building on the host is faster than launches on workers, which would first have to be compiled. */
export function suitsHost(parts: readonly NumberedPart[]): boolean {
  const passages = partsWithEdges(parts).reduce(
    (sum, { edges }) => sum + (edges.edge.length as number) + (edges.ends.length as number) / 4,
    0,
  );
  return parts.reduce((sum, { quadrants }) => sum + (quadrants.polygon.length as number), passages) <= MOST_ROWS;
}

/** Builds the tree on the host from the quadrants of a device, and uploads it. Waits for the device once. */
export async function buildFromHost(
  context: Context,
  parts: readonly NumberedPart[],
  sets: number,
): Promise<MaqTree | MaqTreeWithEdges> {
  const withEdges = partsWithEdges(parts);
  const [tables, edges] = await Promise.all([
    Promise.all(
      parts.map(({ quadrants: { polygon, code, level, boundary } }) =>
        context.read({ polygon, lo: code.lo, hi: code.hi, level, boundary }),
      ),
    ),
    Promise.all(withEdges.length < parts.length ? [] : withEdges.map((each) => readEdges(context, each.edges))),
  ]);
  const rows = {
    polygon: joined(tables.map(({ polygon }, part) => raised(polygon, parts[part]!.firstPolygon))),
    set: joined(tables.map(({ polygon }, part) => new Uint32Array(polygon.length).fill(parts[part]!.set))),
    level: joined(tables.map(({ level }) => level)),
    lo: joined(tables.map(({ lo }) => lo)),
    hi: joined(tables.map(({ hi }) => hi)),
    boundary: joined(tables.map(({ boundary }) => boundary)),
  };
  const { row, ...tree } = buildOnHost(rows, sets);
  if (withEdges.length < parts.length) return uploadMaqTree(context, tree as HostMaqTree);
  const all = joinedEdges(edges);
  const perEntry = {
    corner: gathered(all.corner, row),
    first: gathered(all.first, row),
    count: gathered(all.count, row),
  };
  return uploadMaqTree(context, { ...tree, edges: { ...perEntry, edge: all.edge, ends: all.ends } });
}

type HostEdges = HostMaqTreeWithEdges['edges'];

async function readEdges(context: Context, { edge, ends, ...perRow }: BoundaryEdges): Promise<HostEdges> {
  const [rows, edges, coordinates] = await Promise.all([context.read(perRow), context.read(edge), context.read(ends)]);
  return { ...rows, edge: edges, ends: coordinates };
}

/** Puts the edges of all parts into one table, as `concatenateSets` does. */
function joinedEdges(parts: readonly HostEdges[]): HostEdges {
  let [passages, edges] = [0, 0];
  const moved = parts.map((part) => {
    const table = { ...part, first: raised(part.first, passages), edge: raised(part.edge, edges) };
    passages += part.edge.length;
    edges += part.ends.length / 4;
    return table;
  });
  return {
    corner: joined(moved.map(({ corner }) => corner)),
    first: joined(moved.map(({ first }) => first)),
    count: joined(moved.map(({ count }) => count)),
    edge: joined(moved.map(({ edge }) => edge)),
    ends: joined(moved.map(({ ends }) => ends)),
  };
}

function raised(numbers: Uint32Array, by: number): Uint32Array {
  return by === 0 ? numbers : numbers.map((number) => number + by);
}

function joined<A extends Uint32Array | Int32Array>(arrays: readonly A[]): A {
  const [first] = arrays;
  if (arrays.length === 1) return first!;
  const length = arrays.reduce((sum, array) => sum + array.length, 0);
  const all = new (first!.constructor as new (length: number) => A)(length);
  let at = 0;
  for (const array of arrays) {
    all.set(array, at);
    at += array.length;
  }
  return all;
}
