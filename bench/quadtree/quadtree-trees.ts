import { buildMaqTree } from '../../algorithms/maq-tree/index.ts';
import { mulberry32 } from '../shared/random.ts';
import { buildByHand, MAX_LEVELS } from './maq-builder.ts';
import { type Bench, quadrantsOnHost, timeRounds, uploadQuadrants } from './quadtree-experiment.ts';
import type { SerialQuadrants } from './serial-quadrants.ts';

const SIZES = [16, 17, 18, 19, 20, 21].map((bits) => 2 ** bits);
const SEED = 2014;

/**
 * Times building trees over samples of a map's quadrants, from quadrants in host memory to a tree on the device (Figure
 * 14 of the paper). The map is decomposed into {@link MAX_LEVELS} levels, the most that the plain JavaScript builder
 * supports. Samples larger than the number of quadrants are skipped.
 */
export async function measureTrees(bench: Bench): Promise<void> {
  const { context } = bench;
  const all = quadrantsOnHost(bench.map, MAX_LEVELS);
  for (const size of SIZES.filter((size) => size <= all.code.length)) {
    const sample = sampleOf(all, size);
    const { seconds, last } = await timeRounds(bench, async () => {
      if (context === undefined) return buildByHand(sample.polygon, sample.code, sample.level);
      const quadrants = uploadQuadrants(context, sample);
      const tree = await buildMaqTree(context, [quadrants]);
      context.dispose(quadrants);
      return { ...tree, level: tree.nodes.level };
    });
    context?.dispose(last);
    const found = last.level.length as number;
    bench.record({ experiment: 'trees', group: '', method: 'build', x: size, found, seconds });
  }
}

/** Selects `size` different rows of a table: the first rows of a pseudo-random shuffle, the same in every run. */
function sampleOf(all: SerialQuadrants, size: number): SerialQuadrants {
  const random = mulberry32(SEED);
  const rows = Uint32Array.from(all.code.keys());
  for (let i = 0; i < size; i++) {
    const other = i + Math.floor(random() * (rows.length - i));
    const row = rows[i]!;
    rows[i] = rows[other]!;
    rows[other] = row;
  }
  const pick = (column: Uint32Array): Uint32Array => Uint32Array.from(rows.subarray(0, size), (row) => column[row]!);
  return { polygon: pick(all.polygon), code: pick(all.code), level: pick(all.level), boundary: pick(all.boundary) };
}
