import {
  aNumberWithin,
  anArrayOf,
  aWhole,
  aWord,
  type FieldKinds,
  optional,
  where,
} from '../../primitives/checks/kinds.ts';
import { largestOf } from '../../primitives/host/extremes.ts';

export interface GicovOptions {
  /** Radii of the circles, in pixels. Default 8, 10, … 20. */
  readonly radii?: readonly number[] | undefined;
  /** Number of samples on each circle; must be even. Default 150. */
  readonly points?: number | undefined;
  /**
   * Scores with a magnitude of at most this value become 0. About half of the samples around pixels with such scores
   * are skipped. Default 0.
   */
  readonly threshold?: number | undefined;
  /** Pixels closer to an edge of the frame than this have score 0. Default: the maximum radius plus 2. */
  readonly margin?: number | undefined;
  /**
   * Which cells to find. Bright cells (brighter than their surroundings) have negative scores, dark cells positive
   * ones. Default `both`.
   */
  readonly sign?: 'bright' | 'dark' | 'both' | undefined;
}

export interface DetectionOptions extends GicovOptions {
  /** A cell needs a score with a magnitude above this. Default 1.8. */
  readonly threshold?: number | undefined;
  /** Radius in pixels within which a cell must have the best score. Default 12. */
  readonly dilation?: number | undefined;
  /** Capacity of the result, in cells. Default 4,096. */
  readonly maxCells?: number | undefined;
}

export const GICOV_OPTIONS: FieldKinds<GicovOptions> = {
  radii: optional(anArrayOf(aNumberWithin(1, 256, 'cells/radii'), 'an array of radii')),
  points: optional(
    where('an even number from 8 to 720', (given) => Number.isInteger(given) && isPoints(given as number), {
      code: 'cells/points',
    }),
  ),
  threshold: optional(
    where('a number from 0', (given) => Number.isFinite(given) && (given as number) >= 0, { code: 'cells/threshold' }),
  ),
  margin: optional(aWhole(0, 2 ** 16, 'cells/margin')),
  sign: optional(aWord(['bright', 'dark', 'both'], 'cells/sign')),
};

function isPoints(given: number): boolean {
  return given % 2 === 0 && given >= 8 && given <= 720;
}

export const DETECTION_OPTIONS: FieldKinds<DetectionOptions> = {
  ...GICOV_OPTIONS,
  dilation: optional(aWhole(0, 64, 'cells/dilation')),
  maxCells: optional(aWhole(1, 2 ** 24, 'cells/max')),
};

export const DEFAULT_RADII: readonly number[] = [8, 10, 12, 14, 16, 18, 20];

/** The smallest margin at which circles, and the neighbours of their pixels, stay inside the frame. */
export function marginOf(radii: readonly number[]): number {
  return Math.ceil(largestOf(radii)) + 2;
}
