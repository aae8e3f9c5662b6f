import { anArrayOf, aRecord, aWhole, type Kind } from '../../primitives/checks/kinds.ts';
import { type Column, concatenate, constant, map, u32 } from '../../primitives/index.ts';
import { moved } from '../plain-functors.ts';
import { type Quadrants, type QuadrantsWithEdges, someQuadrantsWithEdges } from '../quadrants/leaves.ts';

/** The quadrants of all polygons of all sets, one row each. */
export interface SetRows {
  readonly polygon: Column<'u32'>;
  readonly set: Column<'u32'>;
  readonly level: Column<'u32'>;
  readonly lo: Column<'u32'>;
  readonly hi: Column<'u32'>;
  readonly boundary: Column<'u32'>;
}

/**
 * For each row, whether the polygon contains the quadrant's lower left corner, and the range of the polygon's edges in
 * the quadrant.
 */
export interface RowEdges {
  readonly corner: Column<'u32'>;
  readonly first: Column<'u32'>;
  readonly count: Column<'u32'>;
}

/** The quadrants of all sets in one table. The fields for edges are undefined unless all sets have edges. */
export type ConcatenatedSets = { readonly rows: SetRows } & (
  | ConcatenatedEdges
  | { readonly [K in keyof ConcatenatedEdges]?: never }
);

export interface ConcatenatedEdges {
  readonly rowEdges: RowEdges;
  readonly edge: Column<'u32'>;
  readonly ends: Column<'i32'>;
}

/** A part of a set: the quadrants of consecutive polygons. */
export interface SetPart<Q extends Quadrants = Quadrants> {
  readonly quadrants: Q;
  /** Index in the set of the part's first polygon. In the part, this polygon has the index 0. */
  readonly firstPolygon: number;
}

/** A part, and the number of its set. */
export interface NumberedPart extends SetPart {
  readonly set: number;
}

/** The quadrants of a set of polygons, given whole or in one or more parts. */
export type QuadrantSet<Q extends Quadrants = Quadrants> = Q | readonly SetPart<Q>[];

const someParts: Kind = anArrayOf(aRecord<SetPart>({ quadrants: someQuadrantsWithEdges, firstPolygon: aWhole() }));

export const aQuadrantSet: Kind = (given, path, homes) =>
  (Array.isArray(given) ? someParts : someQuadrantsWithEdges)(given, path, homes);

/** The parts of all sets. */
export function numberedParts(sets: readonly QuadrantSet[]): NumberedPart[] {
  return sets.flatMap((each, set) => partsOf(each).map((part) => ({ ...part, set })));
}

/** Concatenates the quadrants of all sets, adds the number of the set to each row, and joins the edges in one table. */
export function concatenateSets(sets: readonly QuadrantSet[]): ConcatenatedSets {
  const parts = numberedParts(sets);
  const rows = concatenate(
    parts.map(({ quadrants: { polygon, code, level, boundary }, firstPolygon, set }) => ({
      polygon: firstPolygon === 0 ? polygon : map(moved, { place: polygon, by: firstPolygon }),
      set: constant(u32, set, polygon.length),
      level,
      lo: code.lo,
      hi: code.hi,
      boundary,
    })),
  );
  const withEdges = partsWithEdges(parts);
  if (withEdges.length < parts.length) return { rows };
  return { rows, ...concatenateEdges(withEdges) };
}

/** The parts whose quadrants have edges. */
export function partsWithEdges(parts: readonly SetPart[]): QuadrantsWithEdges[] {
  return parts
    .map(({ quadrants }) => quadrants)
    .filter((each): each is QuadrantsWithEdges => 'edges' in each && each.edges !== undefined);
}

/** The parts of a set. A set that is given whole is one part. */
export function partsOf(set: QuadrantSet): readonly SetPart[] {
  return 'polygon' in set ? [{ quadrants: set, firstPolygon: 0 }] : set;
}

function concatenateEdges(parts: readonly QuadrantsWithEdges[]): ConcatenatedEdges {
  let [passages, edges] = [0, 0];
  const tables = parts.map(({ edges: { corner, first, count, edge, ends } }) => {
    const table = {
      rowEdges: { corner, first: map(moved, { place: first, by: passages }), count },
      edge: map(moved, { place: edge, by: edges }),
      ends,
    };
    passages += edge.length as number;
    edges += (ends.length as number) / 4;
    return table;
  });
  return {
    rowEdges: concatenate(tables.map(({ rowEdges }) => rowEdges)),
    edge: concatenate(tables.map(({ edge }) => edge)),
    ends: concatenate(tables.map(({ ends }) => ends)),
  };
}
