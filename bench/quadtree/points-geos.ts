import type { Polygons } from '../../algorithms/geometry/polygons.ts';
import { type GeosModule, geosPolygon, openGeosModule } from '../peers/geos-areas.ts';

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
      geosPolygon(geos, polygons, polygon),
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
