import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { uploadPolygonEdges } from '../../../algorithms/pixelbox/polygon-edges.ts';
import { contains, intersects, touches } from '../../../algorithms/pixelbox/predicates.ts';
import type { Context } from '../../../primitives/index.ts';
import { onEveryBackend } from '../../backends.ts';
import { caseCount } from '../../cases.ts';
import { openReference } from '../../support/reference-context.ts';
import { gridPolygonsOf, holdsPixel, type Rings, rectilinearRings, type Vertex } from './pixelbox-support.ts';

interface Relations {
  readonly contains: boolean;
  readonly touches: boolean;
  readonly intersects: boolean;
}

const SIZE = 5;

async function relationsOf(context: Context, pairs: readonly (readonly [Rings, Rings])[]): Promise<Relations[]> {
  const [p, q] = [0, 1].map((side) =>
    uploadPolygonEdges(context, gridPolygonsOf(pairs.map((pair) => pair[side as 0 | 1]))),
  );
  const each = Uint32Array.from(pairs.keys());
  const columns = { p: context.column(each), q: context.column(each) };
  const tests = [contains, touches, intersects];
  const found: Uint8Array[] = [];
  for (const holds of tests) {
    const column = await holds(context, p!, q!, columns, { blockSize: 4, threshold: 3 });
    found.push(await context.read(column));
    context.dispose(column);
  }
  context.dispose(p!.words, q!.words, columns);
  return pairs.map((_, i) => ({
    contains: found[0]![i] === 1,
    touches: found[1]![i] === 1,
    intersects: found[2]![i] === 1,
  }));
}

function pixelsOf(rings: Rings): Vertex[] {
  const all = Array.from(
    { length: (2 * SIZE) ** 2 },
    (_, i): Vertex => [(i % (2 * SIZE)) - SIZE, Math.floor(i / (2 * SIZE)) - SIZE],
  );
  return all.filter(([x, y]) => holdsPixel(rings, x, y));
}

/**
 * The expected relations. Two polygons intersect if they share a pixel, or if two of their pixels share a side or a
 * corner.
 */
function expectedOf([p, q]: readonly [Rings, Rings]): Relations {
  const [ofP, ofQ] = [pixelsOf(p), pixelsOf(q)];
  const distance = ([x, y]: Vertex, [u, v]: Vertex): number => Math.max(Math.abs(x - u), Math.abs(y - v));
  const min = Math.min(...ofP.flatMap((a) => ofQ.map((b) => distance(a, b))));
  const isIn = (b: Vertex): boolean => ofP.some((a) => distance(a, b) === 0);
  return { contains: ofQ.length > 0 && ofQ.every(isIn), touches: min === 1, intersects: min <= 1 };
}

describe('relations of rectilinear polygons', () => {
  onEveryBackend((opened, { runs }) => {
    test('equal those of their sets of pixels, for any rings', async () => {
      const rings = fc.oneof(
        rectilinearRings(SIZE),
        rectilinearRings(SIZE).map((all) => all.slice(0, 1)),
      );
      // Up to 40 pairs per launch. Most random pairs overlap, so many pairs are needed to cover all relations.
      const pairs = fc.array(fc.tuple(rings, rings), { minLength: 1, maxLength: 40 });
      await fc.assert(
        fc.asyncProperty(pairs, async (all) => {
          expect(await relationsOf(opened().context, all)).toEqual(all.map(expectedOf));
        }),
        { numRuns: runs },
      );
    }, 240_000);
  });
});

interface Geos {
  readonly Module: {
    _malloc(bytes: number): number;
    _free(at: number): void;
    stringToUTF8(text: string, at: number, bytes: number): void;
  };
  GEOSWKTReader_create(): number;
  GEOSWKTReader_read(reader: number, text: number): number;
  GEOSUnaryUnion(geometry: number): number;
  GEOSGeom_destroy(geometry: number): void;
  GEOSContains(a: number, b: number): number;
  GEOSTouches(a: number, b: number): number;
  GEOSIntersects(a: number, b: number): number;
}

describe('predicates compared with GEOS', () => {
  let geos: Geos;
  beforeAll(async () => {
    const specifier: string = 'geos-wasm';
    geos = await (await import(specifier)).default();
  });

  /** Makes a GEOS geometry that is the union of pixels, and returns its pointer. */
  function unionOf(pixels: readonly Vertex[]): number {
    const square = ([x, y]: Vertex): string =>
      `POLYGON ((${x} ${y}, ${x + 1} ${y}, ${x + 1} ${y + 1}, ${x} ${y + 1}, ${x} ${y}))`;
    const text = pixels.length === 0 ? 'POLYGON EMPTY' : `GEOMETRYCOLLECTION (${pixels.map(square).join(', ')})`;
    const at = geos.Module._malloc(text.length + 1);
    geos.Module.stringToUTF8(text, at, text.length + 1);
    const collection = geos.GEOSWKTReader_read(geos.GEOSWKTReader_create(), at);
    const union = geos.GEOSUnaryUnion(collection);
    geos.GEOSGeom_destroy(collection);
    geos.Module._free(at);
    return union;
  }

  test('contains, touches and intersects agree', async () => {
    const context = openReference();
    const pixel = fc.tuple(fc.integer({ min: -3, max: 2 }), fc.integer({ min: -3, max: 2 }));
    const pixels = fc.uniqueArray(pixel, { maxLength: 14, selector: String });
    const pair = fc.tuple(pixels, pixels, fc.constantFrom(0, 1, 2)).map(([p, q, kind]): [Vertex[], Vertex[]] => {
      // In kind 1, the polygons share no pixel, but possibly sides. In kind 2, the first polygon contains the second.
      if (kind === 1) return [p, q.filter(([x, y]) => !p.some(([u, v]) => u === x && v === y))];
      return kind === 2 ? [p, p.filter((_, i) => i % 2 === 0)] : [p, q];
    });
    const ringsOf = (all: readonly Vertex[]): Rings =>
      all.map(([x, y]) => [
        [x, y],
        [x + 1, y],
        [x + 1, y + 1],
        [x, y + 1],
      ]);
    await fc.assert(
      fc.asyncProperty(fc.array(pair, { minLength: 1, maxLength: 20 }), async (all) => {
        const expected = all.map(([p, q]): Relations => {
          const [a, b] = [unionOf(p), unionOf(q)];
          const relations = {
            contains: geos.GEOSContains(a, b) === 1,
            touches: geos.GEOSTouches(a, b) === 1,
            intersects: geos.GEOSIntersects(a, b) === 1,
          };
          for (const geometry of [a, b]) geos.GEOSGeom_destroy(geometry);
          return relations;
        });
        expect(
          await relationsOf(
            context,
            all.map(([p, q]) => [ringsOf(p), ringsOf(q)]),
          ),
        ).toEqual(expected);
      }),
      { numRuns: caseCount(40) },
    );
    await context.close();
  }, 120_000);
});

test('relations of polygons with sloped edges are refused', async () => {
  const context = openReference();
  const edges = uploadPolygonEdges(
    context,
    gridPolygonsOf([
      [
        [
          [0, 0],
          [2, 0],
          [0, 2],
        ],
      ],
    ]),
  );
  const pairs = { p: context.column(Uint32Array.of(0)), q: context.column(Uint32Array.of(0)) };
  for (const holds of [contains, touches, intersects]) {
    await expect(holds(context, edges, edges, pairs)).rejects.toMatchObject({ code: 'pixelbox/not-rectilinear' });
  }
  await context.close();
});
