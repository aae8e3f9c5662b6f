import { type SnappedPolygons, STEPS_PER_CELL, snapToGrid } from '../geometry/grid.ts';
import type { Zones } from '../geometry/polygons.ts';
import type { RasterGrid } from '../geometry/raster.ts';
import type { Sheets } from '../geometry/sheets.ts';
import { sheetsOn } from './placement.ts';
import { rangeOf, verticesOf } from './vertex-ranges.ts';

/** Zones on the grid of one or more rasters. */
export interface ZonesOnGrid {
  readonly polygons: SnappedPolygons;
  readonly sheets: Sheets | undefined;
  readonly rows: ZoneRows;
  /** How the zones lie to rasters, by the extents of these; see `zonePositions`. */
  readonly positions: Map<string, Uint8Array>;
}

/** The rows of a grid that each zone spans, in steps. Infinity and −Infinity for a zone without geometry. */
interface ZoneRows {
  readonly top: Float64Array;
  readonly bottom: Float64Array;
}

/** Snaps the zones to a grid, once for all rasters on it. */
export function snapZones(zones: Zones, grid: RasterGrid): ZonesOnGrid {
  const polygons = snapToGrid(zones.polygons, grid, zones);
  return { polygons, sheets: sheetsOn(polygons, grid), rows: rowsOfZones(polygons), positions: new Map() };
}

function rowsOfZones(polygons: SnappedPolygons): ZoneRows {
  const zones = polygons.polygonRings.length - 1;
  const rows = { top: new Float64Array(zones), bottom: new Float64Array(zones) };
  for (let zone = 0; zone < zones; zone++) {
    [rows.top[zone], rows.bottom[zone]] = rangeOf(polygons.row, ...verticesOf(polygons, zone));
  }
  return rows;
}

/**
 * Zones of which those that do not meet some rows of the grid have no geometry. What has few rows is placed in the time
 * that the zones there take.
 */
export function zonesInRows({ polygons, sheets, rows }: ZonesOnGrid, firstRow: number, endRow: number): ZonesOnGrid {
  const [top, bottom] = [firstRow * STEPS_PER_CELL, endRow * STEPS_PER_CELL];
  const zones = polygons.polygonRings.length - 1;
  const isMet = (zone: number): boolean => rows.top[zone]! <= bottom && rows.bottom[zone]! >= top;
  const rings: number[] = [];
  const polygonRings = new Uint32Array(zones + 1);
  for (let zone = 0; zone < zones; zone++) {
    if (isMet(zone)) {
      for (let ring = polygons.polygonRings[zone]!; ring < polygons.polygonRings[zone + 1]!; ring++) rings.push(ring);
    }
    polygonRings[zone + 1] = rings.length;
  }
  const ringVertices = new Uint32Array(rings.length + 1);
  const start = (ring: number): number => polygons.ringVertices[ring]!;
  for (const [at, ring] of rings.entries()) ringVertices[at + 1] = ringVertices[at]! + start(ring + 1) - start(ring);
  const kept = { column: new Float64Array(ringVertices.at(-1)!), row: new Float64Array(ringVertices.at(-1)!) };
  for (const [at, ring] of rings.entries()) {
    for (const axis of ['column', 'row'] as const)
      kept[axis].set(polygons[axis].subarray(start(ring), start(ring + 1)), ringVertices[at]);
  }
  const ofRings = (values: Uint32Array): Uint32Array => Uint32Array.from(rings, (ring) => values[ring]!);
  return {
    polygons: {
      polygonRings,
      ringVertices,
      ...(polygons.ringParts && { ringParts: ofRings(polygons.ringParts) }),
      ...kept,
    },
    sheets: sheets && { ...sheets, ringSheets: ofRings(sheets.ringSheets) },
    rows,
    positions: new Map(),
  };
}
