import type { Rgb } from '../rgb.ts';

/** Colour of quadrants through which an edge of a polygon passes. */
export const BOUNDARY: Rgb = [236, 158, 66];
/** Colour of the outlines of polygons. */
export const OUTLINE: Rgb = [27, 30, 36];

/**
 * Colours of quadrants inside polygons, from the coarsest level to the finest, like deep to shallow water. The colours
 * differ in lightness, so that levels are also distinguishable for colour-blind readers.
 */
const DEEP_TO_SHALLOW: readonly Rgb[] = [
  [32, 60, 104],
  [38, 107, 148],
  [92, 165, 183],
  [168, 213, 210],
  [222, 239, 230],
];

/**
 * The colour of quadrants inside polygons at a level. `first` and `last` are the coarsest and the finest level drawn.
 */
export function colorOfLevel(level: number, first: number, last: number): Rgb {
  const at = ((level - first) / Math.max(1, last - first)) * (DEEP_TO_SHALLOW.length - 1);
  const below = Math.min(DEEP_TO_SHALLOW.length - 2, Math.floor(at));
  const [from, to] = [DEEP_TO_SHALLOW[below]!, DEEP_TO_SHALLOW[below + 1]!];
  return [0, 1, 2].map((part) => Math.round(from[part]! + (at - below) * (to[part]! - from[part]!))) as unknown as Rgb;
}
