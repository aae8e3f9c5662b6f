import { buildMaqTree } from '../../algorithms/maq-tree/index.ts';
import { DOMAIN_BITS, WORLD } from '../../algorithms/quadrants/index.ts';
import { placeWindows, queryWindows, type Windows } from '../../algorithms/queries/index.ts';
import { open } from '../../on-node.ts';
import { mulberry32 } from '../shared/random.ts';
import { buildByHand, countByWalking } from './maq-builder.ts';
import { type Bench, quadrantsOnHost, timeRounds, uploadQuadrants } from './quadtree-experiment.ts';

const COUNTS = [1_000, 5_000, 10_000, 50_000, 100_000];
/** Number of levels of the tree, the same as in the paper. */
const LEVELS = 12;
const SEED = 15;
/** Maximum width and height of a window in degrees. The paper does not state the size of its windows. */
const MAX_WIDE = 1;

/**
 * Times window queries to the tree over all polygons of a map (Figure 15 of the paper). Windows have random centres,
 * and random widths and heights of up to {@link MAX_WIDE}. Before the timed work, the windows and the tree are on the
 * device; after it, the pairs of a window and a tree node are on the device. Plain JavaScript only counts the pairs.
 */
export async function measureWindows(bench: Bench): Promise<void> {
  const { context } = bench;
  const { polygon, code, level, boundary } = quadrantsOnHost(bench.map, LEVELS);
  if (context === undefined) {
    const tree = buildByHand(polygon, code, level);
    for (const count of COUNTS) {
      const sides = await sidesOf(randomWindows(count));
      const { seconds, last } = await timeRounds(bench, () => countByWalking(tree, sides, DOMAIN_BITS));
      record(bench, count, last, seconds);
    }
    return;
  }
  const quadrants = uploadQuadrants(context, { polygon, code, level, boundary });
  const tree = await buildMaqTree(context, [quadrants]);
  for (const count of COUNTS) {
    const windows = placeWindows(context, randomWindows(count), WORLD);
    const { seconds, last } = await timeRounds(bench, () => queryWindows(context, tree, windows));
    record(bench, count, last.query.length as number, seconds);
    context.dispose(last, windows.sides);
  }
  context.dispose(tree, quadrants);
}

function record(bench: Bench, x: number, found: number, seconds: readonly number[]): void {
  bench.record({ experiment: 'windows', group: '', method: 'walks', x, found, seconds });
}

function randomWindows(count: number): Windows {
  const random = mulberry32(SEED);
  const column = (): Float64Array => new Float64Array(count);
  const windows = { left: column(), bottom: column(), right: column(), top: column() };
  for (let i = 0; i < count; i++) {
    const [x, y] = [360 * random() - 180, 180 * random() - 90];
    const [width, height] = [MAX_WIDE * random(), MAX_WIDE * random()];
    windows.left[i] = x - width / 2;
    windows.right[i] = x + width / 2;
    windows.bottom[i] = y - height / 2;
    windows.top[i] = y + height / 2;
  }
  return windows;
}

/** The sides of all windows in steps of the domain's grid, in host memory. */
async function sidesOf(windows: Windows): Promise<Uint32Array> {
  await using context = await open({ backend: 'reference' });
  return await context.read(placeWindows(context, windows, WORLD).sides);
}
