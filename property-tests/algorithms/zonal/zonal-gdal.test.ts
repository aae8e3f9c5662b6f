import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { snapToGrid } from '../../../algorithms/geometry/grid.ts';
import type { Zones } from '../../../algorithms/geometry/polygons.ts';
import type { RasterGrid, RasterSource } from '../../../algorithms/geometry/raster.ts';
import { type Binning, type ZonalHistogram, zonalHistogram } from '../../../algorithms/zonal/index.ts';
import { readZones } from '../../../formats/polygons/read-zones.ts';
import { openGeoTiff } from '../../../formats/rasters/geotiff.ts';
import { type Context, open } from '../../../index.ts';
import about from '../../fixtures/gdal-zonal/about.json' with { type: 'json' };

const fixtures = join(import.meta.dirname, '..', '..', 'fixtures', 'gdal-zonal');
const countiesOfNdvi: Job = {
  name: 'counties',
  zones: 'examples/counties-10m.json',
  layer: 'counties',
  raster: 'examples/ndvi.tif',
  binning: { kind: 'even', low: 0, high: 1, width: 0.05 },
  bins: 20,
};
const polygonsOfRelief: Job = {
  name: 'relief',
  zones: join(fixtures, 'relief-zones.geojson'),
  layer: undefined,
  raster: 'examples/relief.tif',
  binning: { kind: 'even', low: 500, high: 2600, width: 150 },
  bins: 14,
};

let context: Context;
beforeAll(async () => {
  context = await open({ backend: 'workers', workers: 2 });
});
afterAll(() => context?.close());

/** A job that both GDAL and this library run. */
interface Job {
  readonly name: 'counties' | 'relief';
  readonly zones: string;
  readonly layer: string | undefined;
  readonly raster: string;
  readonly binning: Binning & { readonly kind: 'even' };
  readonly bins: number;
}

/** A cell whose centre is at most `about.tolerance` (in cell widths) away from an edge of a zone. */
interface NearCell {
  readonly zone: number;
  readonly column: number;
  readonly row: number;
}

/** Positions of the special counts in a zone's list of counts. The counts of the bins begin at `bins`. */
const SLOTS = { nodata: 0, below: 1, above: 2, bins: 3 };

/** Reads the counts that GDAL gave for every zone from the fixture. */
function countsByGdal({ name, bins }: Job): { names: string[]; counts: number[][] } {
  const [, ...lines] = readFileSync(join(fixtures, `${name}.csv`), 'utf8')
    .trim()
    .split('\n');
  const rows = lines.map((line) => line.split(','));
  const counts = rows.map(([, nodata, below, above, first, list]) => {
    const filled = new Array<number>(bins).fill(0);
    list!.split(' ').forEach((count, i) => {
      filled[Number(first) + i] = Number(count);
    });
    return [Number(nodata), Number(below), Number(above), ...filled];
  });
  return { names: rows.map(([zone]) => zone!), counts };
}

/** The counts of our result in the same form as those of GDAL. */
function countsOf({ names, bins, nodata, below, above }: ZonalHistogram, { binning, bins: binCount }: Job): number[][] {
  const counts = names.map((_, zone) => [
    Number(nodata[zone]),
    Number(below[zone]),
    Number(above[zone]),
    ...new Array<number>(binCount).fill(0),
  ]);
  bins.zone.forEach((zone, i) => {
    counts[zone]![SLOTS.bins + Math.round((bins.lower[i]! - binning.low) / binning.width)] = Number(bins.count[i]);
  });
  return counts;
}

/** The edges of a zone. Coordinates are scaled so that the centres of cells have integer coordinates. */
function* edgesOf({ polygons }: Zones, zone: number, grid: RasterGrid): Generator<readonly [number[], number[]]> {
  const { polygonRings, ringVertices, x, y } = polygons;
  const point = (at: number): number[] => [
    (x[at]! - grid.originX) / grid.stepX - 0.5,
    (y[at]! - grid.originY) / grid.stepY - 0.5,
  ];
  for (let ring = polygonRings[zone]!; ring < polygonRings[zone + 1]!; ring++) {
    const end = ringVertices[ring + 1]!;
    for (let at = ringVertices[ring]!, before = end - 1; at < end; before = at++) yield [point(before), point(at)];
  }
}

function distance([px, py]: number[], [x0, y0]: number[], [x1, y1]: number[]): number {
  const [dx, dy] = [x1! - x0!, y1! - y0!];
  const square = dx * dx + dy * dy;
  const along = square === 0 ? 0 : ((px! - x0!) * dx + (py! - y0!) * dy) / square;
  const t = Math.min(Math.max(along, 0), 1);
  return Math.hypot(px! - x0! - t * dx, py! - y0! - t * dy);
}

/** For each zone, every cell of the raster whose centre is within the tolerance of an edge. */
function cellsNearEdges(zones: Zones, grid: RasterGrid): NearCell[] {
  const { tolerance } = about;
  return zones.names.flatMap((_, zone) => {
    const near = new Map<string, NearCell>();
    for (const [start, end] of edgesOf(zones, zone, grid)) {
      const rows = [start[1]!, end[1]!].sort((a, b) => a - b);
      const columns = [start[0]!, end[0]!].sort((a, b) => a - b);
      const slope = (end[0]! - start[0]!) / (end[1]! - start[1]!);
      for (let row = Math.ceil(rows[0]! - tolerance); row <= rows[1]! + tolerance; row++) {
        // Near a steep edge, only cells close to one column of a row can be within the tolerance. Near a flat edge,
        // cells within the tolerance may be anywhere along the edge.
        const steep = Math.abs(slope) < 1;
        const at = start[0]! + (row - start[1]!) * slope;
        const first = steep ? Math.round(at) : Math.ceil(columns[0]! - tolerance);
        const last = steep ? first : columns[1]! + tolerance;
        for (let column = first; column <= last; column++) {
          if (distance([column, row], start, end) <= tolerance) near.set(`${column} ${row}`, { zone, column, row });
        }
      }
    }
    return [...near.values()]
      .filter(({ column, row }) => column >= 0 && row >= 0 && column < grid.width && row < grid.height)
      .sort((a, b) => a.column - b.column || a.row - b.row);
  });
}

/**
 * Whether the centre of a cell is inside the zone, by an even-odd test in integers. By this library's rule, left and
 * bottom edges belong to the zone.
 */
function holds(zones: Zones, grid: RasterGrid, { zone, column, row }: NearCell): boolean {
  const snapped = snapToGrid(zones.polygons, grid);
  const centre = (cell: number): bigint => BigInt(cell) * 2n ** 20n + 2n ** 19n;
  // Map space: x grows to the east and y to the north.
  const [east, north] = [BigInt(Math.sign(grid.stepX)), BigInt(Math.sign(grid.stepY))];
  const [px, py] = [east * centre(column), north * centre(row)];
  const vertex = (at: number) => [east * BigInt(snapped.column[at]!), north * BigInt(snapped.row[at]!)] as const;
  let inside = false;
  for (let ring = snapped.polygonRings[zone]!; ring < snapped.polygonRings[zone + 1]!; ring++) {
    const end = snapped.ringVertices[ring + 1]!;
    for (let at = snapped.ringVertices[ring]!, before = end - 1; at < end; before = at++) {
      const [a, b] = [vertex(before), vertex(at)];
      const [low, high] = a[1] < b[1] ? [a, b] : [b, a];
      const spans = low[1] <= py && py < high[1];
      if (spans && (py - low[1]) * (high[0] - low[0]) <= (px - low[0]) * (high[1] - low[1])) inside = !inside;
    }
  }
  return inside;
}

/**
 * A cell near an edge, as stored in the fixture: zone, column, row, distance, slot (index into the zone's counts), and
 * whether GDAL counts the cell as inside.
 */
type StoredCell = readonly [number, number, number, number, number, boolean];

async function load(job: Job): Promise<{ zones: Zones; raster: RasterSource; near: StoredCell[] }> {
  const { zones } = await readZones(job.zones, { layer: job.layer });
  return { zones, raster: await openGeoTiff(job.raster, {}), near: about[`${job.name} near edges`] as never };
}

describe(`cells counted by GDAL ${about.gdal} on ${about.date}`, () => {
  describe.each([countiesOfNdvi, polygonsOfRelief])('in $name', (job) => {
    test('cells near edges are those that the fixture lists', async () => {
      const { zones, raster, near } = await load(job);
      expect(cellsNearEdges(zones, raster)).toEqual(near.map(([zone, column, row]) => ({ zone, column, row })));
      await raster.close();
    });

    test('counts equal ours per zone and bin, except for cells near edges', async () => {
      const { zones, raster, near } = await load(job);
      const gdal = countsByGdal(job);
      expect(zones.names).toEqual(gdal.names);
      const found = countsOf(await zonalHistogram(context, { zones, raster, binning: job.binning }), job);
      const expected = gdal.counts.map((counts) => [...counts]);
      for (const [zone, column, row, , slot, inGdal] of near) {
        expected[zone]![slot]! += Number(holds(zones, raster, { zone, column, row })) - Number(inGdal);
      }
      expect(found).toEqual(expected);
      await raster.close();
    });
  });

  test('all five cells near county edges are on the same side in GDAL and here', async () => {
    const { zones, raster, near } = await load(countiesOfNdvi);
    const sides = near.map(([zone, column, row, , , inGdal]) => ({
      county: zones.names[zone],
      cell: [column, row],
      inGdal,
      here: holds(zones, raster, { zone, column, row }),
    }));
    expect(sides).toEqual([
      { county: '31035', cell: [817, 316], inGdal: false, here: false },
      { county: '02105', cell: [438, 134], inGdal: true, here: true },
      { county: '49005', cell: [680, 304], inGdal: false, here: false },
      { county: '49003', cell: [680, 304], inGdal: true, here: true },
      { county: '31129', cell: [817, 316], inGdal: true, here: true },
    ]);
    await raster.close();
  });
});

describe('a square whose corners are cell centres', () => {
  const corners = [
    [1.5, 1.5],
    [4.5, 1.5],
    [4.5, 4.5],
    [1.5, 4.5],
  ];

  /** The cells of a 6 × 6 raster that are inside the ring, as one text per row: `#` is inside. */
  async function cellsHere(rows: 'north-up' | 'south-up', ring: readonly number[][]): Promise<string[]> {
    const zones: Zones = {
      names: ['square'],
      polygons: {
        polygonRings: Uint32Array.of(0, 1),
        ringVertices: Uint32Array.of(0, 4),
        x: Float64Array.from(ring, ([x]) => x!),
        y: Float64Array.from(ring, ([, y]) => y!),
      },
      crs: undefined,
    };
    const raster: RasterSource = {
      width: 6,
      height: 6,
      originX: 0,
      originY: rows === 'north-up' ? 6 : 0,
      stepX: 1,
      stepY: rows === 'north-up' ? -1 : 1,
      crs: undefined,
      geographic: false,
      sample: 'u8',
      nodata: undefined,
      blockColumns: 6,
      blockRows: 6,
      // The value of every cell is the number of the cell, so that the counted values identify the cells.
      read: async () => Uint8Array.from({ length: 36 }, (_, cell) => cell),
      close: async () => {},
    };
    const { bins } = await zonalHistogram(context, { zones, raster, binning: { kind: 'unique' } });
    const found = new Set(bins.lower);
    return Array.from({ length: 6 }, (_, row) =>
      Array.from({ length: 6 }, (_, column) => (found.has(row * 6 + column) ? '#' : '.')).join(''),
    );
  }

  const northUp = ['......', '......', '.###..', '.###..', '.###..', '......'];
  const southUp = ['......', '.###..', '.###..', '.###..', '......', '......'];
  test.each([
    ['north-up', 'counterclockwise', corners, northUp],
    ['north-up', 'clockwise', corners.toReversed(), northUp],
    ['south-up', 'counterclockwise', corners, southUp],
    ['south-up', 'clockwise', corners.toReversed(), southUp],
  ] as const)(
    'contains its left and bottom edges but not its right and top edges here: %s, %s',
    async (rows, _, ring, cells) => {
      expect(await cellsHere(rows, ring)).toEqual(cells);
    },
  );

  test(`contains its right edge but not its left one in GDAL ${about.gdal}, and both top and bottom if north-up`, () => {
    const northUpByGdal = ['......', '..###.', '..###.', '..###.', '..###.', '......'];
    const southUpByGdal = ['......', '..###.', '..###.', '..###.', '......', '......'];
    expect(about.squares).toEqual({
      'north-up, counterclockwise': northUpByGdal,
      'north-up, clockwise': northUpByGdal,
      'south-up, counterclockwise': southUpByGdal,
      'south-up, clockwise': southUpByGdal,
    });
  });
});
