import type { Polygons } from '../../algorithms/geometry/polygons.ts';

/** Areas of two regions, and of their intersection and union. */
export interface GeosAreas {
  readonly first: number;
  readonly second: number;
  readonly intersection: number;
  readonly union: number;
}

/**
 * The functions of geos-wasm that are used here. The package's own declarations are global and clash with browser
 * types.
 */
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

/** Length of the coordinate buffer, in doubles. */
const CAPACITY = 1 << 16;

/**
 * Computes exact areas of two polygons, their intersection and their union by GEOS. Tests compare this library's areas
 * with these.
 *
 * The region of a polygon follows the even-odd rule over all its rings, as defined by {@link Polygons}; GEOS does not
 * support this rule. So each ring becomes a separate polygon, and GEOSSymDifference combines the polygons of all rings.
 * GEOSMakeValid repairs rings that GEOSisValid rejects because they touch or cross themselves. Before the repair,
 * repeated vertices and spikes (edges that go along a line and straight back) are removed from a ring, and rings
 * without area are dropped. Otherwise GEOSMakeValid would treat a spike as a wall and enclose the area behind it.
 *
 * Areas are doubles, exact if coordinates are integers and areas are below 2^53. Methods throw if GEOS fails or an area
 * is 2^53 or more.
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

  /** Areas of polygon `i` of the first set and polygon `j` of the second. */
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

  /** The region of a polygon as a valid GEOS geometry. */
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

  /** The region inside one ring as a valid GEOS geometry; 0 if the region is empty. */
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

/** Loads geos-wasm. Its functions return 0 on failure; `lastError` then returns the message. */
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

/**
 * A copy of a ring without repeated vertices and without spikes (edges that go along a line and straight back). Neither
 * encloses any area.
 */
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

/**
 * Whether a vertex is equal to an adjacent vertex, or is the tip of a spike (edges that go along a line and straight
 * back). Edges must be horizontal or vertical.
 */
function isSpike(before: Position, at: Position, after: Position): boolean {
  const [inX, inY, outX, outY] = [at[0] - before[0], at[1] - before[1], after[0] - at[0], after[1] - at[1]];
  return inX * outY === inY * outX && inX * outX + inY * outY <= 0;
}

/** A polygon of a set as a geometry. Its first ring is its outline; the others are holes. */
export function geosPolygon(geos: GeosModule, polygons: VertexRings, polygon: number): number {
  const { polygonRings, ringVertices } = polygons;
  const rings: number[] = [];
  for (let ring = polygonRings[polygon]!; ring < polygonRings[polygon + 1]!; ring++) {
    rings.push(geosRing(geos, polygons, ringVertices[ring]!, ringVertices[ring + 1]!));
  }
  const [shell, ...holes] = rings;
  const list = geos.Module._malloc(4 * holes.length + 4);
  geos.Module.HEAPU32.set(holes, list / 4);
  const geometry = geos.GEOSGeom_createPolygon(shell!, list, holes.length);
  geos.Module._free(list);
  return geometry;
}

/** Sets of polygons, as {@link Polygons} and others whose coordinates are integers. */
interface VertexRings extends Pick<Polygons, 'polygonRings' | 'ringVertices'> {
  readonly x: ArrayLike<number>;
  readonly y: ArrayLike<number>;
}

function geosRing(geos: GeosModule, { x, y }: VertexRings, start: number, end: number): number {
  const count = end - start + 1;
  const buffer = geos.Module._malloc(16 * count);
  for (let i = 0; i < count; i++) {
    const vertex = start + (i % (count - 1));
    geos.Module.HEAPF64.set([x[vertex]!, y[vertex]!], buffer / 8 + 2 * i);
  }
  const sequence = geos.GEOSCoordSeq_copyFromBuffer(buffer, count, 0, 0);
  geos.Module._free(buffer);
  return geos.GEOSGeom_createLinearRing(sequence);
}
