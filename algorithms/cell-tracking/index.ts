/**
 * Tracks cells in video: finds leukocytes by circles that fit their edges (GICOV), and follows them with contours and
 * with snakes in the motion gradient vector flow.
 *
 * @packageDocumentation
 */

export type { Contours } from './contour.ts';
export { type DetectedCells, detectCells } from './detect-cells.ts';
export type { DetectionOptions, GicovOptions } from './detection-options.ts';
export type { Frame, HostFrame } from './frame.ts';
export { type Gicov, gicov } from './gicov.ts';
export { gradients } from './gradients.ts';
export type { LinkingOptions } from './linking-options.ts';
export { detectPeaks, type Peaks } from './peaks.ts';
export { type Circles, type ContourOptions, refineContours } from './refine-contours.ts';
export { type BackgroundOptions, stillBackground } from './still-background.ts';
export { cellTracker, trackCells } from './track-cells.ts';
export type { CellTracker, TrackCellsOptions } from './track-cells-options.ts';
export { type CellsBefore, type CellsInFrame, trackFrame } from './track-frame.ts';
export type { Direction, TrackingOptions, WindowFields } from './tracking-options.ts';
export type { TrackedFrame } from './tracks.ts';
export { WINDOW_WORDS } from './windows.ts';
