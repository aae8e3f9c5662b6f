import { encode } from 'fast-png';
import { DOMAIN_BITS } from '../../../algorithms/quadrants/domain.ts';
import { requireArguments } from '../../../primitives/checks/arguments.ts';
import { aDrawnFile, type MaqFile } from '../../results/maq-file.ts';
import { drawLine, type RgbImage } from '../image-lines.ts';
import {
  insideLevels,
  PLOT,
  type QuadrantPlot,
  type QuadrantPlotOptions,
  remarkOn,
  shownExtent,
} from '../quadrant-plot.ts';
import type { Rgb } from '../rgb.ts';
import { cellsWithin, type DrawnCells, frameOf, type QuadrantFrame } from './cells.ts';
import { type Outlines, outlinesOf } from './outlines.ts';
import { BOUNDARY, colorOfLevel, OUTLINE } from './palette.ts';

const LONGEST_SIDE = 2000;
const MIN_PIXELS = 1;

/**
 * Draws the quadrants of a tree as a PNG of at most 2,000 × 2,000 pixels, like `quadrantPlot` but without titles and
 * legend.
 *
 * @example
 * const { zones } = parseZones('{ "type": "Polygon", "coordinates": [[[0, 0], [180, 0], [180, 90], [0, 90]]] }');
 * const quadrants = await decompose(ctx, placeInDomain(zones.polygons, WORLD), { levels: 4 });
 * const tree = await readMaqTree(ctx, await buildMaqTree(ctx, [quadrants]));
 * const { content } = quadrantImage({ domain: WORLD, levels: 4, sets: [{ name: 'east', names: ['0'] }], tree });
 * String.fromCharCode(...content.subarray(1, 4)); // 'PNG'
 */
export function quadrantImage(file: MaqFile, options: QuadrantPlotOptions = {}): QuadrantPlot<Uint8Array> {
  requireArguments('quadrantImage', { file, options }, { file: aDrawnFile, options: PLOT });
  const frame = frameOf(shownExtent(file, options), LONGEST_SIDE, LONGEST_SIDE);
  const { width, height } = frame;
  const image = { width, height, data: new Uint8Array(3 * width * height).fill(255) };
  const cells = cellsWithin(file.tree, frame, MIN_PIXELS, Number.POSITIVE_INFINITY);
  fillCells(image, cells, frame);
  const outlines = outlinesOf(file.tree, frame, 0.5, Number.POSITIVE_INFINITY);
  if (outlines !== undefined) drawLines(image, outlines);
  return { content: encode({ ...image, channels: 3, depth: 8 }), remark: remarkOn(file, cells) };
}

/** Minimum side of a square in pixels for which squares are separated by lines. */
const LINED_PIXELS = 5;

function fillCells(image: RgbImage, cells: DrawnCells, frame: QuadrantFrame): void {
  const inside = insideLevels(cells);
  for (const boundary of [0, 1]) {
    for (const [cell, level] of cells.levels.entries()) {
      if (cells.boundary[cell] !== boundary) continue;
      const side = frame.scale * 2 ** (DOMAIN_BITS - level);
      const left = cells.column[cell]! * side - frame.left * frame.scale;
      const bottom = frame.top * frame.scale - cells.row[cell]! * side;
      const color = boundary === 1 ? BOUNDARY : colorOfLevel(level, ...inside!);
      const box = {
        left: Math.round(left),
        right: Math.round(left + side),
        top: Math.round(bottom - side),
        bottom: Math.round(bottom),
      };
      fillBox(image, box, color);
      if (side < LINED_PIXELS) continue;
      const line = lighter(color);
      fillBox(image, { ...box, right: box.left + 1 }, line);
      fillBox(image, { ...box, top: box.bottom - 1 }, line);
    }
  }
}

interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

function fillBox({ width, height, data }: RgbImage, { left, right, top, bottom }: Box, color: Rgb): void {
  const [from, to] = [Math.max(0, left), Math.min(width, right)];
  for (let row = Math.max(0, top); row < Math.min(height, bottom); row++) {
    for (let column = from; column < to; column++) data.set(color, 3 * (row * width + column));
  }
}

function lighter(color: Rgb): Rgb {
  return color.map((part) => Math.round(part + 0.55 * (255 - part))) as unknown as Rgb;
}

function drawLines(image: RgbImage, { step, x, y, starts }: Outlines): void {
  for (let line = 0; line < starts.length - 1; line++) {
    for (let point = starts[line]! + 1; point < starts[line + 1]!; point++) {
      drawLine(image, OUTLINE, [x[point - 1]! * step, y[point - 1]! * step], [x[point]! * step, y[point]! * step]);
    }
  }
}
