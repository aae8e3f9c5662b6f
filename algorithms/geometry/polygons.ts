import {
  anArrayOf,
  anInstance,
  aRecord,
  aText,
  aWord,
  type Flaw,
  type Kind,
  optional,
} from '../../primitives/checks/kinds.ts';
/**
 * Zones (polygons with a name) as columns, in the coordinates of their file. Zones, rings and vertices are nested in
 * CSR form.
 *
 * A zone has one or more parts, and a part has any number of rings: outlines, holes, and islands in holes. The inside
 * of a part follows the even-odd rule over its rings, so neither the direction nor the nesting of rings matters. A zone
 * is the union of its parts. A ring's closing vertex is not stored twice: the edge from its last vertex to its first is
 * implied.
 */
export interface Polygons {
  /** Rings of zone `z` are `polygonRings[z] … polygonRings[z + 1] − 1`; length is zones + 1. */
  readonly polygonRings: Uint32Array;
  /** Vertices of ring `r` are `ringVertices[r] … ringVertices[r + 1] − 1`; length is rings + 1. */
  readonly ringVertices: Uint32Array;
  readonly x: Float64Array;
  readonly y: Float64Array;
  /**
   * The part to which each ring belongs, numbered from 0 within its zone. If missing, all rings of a zone form one
   * part, which is filled by the even-odd rule.
   */
  readonly ringParts?: Uint32Array | undefined;
}

/**
 * Which points are inside a polygon whose parts overlap. `union`: points in any part. `even-odd`: the even-odd rule
 * applies to all rings together, so points in two parts are outside.
 */
export type FillRule = 'union' | 'even-odd';

/**
 * The sentence for notes about polygons whose parts overlap. `one` and `several` are the noun in singular and plural,
 * such as `zone` and `zones`.
 */
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

/** Polygons, their names, and the file and reference system they come from. */
export interface Zones {
  /** One name per zone, in input order. Names need not be unique. */
  readonly names: readonly string[];
  readonly polygons: Polygons;
  /** Coordinate reference system, such as `EPSG:4326` or `OGC:CRS84`; undefined if the file does not state it. */
  readonly crs: string | undefined;
  /** The definition of `crs` that the file states, if it states one: well-known text or PROJJSON. */
  readonly crsText?: string | undefined;
  /** File from which the zones were read, named in errors. */
  readonly file?: string | undefined;
}

export const someZones: Kind = (given, path, homes) => ZONES(given, path, homes) ?? unnamedZones(given as Zones, path);

/**
 * Returns a flaw (a message about a wrong argument) if the number of names differs from the number of zones; else
 * undefined.
 */
function unnamedZones({ names, polygons }: Zones, path: string): Flaw | undefined {
  const zones = Math.max(0, polygons.polygonRings.length - 1);
  return names.length === zones ? undefined : { path: `${path}.names`, part: names, expected: `${zones} names` };
}

const ZONES = aRecord<Zones>({
  names: anArrayOf(aText),
  polygons: somePolygons,
  crs: optional(aText),
  crsText: optional(aText),
  file: optional(aText),
});

/** The polygon that contains a vertex, for error messages. O(polygons). */
export function polygonOfVertex(
  { polygonRings, ringVertices }: Pick<Polygons, 'polygonRings' | 'ringVertices'>,
  vertex: number,
): number {
  return polygonRings.findIndex((_, polygon) => vertex < ringVertices[polygonRings[polygon + 1]!]!);
}
