import { aColumn } from '../../primitives/checks/argument-kinds.ts';
import { aRecord, aWhole, type Kind, optional } from '../../primitives/checks/kinds.ts';
import type { Column } from '../../primitives/index.ts';
import { type BoundaryEdges, someBoundaryEdges } from '../quadrants/boundary-edges.ts';
import { aCode } from '../quadrants/leaves.ts';

/**
 * Data for walks down a tree: four adjacent words per node, so that a kernel binds one array and reads a node in one
 * access. The words are the first child, a mask of the existing children, the first entry, and the number of entries.
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
  /** Index of the node's first child. If it has no children, the index of the first child of a later node. */
  readonly firstChild: Column<'u32'>;
  readonly childCount: Column<'u32'>;
  /** Index of the node's first entry. If it has no entries, the index of the first entry of a later node. */
  readonly firstEntry: Column<'u32'>;
  /**
   * Number of polygons that have the node's quadrant. It is 0 for a via node, which exists only because of its
   * descendants.
   */
  readonly entryCount: Column<'u32'>;
  /**
   * Index of the node that follows this node and all its descendants in preorder. If no node follows, the number of
   * nodes.
   */
  readonly next: Column<'u32'>;
}

/** The polygons of each quadrant, ordered by node, then by set and polygon. */
export interface MaqEntries {
  readonly polygon: Column<'u32'>;
  readonly set: Column<'u32'>;
  /**
   * 0 if the polygon contains the whole quadrant. 1 if edges of the polygon pass through the quadrant. 2 if edges of a
   * further sheet (group of parts that do not overlap) of the same polygon pass through the quadrant. A row with 2
   * comes after the row of the first sheet of the polygon.
   */
  readonly boundary: Column<'u32'>;
}

/** Limits of the numbers in a tree. */
export interface MaqExtent {
  /** Level of the smallest quadrants. The root has level 0. */
  readonly levels: number;
  readonly sets: number;
  /** Largest index of a polygon, plus one. */
  readonly polygons: number;
}

/**
 * A multi-attribute quadtree (MAQ-tree), as columns: one tree over the quadrants of one or more sets of polygons, which
 * may overlap.
 */
export interface MaqTree {
  readonly nodes: MaqNodes;
  readonly entries: MaqEntries;
  readonly extent: MaqExtent;
  /** The same nodes, packed in one table for walks down the tree. */
  readonly table: NodeTable;
}

/**
 * A tree that also has the edges that pass through boundary quadrants, with one row per entry. Exact answers need the
 * edges.
 */
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

/** Validator of trees with or without edges. A function that needs edges checks for edges itself. */
export const aMaqTree: Kind = aRecord<MaqTreeWithEdges>({
  nodes: theNodes,
  entries: theEntries,
  extent: anExtent,
  table: aColumn('u32'),
  edges: optional(someBoundaryEdges),
});
