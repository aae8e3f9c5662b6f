import type { HostFrame } from '../../../algorithms/cell-tracking/frame.ts';
import type { TrackedFrame } from '../../../algorithms/cell-tracking/tracks.ts';
import { drawLine, type RgbImage } from '../../charts/image-lines.ts';
import { encodePng } from '../../charts/png-writer.ts';
import { CONTOUR_POINTS, contourPoint } from './contours.ts';
import { type DisplayRange, shownGrey } from './display.ts';
import { trackColor } from './track-color.ts';

/**
 * Draws the contours of a frame's cells over the frame, in the colours of their tracks, and encodes the image as PNG.
 */
export function contourImage(frame: HostFrame, cells: TrackedFrame, range: DisplayRange): Promise<Uint8Array> {
  const { width, height } = frame;
  const image = { width, height, data: new Uint8Array(3 * width * height) };
  fillGrey(image.data, shownGrey(frame, range));
  for (let cell = 0; cell < cells.track.length; cell++) drawContour(image, cells, cell);
  return encodePng({ ...image, channels: 3 });
}

function fillGrey(data: Uint8Array, grey: Uint8Array): void {
  for (let i = 0, at = 0; i < grey.length; i++) {
    const value = grey[i]!;
    data[at++] = value;
    data[at++] = value;
    data[at++] = value;
  }
}

function drawContour(image: RgbImage, cells: TrackedFrame, cell: number): void {
  const color = trackColor(cells.track[cell]!);
  for (let point = 0; point < CONTOUR_POINTS; point++) {
    drawLine(image, color, onImage(contourPoint(cells, cell, point)), onImage(contourPoint(cells, cell, point + 1)));
  }
}

/**
 * Converts a position relative to the centre of the upper left pixel to a position relative to the upper left corner of
 * that pixel.
 */
function onImage([x, y]: readonly [number, number]): readonly [number, number] {
  return [x + 0.5, y + 0.5];
}
