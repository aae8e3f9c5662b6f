import {
  type ArrayParameter,
  type ArrayValue,
  array,
  bitsToI32,
  bool,
  type Column,
  copyIf,
  ctz,
  For,
  fn,
  If,
  i32,
  map,
  type U32,
  u32,
  uniform,
  Var,
  While,
} from '../../primitives/index.ts';
import { flipsCorner, lineFrom, meetsBox, passesThrough } from './edge-line.ts';
import type { LeafQuadrants } from './leaves.ts';
import type { OpenQuadrants, Quadrant } from './open-quadrants.ts';

/** Relations of a quadrant to a polygon: outside, inside, or with edges passing through. */
export const OUTSIDE = 0;
const INSIDE = 1;
const CROSSED = 2;

/** Parameters of a functor: the index of each polygon's first edge, and the end points of all edges. */
export const polygonArrays: { readonly firsts: ArrayParameter<'u32'>; readonly ends: ArrayParameter<'i32'> } = {
  firsts: array(u32),
  ends: array(i32),
};

interface PolygonArrays {
  readonly firsts: ArrayValue<'u32'>;
  readonly ends: ArrayValue<'i32'>;
}

/**
 * The relation of a quadrant to its polygon. Searches for an edge that passes through the quadrant, and stops at the
 * first one. If there is none, tests for every edge whether it crosses the ray to the left of the quadrant. The polygon
 * contains the quadrant if the number of crossing edges is odd.
 */
export function relationTo(quadrant: Quadrant, owner: U32, { firsts, ends }: PolygonArrays): U32 {
  const [first, end] = [firsts.at(owner), firsts.at(owner.add(1))];
  const found = Var(u32(OUTSIDE));
  const edge = Var(first);
  While(
    () => edge.lt(end).and(found.eq(OUTSIDE)),
    () => {
      const line = lineFrom(ends, edge, quadrant);
      // Four comparisons rule out most edges, because these are far from the quadrant.
      If(meetsBox(line, i32(0), i32(0), bitsToI32(u32(1).shl(quadrant.shift))), () => {
        If(passesThrough(line, quadrant.shift), () => found.set(u32(CROSSED)));
      });
      edge.set(edge.add(1));
    },
  );
  If(found.eq(OUTSIDE), () => {
    For(first, end, (each) => {
      found.set(found.xor(u32(flipsCorner(lineFrom(ends, each, quadrant)))));
    });
  });
  return found;
}

/** Quadrants and their relations to their polygons. */
export interface TestedQuadrants extends OpenQuadrants {
  readonly kind: Column<'u32'>;
}

const isOpen = fn('isOpen', { column: u32, kind: u32, min: uniform(u32) }, bool, ({ column, kind, min }) =>
  kind.eq(CROSSED).and(ctz(column).gt(min)),
);

const isLeaf = fn('isLeaf', { column: u32, kind: u32, min: uniform(u32) }, bool, ({ column, kind, min }) =>
  kind.eq(INSIDE).or(kind.eq(CROSSED).and(ctz(column).le(min))),
);

const isCrossed = fn('isCrossed', { kind: u32 }, u32, ({ kind }) => u32(kind.eq(CROSSED)));

/** Selects the quadrants to be split: edges pass through them, and their side is above 2^min steps. */
export function areOpen({ column, kind }: TestedQuadrants, min: number): Column<'bool'> {
  return map(isOpen, { column, kind, min });
}

/** The settled quadrants among the tested quadrants. Their number is known only on the device. */
export function leavesAmong({ column, row, owner, kind }: TestedQuadrants, min: number): LeafQuadrants {
  const { kind: kinds, ...place } = copyIf({ column, row, owner, kind }, map(isLeaf, { column, kind, min }));
  return { ...place, boundary: map(isCrossed, { kind: kinds }) };
}
