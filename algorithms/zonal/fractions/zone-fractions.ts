import { aContext } from '../../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../../primitives/checks/arguments.ts';
import { aRecord, aWhole, type Kind, optional, someOptions } from '../../../primitives/checks/kinds.ts';
import { array, fn, i32, u32, uniform } from '../../../primitives/functors/functor.ts';
import { ArgumentError, type Column, type Context, map, slice } from '../../../primitives/index.ts';
import { snapToGrid } from '../../geometry/grid.ts';
import { aFill, type FillRule, someZones, type Zones } from '../../geometry/polygons.ts';
import { gridFields, type RasterGrid, type Window } from '../../geometry/raster.ts';
import { coverZones } from '../coverage.ts';
import { uploadEdges } from '../edge-table.ts';
import { placeZones } from '../placement.ts';
import { planWindow } from '../window-plan.ts';
import { uploadLines } from './line-table.ts';
import { listCells, outlineRows, windowFractions } from './window-fractions.ts';

/** Options of {@link zoneFractions}. */
export interface ZoneFractionsOptions {
  /** The cells of the grid that are asked for. Default: all. */
  readonly window?: Window | undefined;
  /** Which points are inside a zone whose parts overlap. Default `union`. */
  readonly fill?: FillRule | undefined;
}

/** The cells of zones, as columns of one row for each zone and cell, by zone and then by cell. */
export type ZoneFractions = {
  /** The zone, by its number. */
  readonly zone: Column<'u32'>;
  /** The number of the cell in the window, row by row from its first corner. */
  readonly cell: Column<'u32'>;
  /** The part of the cell that is in the zone, in units of 2⁻³⁰. */
  readonly fraction: Column<'i32'>;
};

const OPTIONS: Kind = someOptions<ZoneFractionsOptions>({
  window: optional(aRecord<Window>({ column: aWhole(), row: aWhole(), columns: aWhole(), rows: aWhole() })),
  fill: optional(aFill),
});

/** Side of the tiles of bitmaps in cells: the least, because zones may be small. */
const TILE = 32;

/**
 * Finds the cells of a grid that zones share area with, and the fraction of each cell that is in the zone. These are the
 * weights of statistics by area; a list for one grid serves all rasters on it.
 *
 * A zone is the union of its parts, each filled by the even-odd rule, as in `zonalHistogram`, so neither the direction of
 * rings matters, nor whether they cross themselves or each other. Vertices are snapped to steps of 2⁻²⁰ of a cell, and
 * edges are straight lines in the coordinates of the grid. On a geographic grid, zones repeat after 360° of longitude.
 *
 * A zone and a cell that share area have a row, however little it is; those that only touch have none. Where a zone's
 * outline crosses a border of cells is rounded once, to 2⁻³⁰ of a cell, by a rule that depends on the line alone, and so is
 * the area beside it in each cell. So a fraction is off by some units of 2⁻³⁰: about as many as edges enter the cell.
 * Everything else is exact: two zones that share an edge, cut into the same pieces or others, have opposite areas there,
 * and the fractions of zones that partition the plane add up to exactly 2³⁰ in every cell. For this, a fraction that is
 * exactly 0 or 1 but for some units is left as it was rounded, and may be as many units below 0 or above 2³⁰.
 *
 * - Work O(edges · log edges) on the host, and O(cells on outlines + cells of the list + cells around zones / 32) on the
 *   device. Waits once, for the number of rows.
 * - Deterministic: the same bytes on every backend, whatever the window.
 * - Zones without cells have no rows. The result is empty without zones.
 *
 * @throws GeometryError `geometry/beyond-grid` or `geometry/longitudes` for coordinates too far from the grid;
 * ArgumentError `zonal/window` if the window is not within the grid.
 *
 * Source: areas and heights that are added up along rows are the method of rasterisers of fonts (Levien, font-rs, 2016;
 * FreeType, after LibArt).
 * @example
 * const { zones } = parseZones('{ "type": "Polygon", "coordinates": [[[0, 0], [2, 0], [2, 1]]] }');
 * const grid = { width: 2, height: 1, originX: 0, originY: 1, stepX: 1, stepY: -1, geographic: false, crs: undefined };
 * const { cell, fraction } = await zoneFractions(ctx, zones, grid);
 * const share = map(fn({ fraction: i32 }, f32, ({ fraction }) => f32(fraction).div(2 ** 30)), { fraction });
 * [await ctx.read(cell), await ctx.read(share)]; // [Uint32Array [0, 1], Float32Array [0.25, 0.75]]
 */
export async function zoneFractions(
  context: Context,
  zones: Zones,
  grid: RasterGrid,
  options: ZoneFractionsOptions = {},
): Promise<ZoneFractions> {
  requireArguments(
    'zoneFractions',
    { context, zones, grid, options },
    { context: aContext, zones: someZones, grid: aRecord(gridFields), options: OPTIONS },
  );
  const { window = { column: 0, row: 0, columns: grid.width, rows: grid.height }, fill } = options;
  requireWithin(window, grid);
  const placed = placeZones(snapToGrid(zones.polygons, grid, zones), grid, zones, fill);
  const plan = planWindow(window, placed.boxes, placed.shifts.length, TILE);
  const { rows, areas } = context.scope(() => {
    const edges = uploadEdges(context, placed, grid);
    const { masks } = coverZones(context, edges, plan, { tileStarts: new Uint32Array(), pitch: 0 });
    const found = windowFractions(context, uploadLines(context, placed, grid), plan);
    const bits = context.materialize(map(eitherBit, { a: slice(masks, 0, plan.words), b: found.inside }));
    return { rows: outlineRows(context, plan, found, bits), areas: found.areas };
  });
  try {
    const cells = await listCells(rows, areas);
    const listed = context.scope(() => {
      const numbers = context.column(plan.zones);
      return context.materialize(map(cellOfWindow, { ...cells, numbers, columns: window.columns }));
    });
    context.dispose(cells);
    return listed;
  } finally {
    context.dispose(rows, areas);
  }
}

const eitherBit = fn('eitherBit', { a: u32, b: u32 }, u32, ({ a, b }) => a.or(b));

const cellOfWindow = fn(
  'cellOfWindow',
  { zone: u32, row: u32, column: u32, share: i32, numbers: array(u32), columns: uniform(u32) },
  { zone: u32, cell: u32, fraction: i32 },
  ({ zone, row, column, share, numbers, columns }) => ({
    zone: numbers.at(zone),
    cell: row.mul(columns).add(column),
    fraction: share,
  }),
);

/** Throws `zonal/window` if a window is not within a grid, or has more cells than a column can number. */
function requireWithin({ column, row, columns, rows }: Window, { width, height }: RasterGrid): void {
  if (column + columns <= width && row + rows <= height && columns * rows < 2 ** 32) return;
  throw new ArgumentError('zonal/window', 'The window of zoneFractions does not fit.', {
    expected: `a window of fewer than 2^32 cells within ${width} × ${height} cells`,
    got: `${columns} × ${rows} cells from column ${column} and row ${row} on`,
    remedy: 'Ask for a smaller window, or for several one after the other.',
  });
}
