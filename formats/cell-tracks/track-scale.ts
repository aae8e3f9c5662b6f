import { aNumber, aRecord, type Kind, optional } from '../../primitives/kinds.ts';

/** What turns frames and pixels into seconds and micrometres, where it is known. */
export interface TrackScale {
  /** Frames a second. */
  readonly frameRate?: number | undefined;
  /** Side of a pixel in µm. */
  readonly pixelSize?: number | undefined;
}

export const aTrackScale: Kind = aRecord<TrackScale>({ frameRate: optional(aNumber), pixelSize: optional(aNumber) });

/** The units of times and speeds. */
export interface TrackUnits {
  readonly time: 's' | 'frames';
  readonly speed: 'µm/s' | 'px/frame';
  /** How many of the unit a pixel a frame is. */
  readonly speedFactor: number;
  /** The time of a frame. */
  timeOf(index: number): number;
}

/** Times are in s where the frame rate is known; speeds are in µm/s where the pixel size is known as well. */
export function unitsOf({ frameRate, pixelSize }: TrackScale): TrackUnits {
  const isScaled = frameRate !== undefined && pixelSize !== undefined;
  return {
    time: frameRate === undefined ? 'frames' : 's',
    speed: isScaled ? 'µm/s' : 'px/frame',
    speedFactor: isScaled ? frameRate * pixelSize : 1,
    timeOf: (index) => (frameRate === undefined ? index : index / frameRate),
  };
}
