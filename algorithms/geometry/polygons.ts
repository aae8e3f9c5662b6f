import {
  anArrayOf,
  anInstance,
  aRecord,
  aText,
  aWord,
  type Flaw,
  type Kind,
  optional,
} from '../../primitives/kinds.ts';
/**
 * Zones as columns, in the coordinates of their file: zone → rings → vertices in CSR form.
 *
 * A zone may have any number of rings: parts, holes, islands in holes. Inside is even-odd over the rings of a part, so
 * neither the direction nor the nesting of rings matters, and a zone is the union of its parts. A ring's closing vertex is
 * not stored twice: the edge from its last vertex to its first is implied.
 */
export interface Polygons {
  /** Rings of zone `z` are `polygonRings[z] … polygonRings[z + 1] − 1`; length is zones + 1. */
  readonly polygonRings: Uint32Array;
  /** Vertices of ring `r` are `ringVertices[r] … ringVertices[r + 1] − 1`; length is rings + 1. */
  readonly ringVertices: Uint32Array;
  readonly x: Float64Array;
  readonly y: Float64Array;
  /**
   * The part that each ring is of, numbered from 0 within its zone. Where it is left out, all rings of a zone are one part:
   * inside is even-odd over all of them.
   */
  readonly ringParts?: Uint32Array | undefined;
}

/**
 * What is inside a polygon of several parts that overlap: `union` takes what any part holds; `even-odd` takes all rings
 * together, so that what two parts cover is outside.
 */
export type FillRule = 'union' | 'even-odd';

/** What notes say of polygons whose parts overlap, given how many they are: `1 zone`, `2 zones`. */
export function overlapSentence(count: number, [one, several]: readonly [string, string], fill: FillRule): string {
  const subject = count === 1 ? `1 ${one} has` : `${count} ${several} have`;
  return fill === 'union'
    ? `${subject} parts that overlap; what several of them cover is inside and counts once`
    : `${subject} parts that overlap; by the even-odd rule what two of them cover is outside`;
}

export const somePolygons: Kind = aRecord<Polygons>({
  polygonRings: anInstance(Uint32Array),
  ringVertices: anInstance(Uint32Array),
  x: anInstance(Float64Array),
  y: anInstance(Float64Array),
  ringParts: optional(anInstance(Uint32Array)),
});

export const aFill: Kind = aWord(['union', 'even-odd']);

/** Polygons with the names their users know them by. */
export interface Zones {
  /** One name a zone, in input order; names need not be unique. */
  readonly names: readonly string[];
  readonly polygons: Polygons;
  /** Coordinate reference system, as `EPSG:4326` or `OGC:CRS84`; undefined where the file does not say. */
  readonly crs: string | undefined;
  /** File they were read from, for errors. */
  readonly file?: string | undefined;
}

export const someZones: Kind = (given, path, homes) => ZONES(given, path, homes) ?? unnamedZones(given as Zones, path);

/** A zone without a name, or a name without a zone. */
function unnamedZones({ names, polygons }: Zones, path: string): Flaw | undefined {
  const zones = Math.max(0, polygons.polygonRings.length - 1);
  return names.length === zones ? undefined : { path: `${path}.names`, part: names, expected: `${zones} names` };
}

const ZONES = aRecord<Zones>({
  names: anArrayOf(aText),
  polygons: somePolygons,
  crs: optional(aText),
  file: optional(aText),
});

/** The polygon that a vertex is of, for errors: O(polygons). */
export function polygonOfVertex(
  { polygonRings, ringVertices }: Pick<Polygons, 'polygonRings' | 'ringVertices'>,
  vertex: number,
): number {
  return polygonRings.findIndex((_, polygon) => vertex < ringVertices[polygonRings[polygon + 1]!]!);
}
