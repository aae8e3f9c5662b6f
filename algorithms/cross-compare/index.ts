/**
 * Compares two sets of polygons, such as two segmentations of the same image. Computes J′ (the mean ratio of
 * intersection to union), pairs, missing polygons and one-to-one matches.
 *
 * @packageDocumentation
 */

export type { PairAreas } from '../pixelbox/pair-areas.ts';
export { ratiosOf } from './areas.ts';
export { type BoxMeetings, countMeetings } from './box-meetings.ts';
export { type CrossCompareRun, crossCompare } from './cross-compare.ts';
export type { CrossComparison, SkippedTile } from './cross-comparison.ts';
export { type Boxes, type BoxIndex, type Candidates, filterPairs, indexBoxes, type PairColumns } from './filter.ts';
export type { CompareScheme, CrossCompareJob, Migration } from './job.ts';
export { type MatchMethod, type MatchOptions, matchPairs, type RatedPairs } from './matching.ts';
export type {
  ComparedPairs,
  ImageSize,
  LabelSide,
  LabelTask,
  PolygonSide,
  PolygonTask,
  SideResult,
  TileComparison,
  TileSide,
  TileTask,
} from './tile-comparison.ts';
export type { TilePair, TileSet } from './tile-pairs.ts';
export { type ReadPolygons, type TileSideOptions, tileSide } from './tile-side.ts';
export { type BothSides, type Comparison, type MatchFigures, RATIO_BINS, type Totals, totalsOf } from './totals.ts';
export type { VoxelGrid } from './voxel-grid.ts';
