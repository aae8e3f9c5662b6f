import { type MapExtent, unionOf } from './extent.ts';

/** Outlying zones are drawn separately only if at least this fraction of all zones is in the main region. */
const MAX_ZONES = 0.95;
/** Outlying zones are drawn separately only if the scale of the main map grows by at least this factor. */
const GAIN = 1.4;
/** Minimum distance between two regions, as a fraction of the longer side of the whole map. */
const APART = 0.03;
const MAX_INSETS = 6;

/**
 * Divides zones, given by their bounds, into a main region with nearly all of them and a few outlying regions. If all
 * regions were on a common map, the main region would be small, as the conterminous United States are on a map with
 * Alaska and Hawaii.
 *
 * @returns The bounds of the regions, with the main region first. There is only one region if dividing has no
 * advantage, and none if there are no zones.
 */
export function regionsOf(zones: readonly MapExtent[]): MapExtent[] {
  const whole = unionOf(zones);
  if (whole === undefined) return [];
  const near = APART * Math.max(whole.right - whole.left, whole.top - whole.bottom);
  const clusters = mergeNear(connected(zones, whole), near).sort((a, b) => b.zones - a.zones);
  const main = clusters[0]!;
  const worthwhile = main.zones >= MAX_ZONES * zones.length && sizeOf(whole) >= GAIN * sizeOf(main.extent);
  return worthwhile ? clusters.map(({ extent }) => extent) : [whole];
}

/** Size that an extent has on a page with an aspect ratio of 3 : 2. Used to compare extents. */
function sizeOf({ left, right, bottom, top }: MapExtent): number {
  return Math.max((right - left) / 1.5, top - bottom);
}

interface Cluster {
  readonly extent: MapExtent;
  readonly zones: number;
}

/** Number of columns and rows of the grid that determines which zones touch. */
const SQUARES = 256;

/**
 * Groups zones that touch. Two zones touch if their bounds occupy the same square or neighbouring squares of a fine
 * grid.
 */
function connected(zones: readonly MapExtent[], whole: MapExtent): Cluster[] {
  const scaleX = SQUARES / (whole.right - whole.left || 1);
  const scaleY = SQUARES / (whole.top - whole.bottom || 1);
  const square = (offset: number): number => Math.min(SQUARES - 1, Math.floor(offset));
  const boxes = zones.map(({ left, right, bottom, top }) => ({
    columns: [square((left - whole.left) * scaleX), square((right - whole.left) * scaleX)] as const,
    rows: [square((bottom - whole.bottom) * scaleY), square((top - whole.bottom) * scaleY)] as const,
  }));
  const occupied = new Uint8Array(SQUARES * SQUARES);
  for (const { columns, rows } of boxes) {
    for (let row = rows[0]; row <= rows[1]; row++) {
      occupied.fill(1, row * SQUARES + columns[0], row * SQUARES + columns[1] + 1);
    }
  }
  const labels = labelComponents(occupied);
  const members = new Map<number, MapExtent[]>();
  for (const [zone, { columns, rows }] of boxes.entries()) {
    const label = labels[rows[0] * SQUARES + columns[0]]!;
    const group = members.get(label) ?? [];
    group.push(zones[zone]!);
    members.set(label, group);
  }
  return [...members.values()].map((group) => ({ extent: unionOf(group)!, zones: group.length }));
}

/**
 * Finds the groups of occupied squares that touch at a side or a corner. Returns, for every square, the number of its
 * group from 1, or 0 if the square is not occupied.
 */
function labelComponents(occupied: Uint8Array): Uint16Array {
  const labels = new Uint16Array(occupied.length);
  let label = 0;
  for (const start of occupied.keys()) {
    if (occupied[start] === 0 || labels[start] !== 0) continue;
    labels[start] = ++label;
    const open = [start];
    for (let square = open.pop(); square !== undefined; square = open.pop()) {
      for (const next of neighbours(square)) {
        if (occupied[next] === 0 || labels[next] !== 0) continue;
        labels[next] = label;
        open.push(next);
      }
    }
  }
  return labels;
}

function neighbours(square: number): number[] {
  const [row, column] = [Math.floor(square / SQUARES), square % SQUARES];
  const found = [];
  for (let r = Math.max(0, row - 1); r <= Math.min(SQUARES - 1, row + 1); r++) {
    for (let c = Math.max(0, column - 1); c <= Math.min(SQUARES - 1, column + 1); c++) found.push(r * SQUARES + c);
  }
  return found;
}

/** If there are more clusters than this number, the zones are scattered, and no region counts as the main region. */
const MAX_CLUSTERS = 200;

/**
 * Repeatedly merges the two nearest clusters, until all clusters are at least `near` apart and few enough to draw each
 * in a separate frame. More than MAX_CLUSTERS clusters become a single cluster at once.
 */
function mergeNear(clusters: readonly Cluster[], near: number): Cluster[] {
  if (clusters.length > MAX_CLUSTERS) return [{ extent: unionOf(clusters.map(({ extent }) => extent))!, zones: 0 }];
  const merged = [...clusters];
  while (merged.length > 1) {
    const { a, b, distance } = nearestPair(merged);
    if (distance >= near && merged.length <= MAX_INSETS + 1) break;
    const [taken] = merged.splice(b, 1);
    merged[a] = { extent: unionOf([merged[a]!.extent, taken!.extent])!, zones: merged[a]!.zones + taken!.zones };
  }
  return merged;
}

function nearestPair(clusters: readonly Cluster[]): { a: number; b: number; distance: number } {
  let nearest = { a: 0, b: 1, distance: Infinity };
  for (let b = 1; b < clusters.length; b++) {
    for (let a = 0; a < b; a++) {
      const distance = distanceBetween(clusters[a]!.extent, clusters[b]!.extent);
      if (distance < nearest.distance) nearest = { a, b, distance };
    }
  }
  return nearest;
}

function distanceBetween(a: MapExtent, b: MapExtent): number {
  const x = Math.max(0, a.left - b.right, b.left - a.right);
  const y = Math.max(0, a.bottom - b.top, b.bottom - a.top);
  return Math.hypot(x, y);
}
