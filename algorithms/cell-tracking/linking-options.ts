import { aNumberWithin, aWhole, type FieldKinds, optional } from '../../primitives/checks/kinds.ts';

/**
 * How detections are linked to tracks. Distances are in pixels; R is the maximum radius with which cells are tracked.
 */
export interface LinkingOptions {
  /** Maximum distance between the expected position of a followed cell and its detection. Default R. */
  readonly maxDistance?: number | undefined;
  /** Maximum number of frames for which a cell may be lost and still continue its track. Default 40. */
  readonly maxGap?: number | undefined;
  /** Maximum distance between the extrapolated position of a lost cell and its detection. Default 1.5 R. */
  readonly maxGapDistance?: number | undefined;
  /** A track ends when its cell has not been detected this many times in a row. Default 2. */
  readonly maxMisses?: number | undefined;
  /**
   * If two tracks come closer than this distance, one of them ends: the track whose last move deviated more from the
   * expected move. Default R/2.
   */
  readonly minDistance?: number | undefined;
  /** A track ends if the centre of its cell is closer to an edge of the frame than this. Default R/2. */
  readonly edge?: number | undefined;
}

/** Fills in the default of every missing option. */
export function linkingSettings(
  options: LinkingOptions,
  radius: number,
): { readonly [K in keyof LinkingOptions]-?: number } {
  const { maxDistance = radius, maxGap = 40, maxGapDistance = 1.5 * radius, maxMisses = 2 } = options;
  const { minDistance = radius / 2, edge = radius / 2 } = options;
  return { maxDistance, maxGap, maxGapDistance, maxMisses, minDistance, edge };
}

/** Maximum distance of a link in pixels, so that its cost, a squared distance, fits in 32 bits. */
const MAX_DISTANCE = 256;

const aDistance = aNumberWithin(0, MAX_DISTANCE, 'tracks/distance');

export const LINKING_OPTIONS: FieldKinds<LinkingOptions> = {
  maxDistance: optional(aDistance),
  maxGap: optional(aWhole(0, 2 ** 20, 'tracks/gap')),
  maxGapDistance: optional(aDistance),
  maxMisses: optional(aWhole(1, 2 ** 20, 'tracks/misses')),
  minDistance: optional(aDistance),
  edge: optional(aDistance),
};
