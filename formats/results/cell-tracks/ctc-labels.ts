import type { TrackedFrame } from '../../../algorithms/cell-tracking/tracks.ts';
import { CapacityError } from '../../../primitives/checks/errors.ts';
import { paintCells } from './contours.ts';

/** Builds a result in the format of the Cell Tracking Challenge, frame by frame. */
export interface CtcLabels {
  /** Adds the next frame. Returns the label of every pixel; 0 is the background. */
  add(frame: TrackedFrame): Uint16Array;
  /**
   * The content of `res_track.txt`, with a line `L B E P` per label. L is the label, B its first frame, E its last
   * frame, and P the label that L continues, or 0 if there is none.
   */
  tracks(): string;
}

/** Consecutive frames in which the same label occurs. */
interface LabelSpan {
  readonly label: number;
  readonly begin: number;
  end: number;
  readonly parent: number;
}

/** The greatest label, because label images have 16 bits per pixel. */
const MAX_LABELS = 2 ** 16 - 1;

/**
 * Starts a result. The label of a cell is the number of the cell's track. The challenge requires that a label occurs in
 * consecutive frames. So a track that reappears after a gap gets a new label, whose parent is the track's previous
 * label. Such new labels count down from 65,535. If all pixels of a cell belong to other cells in a frame, the labels
 * of that frame omit the cell.
 */
export function ctcLabels(width: number, height: number): CtcLabels {
  const pieces: LabelSpan[] = [];
  /** For each track, the latest label and the consecutive frames in which it occurs. */
  const last = new Map<number, LabelSpan>();
  let [highest, lowestAfterGaps] = [0, MAX_LABELS + 1];

  function labelOf(track: number, frame: number): number {
    const piece = last.get(track);
    if (piece?.end === frame - 1) piece.end = frame;
    else {
      const label = piece === undefined ? track : --lowestAfterGaps;
      highest = Math.max(highest, track);
      if (highest >= lowestAfterGaps) throw tooManyLabels();
      const next = { label, begin: frame, end: frame, parent: piece?.label ?? 0 };
      pieces.push(next);
      last.set(track, next);
    }
    return last.get(track)!.label;
  }

  return {
    add(frame) {
      const owner = paintCells(width, height, frame);
      const isSeen = new Uint8Array(frame.track.length + 1);
      for (let i = 0; i < owner.length; i++) isSeen[owner[i]!] = 1;
      const labels = Uint16Array.from(isSeen, (seen, cell) =>
        cell > 0 && seen === 1 ? labelOf(frame.track[cell - 1]!, frame.index) : 0,
      );
      const image = new Uint16Array(owner.length);
      for (let i = 0; i < owner.length; i++) image[i] = labels[owner[i]!]!;
      return image;
    },
    tracks: () =>
      [...pieces]
        .sort((a, b) => a.label - b.label)
        .map(({ label, begin, end, parent }) => `${label} ${begin} ${end} ${parent}\n`)
        .join(''),
  };
}

function tooManyLabels(): CapacityError {
  return new CapacityError('tracks/labels', 'There are more tracks than a label image can tell apart.', {
    expected: `at most ${MAX_LABELS}, with another for each gap in a track`,
    got: 'more',
    remedy: 'Leave the folder of label images (--ctc) out, or write it for parts of the video.',
  });
}
