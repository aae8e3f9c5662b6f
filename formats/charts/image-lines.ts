/** An image with three bytes per pixel (red, green, blue), row by row from the top. */
export interface RgbImage {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

type Place = readonly [x: number, y: number];

/**
 * Draws a line one pixel wide with anti-aliasing (Wu, 1991): in each column of pixels, or each row if the line is
 * steep, the colour is divided between the two pixels nearest to the line. Positions are relative to the upper left
 * corner of the image.
 */
export function drawLine(image: RgbImage, color: readonly number[], [fromX, fromY]: Place, [toX, toY]: Place): void {
  const isSteep = Math.abs(toY - fromY) > Math.abs(toX - fromX);
  const [a, b, c, d] = isSteep ? [fromY, fromX, toY, toX] : [fromX, fromY, toX, toY];
  const [start, low, end, high] = a <= c ? [a, b, c, d] : [c, d, a, b];
  const slope = end === start ? 0 : (high - low) / (end - start);
  for (let along = Math.floor(start); along < Math.max(end, Math.floor(start) + 1); along++) {
    const across = low + slope * (Math.min(Math.max(along + 0.5, start), end) - start) - 0.5;
    const near = Math.floor(across);
    const share = across - near;
    for (const [at, cover] of [
      [near, 1 - share],
      [near + 1, share],
    ] as const) {
      if (isSteep) blend(image, color, at, along, cover);
      else blend(image, color, along, at, cover);
    }
  }
}

function blend(
  { width, height, data }: RgbImage,
  color: readonly number[],
  column: number,
  row: number,
  cover: number,
): void {
  if (column < 0 || row < 0 || column >= width || row >= height) return;
  const at = 3 * (row * width + column);
  for (let part = 0; part < 3; part++) data[at + part] = data[at + part]! + cover * (color[part]! - data[at + part]!);
}
