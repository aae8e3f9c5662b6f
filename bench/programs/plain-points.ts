import { DOMAIN_STEPS } from '../../algorithms/quadrants/index.ts';
import type { Answer, Case } from './program.ts';

/** Cells of a side of the grid of boxes: half a degree. Finer ones take longer to fill than they save. */
const SIDE = 720;
const CELL = DOMAIN_STEPS / SIDE;

/** Count, mean and 90th percentile by polygon: a grid of boxes, ray casting, and a sort of each polygon's values. */
export function countByGrid({ inputs }: Case): () => Answer {
  const { px, py, value, polygonRings } = inputs as { readonly [name: string]: Uint32Array };
  const polygons = polygonRings!.length - 1;
  const holders = holdersByGrid(inputs);
  const pairs = { point: new Uint32Array(2 * px!.length), polygon: new Uint32Array(2 * px!.length) };
  const grouped = new Uint16Array(2 * px!.length);
  const [count, mean, p90] = [new Uint32Array(polygons), new Float32Array(polygons), new Uint32Array(polygons)];
  return () => {
    const made = holders(px!, py!, pairs.point, pairs.polygon);
    const starts = new Uint32Array(polygons + 1);
    const sums = new Float64Array(polygons);
    for (let i = 0; i < made; i++) {
      const polygon = pairs.polygon[i]!;
      starts[polygon + 1]!++;
      sums[polygon]! += value![pairs.point[i]!]!;
    }
    for (let polygon = 0; polygon < polygons; polygon++) starts[polygon + 1]! += starts[polygon]!;
    const next = starts.slice();
    for (let i = 0; i < made; i++) grouped[next[pairs.polygon[i]!]!++] = value![pairs.point[i]!]!;
    for (let polygon = 0; polygon < polygons; polygon++) {
      const [start, end] = [starts[polygon]!, starts[polygon + 1]!];
      const n = end - start;
      count[polygon] = n;
      mean[polygon] = n === 0 ? 0 : Math.fround(sums[polygon]!) / Math.fround(n);
      p90[polygon] = n === 0 ? 0 : grouped.subarray(start, end).sort()[Math.ceil(0.9 * n) - 1]!;
    }
    return { count, mean, p90 };
  };
}

type Holders = (px: Uint32Array, py: Uint32Array, point: Uint32Array, polygon: Uint32Array) => number;

/** Makes the grid. The returned function writes the pairs of a point and a polygon, and returns their number. */
function holdersByGrid(inputs: Case['inputs']): Holders {
  const { polygonRings, ringVertices, x, y } = inputs as { readonly [name: string]: Uint32Array };
  const polygons = polygonRings!.length - 1;
  const boxes = new Uint32Array(4 * polygons);
  const cells: number[][] = Array.from({ length: SIDE * SIDE }, () => []);
  for (let polygon = 0; polygon < polygons; polygon++) {
    let [left, bottom, right, top] = [DOMAIN_STEPS, DOMAIN_STEPS, 0, 0];
    const [first, end] = [ringVertices![polygonRings![polygon]!]!, ringVertices![polygonRings![polygon + 1]!]!];
    for (let v = first; v < end; v++) {
      [left, right] = [Math.min(left, x![v]!), Math.max(right, x![v]!)];
      [bottom, top] = [Math.min(bottom, y![v]!), Math.max(top, y![v]!)];
    }
    boxes.set([left, bottom, right, top], 4 * polygon);
    const cell = (at: number): number => Math.min(SIDE - 1, Math.floor(at / CELL));
    for (let row = cell(bottom); row <= cell(top); row++) {
      for (let column = cell(left); column <= cell(right); column++) cells[row * SIDE + column]!.push(polygon);
    }
  }
  const list = Uint32Array.from(cells.flat());
  const starts = new Uint32Array(SIDE * SIDE + 1);
  cells.forEach((each, cell) => {
    starts[cell + 1] = starts[cell]! + each.length;
  });
  const holds = (polygon: number, qx: number, qy: number): boolean => {
    let inside = false;
    for (let ring = polygonRings![polygon]!; ring < polygonRings![polygon + 1]!; ring++) {
      const [first, end] = [ringVertices![ring]!, ringVertices![ring + 1]!];
      let [ux, uy] = [x![end - 1]!, y![end - 1]!];
      for (let v = first; v < end; v++) {
        const [vx, vy] = [x![v]!, y![v]!];
        if (uy <= qy !== vy <= qy && qx >= ux + ((qy - uy) * (vx - ux)) / (vy - uy)) inside = !inside;
        [ux, uy] = [vx, vy];
      }
    }
    return inside;
  };
  return (px, py, point, polygon) => {
    let made = 0;
    for (let i = 0; i < px.length; i++) {
      const [qx, qy] = [px[i]!, py[i]!];
      const cell = Math.floor(qy / CELL) * SIDE + Math.floor(qx / CELL);
      for (let at = starts[cell]!; at < starts[cell + 1]!; at++) {
        const k = list[at]!;
        if (qx < boxes[4 * k]! || qx > boxes[4 * k + 2]! || qy < boxes[4 * k + 1]! || qy > boxes[4 * k + 3]!) continue;
        if (!holds(k, qx, qy)) continue;
        point[made] = i;
        polygon[made++] = k;
      }
    }
    return made;
  };
}
