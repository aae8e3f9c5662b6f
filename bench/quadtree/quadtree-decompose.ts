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
import { median } from '../shared/compare-input.ts';
import { type Bench, type Group, timeRounds } from './quadtree-experiment.ts';
import { decomposeSerially, decomposeWholeSerially, type SerialQuadrants } from './serial-quadrants.ts';

/**
 * Names of the three methods to decompose polygons: by passages of edges through quadrants (this constant), by tests of
 * whole polygons, and depth first.
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
 * Times the decomposition of groups of polygons at several numbers of levels (Figures 12, 13 and 17), from vertices in
 * host memory to quadrants on the device. The method "depth first" is timed only for the first of these numbers of
 * levels.
 */
export async function measureDecompositions(bench: Bench): Promise<void> {
  for (const [name, method] of Object.entries(methodsOf(bench.context))) {
    let secondsPerTest = 0;
    for (const group of bench.groups) {
      for (const levels of name === DEPTH_FIRST ? bench.levels.slice(0, 1) : bench.levels) {
        const tests = testsOf(group, levels);
        if (name !== PASSAGES && secondsPerTest * tests > bench.patience) continue;
        const seconds = await measure(bench, group, name, method, levels);
        // Short runs mostly wait for launches, so an estimate from a short run would be too high for long runs.
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
 * Estimates how many tests of an edge against a quadrant the whole-polygon method makes; 1 until the number of
 * quadrants is known.
 */
function testsOf(group: Group, levels: number): number {
  const { x, polygonRings } = group.polygons;
  const vertices = x.length / Math.max(1, polygonRings.length - 1);
  return Math.max(1, (quadrantsOf.get(keyOf(group, levels)) ?? 0) * vertices);
}
