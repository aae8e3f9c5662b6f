import { aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { ArgumentError } from '../../primitives/checks/errors.ts';
import { aPositive, type Kind, optional, someOptions } from '../../primitives/checks/kinds.ts';
import { cached } from '../../primitives/host/cache.ts';
import type { Column, Context, Table } from '../../primitives/index.ts';
import { type FillRule, someZones, type Zones } from '../geometry/polygons.ts';
import { gridKey, type RasterGrid, type Window } from '../geometry/raster.ts';
import type { PlacedRows } from './coverage.ts';
import { columnsOfEdges, type EdgeTable } from './edge-table.ts';
import { keptWords, type Outlines } from './fractions/window-fractions.ts';
import type { Pixels } from './pixels.ts';
import type { PlacedZones } from './placement.ts';
import type { WindowPlan } from './window-plan.ts';
import { snapZones, type ZonesOnGrid } from './zones-on-grid.ts';

/** Zones on a raster: where they are placed, their edges on the device, and the windows that were planned and covered. */
export interface PlacedOverlay {
  readonly placed: PlacedZones;
  readonly edges: EdgeTable;
  /** The plan of a window by tiles, made once. */
  planOf(window: Window, tile: number, plan: () => WindowPlan): WindowPlan;
  /** The bitmaps of a window, made once. Undefined if there is no room for those that are not kept yet. */
  masksOf(plan: WindowPlan, cover: () => Column<'u32'>): Column<'u32'> | undefined;
  /** The rows of cells of zones in a window, made once. Undefined if there is no room for those that are not kept yet. */
  rowsOf(plan: WindowPlan, find: () => Promise<PlacedRows>): Promise<PlacedRows> | undefined;
  /** The cells of a window that outlines enter, in the same way. */
  outlinesOf(plan: WindowPlan, find: () => Outlines): Outlines | undefined;
}

/** How a raster lies on the grid to which zones are snapped. */
interface Place {
  readonly grid: RasterGrid;
  readonly column: number;
  readonly row: number;
}

/**
 * Keeps where zones lie on the grids of rasters: their snapped vertices, their windows, and for each window the cells that
 * are in each zone. Jobs that share an overlay make them once for all rasters that have the same grid,
 * whatever their cells are; see {@link createOverlay}.
 */
export class Overlay {
  readonly #context: Context;
  readonly #zones: Zones;
  readonly #memoryBytes: number;
  readonly #onGrid = new Map<string, ZonesOnGrid>();
  readonly #placed = new Map<string, PlacedOverlay>();
  #kept: Table[] = [];
  #bytes = 0;

  /** @internal */
  constructor(context: Context, zones: Zones, memoryBytes: number) {
    this.#context = context;
    this.#zones = zones;
    this.#memoryBytes = memoryBytes;
  }

  /** Bytes of device memory for what is kept of windows. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * The zones on a grid.
   *
   * @internal
   */
  zonesOn(zones: Zones, grid: RasterGrid): ZonesOnGrid {
    if (zones !== this.#zones) throw otherUse('the zones');
    return cached(this.#onGrid, gridKey(grid), () => snapZones(zones, grid));
  }

  /**
   * The zones on a raster.
   *
   * @internal
   */
  placedOn(
    context: Context,
    raster: RasterGrid,
    { grid, column, row }: Place,
    rules: readonly [FillRule, Pixels],
    place: () => Pick<PlacedOverlay, 'placed' | 'edges'>,
  ): PlacedOverlay {
    if (context !== this.#context) throw otherUse('the context');
    const key = [...rules, column, row, gridKey(grid), gridKey(raster)].join(' ');
    return cached(this.#placed, key, () => {
      const { placed, edges } = place();
      for (const column of columnsOfEdges(edges)) this.#kept.push(column);
      const plans = new Map<string, WindowPlan>();
      const masks = new Map<WindowPlan, Column<'u32'>>();
      const rows = new Map<WindowPlan, Promise<PlacedRows>>();
      const outlines = new Map<WindowPlan, Outlines>();
      const hasRoom = (kept: ReadonlyMap<WindowPlan, unknown>, plan: WindowPlan, bytes: number): boolean =>
        kept.has(plan) || this.#bytes + bytes <= this.#memoryBytes;
      const keep = <C extends Table>(kept: Map<WindowPlan, C>, plan: WindowPlan, words: number, make: () => C) => {
        const bytes = 4 * words;
        if (!hasRoom(kept, plan, bytes)) return undefined;
        return cached(kept, plan, () => {
          const made = make();
          this.#bytes += bytes;
          this.#kept.push(made);
          return made;
        });
      };
      return {
        ...{ placed, edges },
        planOf: ({ row, column, rows, columns }, tile, plan) =>
          cached(plans, [tile, row, column, rows, columns].join(), plan),
        masksOf: (plan, cover) => keep(masks, plan, plan.words + plan.furtherWords, cover),
        outlinesOf: (plan, find) => keep(outlines, plan, keptWords(edges.lines!, plan), find),
        rowsOf: (plan, find) => {
          const bytes = 4 * ROW_WORDS * plan.rows;
          if (!hasRoom(rows, plan, bytes)) return undefined;
          return cached(rows, plan, () => {
            const keeping = this.#keepRows(bytes, find);
            // What failed is tried again by the next job.
            keeping.catch(() => rows.delete(plan));
            return keeping;
          });
        },
      };
    });
  }

  /** Keeps rows of at most so many bytes, for which there is room. */
  async #keepRows(bytes: number, find: () => Promise<PlacedRows>): Promise<PlacedRows> {
    this.#bytes += bytes;
    let taken = 0;
    try {
      const found = await find();
      taken = 4 * ROW_WORDS * (found.zone.length as number);
      for (const column of Object.values(found)) this.#kept.push(column);
      return found;
    } finally {
      this.#bytes += taken - bytes;
    }
  }

  /** Frees what is kept. Call it when all jobs that share the overlay have ended; later jobs keep anew. */
  dispose(): void {
    for (const columns of this.#kept) this.#context.dispose(columns);
    this.#kept = [];
    this.#bytes = 0;
    this.#onGrid.clear();
    this.#placed.clear();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

const someOverlayOptions: Kind = someOptions<OverlayOptions>({ memoryBytes: optional(aPositive()) });

/** Options of {@link createOverlay}. */
export interface OverlayOptions {
  /** Maximum bytes of device memory for the cells of zones. What does not fit is made anew for each raster. Default 256 MiB. */
  readonly memoryBytes?: number | undefined;
}

/**
 * Creates an overlay of zones, empty at first. Pass it as `overlay` to several calls of {@link zonalHistogram} or
 * {@link surfaceHistogram} with the same context and zones: what they find out about where zones lie is kept for the next
 * raster on the same grid, such as the next day of a series or the next band. Results have the same bytes as without.
 *
 * The overlay keeps, for each grid, the zones snapped to it and their edges; and for each window, the rows of up to 32 cells
 * that lie in each zone. If a raster has a mask, or lies beneath others of a surface, and where all that is counted are bins
 * that many zones share, it is a bit for each cell of the tiles around each zone instead. Cells, nodata values, masks and
 * sample types of the rasters may differ. Rasters on another grid have a part of their own in it.
 *
 * - Cost: of the second raster on a grid, that of reading and counting its cells. Memory: 12 bytes for a row, or a bit for
 *   each cell of the tiles around each zone: of the counties of the United States in 200 million cells, 90 MB or 40 MB, and
 *   77 MB for 225,000 hexagons that partition 63 million cells.
 *
 * @throws `ArgumentError` `zonal/overlay` from a job whose context or zones are others.
 * @example
 * const triangle = '{ "type": "Polygon", "coordinates": [[[8.6, 46.3], [8.7, 46.3], [8.7, 46.4]]] }';
 * const { zones } = parseZones(triangle);
 * const binning = { kind: 'none' } as const;
 * const overlay = createOverlay(ctx, zones);
 * const means = [];
 * for (const day of ['relief.tif', 'relief.tif']) {
 *   const raster = await openGeoTiff(`examples/${day}`);
 *   const { statistics } = await zonalHistogram(ctx, { zones, raster, binning, overlay });
 *   means.push(statistics?.mean[0]?.toFixed(2));
 *   await raster.close();
 * }
 * overlay.dispose();
 * means; // ['1594.09', '1594.09']
 */
export function createOverlay(context: Context, zones: Zones, options: OverlayOptions = {}): Overlay {
  const kinds = { context: aContext, zones: someZones, options: someOverlayOptions };
  requireArguments('createOverlay', { context, zones, options }, kinds);
  return new Overlay(context, zones, options.memoryBytes ?? OVERLAY_BYTES);
}

const OVERLAY_BYTES = 2 ** 28;

/** Words of a row of cells. */
const ROW_WORDS = 3;

function otherUse(what: string): ArgumentError {
  return new ArgumentError('zonal/overlay', `The overlay was made for another use: ${what} of the job differ.`, {
    expected: 'the context and the zones with which createOverlay was called',
    remedy: 'Call createOverlay with the context and the zones of the job.',
  });
}
