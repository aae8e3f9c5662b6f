/**
 * Queries over many polygons by a multi-attribute quadtree, which is one tree over the quadrants of several sets that
 * may overlap.
 *
 * @packageDocumentation
 */

export { type BuildMaqTreeOptions, buildMaqTree } from './build.ts';
export type { QuadrantSet, SetPart } from './concatenate-sets.ts';
export { type HostMaqTree, type HostMaqTreeWithEdges, readMaqTree, uploadMaqTree } from './host-tree.ts';
export type { MaqEntries, MaqExtent, MaqNodes, MaqTree, MaqTreeWithEdges, NodeTable } from './tree.ts';
