import { cpus } from 'node:os';
import { type AreaMethod, planAreas } from '../../algorithms/pixelbox/area-plan.ts';
import type { GridPolygons } from '../../algorithms/pixelbox/grid-polygons.ts';
import { pairAreas } from '../../algorithms/pixelbox/pair-areas.ts';
import { type Regions, regionsOf } from '../../algorithms/pixelbox/regions.ts';
import { printHead } from '../shared/markdown-table.ts';
import { median, timesOf } from '../shared/measuring.ts';
import { openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';

/**
 * Times the three methods for areas of pairs (row masks, sums over corners, and sweep), and prints which method the
 * library chooses. The polygons are combs; the cases range from few to many corners, and from small to large bounding
 * boxes. Times are from vertices in memory to areas in memory. All methods must give the same areas.
 *
 * node --import tsx bench/polygons/pixelbox-methods.ts [--backend workers|webgpu] [--adapter hardware|software] [--rounds 5]
 */
const options = programOptions({ backend: 'workers', adapter: undefined, rounds: 5 });
const METHODS: readonly AreaMethod[] = ['masks', 'corners', 'sweep'];
/** Number of teeth of a comb (with four corners each), width of a tooth in pixels, and number of pairs per call. */
const CASES: readonly (readonly [teeth: number, scale: number, pairs: number])[] = [
  [4, 1, 4000],
  [4, 16, 4000],
  [4, 256, 1000],
  [4, 4096, 1000],
  [64, 1, 200],
  [64, 16, 200],
  [64, 256, 50],
  [64, 4096, 50],
  [1024, 1, 4],
  [1024, 16, 4],
  [1024, 256, 2],
  [8192, 1, 1],
  [8192, 64, 1],
];
/**
 * Maximum number of pairs of corners (one corner of p, one of q) in all pairs of polygons of a case. Above this number,
 * the method `corners` would take minutes, so it is skipped.
 */
const MAX_PRODUCTS = 2 ** 31;

const context = await openNamed(options);
console.log(`machine  ${cpus().length} × ${cpus()[0]!.model}, Node ${process.version}, ${options.backend}\n`);
printHead('corners per polygon | box, pixels | pairs | masks, ms | corners, ms | sweep, ms | method chosen');
for (const [teeth, scale, pairs] of CASES) await measure(teeth, scale, pairs);
await context.close();

async function measure(teeth: number, scale: number, count: number): Promise<void> {
  const [p, q] = [combs(teeth, scale, count, 0), combs(teeth, scale, count, scale >> 1)];
  const each = Uint32Array.from({ length: count }, (_, i) => i);
  const pairs = { p: each, q: each };
  const cells: string[] = [];
  let expected: BigUint64Array | undefined;
  for (const method of METHODS) {
    if (method === 'corners' && count * (4 * teeth) ** 2 > MAX_PRODUCTS) {
      cells.push('–');
      continue;
    }
    const times = await timesOf(
      () => pairAreas(context, p, q, pairs, { method }),
      options,
      ({ intersection }) => {
        expected ??= intersection;
        if (intersection.some((area, i) => area !== expected![i])) throw new Error(`${method} finds other areas.`);
      },
    );
    cells.push(`${median(times).toFixed(1)}${method === 'masks' ? note(p, q, pairs) : ''}`);
  }
  const { narrow, banded, corners32, corners64 } = planAreas(p, q, pairs, 'auto');
  const choice =
    narrow.length + banded.length > 0 ? 'masks' : corners32.length + corners64.length > 0 ? 'corners' : 'sweep';
  const side = `${2 * teeth * scale} × ${(teeth + 1) * scale}`;
  console.log(`| ${4 * teeth} | ${side} | ${count} | ${cells.join(' | ')} | ${choice} |`);
}

/**
 * Returns a note if the boxes are too large for masks, so that the method `masks` uses corners instead; otherwise an
 * empty text.
 */
function note(p: Regions, q: Regions, pairs: { p: Uint32Array; q: Uint32Array }): string {
  const { narrow, banded } = planAreas(p, q, pairs, 'masks');
  return narrow.length + banded.length === 0 ? ' (by corners)' : '';
}

/** Comb-shaped polygons. Their teeth have different lengths, so that each tooth starts in a new row. */
function combs(teeth: number, scale: number, count: number, shift: number): Regions {
  const outline = [
    ...Array.from({ length: teeth }, (_, i) => [
      [2 * i, teeth - i],
      [2 * i, teeth + 1],
      [2 * i + 1, teeth + 1],
      [2 * i + 1, teeth - i],
    ]).flat(),
    [2 * teeth, 0],
    [0, 0],
  ];
  const closed = outline.flatMap(([x, y], i) => {
    const [nextX, nextY] = outline[(i + 1) % outline.length]!;
    const isSloped = nextX !== x && nextY !== y;
    return isSloped
      ? [
          [x!, y!],
          [nextX!, y!],
        ]
      : [[x!, y!]];
  });
  const column = (axis: 0 | 1): Int32Array =>
    Int32Array.from({ length: count * closed.length }, (_, v) => closed[v % closed.length]![axis]! * scale + shift);
  const polygons: GridPolygons = {
    polygonRings: Uint32Array.from({ length: count + 1 }, (_, i) => i),
    ringVertices: Uint32Array.from({ length: count + 1 }, (_, i) => i * closed.length),
    x: column(0),
    y: column(1),
  };
  return regionsOf(polygons);
}
