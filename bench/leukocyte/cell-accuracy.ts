import { assign } from '../../algorithms/cross-compare/assignment.ts';
import type { TrueCell } from './cell-video.ts';

/** The centres that a method found in one frame, in pixels. */
export interface FoundCells {
  readonly x: ArrayLike<number>;
  readonly y: ArrayLike<number>;
}

/** Found centres with the number of the track to which each belongs. */
export interface FoundTracks extends FoundCells {
  readonly track: ArrayLike<number>;
}

export interface MatchOptions {
  readonly width: number;
  readonly height: number;
  /** Maximum distance between a true centre and its match, in pixels; 4 by default. */
  readonly radius?: number;
  /** Cells within this distance of the frame's border are not counted; 22 pixels by default. */
  readonly border?: number;
}

export interface DetectionAccuracy {
  /** Found centres that match a true centre, as a share of all found centres. */
  readonly precision: number;
  /** True centres that match a found centre, as a share of all true centres. */
  readonly recall: number;
  /** The harmonic mean of precision and recall. */
  readonly f1: number;
  /** Precision and recall are computed from `matched`, `missed` and `spurious`. These counts add up over frames. */
  readonly matched: number;
  readonly missed: number;
  readonly spurious: number;
  /** The distance between each matched pair of centres, in pixels, ascending. */
  readonly centreErrors: Float64Array;
}

export interface TrackAccuracy {
  /** Number of cells that are counted in at least two frames. */
  readonly tracks: number;
  /** The share of the cells in `tracks` that were found at least once, and always by the same track. */
  readonly withoutSwitch: number;
  /**
   * Number of switches, over all cells. A switch occurs when the track that finds a cell differs from the
   * track that found the cell last.
   */
  readonly switches: number;
  /**
   * Number of fragments, over all cells. A fragment is an uninterrupted series of frames in which the same track found
   * the cell. The ideal value equals `tracks`.
   */
  readonly fragments: number;
  /** Number of tracks that followed more than one cell. */
  readonly mixed: number;
  /** The share of the counted cells, over all frames, that were found. */
  readonly recall: number;
}

/**
 * Measures the accuracy of the centres found in one frame. Matches true and found centres one to one: as many pairs as
 * possible within the radius, with the minimum sum of squared distances. Does not count cells that are hidden or near
 * the border, found centres that match such cells, or unmatched centres near the border.
 */
export function matchDetections(
  truth: readonly TrueCell[],
  found: FoundCells,
  options: MatchOptions,
): DetectionAccuracy {
  return accuracyOf([...matchFrame(truth, found, options)]);
}

/** Measures the accuracy over several frames together. Matches each frame separately, as {@link matchDetections}. */
export function matchVideo(
  frames: Iterable<{ readonly truth: readonly TrueCell[]; readonly found: FoundCells }>,
  options: MatchOptions,
): DetectionAccuracy {
  const all: Match[] = [];
  for (const { truth, found } of frames) for (const match of matchFrame(truth, found, options)) all.push(match);
  return accuracyOf(all);
}

/**
 * Measures how well tracks follow the cells of a video. Each frame is matched separately, as by {@link
 * matchDetections}.
 */
export function trackAccuracy(
  frames: Iterable<{ readonly truth: readonly TrueCell[]; readonly found: FoundTracks }>,
  options: MatchOptions,
): TrackAccuracy {
  const cells = new Map<number, FollowedCell>();
  const cellsOfTrack = new Map<number, Set<number>>();
  let index = 0;
  for (const { truth, found } of frames) {
    for (const { cell, found: place } of matchFrame(truth, found, options)) {
      if (cell === undefined) continue;
      const track = place === undefined ? undefined : found.track[place]!;
      follow(cells, cell.id, track, index);
      if (track !== undefined) cellsOfTrack.set(track, (cellsOfTrack.get(track) ?? new Set()).add(cell.id));
    }
    index++;
  }
  const counted = [...cells.values()].filter(({ frames }) => frames >= 2);
  const sum = (of: (cell: FollowedCell) => number): number => counted.reduce((total, cell) => total + of(cell), 0);
  const whole = counted.filter(({ found, switches }) => found > 0 && switches === 0).length;
  return {
    tracks: counted.length,
    withoutSwitch: share(whole, counted.length),
    switches: sum(({ switches }) => switches),
    fragments: sum(({ fragments }) => fragments),
    mixed: [...cellsOfTrack.values()].filter(({ size }) => size > 1).length,
    recall: share(
      sum(({ found }) => found),
      sum(({ frames }) => frames),
    ),
  };
}

/** One entry of a matching: a true cell with its found centre, a missed cell, or a spurious centre. */
interface Match {
  readonly cell?: TrueCell;
  /** Index of the found centre. */
  readonly found?: number;
  /** Distance between both centres, in pixels. */
  readonly distance?: number;
}

/** Costs must be integers, so squared distances are multiplied by 2²⁰. */
const UNITS = 2 ** 20;

function* matchFrame(truth: readonly TrueCell[], found: FoundCells, options: MatchOptions): Generator<Match> {
  const radius = options.radius ?? 4;
  const edges = { row: [] as number[], column: [] as number[], cost: [] as number[] };
  for (const [row, { x, y }] of truth.entries()) {
    for (let column = 0; column < found.x.length; column++) {
      const square = (found.x[column]! - x) ** 2 + (found.y[column]! - y) ** 2;
      if (!(square <= radius * radius)) continue;
      edges.row.push(row);
      edges.column.push(column);
      edges.cost.push(Math.round(square * UNITS));
    }
  }
  const [ofCell, taken] = [new Map<number, number>(), new Set<number>()];
  for (const edge of assign(truth.length, found.x.length, edges)) {
    ofCell.set(edges.row[edge]!, edges.column[edge]!);
    taken.add(edges.column[edge]!);
  }
  for (const [row, cell] of truth.entries()) {
    if (!cell.visible || !isInside(cell.x, cell.y, options)) continue;
    const place = ofCell.get(row);
    if (place === undefined) yield { cell };
    else yield { cell, found: place, distance: Math.hypot(found.x[place]! - cell.x, found.y[place]! - cell.y) };
  }
  for (let place = 0; place < found.x.length; place++) {
    if (!taken.has(place) && isInside(found.x[place]!, found.y[place]!, options)) yield { found: place };
  }
}

function isInside(x: number, y: number, { width, height, border = 22 }: MatchOptions): boolean {
  return x >= border && y >= border && x <= width - 1 - border && y <= height - 1 - border;
}

function accuracyOf(matches: readonly Match[]): DetectionAccuracy {
  const centreErrors = Float64Array.from(
    matches.flatMap(({ distance }) => (distance === undefined ? [] : [distance])),
  ).sort();
  const matched = centreErrors.length;
  const missed = matches.filter(({ found }) => found === undefined).length;
  const spurious = matches.filter(({ cell }) => cell === undefined).length;
  return {
    precision: share(matched, matched + spurious),
    recall: share(matched, matched + missed),
    f1: share(2 * matched, 2 * matched + missed + spurious),
    matched,
    missed,
    spurious,
    centreErrors,
  };
}

/** `part` divided by `whole`; 1 if `whole` is 0. */
function share(part: number, whole: number): number {
  return whole === 0 ? 1 : part / whole;
}

interface FollowedCell {
  /** Number of frames in which the cell was counted; `found` is the number of frames in which a track found it. */
  frames: number;
  found: number;
  switches: number;
  fragments: number;
  track: number | undefined;
  lastFound: number;
}

function follow(cells: Map<number, FollowedCell>, id: number, track: number | undefined, frame: number): void {
  const cell = cells.get(id) ?? { frames: 0, found: 0, switches: 0, fragments: 0, track: undefined, lastFound: -2 };
  cells.set(id, cell);
  cell.frames++;
  if (track === undefined) return;
  const same = track === cell.track;
  if (!same && cell.track !== undefined) cell.switches++;
  if (!same || cell.lastFound !== frame - 1) cell.fragments++;
  cell.found++;
  cell.track = track;
  cell.lastFound = frame;
}
