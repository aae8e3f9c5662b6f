import { aWhole, type FieldKinds, optional, where } from '../../primitives/kinds.ts';

/** How detections become tracks; distances in pixels, R being the greatest radius that cells are tracked with. */
export interface LinkingOptions {
  /** Between where a followed cell is expected and where it is detected, at most; R unless given. */
  readonly maxDistance?: number | undefined;
  /** Frames over which a lost cell may be found again as the same track; 40 unless given. */
  readonly maxGap?: number | undefined;
  /** Between where a lost cell would be by its speed and where it is detected, at most; 1.5 R unless given. */
  readonly maxGapDistance?: number | undefined;
  /** A track ends when so many detections in a row have missed it; 2 unless given. */
  readonly maxMisses?: number | undefined;
  /** Of two tracks that come nearer to each other than this, the one ends that moved less as expected; R/2 unless given. */
  readonly minDistance?: number | undefined;
  /** A track ends where its centre comes nearer to an edge of the frame than this; R/2 unless given. */
  readonly edge?: number | undefined;
}

/** All of the options, with what is usual for those that are not given. */
export function linkingSettings(
  options: LinkingOptions,
  radius: number,
): { readonly [K in keyof LinkingOptions]-?: number } {
  const { maxDistance = radius, maxGap = 40, maxGapDistance = 1.5 * radius, maxMisses = 2 } = options;
  const { minDistance = radius / 2, edge = radius / 2 } = options;
  return { maxDistance, maxGap, maxGapDistance, maxMisses, minDistance, edge };
}

/** Costs of links are squares of distances as whole numbers below 2^32. */
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
