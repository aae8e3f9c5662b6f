import { aColumn } from '../../primitives/checks/argument-kinds.ts';
import { aRecord, type FieldKinds, type Kind, optional } from '../../primitives/checks/kinds.ts';
import {
  array,
  type Column,
  type Context,
  concatenate,
  fn,
  map,
  mortonEncode64,
  sequence,
  sortByKey,
  u32,
  u64,
  uniform,
} from '../../primitives/index.ts';
import { freeOnFailure } from '../free-on-failure.ts';
import { bitsUpTo } from '../order-rows.ts';
import { type BoundaryEdges, boundaryEdgesOf, someBoundaryEdges } from './boundary-edges.ts';
import { DOMAIN_BITS } from './domain.ts';
import type { Passages } from './edge-in-quadrant.ts';
import type { Edges } from './edges.ts';
import { type OpenQuadrants, unpackQuadrant } from './open-quadrants.ts';

/**
 * Leaves: settled quadrants, packed like open quadrants. A leaf is inside a polygon, or it has the smallest size and
 * edges pass through it.
 */
export interface LeafQuadrants extends OpenQuadrants {
  /** 1 if edges pass through the quadrant, 0 if it is inside the polygon. */
  readonly boundary: Column<'u32'>;
}

/** Validator of 64-bit codes in two columns. */
export const aCode: Kind = aRecord<Quadrants['code']>({ lo: aColumn('u32'), hi: aColumn('u32') });

/**
 * Quadrants of polygons. A quadrant of level l is one of 2^l × 2^l half-open squares that tile the domain. Its code is
 * the Morton code of its column and row, with x in the even bits.
 */
export interface Quadrants {
  /** Index of the polygon of each quadrant, ascending. Within a polygon, quadrants are in Morton order of position. */
  readonly polygon: Column<'u32'>;
  readonly code: { readonly lo: Column<'u32'>; readonly hi: Column<'u32'> };
  readonly level: Column<'u32'>;
  /**
   * 0 if the quadrant is inside the polygon. 1 if edges of the polygon pass through it; the quadrant is then of the
   * last level. 2 if the row repeats the quadrant of the preceding row, because edges of a further sheet (group of
   * parts that do not overlap) of the polygon pass through this quadrant.
   */
  readonly boundary: Column<'u32'>;
}

/**
 * Quadrants with the edges that pass through them. The edges decide exactly which points of a boundary quadrant its
 * polygon contains.
 */
export interface QuadrantsWithEdges extends Quadrants {
  readonly edges: BoundaryEdges;
}

const quadrantFields: FieldKinds<Quadrants> = {
  polygon: aColumn('u32'),
  code: aCode,
  level: aColumn('u32'),
  boundary: aColumn('u32'),
};

export const someQuadrants: Kind = aRecord<Quadrants>(quadrantFields);
export const someQuadrantsWithEdges: Kind = aRecord<QuadrantsWithEdges>({
  ...quadrantFields,
  edges: optional(someBoundaryEdges),
});

const place = fn(
  'place',
  { column: u32, row: u32, min: uniform(u32) },
  { lo: u32, hi: u32 },
  ({ column, row, min }) => {
    const { x, y } = unpackQuadrant(column, row);
    return mortonEncode64({ x: x.shr(min), y: y.shr(min) });
  },
);

const quadrant = fn(
  'quadrant',
  { column: u32, row: u32, owner: u32, boundary: u32, polygons: array(u32) },
  { polygon: u32, code: u64, level: u32, boundary: u32 },
  ({ column, row, owner, boundary, polygons }) => {
    const { x, y, shift } = unpackQuadrant(column, row);
    const code = mortonEncode64({ x: x.shr(shift), y: y.shr(shift) });
    return { polygon: polygons.at(owner), code, level: u32(DOMAIN_BITS).sub(shift), boundary };
  },
);

/**
 * Merges the leaves of all levels into one table, ordered by polygon and then by position. If `passages` are given,
 * also merges the passages of edges through the leaves. Frees `settled` and `passages`, also on failure.
 */
export function quadrantsOf(
  context: Context,
  settled: readonly LeafQuadrants[],
  edges: Edges,
  min: number,
  passages?: readonly Passages[],
): Quadrants | QuadrantsWithEdges {
  return freeOnFailure(context, [settled, passages], () =>
    context.scope(() => {
      const counts = settled.map(({ column }) => column.length as number);
      const leaves = gatherLeaves(context, settled);
      const bits = { from: 0, to: Math.max(1, 2 * (DOMAIN_BITS - min)) };
      const rows = { ...leaves, leaf: sequence(leaves.column.length) };
      const byPlace = sortByKey(map(place, { column: leaves.column, row: leaves.row, min }), rows, { bits });
      const ownerBits = { from: 0, to: Math.max(1, bitsUpTo((edges.polygons.id.length as number) - 1)) };
      const byOwner = sortByKey(byPlace.values.owner, byPlace.values, { bits: ownerBits });
      const { leaf, ...sorted } = byOwner.values;
      const quadrants = context.materialize(map(quadrant, { ...sorted, polygons: edges.polygons.id }));
      if (passages === undefined) return quadrants;
      return { ...quadrants, edges: boundaryEdgesOf(context, { leaf, row: sorted.row }, passages, counts, edges) };
    }),
  );
}

/** Concatenates all leaves into one table, and frees the tables of the single levels. */
function gatherLeaves(context: Context, settled: readonly LeafQuadrants[]) {
  const leaves = concatenate(settled.map((level) => ({ ...level })));
  context.dispose(settled);
  return leaves;
}
