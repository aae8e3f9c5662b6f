import { readFile } from 'node:fs/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { Polygons } from '../../algorithms/geometry/polygons.ts';

type Position = readonly [x: number, y: number];
type Part = readonly (readonly Position[])[];

interface GeoJson {
  readonly type: string;
  readonly features?: readonly { readonly geometry: GeoJson | null }[];
  readonly geometries?: readonly GeoJson[];
  readonly coordinates?: unknown;
}

/**
 * Reads the polygons of a GeoJSON file, or of a file made by {@link packParts}. Every part of a multipolygon becomes a
 * separate polygon with its holes.
 */
export async function readParts(file: string): Promise<Polygons> {
  const bytes = await readFile(file);
  return bytes[0] === 0x1f && bytes[1] === 0x8b ? unpackParts(gunzipSync(bytes)) : parseParts(bytes.toString('utf8'));
}

function parseParts(json: string): Polygons {
  const parts = [...partsOf(JSON.parse(json) as GeoJson)];
  const rings = parts.flatMap((part) => part.map((ring) => ring.slice(0, -1)));
  const vertices = rings.reduce((sum, ring) => sum + ring.length, 0);
  const [x, y] = [new Float64Array(vertices), new Float64Array(vertices)];
  let at = 0;
  for (const ring of rings) for (const [east, north] of ring) [x[at], y[at++]] = [east, north];
  return { polygonRings: startsOf(parts), ringVertices: startsOf(rings), x, y };
}

function* partsOf({ features, geometries, type, coordinates }: GeoJson): Generator<Part> {
  for (const { geometry } of features ?? []) if (geometry !== null) yield* partsOf(geometry);
  for (const geometry of geometries ?? []) yield* partsOf(geometry);
  if (type === 'Polygon') yield coordinates as Part;
  if (type === 'MultiPolygon') yield* coordinates as readonly Part[];
}

/** Where each of some lists starts if they follow each other, and where the last ends. */
export function startsOf(lists: readonly { readonly length: number }[]): Uint32Array {
  const starts = new Uint32Array(lists.length + 1);
  for (const [i, { length }] of lists.entries()) starts[i + 1] = starts[i]! + length;
  return starts;
}

/**
 * Coordinates are stored in units of 1/`PER_DEGREE` degrees, so that ±180 degrees fit in 32 bits. One unit is 11 mm on
 * the equator.
 */
const PER_DEGREE = 1e7;

/**
 * Packs polygons in longitude and latitude into gzip-compressed 32-bit words. The words are the length of
 * `polygonRings`, the length of `ringVertices`, then the elements of `polygonRings`, `ringVertices`, `x` and `y`. Each
 * x and each y is stored as its difference from the previous x or y, in units of 10⁻⁷ degrees.
 */
export function packParts({ polygonRings, ringVertices, x, y }: Polygons): Uint8Array {
  const counts = Uint32Array.of(polygonRings.length, ringVertices.length);
  const columns = [counts, polygonRings, ringVertices, differencesOf(x), differencesOf(y)];
  return gzipSync(
    Buffer.concat(columns.map(({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength))),
  );
}

function differencesOf(degrees: Float64Array): Int32Array {
  let before = 0;
  return Int32Array.from(degrees, (d) => {
    const step = Math.round(d * PER_DEGREE);
    const difference = step - before;
    before = step;
    return difference;
  });
}

function unpackParts(bytes: Buffer): Polygons {
  const words = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  const [polygons, rings] = [words[0]!, words[1]!];
  const starts = 2 + polygons + rings;
  const vertices = (words.length - starts) / 2;
  return {
    polygonRings: Uint32Array.from(words.subarray(2, 2 + polygons)),
    ringVertices: Uint32Array.from(words.subarray(2 + polygons, starts)),
    x: degreesOf(words.subarray(starts, starts + vertices)),
    y: degreesOf(words.subarray(starts + vertices)),
  };
}

function degreesOf(differences: Int32Array): Float64Array {
  let step = 0;
  return Float64Array.from(differences, (difference) => {
    step = (step + difference) | 0;
    return step / PER_DEGREE;
  });
}

/** The polygons that have at least `from` and fewer than `to` vertices. */
export function bySize(polygons: Polygons, from: number, to: number): Polygons {
  const { polygonRings, ringVertices } = polygons;
  const kept: number[] = [];
  for (let polygon = 0; polygon + 1 < polygonRings.length; polygon++) {
    const vertices = ringVertices[polygonRings[polygon + 1]!]! - ringVertices[polygonRings[polygon]!]!;
    if (vertices >= from && vertices < to) kept.push(polygon);
  }
  return take(polygons, kept);
}

function take({ polygonRings, ringVertices, x, y }: Polygons, kept: readonly number[]): Polygons {
  const spans = kept.map((polygon) => [polygonRings[polygon]!, polygonRings[polygon + 1]!] as const);
  const rings = spans.flatMap(([from, to]) =>
    Array.from({ length: to - from }, (_, i) => [ringVertices[from + i]!, ringVertices[from + i + 1]!] as const),
  );
  const total = rings.reduce((sum, [from, to]) => sum + to - from, 0);
  const [takenX, takenY] = [new Float64Array(total), new Float64Array(total)];
  let at = 0;
  for (const [from, to] of rings) {
    takenX.set(x.subarray(from, to), at);
    takenY.set(y.subarray(from, to), at);
    at += to - from;
  }
  return {
    polygonRings: startsOf(spans.map(([from, to]) => ({ length: to - from }))),
    ringVertices: startsOf(rings.map(([from, to]) => ({ length: to - from }))),
    x: takenX,
    y: takenY,
  };
}
