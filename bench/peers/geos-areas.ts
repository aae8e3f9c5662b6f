import type { Polygons } from '../../algorithms/geometry/polygons.ts';

/** Areas of two regions, of their intersection and of their union. */
export interface GeosAreas {
  readonly first: number;
  readonly second: number;
  readonly intersection: number;
  readonly union: number;
}

/** The part of geos-wasm that is used; its own declarations are global and clash with those of browsers. */
export interface GeosModule {
  readonly Module: {
    _malloc(bytes: number): number;
    _free(address: number): void;
    readonly HEAPF64: Float64Array;
    readonly HEAPU32: Uint32Array;
  };
  GEOSversion(): string;
  GEOSCoordSeq_copyFromBuffer(buffer: number, size: number, hasZ: number, hasM: number): number;
  GEOSGeom_createLinearRing(sequence: number): number;
  GEOSGeom_createPolygon(shell: number, holes: number, count: number): number;
  GEOSGeom_createEmptyPolygon(): number;
  GEOSGeom_destroy(geometry: number): void;
  GEOSisValid(geometry: number): number;
  GEOSMakeValid(geometry: number): number;
  GEOSSymDifference(a: number, b: number): number;
  GEOSIntersection(a: number, b: number): number;
  GEOSUnion(a: number, b: number): number;
  GEOSArea(geometry: number, area: number): number;
}

/** Number of doubles in the buffer for coordinates. */
const CAPACITY = 1 << 16;

/**
 * Exact areas by GEOS, as an independent result for tests: GEOSIntersection and GEOSUnion of two polygons.
 *
 * Regions are those of {@link Polygons}, even-odd over all rings, which GEOS does not support. So each ring becomes a
 * separate polygon, repaired by GEOSMakeValid if GEOSisValid rejects it (rings that touch or cross themselves), and the
 * rings of a polygon are combined by GEOSSymDifference. Before that, repeated vertices and walks there and back along a
 * line are removed from a ring, and rings without area are dropped: GEOSMakeValid would treat such a walk as a wall
 * that encloses what lies behind it.
 *
 * Areas are doubles: they are exact if coordinates are integers and areas are below 2^53. If GEOS fails, or areas
 * exceed that, this throws instead of returning a number.
 */
export class Geos {
  readonly #geos: GeosModule;
  readonly #buffer: number;
  readonly #lastError: () => string;

  private constructor(geos: GeosModule, lastError: () => string) {
    this.#geos = geos;
    this.#buffer = geos.Module._malloc(CAPACITY * 8);
    this.#lastError = lastError;
  }

  static async open(): Promise<Geos> {
    const { geos, lastError } = await openGeosModule();
    return new Geos(geos, lastError);
  }

  /** Areas of polygon `i` of one set and polygon `j` of another. */
  areas(first: Polygons, i: number, second: Polygons, j: number): GeosAreas {
    const [p, q] = [this.#region(first, i), this.#region(second, j)];
    const [intersection, union] = [this.#geos.GEOSIntersection(p, q), this.#geos.GEOSUnion(p, q)];
    const areas = {
      first: this.#areaOf(p),
      second: this.#areaOf(q),
      intersection: this.#areaOf(intersection),
      union: this.#areaOf(union),
    };
    for (const geometry of [p, q, intersection, union]) this.#geos.GEOSGeom_destroy(geometry);
    return areas;
  }

  /** The region of a polygon, as a valid geometry. */
  #region({ polygonRings, ringVertices, x, y }: Polygons, polygon: number): number {
    let region = 0;
    for (let ring = polygonRings[polygon]!; ring < polygonRings[polygon + 1]!; ring++) {
      const [start, end] = [ringVertices[ring]!, ringVertices[ring + 1]!];
      const covered = this.#ringRegion(withoutSpikes(x.subarray(start, end), y.subarray(start, end)));
      if (covered === 0) continue;
      region = region === 0 ? covered : this.#replace([region, covered], this.#geos.GEOSSymDifference(region, covered));
    }
    return region === 0 ? this.#succeeded(this.#geos.GEOSGeom_createEmptyPolygon()) : region;
  }

  /** The region enclosed by one ring, as a valid geometry; 0 if it is empty. */
  #ringRegion(vertices: readonly Position[]): number {
    if (vertices.length < 3) return 0;
    const closed = [...vertices, vertices[0]!].flat();
    if (closed.length > CAPACITY) throw new Error(`A ring has ${vertices.length} vertices: too many for this test`);
    this.#geos.Module.HEAPF64.set(closed, this.#buffer / 8);
    const sequence = this.#geos.GEOSCoordSeq_copyFromBuffer(this.#buffer, closed.length / 2, 0, 0);
    const shell = this.#succeeded(this.#geos.GEOSGeom_createLinearRing(sequence));
    const polygon = this.#succeeded(this.#geos.GEOSGeom_createPolygon(shell, 0, 0));
    if (this.#geos.GEOSisValid(polygon) === 1) return polygon;
    return this.#replace([polygon], this.#geos.GEOSMakeValid(polygon));
  }

  #replace(old: readonly number[], geometry: number): number {
    this.#succeeded(geometry);
    for (const one of old) this.#geos.GEOSGeom_destroy(one);
    return geometry;
  }

  #areaOf(geometry: number): number {
    this.#succeeded(geometry);
    this.#succeeded(this.#geos.GEOSArea(geometry, this.#buffer));
    const area = this.#geos.Module.HEAPF64[this.#buffer / 8]!;
    if (area > Number.MAX_SAFE_INTEGER) throw new Error(`An area of ${area} is not exact as a double`);
    return area;
  }

  #succeeded(result: number): number {
    if (result === 0) throw new Error(`GEOS failed: ${this.#lastError()}`);
    return result;
  }
}

/** geos-wasm, whose functions return 0 on failure; `lastError` gives the reason. */
export async function openGeosModule(): Promise<{ geos: GeosModule; lastError: () => string }> {
  const specifier: string = 'geos-wasm';
  let message = '';
  const { default: init } = await import(specifier);
  const geos = await init({
    errorHandler: (text: string) => {
      message = text;
    },
    noticeHandler: () => {},
  });
  return { geos, lastError: () => message };
}

type Position = readonly [number, number];

/** A ring without repeated vertices and without walks along a line and back, which enclose nothing. */
function withoutSpikes(x: Float64Array, y: Float64Array): Position[] {
  const ring = Array.from(x, (_, i): Position => [x[i]!, y[i]!]);
  for (let i = 0, passed = 0; passed < ring.length; ) {
    i %= ring.length;
    if (isSpike(ring.at(i - 1)!, ring[i]!, ring[(i + 1) % ring.length]!)) {
      ring.splice(i, 1);
      i = Math.max(0, i - 1);
      passed = 0;
    } else {
      i++;
      passed++;
    }
  }
  return ring;
}

/** Whether a vertex repeats an adjacent one or turns straight back; edges are horizontal or vertical. */
function isSpike(before: Position, at: Position, after: Position): boolean {
  const [inX, inY, outX, outY] = [at[0] - before[0], at[1] - before[1], after[0] - at[0], after[1] - at[1]];
  return inX * outY === inY * outX && inX * outX + inY * outY <= 0;
}
