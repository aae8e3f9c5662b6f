import fc from 'fast-check';
import { textAt } from '../../algorithms/text-column.ts';
import { parseTile } from '../../formats/result-sets/parse-tile.ts';
import type { PolygonTile, ResultSetFormat, TileParameters } from '../../formats/result-sets/result-set.ts';

export type Vertex = readonly [number, number];

/** A polygon of a file: its id, and its rings without closing vertices. */
export interface WrittenPolygon {
  readonly id: string;
  readonly rings: readonly (readonly Vertex[])[];
}

const coordinate: fc.Arbitrary<number> = fc.oneof(
  { arbitrary: fc.integer({ min: -(2 ** 31), max: 2 ** 31 }), weight: 3 },
  { arbitrary: fc.integer({ min: 0, max: 9 }), weight: 2 },
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);

/** A ring of at least three vertices; the last differs from the first. */
const ring: fc.Arbitrary<readonly Vertex[]> = fc
  .array(fc.tuple(coordinate, coordinate), { minLength: 3, maxLength: 20 })
  .filter((vertices) => {
    const [first, last] = [vertices[0]!, vertices.at(-1)!];
    return first[0] !== last[0] || first[1] !== last[1];
  });

/** An id that no format has to quote. */
const plainId: fc.Arbitrary<string> = fc.stringMatching(/^[A-Za-z0-9_äЖ-][A-Za-z0-9_äЖ.:-]{0,12}[A-Za-z0-9]$/u);

export const polygons: fc.Arbitrary<readonly WrittenPolygon[]> = fc.array(
  fc.record({ id: plainId, rings: fc.array(ring, { minLength: 1, maxLength: 4 }) }),
  { maxLength: 12 },
);

/** Parses the content of a file, given as text or bytes, as one tile of polygons. */
export function read(
  format: ResultSetFormat,
  text: string | Uint8Array,
  more: Partial<TileParameters> = {},
): PolygonTile {
  const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text;
  return parseTile(bytes, { format, place: 'tile', ...more });
}

/** Converts the polygons of a tile to the form in which tests write polygons to files. */
export function written({ ids, polygons: { polygonRings, ringVertices, x, y } }: PolygonTile): WrittenPolygon[] {
  return Array.from({ length: polygonRings.length - 1 }, (_, polygon) => {
    const rings: Vertex[][] = [];
    for (let r = polygonRings[polygon]!; r < polygonRings[polygon + 1]!; r++) {
      const vertices: Vertex[] = [];
      for (let v = ringVertices[r]!; v < ringVertices[r + 1]!; v++) vertices.push([x[v]!, y[v]!]);
      rings.push(vertices);
    }
    return { id: textAt(ids, polygon), rings };
  });
}

/** The counts that the notes of a tile state, by the codes of the notes. */
export function noted({ notes }: PolygonTile): Record<string, number | undefined> {
  return Object.fromEntries(notes.map(({ code, count }) => [code, count]));
}

/** A number as text. `Number` converts the text back to the same number, even −0. */
export function numberText(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value);
}

/** Tests by the even-odd rule whether the rings, taken together, contain the centre of a pixel. */
export function coversPixel(rings: WrittenPolygon['rings'], column: number, row: number): boolean {
  let inside = false;
  for (const vertices of rings) {
    for (let v = 0; v < vertices.length; v++) {
      const [[fromX, fromY], [, toY]] = [vertices[v]!, vertices[(v + 1) % vertices.length]!];
      // All edges are horizontal or vertical, so only vertical edges can cross the row of the pixel.
      if (fromY < row + 0.5 !== toY < row + 0.5 && fromX > column + 0.5) inside = !inside;
    }
  }
  return inside;
}
