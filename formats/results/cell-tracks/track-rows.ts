import type { TrackedFrame } from '../../../algorithms/cell-tracking/tracks.ts';
import { requireArguments } from '../../../primitives/checks/arguments.ts';
import { aTrackScale, type TrackScale, unitsOf } from './track-scale.ts';

/** Writes the tracks of a video as CSV text, one piece per frame. */
export interface TrackWriter {
  /** The header line, which precedes all rows. */
  begin(): string;
  /** The CSV lines of a frame, one line per cell. */
  add(frame: TrackedFrame): string;
}

/**
 * Writes tracks as CSV, a row for each cell and frame: `track, frame, time, x, y, radius, score, speed`. The header
 * states the units: `time_s` or `time_frames`, `speed_um_per_s` or `speed_px_per_frame`; positions and radii are in
 * pixels. Numbers have as few digits as needed to restore the f32. Times have six decimals. The speed in the first row
 * of a track is blank.
 *
 * @example
 * trackWriter({ frameRate: 30 }).begin(); // 'track,frame,time_s,x_px,y_px,radius_px,score,speed_px_per_frame\n'
 */
export function trackWriter(scale: TrackScale = {}): TrackWriter {
  requireArguments('trackWriter', { scale }, { scale: aTrackScale });
  const units = unitsOf(scale);
  const speedName = units.speed === 'µm/s' ? 'speed_um_per_s' : 'speed_px_per_frame';
  return {
    begin: () => `track,frame,time_${units.time},x_px,y_px,radius_px,score,${speedName}\n`,
    add({ index, track, x, y, radius, score, speed }) {
      const time = Number(units.timeOf(index).toFixed(TIME_DECIMALS));
      let text = '';
      for (const [i, id] of track.entries()) {
        const numbers = [x[i]!, y[i]!, radius[i]!, score[i]!, speed[i]! * units.speedFactor].map(shortest);
        text += `${id},${index},${time},${numbers.join(',')}\n`;
      }
      return text;
    },
  };
}

const TIME_DECIMALS = 6;
/** Nine significant digits are enough to distinguish all f32 numbers. */
const MAX_DIGITS = 9;

/** The shortest decimal text that parses to the same f32; an empty text for NaN. */
function shortest(value: number): string {
  const single = Math.fround(value);
  if (!Number.isFinite(single)) return '';
  for (let digits = 6; digits < MAX_DIGITS; digits++) {
    const rounded = Number(single.toPrecision(digits));
    if (Math.fround(rounded) === single) return String(rounded);
  }
  return String(Number(single.toPrecision(MAX_DIGITS)));
}
