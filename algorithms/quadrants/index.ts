/**
 * Polygons as quadrants, which are squares of a regular subdivision of the plane: quadrants inside a polygon, and
 * quadrants through which its edges pass.
 *
 * @packageDocumentation
 */

export type { BoundaryEdges } from './boundary-edges.ts';
export { comeRound, turnedInto } from './come-round.ts';
export { type DecomposeOptions, decompose } from './decompose.ts';
export { type DepthFirstOptions, decomposeDepthFirst } from './depth-first.ts';
export {
  DOMAIN_BITS,
  DOMAIN_STEPS,
  type Domain,
  type DomainPolygons,
  type PlaceOptions,
  placeInDomain,
  WORLD,
} from './domain.ts';
export type { Quadrants, QuadrantsWithEdges } from './leaves.ts';
export { decomposeWhole } from './whole-polygon.ts';
