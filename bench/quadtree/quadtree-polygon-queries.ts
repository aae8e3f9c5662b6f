import { buildMaqTree } from '../../algorithms/maq-tree/index.ts';
import { queryPolygons } from '../../algorithms/queries/index.ts';
import { buildByHand, MAX_LEVELS } from './maq-builder.ts';
import { type Bench, quadrantsOnHost, timeRounds, uploadQuadrants } from './quadtree-experiment.ts';
import { countPolygonsByWalking } from './walk-polygons.ts';

/** Minimum number of levels of the tree. */
const FEWEST = 10;

/**
 * Times queries to the tree over all polygons of a map, with the polygons of each group as queries (Figure 16 of the
 * paper). The queries and the tree have equally many levels. Before the timed work, the queries' quadrants and the tree
 * are on the device; after it, the pairs of a query and a polygon are on the device, each once. Plain JavaScript only
 * counts the pairs.
 */
export async function measurePolygonQueries(bench: Bench): Promise<void> {
  const { context, map, groups } = bench;
  for (let levels = FEWEST; levels <= MAX_LEVELS; levels++) {
    const { polygon, code, level, boundary } = quadrantsOnHost(map, levels);
    if (context === undefined) {
      const tree = buildByHand(polygon, code, level);
      for (const { name, polygons } of groups) {
        const queries = quadrantsOnHost(polygons, levels);
        const { seconds, last } = await timeRounds(bench, () => countPolygonsByWalking(tree, queries));
        record(bench, name, levels, last, seconds);
      }
      continue;
    }
    const quadrants = uploadQuadrants(context, { polygon, code, level, boundary });
    const tree = await buildMaqTree(context, [quadrants]);
    for (const { name, polygons } of groups) {
      const queries = uploadQuadrants(context, quadrantsOnHost(polygons, levels));
      const { seconds, last } = await timeRounds(bench, () => queryPolygons(context, tree, queries));
      record(bench, name, levels, last.query.length as number, seconds);
      context.dispose(last, queries);
    }
    context.dispose(tree, quadrants);
  }
}

function record(bench: Bench, group: string, x: number, found: number, seconds: readonly number[]): void {
  bench.record({ experiment: 'polygon-queries', group, method: 'by quadrants', x, found, seconds });
}
