import { aNumber, aRecord, type Kind, optional } from '../../../primitives/checks/kinds.ts';

/** The scale of a video in time and space, as far as it is known. */
export interface TrackScale {
  /** Frames per second. */
  readonly frameRate?: number | undefined;
  /** Side of a pixel in µm. */
  readonly pixelSize?: number | undefined;
}

export const aTrackScale: Kind = aRecord<TrackScale>({ frameRate: optional(aNumber), pixelSize: optional(aNumber) });

/** The units in which times and speeds are written. */
export interface TrackUnits {
  readonly time: 's' | 'frames';
  readonly speed: 'µm/s' | 'px/frame';
  /** Factor that converts a speed in pixels per frame to the unit `speed`. */
  readonly speedFactor: number;
  /** The time of the frame with the given index, in the unit `time`. */
  timeOf(index: number): number;
}

/**
 * The units for a video. Times are in seconds if the frame rate is known, otherwise in frames. Speeds are in µm/s if
 * both the frame rate and the pixel size are known, otherwise in pixels per frame.
 */
export function unitsOf({ frameRate, pixelSize }: TrackScale): TrackUnits {
  const isScaled = frameRate !== undefined && pixelSize !== undefined;
  return {
    time: frameRate === undefined ? 'frames' : 's',
    speed: isScaled ? 'µm/s' : 'px/frame',
    speedFactor: isScaled ? frameRate * pixelSize : 1,
    timeOf: (index) => (frameRate === undefined ? index : index / frameRate),
  };
}
