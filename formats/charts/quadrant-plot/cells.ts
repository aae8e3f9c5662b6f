import type { HostMaqTree } from '../../../algorithms/maq-tree/host-tree.ts';
import { DOMAIN_BITS } from '../../../algorithms/quadrants/domain.ts';
import type { MapExtent } from '../zonal-plot/extent.ts';

/**
 * The part of the domain that is drawn. `left` and `top` are in steps of the domain's grid, `width` and `height` in
 * pixels.
 */
export interface QuadrantFrame {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  /** Pixels per step. */
  readonly scale: number;
}

/** Margin around the drawing, as a fraction of its longer side. */
const PAD = 0.015;

/**
 * The frame that shows an extent as large as possible in `width` × `height` pixels. The extent is in steps of the
 * domain's grid.
 */
export function frameOf({ left, bottom, right, top }: MapExtent, width: number, height: number): QuadrantFrame {
  const scale = Math.min(width / (right - left), height / (top - bottom));
  return {
    left,
    top,
    width: Math.max(1, Math.round((right - left) * scale)),
    height: Math.max(1, Math.round((top - bottom) * scale)),
    scale,
  };
}

/** The extent of all quadrants with polygons, plus a margin, in steps of the domain's grid. */
export function extentOf({ nodes }: HostMaqTree): MapExtent {
  let [left, bottom, right, top] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let node = 0; node < nodes.level.length; node++) {
    if (nodes.entryCount[node] === 0) continue;
    const side = 2 ** (DOMAIN_BITS - nodes.level[node]!);
    const [x, y] = [columnOf(nodes, node) * side, rowOf(nodes, node) * side];
    left = Math.min(left, x);
    bottom = Math.min(bottom, y);
    right = Math.max(right, x + side);
    top = Math.max(top, y + side);
  }
  if (left > right) [left, bottom, right, top] = [0, 0, 2 ** DOMAIN_BITS, 2 ** DOMAIN_BITS];
  const pad = PAD * Math.max(right - left, top - bottom);
  return { left: left - pad, bottom: bottom - pad, right: right + pad, top: top + pad };
}

/** The squares to draw, in ascending order of levels, so that larger squares come first. */
export interface DrawnCells {
  /**
   * The finest level drawn. A quadrant of a finer level is drawn as the square of this level that contains the
   * quadrant.
   */
  readonly level: number;
  /** Whether the tree has levels that are finer than the finest level drawn. */
  readonly isCoarser: boolean;
  /**
   * If the tree has levels that are finer than `level`, the reason why they are not drawn: true if their squares would
   * be smaller than a pixel, false if there would be too many squares.
   */
  readonly isByPixels: boolean;
  /** Column of each square, counted from the left in squares of the same level. `row` is counted from the bottom. */
  readonly column: Uint32Array;
  readonly row: Uint32Array;
  readonly levels: Uint8Array;
  /** For each square: 1 if the edge of some polygon passes through it; 0 if it lies inside a polygon. */
  readonly boundary: Uint8Array;
}

/**
 * The squares to draw for the part of a tree inside a frame. The finest level drawn is the finest level that meets two
 * conditions: its squares are at least `min` pixels wide, and at most `max` squares are drawn in total. If no level
 * meets both conditions, only the root (level 0) is drawn.
 */
export function cellsWithin(tree: HostMaqTree, frame: QuadrantFrame, min: number, max: number): DrawnCells {
  const held = heldBelow(tree);
  const byPixels = DOMAIN_BITS - Math.ceil(Math.log2(min / frame.scale));
  for (let level = Math.max(0, Math.min(tree.extent.levels, byPixels)); ; level--) {
    const nodes = nodesTo(tree, level, frame);
    if (nodes.length > max && level > 0) continue;
    return cellsOf(tree, held, nodes, level, level === byPixels);
  }
}

/**
 * For every node, what the node and its descendants contain: 0 means no polygons, 1 means only quadrants inside
 * polygons, and 2 means at least one quadrant on the boundary of a polygon.
 */
function heldBelow(tree: HostMaqTree): Uint8Array {
  const { firstChild, childCount } = tree.nodes;
  const held = new Uint8Array(firstChild.length);
  for (let node = held.length - 1; node >= 0; node--) {
    let max = heldBy(tree, node);
    for (let child = firstChild[node]!; child < firstChild[node]! + childCount[node]!; child++) {
      max = Math.max(max, held[child]!);
    }
    held[node] = max;
  }
  return held;
}

/** What a node contains, without its descendants. The result is coded as in `heldBelow`. */
function heldBy({ nodes, entries }: HostMaqTree, node: number): number {
  const [from, count] = [nodes.firstEntry[node]!, nodes.entryCount[node]!];
  for (let entry = from; entry < from + count; entry++) if (entries.boundary[entry] === 1) return 2;
  return count === 0 ? 0 : 1;
}

/**
 * Indices of the nodes to draw. Of the nodes that overlap the frame, these are all nodes of `level`, and those nodes of
 * coarser levels that have polygons of their own.
 */
function nodesTo({ nodes }: HostMaqTree, level: number, { left, top, width, height, scale }: QuadrantFrame): number[] {
  const [right, bottom] = [left + width / scale, top - height / scale];
  const found: number[] = [];
  for (let node = 0; node < nodes.level.length && nodes.level[node]! <= level; node++) {
    if (nodes.entryCount[node] === 0 && nodes.level[node] !== level) continue;
    const side = 2 ** (DOMAIN_BITS - nodes.level[node]!);
    const [x, y] = [columnOf(nodes, node) * side, rowOf(nodes, node) * side];
    if (x < right && x + side > left && y < top && y + side > bottom) found.push(node);
  }
  return found;
}

function cellsOf(
  tree: HostMaqTree,
  held: Uint8Array,
  drawn: readonly number[],
  level: number,
  byPixels: boolean,
): DrawnCells {
  const { nodes } = tree;
  const holds = (node: number): number => (nodes.level[node] === level ? held[node]! : heldBy(tree, node));
  return {
    level,
    isCoarser: level < tree.extent.levels,
    isByPixels: byPixels,
    column: Uint32Array.from(drawn, (node) => columnOf(nodes, node)),
    row: Uint32Array.from(drawn, (node) => rowOf(nodes, node)),
    levels: Uint8Array.from(drawn, (node) => nodes.level[node]!),
    boundary: Uint8Array.from(drawn, (node) => (holds(node) === 2 ? 1 : 0)),
  };
}

type Codes = Pick<HostMaqTree['nodes'], 'code'>;

function columnOf({ code }: Codes, node: number): number {
  return evenBits(code.lo[node]!) + 2 ** 16 * evenBits(code.hi[node]!);
}

function rowOf({ code }: Codes, node: number): number {
  return evenBits(code.lo[node]! >>> 1) + 2 ** 16 * evenBits(code.hi[node]! >>> 1);
}

/** Packs the 16 even bits of a 32-bit word into the lower half. Morton codes store columns in even bits. */
function evenBits(word: number): number {
  let bits = word & 0x55555555;
  bits = (bits | (bits >>> 1)) & 0x33333333;
  bits = (bits | (bits >>> 2)) & 0x0f0f0f0f;
  bits = (bits | (bits >>> 4)) & 0x00ff00ff;
  return (bits | (bits >>> 8)) & 0x0000ffff;
}
