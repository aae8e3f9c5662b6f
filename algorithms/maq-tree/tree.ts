import { aColumn } from '../../primitives/argument-kinds.ts';
import type { Column } from '../../primitives/index.ts';
import { aRecord, aWhole, type Kind, optional } from '../../primitives/kinds.ts';
import { type BoundaryEdges, someBoundaryEdges } from '../quadrants/boundary-edges.ts';
import { aCode } from '../quadrants/leaves.ts';

/**
 * Data for walks down a tree: four adjacent words per node, so that a kernel binds one array and reads a node in one
 * access. They are the first child, a mask of the existing children, the first entry, and the number of entries.
 */
export type NodeTable = Column<'u32'>;

/**
 * The nodes of a multi-attribute quadtree, one row each, ordered by level from the root, and by Morton code within a
 * level. So the children of a node are adjacent.
 */
export interface MaqNodes {
  /** Morton code of the node's column and row among the 2^level × 2^level quadrants of its level, x in the even bits. */
  readonly code: { readonly lo: Column<'u32'>; readonly hi: Column<'u32'> };
  readonly level: Column<'u32'>;
  /** Index of the node's first child; without children, the index of the first child of a later node. */
  readonly firstChild: Column<'u32'>;
  readonly childCount: Column<'u32'>;
  /** Index of the node's first entry; without entries, the index of the first entry of a later node. */
  readonly firstEntry: Column<'u32'>;
  /** Number of polygons that have the node's quadrant; 0 for a via node, which exists only for its descendants. */
  readonly entryCount: Column<'u32'>;
  /** Index of the node after this one and all its descendants in preorder; the number of nodes if there is none. */
  readonly next: Column<'u32'>;
}

/** The polygons of each quadrant, ordered by node, then by set and polygon. */
export interface MaqEntries {
  readonly polygon: Column<'u32'>;
  readonly set: Column<'u32'>;
  /**
   * 0 if the polygon contains the whole quadrant; 1 if edges of the polygon pass through; 2 if edges of a further sheet
   * of the polygon pass through, in a row after the entry of the first sheet.
   */
  readonly boundary: Column<'u32'>;
}

/** Upper limits of the numbers in a tree. */
export interface MaqExtent {
  /** The last level that has quadrants. */
  readonly levels: number;
  readonly sets: number;
  /** Maximum index of a polygon, plus one. */
  readonly polygons: number;
}

/** A quadtree over the quadrants of polygons that may overlap, of one or more sets: the MAQ-tree, as columns. */
export interface MaqTree {
  readonly nodes: MaqNodes;
  readonly entries: MaqEntries;
  readonly extent: MaqExtent;
  /** The nodes again, in the form for walks down the tree. */
  readonly table: NodeTable;
}

/** A tree that also has the edges through boundary quadrants, with one row per entry. Exact answers need it. */
export interface MaqTreeWithEdges extends MaqTree {
  readonly edges: BoundaryEdges;
}

const theNodes: Kind = aRecord<MaqNodes>({
  code: aCode,
  level: aColumn('u32'),
  firstChild: aColumn('u32'),
  childCount: aColumn('u32'),
  firstEntry: aColumn('u32'),
  entryCount: aColumn('u32'),
  next: aColumn('u32'),
});

const theEntries: Kind = aRecord<MaqEntries>({
  polygon: aColumn('u32'),
  set: aColumn('u32'),
  boundary: aColumn('u32'),
});

export const anExtent: Kind = aRecord<MaqExtent>({
  levels: aWhole(),
  sets: aWhole(0, 2 ** 32),
  polygons: aWhole(0, 2 ** 32),
});

/** With or without edges. A function that needs edges reports their absence with an error of its own. */
export const aMaqTree: Kind = aRecord<MaqTreeWithEdges>({
  nodes: theNodes,
  entries: theEntries,
  extent: anExtent,
  table: aColumn('u32'),
  edges: optional(someBoundaryEdges),
});
