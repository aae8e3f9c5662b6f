import { aWhole, type FieldKinds, optional, where } from '../../primitives/kinds.ts';

/** How detections become tracks. Distances are in pixels; R is the maximum radius with which cells are tracked. */
export interface LinkingOptions {
  /** Maximum distance between the expected position of a followed cell and its detection. Default R. */
  readonly maxDistance?: number | undefined;
  /** Maximum number of frames after which a lost cell can be found again as the same track. Default 40. */
  readonly maxGap?: number | undefined;
  /** Maximum distance between the extrapolated position of a lost cell and its detection. Default 1.5 R. */
  readonly maxGapDistance?: number | undefined;
  /** A track ends when this many detections in a row have missed it. Default 2. */
  readonly maxMisses?: number | undefined;
  /** If two tracks come closer than this, the one that moved less as expected ends. Default R/2. */
  readonly minDistance?: number | undefined;
  /** A track ends if its centre is closer to an edge of the frame than this. Default R/2. */
  readonly edge?: number | undefined;
}

/** All options with defaults filled in. */
export function linkingSettings(
  options: LinkingOptions,
  radius: number,
): { readonly [K in keyof LinkingOptions]-?: number } {
  const { maxDistance = radius, maxGap = 40, maxGapDistance = 1.5 * radius, maxMisses = 2 } = options;
  const { minDistance = radius / 2, edge = radius / 2 } = options;
  return { maxDistance, maxGap, maxGapDistance, maxMisses, minDistance, edge };
}

/** Costs of links are squared distances as integers below 2^32. */
const MAX_DISTANCE = 256;

const aDistance = where(
  `a number from 0 to ${MAX_DISTANCE}`,
  (given) => typeof given === 'number' && given >= 0 && given <= MAX_DISTANCE,
  { code: 'tracks/distance' },
);

export const LINKING_OPTIONS: FieldKinds<LinkingOptions> = {
  maxDistance: optional(aDistance),
  maxGap: optional(aWhole(0, 2 ** 20, 'tracks/gap')),
  maxGapDistance: optional(aDistance),
  maxMisses: optional(aWhole(1, 2 ** 20, 'tracks/misses')),
  minDistance: optional(aDistance),
  edge: optional(aDistance),
};
