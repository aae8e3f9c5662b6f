import {
  type DomainPolygons,
  decompose,
  decomposeDepthFirst,
  decomposeWhole,
  placeInDomain,
  type Quadrants,
  WORLD,
} from '../../algorithms/quadrants/index.ts';
import type { Context } from '../../primitives/index.ts';
import { median } from '../shared/measuring.ts';
import { type Bench, type Group, timeRounds } from './quadtree-experiment.ts';
import { decomposeSerially, decomposeWholeSerially, type SerialQuadrants } from './serial-quadrants.ts';

/**
 * The name of the method that tests each quadrant only against the edges that pass through it. `WHOLE` tests each
 * quadrant against its whole polygon. `DEPTH_FIRST` keeps a stack of quadrants for each polygon.
 */
export const PASSAGES = 'passages';
export const WHOLE = 'whole polygon';
export const DEPTH_FIRST = 'depth first';

type Method = (polygons: DomainPolygons, levels: number) => Promise<Quadrants> | SerialQuadrants;

function methodsOf(context: Context | undefined): Record<string, Method> {
  if (context === undefined) return { [PASSAGES]: decomposeSerially, [WHOLE]: decomposeWholeSerially };
  return {
    [PASSAGES]: (polygons, levels) => decompose(context, polygons, { levels }),
    [WHOLE]: (polygons, levels) => decomposeWhole(context, polygons, { levels }),
    [DEPTH_FIRST]: (polygons, levels) => decomposeDepthFirst(context, polygons, { levels }),
  };
}

const TELLING_SECONDS = 0.5;
/** Number of levels of an untimed decomposition, which makes V8 compile the plain JavaScript. */
const WARM_UP_LEVELS = 4;

/**
 * Times the decomposition of each group of polygons into each number of levels in `bench.levels`, from vertices in host
 * memory to quadrants on the device. The times are for the paper's Figures 12, 13 and 17. The method "depth first" is
 * timed only for the first number of levels.
 */
export async function measureDecompositions(bench: Bench): Promise<void> {
  for (const [name, method] of Object.entries(methodsOf(bench.context))) {
    let secondsPerTest = 0;
    for (const group of bench.groups) {
      for (const levels of name === DEPTH_FIRST ? bench.levels.slice(0, 1) : bench.levels) {
        const tests = testsOf(group, levels);
        if (name !== PASSAGES && secondsPerTest * tests > bench.patience) continue;
        const seconds = await measure(bench, group, name, method, levels);
        // A short run mostly waits for launches, so its time per test would be too high an estimate for longer runs.
        // After a short run, the next run is therefore never skipped.
        secondsPerTest = seconds > TELLING_SECONDS ? seconds / tests : 0;
      }
    }
  }
}

async function measure(bench: Bench, group: Group, name: string, method: Method, levels: number): Promise<number> {
  const placed = placeInDomain(group.polygons, WORLD);
  if (bench.context === undefined) method(placed, WARM_UP_LEVELS);
  const { seconds, last } = await timeRounds<Quadrants | SerialQuadrants>(bench, () => method(placed, levels));
  const found = last.polygon.length as number;
  bench.context?.dispose(last);
  if (name === PASSAGES) quadrantsOf.set(keyOf(group, levels), found);
  bench.record({ experiment: 'decompose', group: group.name, method: name, x: levels, found, seconds });
  return median(seconds);
}

const quadrantsOf = new Map<string, number>();

function keyOf({ name }: Group, levels: number): string {
  return `${name}, ${levels} levels`;
}

/**
 * Estimates how many tests of an edge against a quadrant the whole-polygon method makes. Returns 1 if the number of
 * quadrants is still unknown, because the method `PASSAGES` counts them.
 */
function testsOf(group: Group, levels: number): number {
  const { x, polygonRings } = group.polygons;
  const vertices = x.length / Math.max(1, polygonRings.length - 1);
  return Math.max(1, (quadrantsOf.get(keyOf(group, levels)) ?? 0) * vertices);
}
