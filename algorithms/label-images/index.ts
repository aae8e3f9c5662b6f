/**
 * Label images as runs of pixels, and the pixels that regions of two of them share.
 *
 * @packageDocumentation
 */

export { type LabelPair, type LabelRegions, NO_REGIONS } from './label-regions.ts';
export type { SharedPixels } from './pixel-totals.ts';
export { type SharedPixelsOptions, sharedPixels } from './shared-pixels.ts';
