import { type PolygonEdges, polygonAreas, uploadPolygonEdges } from '../../algorithms/pixelbox/index.ts';
import type { Case, Experiment } from '../harness/experiment.ts';
import { hashed } from './inputs.ts';

const CORNERS = 4;
const STRIDE = 32;

type Corners = { readonly x: Int32Array; readonly y: Int32Array };

/** Corners of rectangles of up to 16 × 16 pixels: n corners in total. */
function rectangles({ n }: Case): Corners {
  const count = Math.ceil(n / CORNERS);
  const corners = { x: new Int32Array(count * CORNERS), y: new Int32Array(count * CORNERS) };
  for (let i = 0; i < count; i++) {
    const [left, bottom, bits] = [(i & 1023) * STRIDE, (i >>> 10) * STRIDE, hashed(i)];
    const [right, top] = [left + 1 + (bits & 15), bottom + 1 + ((bits >>> 4) & 15)];
    corners.x.set([left, right, right, left], i * CORNERS);
    corners.y.set([bottom, bottom, top, top], i * CORNERS);
  }
  return corners;
}

/**
 * The areas of small rectangles by PixelBox's `polygonAreas`, as an example of a whole algorithm. `polygonAreas`
 * accepts any rectilinear polygons.
 */
export const areas: Experiment<Corners, PolygonEdges> = {
  name: 'areas',
  inputs: rectangles,
  upload({ x, y }, { context }) {
    const rings = Uint32Array.from({ length: x.length / CORNERS + 1 }, (_, ring) => ring);
    const frame = { polygonRings: rings, ringVertices: rings.map((ring) => ring * CORNERS), x, y };
    return uploadPolygonEdges(context, frame);
  },
  run: (edges, { context }) => polygonAreas(context, edges),
  reference: shoelace,
  plain: shoelace,
};

/** Areas by the shoelace formula: the sum of the cross products of adjacent corners is twice the area. */
function shoelace({ x, y }: Corners): [Uint32Array, Uint32Array] {
  const out = new Uint32Array(x.length / CORNERS);
  for (let ring = 0; ring < out.length; ring++) {
    let twice = 0;
    for (let corner = 0; corner < CORNERS; corner++) {
      const [a, b] = [ring * CORNERS + corner, ring * CORNERS + ((corner + 1) % CORNERS)];
      twice += x[a]! * y[b]! - x[b]! * y[a]!;
    }
    out[ring] = Math.abs(twice) / 2;
  }
  return [out, new Uint32Array(out.length)];
}
