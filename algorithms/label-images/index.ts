/**
 * Label images as runs of pixels, and what the regions of two of them have in common.
 *
 * @module
 */

export { BYTES_PER_RUN, type LabelPair, type LabelRegions, NO_REGIONS } from './label-regions.ts';
export type { SharedPixels } from './pixel-totals.ts';
export { type SharedPixelsOptions, sharedPixels } from './shared-pixels.ts';
