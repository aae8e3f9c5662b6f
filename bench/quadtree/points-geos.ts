import type { Polygons } from '../../algorithms/geometry/polygons.ts';
import { type GeosModule, openGeosModule } from '../peers/geos-areas.ts';

/** Further functions of geos-wasm, which only this file uses. */
interface GeosPredicates extends GeosModule {
  GEOSPrepare(geometry: number): number;
  GEOSPreparedContainsXY(prepared: number, x: number, y: number): number;
  GEOSBoundary(geometry: number): number;
  GEOSGeom_createPointFromXY(x: number, y: number): number;
  GEOSDistance(a: number, b: number, distance: number): number;
}

/** Polygons as prepared geometries of geos-wasm. The first ring of a polygon is its outline; the others are holes. */
export class GeosPolygons {
  readonly #geos: GeosPredicates;
  readonly #geometries: readonly number[];
  readonly #prepared: (number | undefined)[] = [];
  readonly #number: number;

  private constructor(geos: GeosPredicates, geometries: readonly number[]) {
    this.#geos = geos;
    this.#geometries = geometries;
    this.#number = geos.Module._malloc(8);
  }

  static async open(polygons: Polygons): Promise<GeosPolygons> {
    const { geos } = (await openGeosModule()) as unknown as { geos: GeosPredicates };
    const { polygonRings } = polygons;
    const geometries = Array.from({ length: polygonRings.length - 1 }, (_, polygon) =>
      makePolygon(geos, polygons, polygon),
    );
    return new GeosPolygons(geos, geometries);
  }

  /** Whether a point is inside a polygon; points on its boundary are not. */
  holds(polygon: number, x: number, y: number): boolean {
    this.#prepared[polygon] ??= this.#geos.GEOSPrepare(this.#geometries[polygon]!);
    const answer = this.#geos.GEOSPreparedContainsXY(this.#prepared[polygon]!, x, y);
    if (answer === 2) throw new Error(`GEOS failed at polygon ${polygon}.`);
    return answer === 1;
  }

  distanceToBoundary(polygon: number, x: number, y: number): number {
    const geos = this.#geos;
    const [boundary, point] = [geos.GEOSBoundary(this.#geometries[polygon]!), geos.GEOSGeom_createPointFromXY(x, y)];
    if (geos.GEOSDistance(boundary, point, this.#number) === 0) throw new Error(`GEOS failed at polygon ${polygon}.`);
    geos.GEOSGeom_destroy(boundary);
    geos.GEOSGeom_destroy(point);
    return geos.Module.HEAPF64[this.#number / 8]!;
  }
}

function makePolygon(geos: GeosModule, { polygonRings, ringVertices, x, y }: Polygons, polygon: number): number {
  const rings: number[] = [];
  for (let ring = polygonRings[polygon]!; ring < polygonRings[polygon + 1]!; ring++) {
    const [start, end] = [ringVertices[ring]!, ringVertices[ring + 1]!];
    rings.push(makeRing(geos, x.subarray(start, end), y.subarray(start, end)));
  }
  const [shell, ...holes] = rings;
  const list = geos.Module._malloc(4 * Math.max(1, holes.length));
  geos.Module.HEAPU32.set(holes, list / 4);
  const geometry = geos.GEOSGeom_createPolygon(shell!, list, holes.length);
  geos.Module._free(list);
  return geometry;
}

function makeRing(geos: GeosModule, x: Float64Array, y: Float64Array): number {
  const count = x.length + 1;
  const buffer = geos.Module._malloc(16 * count);
  const doubles = geos.Module.HEAPF64;
  for (let i = 0; i < count; i++) {
    doubles[buffer / 8 + 2 * i] = x[i % x.length]!;
    doubles[buffer / 8 + 2 * i + 1] = y[i % y.length]!;
  }
  const sequence = geos.GEOSCoordSeq_copyFromBuffer(buffer, count, 0, 0);
  geos.Module._free(buffer);
  return geos.GEOSGeom_createLinearRing(sequence);
}
