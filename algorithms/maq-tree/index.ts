/**
 * A multi-attribute quadtree for queries over many polygons: one tree over the quadrants of several sets of polygons,
 * which may overlap.
 *
 * @packageDocumentation
 */

export { type BuildMaqTreeOptions, buildMaqTree } from './build.ts';
export type { QuadrantSet, SetPart } from './concatenate-sets.ts';
export { type HostMaqTree, type HostMaqTreeWithEdges, readMaqTree, uploadMaqTree } from './host-tree.ts';
export type { MaqEntries, MaqExtent, MaqNodes, MaqTree, MaqTreeWithEdges, NodeTable } from './tree.ts';
