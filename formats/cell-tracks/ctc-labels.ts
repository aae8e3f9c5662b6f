import type { TrackedFrame } from '../../algorithms/cell-tracking/tracks.ts';
import { CapacityError } from '../../primitives/errors.ts';
import { paintCells } from './contours.ts';

/** A result for the Cell Tracking Challenge under construction. */
export interface CtcLabels {
  /** The labels of the pixels of the next frame, 0 for the background. */
  add(frame: TrackedFrame): Uint16Array;
  /**
   * `res_track.txt`: a line `L B E P` for each label, with its first and last frame and the label that it continues, or
   * 0.
   */
  tracks(): string;
}

/** The frames in which one label is seen, without a gap. */
interface LabelSpan {
  readonly label: number;
  readonly begin: number;
  end: number;
  readonly parent: number;
}

/** Labels have 16 bits. */
const MAX_LABELS = 2 ** 16 - 1;

/**
 * Labels are track numbers. Labels of the challenge have no gaps, so a track that is seen again after a gap gets
 * another label, whose parent is the previous one. Such labels count down from 65,535. A cell that is fully covered by
 * others is missing in that frame.
 */
export function ctcLabels(width: number, height: number): CtcLabels {
  const pieces: LabelSpan[] = [];
  /** The last piece of each track. */
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
