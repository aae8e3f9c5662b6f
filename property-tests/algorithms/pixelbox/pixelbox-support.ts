import fc from 'fast-check';
import type { GridPolygons } from '../../../algorithms/pixelbox/grid-polygons.ts';

export type Vertex = readonly [x: number, y: number];
/** Rings of one polygon. */
export type Rings = readonly (readonly Vertex[])[];

export function gridPolygonsOf(polygons: readonly Rings[]): GridPolygons {
  const rings = polygons.flat();
  const starts = (counts: readonly number[]): Uint32Array => {
    let total = 0;
    return Uint32Array.from([0, ...counts.map((count) => (total += count))]);
  };
  return {
    polygonRings: starts(polygons.map(({ length }) => length)),
    ringVertices: starts(rings.map(({ length }) => length)),
    x: Int32Array.from(rings.flat(), ([x]) => x),
    y: Int32Array.from(rings.flat(), ([, y]) => y),
  };
}

/** The edges of all rings, except those of length 0. */
export function edgesOf(rings: Rings): [Vertex, Vertex][] {
  const all = rings.flatMap((ring) => ring.map((to, i): [Vertex, Vertex] => [ring.at(i - 1)!, to]));
  return all.filter(([from, to]) => from[0] !== to[0] || from[1] !== to[1]);
}

/**
 * Even-odd test of a pixel. The pixel is inside if an odd number of edges cross its row strictly to the right of the
 * pixel's centre.
 */
export function holdsPixel(rings: Rings, x: number, y: number): boolean {
  const [cx, cy] = [2n * BigInt(x) + 1n, 2n * BigInt(y) + 1n];
  let inside = false;
  for (const [from, to] of edgesOf(rings)) {
    const [[ax, ay], [bx, by]] = (from[1] < to[1] ? [from, to] : [to, from]).map(([u, v]) => [
      2n * BigInt(u),
      2n * BigInt(v),
    ]) as [[bigint, bigint], [bigint, bigint]];
    if (ay < cy && cy < by && (cx - ax) * (by - ay) < (bx - ax) * (cy - ay)) inside = !inside;
  }
  return inside;
}

/** The areas of intersection and union, by counting pixels one by one. */
export function countPixels(p: Rings, q: Rings): { intersection: bigint; union: bigint } {
  const vertices = [...p, ...q].flat();
  const [xs, ys] = [vertices.map(([x]) => x), vertices.map(([, y]) => y)];
  let [intersection, union] = [0n, 0n];
  for (let y = Math.min(...ys); y < Math.max(...ys); y++) {
    for (let x = Math.min(...xs); x < Math.max(...xs); x++) {
      const [inP, inQ] = [holdsPixel(p, x, y), holdsPixel(q, x, y)];
      if (inP && inQ) intersection++;
      if (inP || inQ) union++;
    }
  }
  return { intersection, union };
}

/** Converts a u64 column that was read to bigints, by combining the two words of each element. */
export function bigints({ lo, hi }: { readonly lo: Uint32Array; readonly hi: Uint32Array }): bigint[] {
  return Array.from(lo, (low, i) => BigInt(low) + (BigInt(hi[i]!) << 32n));
}

/** Rings of horizontal and vertical edges with coordinates from −size to size. Rings may cross, touch and overlap. */
export function rectilinearRings(size: number): fc.Arbitrary<Rings> {
  const coordinate = fc.integer({ min: -size, max: size });
  const ring = fc.array(fc.tuple(coordinate, coordinate), { minLength: 1, maxLength: 5 }).map((turns) =>
    turns.flatMap(([x, y], i): Vertex[] => [
      [x, y],
      [turns[(i + 1) % turns.length]![0], y],
    ]),
  );
  const box = fc
    .tuple(coordinate, coordinate, fc.integer({ min: 1, max: size }), fc.integer({ min: 1, max: size }))
    .map(([x, y, w, h]): Vertex[] => [
      [x, y],
      [Math.min(size, x + w), y],
      [Math.min(size, x + w), Math.min(size, y + h)],
      [x, Math.min(size, y + h)],
    ]);
  return fc.array(fc.oneof(ring, box), { maxLength: 4 });
}

/** Rings whose edges may have any direction. */
export function anyRings(size: number): fc.Arbitrary<Rings> {
  const coordinate = fc.integer({ min: -size, max: size });
  const ring = fc.array(fc.tuple(coordinate, coordinate), { minLength: 1, maxLength: 7 });
  return fc.array(ring, { maxLength: 3 });
}
