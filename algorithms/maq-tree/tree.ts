import { aColumn } from '../../primitives/argument-kinds.ts';
import type { Column } from '../../primitives/index.ts';
import { aRecord, aWhole, type Kind, optional } from '../../primitives/kinds.ts';
import { type BoundaryEdges, someBoundaryEdges } from '../quadrants/boundary-edges.ts';
import { aCode } from '../quadrants/leaves.ts';

/**
 * What it takes to go down a tree, four words a node side by side, so that a kernel binds one array and a node is read in one
 * go: the first child, which of four children there are, the first entry, and the entries.
 */
export type NodeTable = Column<'u32'>;

/**
 * The nodes of a multi-attribute quadtree, one row each: level after level from the root, and within a level by Morton code.
 * So the children of a node stand together.
 */
export interface MaqNodes {
  /** Morton code of the node's column and row among the 2^level × 2^level quadrants of its level, x in the even bits. */
  readonly code: { readonly lo: Column<'u32'>; readonly hi: Column<'u32'> };
  readonly level: Column<'u32'>;
  /** Number of the node's first child; without children that of the first child after it. */
  readonly firstChild: Column<'u32'>;
  readonly childCount: Column<'u32'>;
  /** Number of the node's first entry; without entries that of the first entry after it. */
  readonly firstEntry: Column<'u32'>;
  /** Polygons that have the node's quadrant; 0 for a via node, which is there for those below it. */
  readonly entryCount: Column<'u32'>;
  /** Number of the node that follows this and all below it in preorder; the number of nodes where none does. */
  readonly next: Column<'u32'>;
}

/** What polygons have to do with quadrants, node after node, and within a node by set and polygon. */
export interface MaqEntries {
  readonly polygon: Column<'u32'>;
  readonly set: Column<'u32'>;
  /**
   * 0 where the polygon holds all of the quadrant, 1 where edges of it pass through, 2 where edges of a further sheet of the
   * polygon do: behind the entry of the first sheet.
   */
  readonly boundary: Column<'u32'>;
}

/** How far the numbers in a tree go. */
export interface MaqExtent {
  /** The last level that has quadrants. */
  readonly levels: number;
  readonly sets: number;
  /** One more than the greatest number of a polygon. */
  readonly polygons: number;
}

/** A quadtree over the quadrants of polygons that may overlap, of one or more sets: the MAQ-tree, as columns. */
export interface MaqTree {
  readonly nodes: MaqNodes;
  readonly entries: MaqEntries;
  readonly extent: MaqExtent;
  /** The nodes once more, for walks down the tree. */
  readonly table: NodeTable;
}

/** A tree that also has the edges that pass through boundary quadrants: one row an entry. Exact answers need it. */
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

/** With edges or without: who needs them says so with an error of its own. */
export const aMaqTree: Kind = aRecord<MaqTreeWithEdges>({
  nodes: theNodes,
  entries: theEntries,
  extent: anExtent,
  table: aColumn('u32'),
  edges: optional(someBoundaryEdges),
});
