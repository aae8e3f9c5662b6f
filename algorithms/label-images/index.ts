/**
 * For label images: they are held as runs of pixels, and compared region by region.
 *
 * @packageDocumentation
 */

export { type LabelPair, type LabelRegions, NO_REGIONS } from './label-regions.ts';
export type { SharedPixels } from './pixel-totals.ts';
export { type SharedPixelsOptions, sharedPixels } from './shared-pixels.ts';
