import fc from 'fast-check';
import type { Polygons } from '../../algorithms/geometry/polygons.ts';
import { type Rings, zonesOf } from './zonal-support.ts';

/** A polygon of several parts, each of which has rings. */
export type Parts = readonly Rings[];

/** Converts polygons to columns. `ringParts` tells for each ring the number of the part to which it belongs. */
export function partedPolygons(all: readonly Parts[]): Polygons & { readonly ringParts: Uint32Array } {
  const ringParts = Uint32Array.from(all.flatMap((parts) => parts.flatMap((rings, part) => rings.map(() => part))));
  return { ...zonesOf(all.map((parts) => parts.flat())).polygons, ringParts };
}

/** Applies `move` to every vertex of all parts. */
export function movedParts(parts: Parts, move: (x: number, y: number) => readonly [number, number]): Parts {
  return parts.map((rings) => rings.map((ring) => ring.map(([x, y]) => move(x, y))));
}

/**
 * Tests in floating point whether two parts share area. Horizontal lines through all ends and crossings of edges cut
 * the plane into strips, in which no edges cross. So one horizontal line in the middle of each strip suffices.
 * The result is reliable for coordinates below 100, because their crossings are further apart than rounding errors.
 */
export function shareArea(a: Rings, b: Rings): boolean {
  const [ofA, ofB] = [edgesOf(a), edgesOf(b)];
  const rows = rowsOf([...ofA, ...ofB]);
  for (let at = 1; at < rows.length; at++) {
    const row = (rows[at - 1]! + rows[at]!) / 2;
    if (rows[at]! - rows[at - 1]! < 1e-7) continue;
    const crossings = [
      ...crossingsIn(ofA, row).map((x) => ({ x, of: 0 })),
      ...crossingsIn(ofB, row).map((x) => ({ x, of: 1 })),
    ];
    crossings.sort((p, q) => p.x - q.x);
    const inside = [false, false];
    for (const [i, { x, of }] of crossings.entries()) {
      inside[of] = !inside[of];
      if (inside[0] && inside[1] && (crossings[i + 1]?.x ?? x) - x > 1e-7) return true;
    }
  }
  return false;
}

type Edge = readonly [x0: number, y0: number, x1: number, y1: number];

function edgesOf(rings: Rings): Edge[] {
  return rings.flatMap((ring) => ring.map(([x, y], i): Edge => [...ring[(i + ring.length - 1) % ring.length]!, x, y]));
}

function rowsOf(edges: readonly Edge[]): number[] {
  const rows = edges.flatMap(([, y0, , y1]) => [y0, y1]);
  for (const [ax, ay, bx, by] of edges) {
    for (const [cx, cy, dx, dy] of edges) {
      const turn = (bx - ax) * (dy - cy) - (by - ay) * (dx - cx);
      const along = turn === 0 ? -1 : ((cx - ax) * (dy - cy) - (cy - ay) * (dx - cx)) / turn;
      if (along >= 0 && along <= 1) rows.push(ay + along * (by - ay));
    }
  }
  return rows.sort((p, q) => p - q);
}

function crossingsIn(edges: readonly Edge[], row: number): number[] {
  return edges
    .filter(([, y0, , y1]) => y0 < row !== y1 < row)
    .map(([x0, y0, x1, y1]) => x0 + ((row - y0) / (y1 - y0)) * (x1 - x0));
}

const at = fc.integer({ min: 0, max: 9 });

/** A rectangle, possibly with moved corners, or a triangle. Its outline never crosses itself. */
const simpleRing = fc.oneof(
  fc.tuple(at, at, at, at).map(([x0, y0, x1, y1]): Rings[number] => [
    [Math.min(x0, x1), Math.min(y0, y1)],
    [Math.max(x0, x1), Math.min(y0, y1)],
    [Math.max(x0, x1), Math.max(y0, y1)],
    [Math.min(x0, x1), Math.max(y0, y1)],
  ]),
  fc.array(fc.tuple(at, at), { minLength: 3, maxLength: 3 }),
);

/** A part without a hole, or with a hole inside its outline. */
export const simplePart: fc.Arbitrary<Rings> = fc.oneof(
  simpleRing.map((ring) => [ring]),
  fc
    .tuple(at, at, fc.integer({ min: 3, max: 9 }))
    .map(([x, y, side]): Rings => [square(x, y, side), square(x + 1, y + 1, side - 2)]),
);

function square(x: number, y: number, side: number): Rings[number] {
  return [
    [x, y],
    [x, y + side],
    [x + side, y + side],
    [x + side, y],
  ];
}

/** A part whose rings may cross themselves and each other, or have all their vertices on a line. */
export const wildPart: fc.Arbitrary<Rings> = fc.array(fc.array(fc.tuple(at, at), { minLength: 1, maxLength: 6 }), {
  minLength: 1,
  maxLength: 2,
});
