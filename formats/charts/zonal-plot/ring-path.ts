import type { MapExtent } from './extent.ts';

/** A rectangle of the page that shows an extent of the map, and the scale of the map in this rectangle. */
export interface Frame {
  /** The extent that the frame shows. */
  readonly extent: MapExtent;
  readonly width: number;
  readonly height: number;
  /** Pixels per unit of coordinates along the x axis. `scaleY` is the scale along the y axis. */
  readonly scaleX: number;
  readonly scaleY: number;
}

/** The largest frame of at most `width` × `height` pixels that shows an extent and a margin around it. */
export function fitFrame(shown: MapExtent, geographic: boolean, width: number, height: number): Frame {
  const pad = 0.015 * Math.max(shown.right - shown.left, shown.top - shown.bottom) || 1;
  const extent = {
    left: shown.left - pad,
    right: shown.right + pad,
    bottom: shown.bottom - pad,
    top: shown.top + pad,
  };
  // Latitude at which both axes have the same scale in metres. The latitude is at most 80°, because the map would be
  // stretched extremely near the poles, where a degree of longitude is very short.
  const middle = Math.min(80, Math.abs(extent.bottom + extent.top) / 2);
  const aspect = geographic ? Math.cos((middle * Math.PI) / 180) : 1;
  const [spanX, spanY] = [extent.right - extent.left, extent.top - extent.bottom];
  const scaleX = Math.min(width / spanX, (height * aspect) / spanY);
  const scaleY = scaleX / aspect;
  return { extent, scaleX, scaleY, width: spanX * scaleX, height: spanY * scaleY };
}

/**
 * Number of positions per pixel along an axis. Coordinates are rounded to a tenth of a pixel, to shorten the paths.
 * Consecutive vertices at the same position are drawn only once.
 */
const STEPS_PER_PIXEL = 10;

/**
 * The SVG path of a ring, in relative coordinates. The path is empty if the ring lies outside the frame. A ring that is
 * too small to be seen becomes a dot.
 *
 * @param shift - Number that is added to all x coordinates.
 */
export function drawRing(x: Float64Array, y: Float64Array, shift: number, frame: Frame): string {
  const { extent, scaleX, scaleY } = frame;
  let path = '';
  let [atX, atY] = [0, 0];
  let [lowX, highX, lowY, highY] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let v = 0; v < x.length; v++) {
    const stepX = Math.round((x[v]! + shift - extent.left) * scaleX * STEPS_PER_PIXEL);
    const stepY = Math.round((extent.top - y[v]!) * scaleY * STEPS_PER_PIXEL);
    lowX = Math.min(lowX, stepX);
    highX = Math.max(highX, stepX);
    lowY = Math.min(lowY, stepY);
    highY = Math.max(highY, stepY);
    if (v > 0 && stepX === atX && stepY === atY) continue;
    path += `${v === 0 ? 'M' : 'l'}${(stepX - atX) / STEPS_PER_PIXEL},${(stepY - atY) / STEPS_PER_PIXEL}`;
    [atX, atY] = [stepX, stepY];
  }
  const right = frame.width * STEPS_PER_PIXEL;
  const bottom = frame.height * STEPS_PER_PIXEL;
  if (x.length === 0 || highX < 0 || highY < 0 || lowX > right || lowY > bottom) return '';
  const dot = highX - lowX < STEPS_PER_PIXEL / 2 && highY - lowY < STEPS_PER_PIXEL / 2;
  return dot ? `M${lowX / STEPS_PER_PIXEL},${lowY / STEPS_PER_PIXEL}h.6v.6h-.6z` : `${path}z`;
}
