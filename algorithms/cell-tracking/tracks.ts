import type { HostTableOf } from '../../primitives/index.ts';
import { PATH_FRAMES, type SeenColumns, type StartingCell } from './cell-state.ts';
import type { DetectedCells } from './detect-cells.ts';
import { linkPoints, type Point, squaredDistance } from './link-cells.ts';
import type { LinkingOptions } from './linking-options.ts';
import { SNAXELS } from './snake.ts';

/** The tracked cells of one frame, one row per cell, ordered by track number. */
export interface TrackedFrame {
  /** Index of the frame, from 0. */
  readonly index: number;
  /** Track numbers, from 1. A number identifies one cell over time. */
  readonly track: Uint32Array;
  /** Centres in pixels. 0, 0 is the centre of the upper left pixel. */
  readonly x: Float32Array;
  readonly y: Float32Array;
  /** Mean distance of each contour from its centre, in pixels. */
  readonly radius: Float32Array;
  /** Score of the track's latest detection; negative for cells brighter than their surroundings. */
  readonly score: Float32Array;
  /** Speed in pixels per frame since the previous frame of the track; NaN in the first frame of a track. */
  readonly speed: Float32Array;
  /**
   * Distances of the 20 snaxels (points of a contour) from the centre, 20 rows per cell. The first snaxel is to the
   * right of the centre, and the next ones follow clockwise.
   */
  readonly radii: Float32Array;
  /** Whether detection ran on this frame, even if it found no cells. */
  readonly detected: boolean;
}

/** Results of a frame that the host reads from the device. Their rows are those of the device's table of cells. */
export type SeenCells = HostTableOf<SeenColumns>;

interface Place {
  readonly x: number;
  readonly y: number;
  /** Index of the frame in which the cell was at this place. */
  readonly index: number;
}

interface Track {
  /** Track number, from 1; 0 until the first frame in which the cell is seen. */
  id: number;
  /** Row of the track on the device. */
  row: number;
  /** The expected radius of the cell, in pixels. */
  expected: number;
  score: number;
  /** Number of detections in a row that found no cell for this track. */
  misses: number;
  /** Where the track's snake starts in the next frame. */
  at: Place;
  /** Positions of the track in the last frames, newest first. */
  recent: Place[];
  /**
   * Positions of the track before the last frame in which its cell was detected, newest first. Later positions may
   * belong to a snake that stayed where the cell was hidden.
   */
  trusted: Place[];
  radii: Float32Array | undefined;
}

/** The tracks of a video. Frames must come in order. */
export interface Tracks {
  readonly isEmpty: boolean;
  /** Minimum number of rows of the device's table of cells. */
  readonly rows: number;
  /** Links the detections of a frame to tracks. Returns the cells to follow from this frame on, with their rows. */
  link(index: number, detected: DetectedCells): StartingCell[];
  /** Takes the device's results for a frame, and returns its tracked cells. */
  see(index: number, seen: SeenCells, detected: boolean): TrackedFrame;
}

export type LinkingSettings = { readonly [K in keyof LinkingOptions]-?: number } & {
  readonly width: number;
  readonly height: number;
  /** Cells closer to an edge of the frame than this are not detected. */
  readonly margin: number;
};

export function createTracks(settings: LinkingSettings): Tracks {
  let [live, lost]: [Track[], Track[]] = [[], []];
  let ids = 0;
  const rows = createRows();

  function link(index: number, detected: DetectedCells): StartingCell[] {
    const cells = Array.from(detected.x, (x, cell) => ({ x, y: detected.y[cell]!, index, cell }));
    const confirm = (track: Track, { cell }: { readonly cell: number }): void => {
      Object.assign(track, { score: detected.score[cell]!, misses: 0 });
    };
    const expected = live.map(({ at, recent }) => expectedPlace(at, recent, index));
    const links = linkPoints(expected, cells, settings.maxDistance);
    for (const [i, cell] of links) {
      confirm(live[i]!, cells[cell]!);
      live[i]!.trusted = live[i]!.recent;
    }
    const missed = live.filter((_, i) => !links.has(i) && isInside(expected[i]!, settings, settings.margin));
    const taken = new Set(links.values());
    const left = cells.filter(
      (cell) => !taken.has(cell.cell) && !expected.some((place) => isNear(place, cell, settings.minDistance)),
    );
    const again = linkAgain(index, missed, left);
    for (const track of missed) track.misses++;
    for (const cell of left) {
      const track = again.get(cell) ?? begin(cell);
      confirm(track, cell);
      Object.assign(track, {
        at: cell,
        radii: undefined,
        expected: detected.radius[cell.cell]!,
      });
      if (live.includes(track)) continue;
      track.row = rows.take();
      live.push(track);
    }
    endMissed();
    rows.settle();
    return live.map(startOf);
  }

  /**
   * Finds the earlier tracks that the cells in `left` continue; these cells were detected but have no track yet.
   * Candidates are lost tracks and the tracks in `missed`, whose snakes may have stayed where the cells were hidden.
   */
  function linkAgain<T extends Point>(index: number, missed: readonly Track[], left: readonly T[]): Map<T, Track> {
    lost = lost.filter(({ recent }) => index - recent[0]!.index <= settings.maxGap);
    for (const track of missed) if (track.trusted.length === 0) track.trusted = track.recent;
    const candidates = [
      ...missed.map((track) => ({ track, recent: track.trusted })),
      ...lost.map((track) => ({ track, recent: track.recent })),
    ];
    const expected = candidates.map(({ track, recent }) => expectedPlace(track.at, recent, index));
    const found = new Map<T, Track>();
    for (const [i, cell] of linkPoints(expected, left, settings.maxGapDistance)) {
      const { track, recent } = candidates[i]!;
      track.recent = recent;
      found.set(left[cell]!, track);
    }
    const tracks = new Set(found.values());
    lost = lost.filter((track) => !tracks.has(track));
    return found;
  }

  function endMissed(): void {
    for (const track of live) if (track.misses >= settings.maxMisses) track.recent = track.trusted;
    end((track) => track.misses >= settings.maxMisses);
  }

  function see(index: number, seen: SeenCells, detected: boolean): TrackedFrame {
    const placeOf = (row: number): Point => ({ x: seen.x[row]!, y: seen.y[row]! });
    end(({ row }) => seen.lost[row] !== 0 || !isInside(placeOf(row), settings, settings.edge));
    const merged = mergedTracks(live, index, seen, settings.minDistance);
    end((track) => merged.has(track));
    for (const track of live) {
      if (track.id === 0) track.id = ++ids;
      const { row } = track;
      track.at = { x: seen.x[row]!, y: seen.y[row]!, index };
      track.recent = [track.at, ...track.recent.slice(0, PATH_FRAMES - 1)];
      track.radii = seen.radii.slice(SNAXELS * row, SNAXELS * (row + 1));
    }
    return frameOf(index, live, seen, detected);
  }

  /**
   * Ends tracks. Those that were seen in some frame become lost tracks, which can be continued; all others are dropped.
   */
  function end(isOver: (track: Track) => boolean): void {
    const over = live.filter(isOver);
    live = live.filter((track) => !over.includes(track));
    for (const track of over) {
      rows.free(track.row);
      if (track.recent.length > 0) lost.push(track);
    }
  }

  return {
    get isEmpty() {
      return live.length === 0;
    },
    get rows() {
      return rows.count();
    },
    link,
    see,
  };
}

/**
 * Allocates rows of the device's table of cells. A freed row keeps the flow field of its old cell until the next call
 * of `link` ends, so the row is not reused earlier.
 */
function createRows() {
  let count = 0;
  const [free, freed]: [number[], number[]] = [[], []];
  return {
    count: () => count,
    take: () => free.pop() ?? count++,
    free: (row: number) => void freed.push(row),
    settle: () => {
      while (freed.length > 0) free.push(freed.pop()!);
    },
  };
}

function begin(at: Place): Track {
  return { id: 0, row: 0, expected: 0, score: 0, misses: 0, at, recent: [], trusted: [], radii: undefined };
}

function startOf({ row, at, expected, recent, radii }: Track): StartingCell {
  return { row, x: at.x, y: at.y, radius: expected, recent, radii };
}

/** The position of a track in the frame `index`, extrapolated from the last frames in which the track was seen. */
function expectedPlace(at: Place, recent: readonly Place[], index: number): Place {
  const [first, last] = [recent.at(-1), recent[0]];
  if (first === undefined || last === undefined || first.index === last.index) return at;
  const frames = (index - last.index) / (last.index - first.index);
  return { x: last.x + (last.x - first.x) * frames, y: last.y + (last.y - first.y) * frames, index };
}

function isNear(a: Place, b: Place, distance: number): boolean {
  return squaredDistance(a, b) < distance * distance;
}

/** Whether a position is at least `margin` from every edge of the frame. */
function isInside({ x, y }: Point, { width, height }: LinkingSettings, margin: number): boolean {
  return x >= margin && y >= margin && x <= width - 1 - margin && y <= height - 1 - margin;
}

/**
 * Finds pairs of tracks that are closer than `distance`. From each pair, returns the track that is farther from its
 * expected position.
 */
function mergedTracks(live: readonly Track[], index: number, seen: SeenCells, distance: number): Set<Track> {
  const places = live.map((track) => ({ track, x: seen.x[track.row]!, y: seen.y[track.row]!, index }));
  places.sort((a, b) => a.x - b.x || a.track.row - b.track.row);
  const offOf = ({ track, ...place }: (typeof places)[number]) =>
    squaredDistance(expectedPlace(track.at, track.recent, index), place);
  const merged = new Set<Track>();
  for (const [i, a] of places.entries()) {
    for (let j = i + 1; j < places.length && places[j]!.x < a.x + distance; j++) {
      const b = places[j]!;
      if (merged.has(a.track) || merged.has(b.track) || !isNear(a, b, distance)) continue;
      const isFirst = isOlder(a.track, b.track) ? offOf(a) > offOf(b) : offOf(a) >= offOf(b);
      merged.add((isFirst ? a : b).track);
    }
  }
  return merged;
}

function isOlder(a: Track, b: Track): boolean {
  return a.id !== 0 && (b.id === 0 || a.id < b.id);
}

function frameOf(index: number, live: readonly Track[], seen: SeenCells, detected: boolean): TrackedFrame {
  const tracks = [...live].sort((a, b) => a.id - b.id);
  const column = (of: (track: Track) => number) => Float32Array.from(tracks, of);
  const radii = new Float32Array(SNAXELS * tracks.length);
  for (const [i, track] of tracks.entries()) radii.set(track.radii!, SNAXELS * i);
  return {
    index,
    track: Uint32Array.from(tracks, ({ id }) => id),
    x: column(({ at }) => at.x),
    y: column(({ at }) => at.y),
    radius: column(({ row }) => seen.radius[row]!),
    score: column(({ score }) => score),
    speed: column(speedOf),
    radii,
    detected,
  };
}

function speedOf({ recent: [now, before] }: Track): number {
  if (before === undefined) return Number.NaN;
  return Math.sqrt(squaredDistance(now!, before)) / (now!.index - before.index);
}
