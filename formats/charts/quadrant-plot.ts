import { DOMAIN_BITS, DOMAIN_STEPS } from '../../algorithms/quadrants/domain.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aFiniteNumber, aRecord, type Kind, optional, someOptions } from '../../primitives/checks/kinds.ts';
import { aDrawnFile, type MaqFile } from '../results/maq-file.ts';
import { cellsWithin, type DrawnCells, extentOf, frameOf, type QuadrantFrame } from './quadrant-plot/cells.ts';
import { type Outlines, outlinesOf } from './quadrant-plot/outlines.ts';
import { BOUNDARY, colorOfLevel, OUTLINE } from './quadrant-plot/palette.ts';
import { hexColor } from './rgb.ts';
import type { MapExtent } from './zonal-plot/extent.ts';
import { countText, MARGIN, MUTED, px, svgPage, text, WIDTH } from './zonal-plot/page.ts';

export interface QuadrantPlotOptions {
  /** The extent to draw, in the coordinates of the domain. Default: the extent of all quadrants with polygons. */
  readonly window?: MapExtent | undefined;
}

export const PLOT: Kind = someOptions<QuadrantPlotOptions>({
  window: optional(
    aRecord<MapExtent>({ left: aFiniteNumber, bottom: aFiniteNumber, right: aFiniteNumber, top: aFiniteNumber }),
  ),
});

/** A drawing of a quadtree of polygons, as SVG text or PNG bytes. */
export interface QuadrantPlot<C> {
  readonly content: C;
  /** A sentence about the simplification of the drawing; undefined if the drawing is exact. */
  readonly remark: string | undefined;
}

const MAX_HEIGHT = 900;
const MAP_TOP = 118;
/**
 * Maximum number of squares in an SVG. This limit and the limit of outline points keep an SVG near a megabyte, which
 * browsers can display.
 */
const MAX_SQUARES = 80_000;
const MAX_POINTS = 80_000;
const MIN_PIXELS = 1;
const LINE_STEP = 0.5;

/**
 * Draws the quadrants of a tree as a standalone SVG, like figures 3 and 5 of Zhang, You and Gruenwald (2014). Quadrants
 * inside polygons are coloured by level; quadrants on boundaries have another colour. If the tree has edges, the
 * outlines of the polygons are drawn on top.
 *
 * Coordinates are not projected, so squares stay squares. The size of the SVG is bounded: fine levels of the tree are
 * not drawn if there are too many squares, or if the squares are smaller than a pixel. In this case, larger squares
 * replace the smaller ones, and the caption says so.
 *
 * @example
 * const { zones } = parseZones('{ "type": "Polygon", "coordinates": [[[0, 0], [180, 0], [180, 90], [0, 90]]] }');
 * const quadrants = await decompose(ctx, placeInDomain(zones.polygons, WORLD), { levels: 4 });
 * const tree = await readMaqTree(ctx, await buildMaqTree(ctx, [quadrants]));
 * const { content } = quadrantPlot({ domain: WORLD, levels: 4, sets: [{ name: 'east', names: ['0'] }], tree });
 * content.includes('2 quadrants'); // true
 */
export function quadrantPlot(file: MaqFile, options: QuadrantPlotOptions = {}): QuadrantPlot<string> {
  requireArguments('quadrantPlot', { file, options }, { file: aDrawnFile, options: PLOT });
  const { tree } = file;
  const frame = frameOf(shownExtent(file, options), WIDTH - 2 * MARGIN, MAX_HEIGHT);
  const cells = cellsWithin(tree, frame, MIN_PIXELS, MAX_SQUARES);
  const outlines = outlinesOf(tree, frame, LINE_STEP, MAX_POINTS);
  const height = MAP_TOP + frame.height + MARGIN;
  const remark = remarkOn(file, cells);
  const page = { title: titleOf(file), subtitle: subtitleOf(file), height, width: WIDTH, longest: LONGEST_TITLE };
  const content = svgPage(page, [
    ...(remark === undefined ? [] : [text(remark, { x: WIDTH - MARGIN, y: 70, size: 13, fill: MUTED, anchor: 'end' })]),
    drawLegend(cells, outlines !== undefined),
    // The nested `<svg>` clips squares that extend beyond the frame.
    `<svg aria-hidden="true" x="${px((WIDTH - frame.width) / 2)}" y="${MAP_TOP}" width="${frame.width}" height="${frame.height}">`,
    ...drawCells(cells, frame),
    ...(outlines === undefined ? [] : [drawOutlines(outlines)]),
    '</svg>',
  ]);
  return { content, remark };
}

/** The extent to draw, in steps of the domain's grid. */
export function shownExtent({ domain, tree }: MaqFile, { window }: QuadrantPlotOptions): MapExtent {
  if (window === undefined) return extentOf(tree);
  const stepOf = (at: number, from: number): number => ((at - from) / domain.size) * DOMAIN_STEPS;
  return {
    left: stepOf(window.left, domain.left),
    bottom: stepOf(window.bottom, domain.bottom),
    right: stepOf(window.right, domain.left),
    top: stepOf(window.top, domain.bottom),
  };
}

/** A sentence about the simplification of a drawing; undefined if all levels are drawn. */
export function remarkOn({ tree }: MaqFile, { level, isCoarser, isByPixels }: DrawnCells): string | undefined {
  if (!isCoarser) return undefined;
  const reason = isByPixels ? 'are less than a pixel' : 'are too many';
  return `Drawn to level ${level} of ${tree.extent.levels}: smaller squares ${reason}.`;
}

const LONGEST_TITLE = 70;

function titleOf({ sets }: MaqFile): string {
  return sets.map(({ name }) => name).join(', ');
}

function subtitleOf({ sets, levels, tree }: MaqFile): string {
  const polygons = sets.reduce((sum, { names }) => sum + names.length, 0);
  return [
    `${countText(polygons)} ${polygons === 1 ? 'polygon' : 'polygons'} as ${countText(tree.entries.polygon.length)} quadrants`,
    `${countText(tree.nodes.level.length)} nodes`,
    `${levels} levels`,
  ].join(', ');
}

/** Coarsest and finest level of the drawn squares inside polygons; undefined if no square is inside a polygon. */
export function insideLevels({ levels, boundary }: DrawnCells): readonly [first: number, last: number] | undefined {
  const inside = levels.filter((_, cell) => boundary[cell] === 0);
  return inside.length === 0 ? undefined : [inside[0]!, inside.at(-1)!];
}

const KEY = 14;
const KEYS_TOP = 86;

function drawLegend(cells: DrawnCells, hasOutlines: boolean): string {
  const parts: string[] = [];
  let x = MARGIN;
  const say = (content: string, width: number): void => {
    parts.push(text(content, { x, y: KEYS_TOP + 11, size: 11, fill: MUTED }));
    x += width;
  };
  const key = (fill: string): void => {
    parts.push(`<rect x="${px(x)}" y="${KEYS_TOP}" width="${KEY}" height="${KEY}" fill="${fill}"/>`);
    x += KEY + 5;
  };
  const inside = insideLevels(cells);
  if (inside !== undefined) {
    say('inside, by level', 96);
    for (let level = inside[0]; level <= inside[1]; level++) {
      key(hexColor(colorOfLevel(level, ...inside)));
      say(String(level), 26);
    }
    x += 12;
  }
  if (cells.boundary.includes(1)) {
    key(hexColor(BOUNDARY));
    say('on boundaries', 100);
  }
  if (hasOutlines) {
    parts.push(`<path d="M${px(x)} ${KEYS_TOP + KEY / 2}h18" stroke="${hexColor(OUTLINE)}"/>`);
    x += 23;
    say('outlines', 0);
  }
  return parts.join('');
}

/** Minimum side of a square in pixels for which squares are separated by white lines. */
const LINED_PIXELS = 3;

function drawCells(cells: DrawnCells, frame: QuadrantFrame): string[] {
  const inside = insideLevels(cells);
  const last = cells.level;
  const paths: string[] = [];
  const draw = (level: number, boundary: number, fill: string): void => {
    const pixels = frame.scale * 2 ** (DOMAIN_BITS - level);
    const lined = pixels >= LINED_PIXELS;
    const d = pathOf(cells, level, boundary, lined);
    if (d === '') return;
    const line = lined ? ` stroke="#fff" stroke-width="${px(Math.min(0.6, pixels / 10) / pixels)}"` : '';
    const scale = `${(frame.scale * 2 ** (DOMAIN_BITS - level)).toPrecision(10)}`;
    const left = px(-frame.left * frame.scale);
    const bottom = px(frame.top * frame.scale);
    // In an SVG, y points down, but the rows of quadrants count upwards. So the scale of y is negative.
    const place = `translate(${left} ${bottom}) scale(${scale} -${scale})`;
    const crisp = lined ? '' : ' shape-rendering="crispEdges"';
    paths.push(`<path transform="${place}" fill="${fill}"${line}${crisp} d="${d}"/>`);
  };
  if (inside !== undefined) {
    for (let level = inside[0]; level <= inside[1]; level++) draw(level, 0, hexColor(colorOfLevel(level, ...inside)));
  }
  for (let level = 0; level <= last; level++) draw(level, 1, hexColor(BOUNDARY));
  return paths;
}

/**
 * SVG path of the squares of a level whose `cells.boundary` equals `boundary`. The coordinates are columns and rows of
 * this level. If `lined` is false, no lines separate the squares. In this case, adjacent squares of a row are merged
 * into rectangles, which shortens the path.
 */
function pathOf(cells: DrawnCells, level: number, boundary: number, lined: boolean): string {
  const own = [...cells.levels.keys()].filter((at) => cells.levels[at] === level && cells.boundary[at] === boundary);
  const { column, row } = cells;
  if (!lined) own.sort((a, b) => row[a]! - row[b]! || column[a]! - column[b]!);
  let d = '';
  let [x, y] = [0, 0];
  for (let at = 0; at < own.length; ) {
    const [left, bottom] = [column[own[at]!]!, row[own[at]!]!];
    let run = 1;
    while (!lined && at + run < own.length && isAt(own[at + run]!, left + run, bottom)) run++;
    d += d === '' ? `M${left} ${bottom}` : `m${step(left - x)}${step(bottom - y, true)}`;
    d += `h${run}v1h-${run}z`;
    [x, y] = [left, bottom];
    at += run;
  }
  return d;

  function isAt(cell: number, atColumn: number, atRow: number): boolean {
    return column[cell] === atColumn && row[cell] === atRow;
  }
}

/**
 * Formats a coordinate for an SVG path. A space precedes the second coordinate of a pair, unless this coordinate is
 * negative, because then the minus sign separates the two.
 */
function step(value: number, isSecond = false): string {
  return isSecond && value >= 0 ? ` ${value}` : String(value);
}

function drawOutlines({ step: grid, x, y, starts }: Outlines): string {
  let d = '';
  for (let line = 0; line < starts.length - 1; line++) {
    const from = starts[line]!;
    d += `M${x[from]} ${y[from]}l`;
    for (let point = from + 1; point < starts[line + 1]!; point++) {
      d += step(x[point]! - x[point - 1]!, point > from + 1) + step(y[point]! - y[point - 1]!, true);
    }
  }
  const width = px(0.7 / grid);
  return `<path transform="scale(${grid})" fill="none" stroke="${hexColor(OUTLINE)}" stroke-width="${width}" stroke-linejoin="round" d="${d}"/>`;
}
