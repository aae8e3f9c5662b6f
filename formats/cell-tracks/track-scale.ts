import { aNumber, aRecord, type Kind, optional } from '../../primitives/kinds.ts';

/** Converts frames and pixels to seconds and micrometres, if known. */
export interface TrackScale {
  /** Frames per second. */
  readonly frameRate?: number | undefined;
  /** Side of a pixel in µm. */
  readonly pixelSize?: number | undefined;
}

export const aTrackScale: Kind = aRecord<TrackScale>({ frameRate: optional(aNumber), pixelSize: optional(aNumber) });

/** The units of times and speeds. */
export interface TrackUnits {
  readonly time: 's' | 'frames';
  readonly speed: 'µm/s' | 'px/frame';
  /** One pixel per frame in the unit of speed. */
  readonly speedFactor: number;
  /** The time of a frame. */
  timeOf(index: number): number;
}

/** Times are in seconds if the frame rate is known. Speeds are in µm/s if the pixel size is known, too. */
export function unitsOf({ frameRate, pixelSize }: TrackScale): TrackUnits {
  const isScaled = frameRate !== undefined && pixelSize !== undefined;
  return {
    time: frameRate === undefined ? 'frames' : 's',
    speed: isScaled ? 'µm/s' : 'px/frame',
    speedFactor: isScaled ? frameRate * pixelSize : 1,
    timeOf: (index) => (frameRate === undefined ? index : index / frameRate),
  };
}
