import { largestOf, smallestOf } from '../../primitives/host/extremes.ts';

/** A graph to lay out: boxes with their sizes, and edges between boxes. An edge names a box by its index. */
export interface LayoutInput {
  readonly boxes: readonly { readonly width: number; readonly height: number }[];
  readonly edges: readonly { readonly from: number; readonly to: number }[];
  /** Horizontal distance between layers (`gapX`), and vertical distance between the boxes of one layer (`gapY`). */
  readonly gapX: number;
  readonly gapY: number;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Layout {
  readonly width: number;
  readonly height: number;
  /** Upper left corners of the boxes. */
  readonly boxes: readonly Point[];
  /**
   * For each edge, the points of its line. The line starts at the right side of the source box, passes between other
   * boxes, and ends at the left side of the target box.
   */
  readonly edges: readonly (readonly Point[])[];
}

/** An entry of a layer: a box, or the place where a long edge passes through the layer. */
interface LayoutCell {
  readonly height: number;
  readonly box: number | undefined;
  readonly left: LayoutCell[];
  readonly right: LayoutCell[];
  /** The y coordinate of the centre of the cell. */
  y: number;
}

/**
 * Lays out a graph in layers from left to right, after Sugiyama, Tagawa and Toda, Methods for visual understanding of
 * hierarchical system structures, 1981. The longest path to a box determines its layer. Barycentres determine the order
 * of boxes within a layer. The y positions keep edges as straight as possible without overlapping boxes. Edges that
 * close a cycle run from right to left. The same input gives the same layout.
 */
export function layeredLayout({ boxes, edges, gapX, gapY }: LayoutInput): Layout {
  if (boxes.length === 0) return { width: 0, height: 0, boxes: [], edges: [] };
  const layerOf = layersOf(boxes.length, edges);
  const layers: LayoutCell[][] = Array.from({ length: largestOf(layerOf) + 1 }, () => []);
  const cells = boxes.map(({ height }, box) => {
    const cell: LayoutCell = { height, box, left: [], right: [], y: 0 };
    layers[layerOf[box]!]!.push(cell);
    return cell;
  });
  const routes = edges.map(({ from, to }) => route(cells[from]!, cells[to]!, layerOf[from]!, layerOf[to]!, layers));
  const ordered = inFewestCrossings(layers);
  placeVertically(ordered, gapY);

  const widths = ordered.map((layer) => largestOf(layer.map(({ box }) => (box === undefined ? 0 : boxes[box]!.width))));
  const lefts = widths.map((_, i) => widths.slice(0, i).reduce((sum, width) => sum + width + gapX, 0));
  const placed = ordered.flat();
  const origin = smallestOf(placed.map(({ y, height }) => y - height / 2));
  const bottom = largestOf(placed.map(({ y, height }) => y + height / 2));
  const columnOf = new Map(ordered.flatMap((layer, i) => layer.map((cell) => [cell, i] as const)));

  const corner = (cell: LayoutCell, box: number): Point => {
    const column = columnOf.get(cell)!;
    return {
      x: lefts[column]! + (widths[column]! - boxes[box]!.width) / 2,
      y: cell.y - cell.height / 2 - origin,
    };
  };
  const corners = cells.map(corner);
  const ends = endHeights(cells, routes);
  const pointsOf = (cellsOnRoute: readonly LayoutCell[], edge: number): Point[] =>
    cellsOnRoute.flatMap((cell, k) => {
      const { box } = cell;
      if (box === undefined) {
        const x = lefts[columnOf.get(cell)!]!;
        const y = cell.y - origin;
        return [
          { x, y },
          { x: x + widths[columnOf.get(cell)!]!, y },
        ];
      }
      const isStart = k === 0;
      const y = ends[edge]![isStart ? 0 : 1] - origin;
      return [{ x: corners[box]!.x + (isStart ? boxes[box]!.width : 0), y }];
    });
  return {
    width: lefts.at(-1)! + widths.at(-1)!,
    height: bottom - origin,
    boxes: corners,
    edges: routes.map(pointsOf),
  };
}

/**
 * Returns the layer of each box: the length of the longest path that leads to the box. A box without predecessors is
 * placed in the layer before its leftmost successor. Edges that close a cycle are ignored.
 */
function layersOf(count: number, edges: LayoutInput['edges']): number[] {
  const out = Array.from({ length: count }, (_, box) => edges.filter(({ from }) => from === box).map(({ to }) => to));
  const order: number[] = [];
  const state = new Uint8Array(count);
  const forward: [number, number][] = [];
  const visit = (box: number): void => {
    state[box] = 1;
    for (const to of out[box]!) {
      if (state[to] === 1) continue;
      forward.push([box, to]);
      if (state[to] === 0) visit(to);
    }
    state[box] = 2;
    order.push(box);
  };
  for (let box = 0; box < count; box++) if (state[box] === 0) visit(box);

  const layer = new Array<number>(count).fill(0);
  for (const box of order.reverse()) {
    for (const [from, to] of forward) if (from === box) layer[to] = Math.max(layer[to]!, layer[from]! + 1);
  }
  for (let box = 0; box < count; box++) {
    const next = forward.filter(([from]) => from === box).map(([, to]) => layer[to]!);
    if (layer[box] === 0 && next.length > 0) layer[box] = smallestOf(next) - 1;
  }
  return layer;
}

const PASSAGE = 18;

/** The cells that an edge passes, from its start to its end. Creates a cell in each layer between the ends. */
function route(
  from: LayoutCell,
  to: LayoutCell,
  fromLayer: number,
  toLayer: number,
  layers: LayoutCell[][],
): LayoutCell[] {
  const cells = [from];
  for (let layer = fromLayer + 1; layer < toLayer; layer++) {
    const cell: LayoutCell = { height: PASSAGE, box: undefined, left: [], right: [], y: 0 };
    layers[layer]!.push(cell);
    cells.push(cell);
  }
  cells.push(to);
  for (let k = 1; k < cells.length && fromLayer < toLayer; k++) {
    cells[k - 1]!.right.push(cells[k]!);
    cells[k]!.left.push(cells[k - 1]!);
  }
  return cells;
}

const SWEEPS = 8;

/**
 * Orders the cells of each layer by the mean position of their neighbours. Passes forwards and backwards over the
 * layers, and keeps the order with the fewest crossings.
 */
function inFewestCrossings(layers: readonly LayoutCell[][]): LayoutCell[][] {
  let current = layers.map((layer) => [...layer]);
  let best = current;
  let fewest = crossings(current);
  for (let sweep = 0; sweep < SWEEPS && fewest > 0; sweep++) {
    const side = sweep % 2 === 0 ? 'left' : 'right';
    const next = current.map((layer) => [...layer]);
    const indices = next.map((_, i) => i);
    for (const i of side === 'left' ? indices : indices.reverse()) {
      const beside = next[side === 'left' ? i - 1 : i + 1];
      if (beside !== undefined) next[i] = byBarycentre(next[i]!, side, beside);
    }
    current = next;
    const count = crossings(current);
    if (count < fewest) [best, fewest] = [current, count];
  }
  return best;
}

function byBarycentre(
  layer: readonly LayoutCell[],
  side: 'left' | 'right',
  beside: readonly LayoutCell[],
): LayoutCell[] {
  const place = new Map(beside.map((cell, i) => [cell, i]));
  const weights = new Map(
    layer.map((cell, i) => {
      const places = cell[side].map((neighbour) => place.get(neighbour)!);
      return [cell, places.length === 0 ? i : mean(places)];
    }),
  );
  return layer.toSorted((a, b) => weights.get(a)! - weights.get(b)!);
}

function crossings(layers: readonly (readonly LayoutCell[])[]): number {
  let count = 0;
  for (const [i, layer] of layers.entries()) {
    const place = new Map((layers[i + 1] ?? []).map((cell, k) => [cell, k]));
    const ends = layer.flatMap((cell, k) => cell.right.map((to) => [k, place.get(to)!] as const));
    for (const [a, b] of ends) for (const [c, d] of ends) if (a < c && b > d) count++;
  }
  return count;
}

/**
 * Sets the y coordinates of cells: layer by layer, moves each cell towards the mean y of its neighbours. The order
 * within a layer stays the same.
 */
function placeVertically(layers: readonly (readonly LayoutCell[])[], gap: number): void {
  for (const layer of layers)
    settle(
      layer,
      layer.map(() => 0),
      gap,
    );
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const side = sweep % 2 === 0 ? 'left' : 'right';
    for (const layer of side === 'left' ? layers : layers.toReversed()) {
      const wanted = layer.map((cell) => {
        const neighbours = cell[side].length > 0 ? cell[side] : [...cell.left, ...cell.right];
        return neighbours.length === 0 ? cell.y : mean(neighbours.map(({ y }) => y));
      });
      settle(layer, wanted, gap);
    }
  }
}

/**
 * Places the cells of a layer as close to their y coordinates in `wanted` as the order and sizes of the cells allow
 * (isotonic regression).
 */
function settle(layer: readonly LayoutCell[], wanted: readonly number[], gap: number): void {
  const offsets: number[] = [];
  let offset = 0;
  for (const { height } of layer) {
    offsets.push(offset + height / 2);
    offset += height + gap;
  }
  const blocks: { sum: number; count: number }[] = [];
  for (const [i, y] of wanted.entries()) {
    blocks.push({ sum: y - offsets[i]!, count: 1 });
    while (blocks.length > 1) {
      const [above, below] = blocks.slice(-2) as [(typeof blocks)[0], (typeof blocks)[0]];
      if (above.sum / above.count <= below.sum / below.count) break;
      blocks.splice(-2, 2, { sum: above.sum + below.sum, count: above.count + below.count });
    }
  }
  const places = blocks.flatMap(({ sum, count }) => new Array<number>(count).fill(sum / count));
  for (const [i, cell] of layer.entries()) cell.y = places[i]! + offsets[i]!;
}

/**
 * Returns, for each edge, the y coordinates at which the edge leaves its first box and enters its last box. Edges at
 * the same side of a box are evenly spaced, ordered by the y coordinate of the next cell on each route.
 */
function endHeights(cells: readonly LayoutCell[], routes: readonly (readonly LayoutCell[])[]): [number, number][] {
  const heights = routes.map((): [number, number] => [0, 0]);
  for (const cell of cells) {
    for (const end of [0, 1] as const) {
      const own = routes.flatMap((cellsOf, edge) => (cellsOf.at(end === 0 ? 0 : -1) === cell ? [edge] : []));
      const other = (edge: number): number => routes[edge]!.at(end === 0 ? 1 : -2)!.y;
      own.sort((a, b) => other(a) - other(b) || a - b);
      const step = Math.min(PASSAGE, cell.height / (own.length + 1));
      for (const [k, edge] of own.entries()) heights[edge]![end] = cell.y + (k - (own.length - 1) / 2) * step;
    }
  }
  return heights;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
