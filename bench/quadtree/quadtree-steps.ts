import { descend, enclose } from '../../algorithms/quadrants/descend.ts';
import { uploadEdges } from '../../algorithms/quadrants/edges.ts';
import { DOMAIN_BITS, type DomainPolygons, placeInDomain, WORLD } from '../../algorithms/quadrants/index.ts';
import { largestOf } from '../../primitives/host/extremes.ts';
import type { Context } from '../../primitives/index.ts';
import { timed } from '../shared/measuring.ts';
import type { Bench } from './quadtree-experiment.ts';

/** One level of a decomposition, with the times of all rounds. */
export interface Step {
  /**
   * Number of quadrants that are split at this level. `passages` is the number of pairs of an edge and a split quadrant
   * through which the edge passes. `leaves` is the number of resulting quadrants that are not split further.
   */
  readonly split: number;
  readonly passages: number;
  readonly leaves: number;
  readonly seconds: number[];
}

/**
 * Times every level of a decomposition and counts its passages (pairs of an edge and a quadrant through which the edge
 * passes), for all polygons together and for each group.
 */
export async function measureSteps({ context, map, groups, levels, rounds, record }: Bench): Promise<void> {
  if (context === undefined) return;
  for (const { name, polygons } of [...groups, { name: 'all', polygons: map }]) {
    const steps = await followSteps(context, placeInDomain(polygons, WORLD), largestOf(levels), rounds);
    for (const { passages, leaves, seconds } of steps) {
      record({ experiment: 'steps', group: name, method: 'passages', x: passages, found: leaves, seconds });
    }
  }
}

/** Decomposes polygons level by level, in one untimed round and then in `rounds` timed rounds. */
export async function followSteps(
  context: Context,
  placed: DomainPolygons,
  levels: number,
  rounds: number,
): Promise<Step[]> {
  const rules = { min: DOMAIN_BITS - levels, keepsEdges: false };
  const steps: Step[] = [];
  for (let round = -1; round < rounds; round++) {
    const edges = context.scope(() => uploadEdges(context, placed));
    await context.sync();
    let now = await enclose(context, edges, rules);
    for (let level = 0; now.front.open.column.length !== 0; level++) {
      const { front, leaves } = now;
      await context.sync();
      const { wall, result } = await timed(async () => {
        const next = await descend(context, edges, front, rules);
        await context.sync();
        return next;
      });
      steps[level] ??= {
        split: front.open.column.length as number,
        passages: front.passages.edge.length as number,
        leaves: result.leaves.column.length as number,
        seconds: [],
      };
      if (round >= 0) steps[level]!.seconds.push(wall);
      context.dispose(front, leaves);
      now = result;
    }
    context.dispose(now, edges);
  }
  return steps;
}
