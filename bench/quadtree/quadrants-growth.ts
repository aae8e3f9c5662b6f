import type { Polygons } from '../../algorithms/geometry/polygons.ts';
import { buildMaqTree } from '../../algorithms/maq-tree/index.ts';
import { DOMAIN_STEPS, type Domain, decompose, placeInDomain } from '../../algorithms/quadrants/index.ts';
import { printHead } from '../shared/markdown-table.ts';
import { machine, median, spread } from '../shared/measuring.ts';
import { BACKEND_OPTIONS, openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';
import { congruential } from '../shared/random.ts';

/**
 * Measures how the times to make quadrants, and to build a tree over them, grow with the number of polygons, up to a
 * million. The polygons are either side by side on a lattice (`lattice`), or all on top of each other in one cell
 * (`pile`). A third measurement increases the number of vertices of a single polygon (`ring`). The input doubles from
 * row to row of the printed table. If the time grew quadratically, the time per vertex would double too.
 *
 * node --max-old-space-size=6144 --import tsx bench/quadtree/quadrants-growth.ts [--levels 12] [--max 20] [--backend workers|webgpu]
 *   [--adapter hardware] [--workers 2] [--rounds 3]
 */
const options = programOptions({ levels: 12, max: 20, ...BACKEND_OPTIONS, rounds: 3 });
const { levels, max } = options;
/** Number of cells along each side of the lattice. */
const CELLS = 2 ** 10;
const CELL = DOMAIN_STEPS / CELLS;
const STEPS: Domain = { left: 0, bottom: 0, size: DOMAIN_STEPS };
const CORNERS = 12;

await using context = await openNamed(options);
console.log(`machine   ${machine()}`);
console.log(`backend   ${context.backend.name}, ${levels} levels`);
console.log();
printHead(
  'polygons | vertices | quadrants | decomposition, s | decomposition, ns per vertex | tree building, s | tree building, ns per quadrant',
);
for (const [what, make] of Object.entries({ lattice, pile, ring })) {
  for (let exponent = max - 4; exponent <= max; exponent++) await measure(what, make(2 ** exponent));
}

/** Irregular polygons, one in each cell of the lattice. */
function lattice(count: number): Polygons {
  return polygonsAt(count, (polygon) => [polygon % CELLS, Math.floor(polygon / CELLS) % CELLS]);
}

/** Irregular polygons, all in the same cell of the lattice. */
function pile(count: number): Polygons {
  return polygonsAt(count, () => [CELLS / 2 - 1, CELLS / 2 - 1]);
}

function polygonsAt(count: number, cellOf: (polygon: number) => readonly [x: number, y: number]): Polygons {
  const [x, y] = [new Float64Array(CORNERS * count), new Float64Array(CORNERS * count)];
  const random = congruential(1);
  for (let polygon = 0; polygon < count; polygon++) {
    const [column, row] = cellOf(polygon);
    for (let corner = 0; corner < CORNERS; corner++) {
      const angle = (2 * Math.PI * corner) / CORNERS;
      const radius = (0.2 + 0.3 * random()) * CELL;
      x[CORNERS * polygon + corner] = (column + 0.5) * CELL + radius * Math.cos(angle);
      y[CORNERS * polygon + corner] = (row + 0.5) * CELL + radius * Math.sin(angle);
    }
  }
  const rings = Uint32Array.from({ length: count + 1 }, (_, polygon) => polygon);
  return { polygonRings: rings, ringVertices: rings.map((ring) => ring * CORNERS), x, y };
}

/** One nearly circular polygon around the domain's centre, with as many vertices as `count` lattice polygons. */
function ring(count: number): Polygons {
  const vertices = CORNERS * count;
  const random = congruential(1);
  const [x, y] = [new Float64Array(vertices), new Float64Array(vertices)];
  for (let vertex = 0; vertex < vertices; vertex++) {
    const angle = (2 * Math.PI * vertex) / vertices;
    const radius = (0.3 + 1e-4 * random()) * DOMAIN_STEPS;
    x[vertex] = DOMAIN_STEPS / 2 + radius * Math.cos(angle);
    y[vertex] = DOMAIN_STEPS / 2 + radius * Math.sin(angle);
  }
  return { polygonRings: Uint32Array.of(0, 1), ringVertices: Uint32Array.of(0, vertices), x, y };
}

async function measure(what: string, polygons: Polygons): Promise<void> {
  const placed = placeInDomain(polygons, STEPS);
  const [decomposing, building]: [number[], number[]] = [[], []];
  let found = 0;
  for (let round = -1; round < options.rounds; round++) {
    const from = performance.now();
    const quadrants = await decompose(context, placed, { levels });
    found = await context.count({ polygon: quadrants.polygon });
    await context.sync();
    const between = performance.now();
    const tree = await buildMaqTree(context, [quadrants]);
    await context.sync();
    const to = performance.now();
    context.dispose(quadrants, tree);
    if (round < 0) continue;
    decomposing.push((between - from) / 1000);
    building.push((to - between) / 1000);
  }
  const [vertices, count] = [polygons.x.length, polygons.polygonRings.length - 1];
  const each = (seconds: number[], rows: number): string => ((1e9 * median(seconds)) / rows).toFixed(0);
  const times = [spread(decomposing, 3), each(decomposing, vertices), spread(building, 3), each(building, found)];
  console.log(`| ${what}, ${count} | ${vertices} | ${found} | ${times.join(' | ')} |`);
}
