/**
 * Label images as runs of pixels, and counts of the pixels that regions of two label images share.
 *
 * @packageDocumentation
 */

export { type LabelPair, type LabelRegions, NO_REGIONS } from './label-regions.ts';
export type { SharedPixels } from './pixel-totals.ts';
export { type SharedPixelsOptions, sharedPixels } from './shared-pixels.ts';
