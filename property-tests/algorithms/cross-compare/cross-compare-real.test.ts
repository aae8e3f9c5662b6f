import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { crossCompare } from '../../../algorithms/cross-compare/cross-compare.ts';
import type { TileComparison } from '../../../algorithms/cross-compare/tile-comparison.ts';
import { tileSide } from '../../../algorithms/cross-compare/tile-side.ts';
import { openResultSet } from '../../../formats/result-sets/open-result-set.ts';
import { parseTile } from '../../../formats/result-sets/parse-tile.ts';
import type { ResultSet, TileSource } from '../../../formats/result-sets/result-set.ts';
import { open } from '../../../index.ts';
import type { Context } from '../../../primitives/context/context.ts';
import { someOf } from '../../cases.ts';
import { countLabels, type LabelGrid } from '../../support/label-counts.ts';
import { picture, volume } from '../../support/label-files.ts';

let [reference, workers]: Context[] = [];
beforeAll(async () => {
  [reference, workers] = await Promise.all([open({ backend: 'reference' }), open({ backend: 'workers', workers: 2 })]);
});
afterAll(() => Promise.all([reference!.close(), workers!.close()]));

type Regions = 'components' | 'labels';
const fixture = (name: string): string => fileURLToPath(new URL(`../../fixtures/result-sets/${name}`, import.meta.url));
const openBoth = (names: readonly string[], regions: Regions): Promise<ResultSet[]> =>
  Promise.all(names.map((name) => openResultSet(fixture(name), { regions })));
const parse = async (tile: TileSource) =>
  tileSide(parseTile(await tile.load(), tile.parameters), { place: tile.place });

/**
 * For each pair, the areas of its two regions and of their intersection; for each image, the number of missing regions.
 * The pairs are sorted, so that the numbering of regions does not matter.
 */
interface Figures {
  readonly pairs: readonly string[];
  readonly missing: readonly number[];
}

const figuresOf = ({ pairs: { areas, p }, ...sides }: TileComparison): Figures => ({
  pairs: Array.from(p, (_, i) => `${areas.p[i]} ${areas.q[i]} ${areas.intersection[i]}`).sort(),
  missing: [sides.p.missing.length, sides.q.missing.length],
});

function countedFigures(a: LabelGrid, b: LabelGrid, regions: Regions): Figures {
  const { first, second, pairs } = countLabels(a, b, regions);
  return {
    pairs: pairs.map((pair) => `${first[pair.first]!.pixels} ${second[pair.second]!.pixels} ${pair.pixels}`).sort(),
    missing: [
      first.length - new Set(pairs.map((pair) => pair.first)).size,
      second.length - new Set(pairs.map((pair) => pair.second)).size,
    ],
  };
}

/** Compares the tiles of two files whose indices are in `chosen`; by default, all tiles. */
async function compared(
  context: Context,
  names: readonly [string, string],
  regions: Regions,
  chosen?: readonly number[],
) {
  const [p, q] = (await openBoth(names, regions)).map((set) =>
    chosen === undefined ? set : { ...set, tiles: chosen.map((index) => set.tiles[index]!) },
  );
  const tiles: TileComparison[] = [];
  const result = await crossCompare(context, { p: p!, q: q!, parse, onTile: (tile) => void tiles.push(tile) }).result;
  return { result, tiles };
}

describe('crossCompare of real segmentations', () => {
  test.each(['components', 'labels'] as const)(
    'finds the same as counting pixels in a pathology image, by %s',
    async (regions) => {
      const names = ['ihc-sigma-1.0.png', 'ihc-sigma-1.6.png'] as const;
      const counted = countedFigures(await picture(names[0]), await picture(names[1]), regions);
      for (const context of someOf([reference!, workers!], 1)) {
        const { tiles } = await compared(context, names, regions);
        expect(tiles.map(figuresOf)).toEqual([counted]);
      }
    },
  );

  test.each(someOf(['components', 'labels'] as const, 1))(
    'finds the same as counting voxels in slices of two atlases, by %s',
    async (regions) => {
      const names = ['aal.nii.gz', 'brodmann.nii.gz'] as const;
      const [a, b] = [await volume(names[0]), await volume(names[1])];
      const slices = someOf([...a.keys()], Math.ceil(a.length / 8)).toSorted((i, j) => i - j);
      const { result, tiles } = await compared(workers!, names, regions, slices);
      const counted = slices.map((z) => countedFigures(a[z]!, b[z]!, regions));
      expect(tiles.map(figuresOf)).toEqual(counted);
      expect(result.pairs).toBe(counted.reduce((sum, { pairs }) => sum + pairs.length, 0));
      const ratios = counted.flatMap(({ pairs }) =>
        pairs.map((pair) => {
          const [p, q, common] = pair.split(' ').map(Number) as [number, number, number];
          return common / (p + q - common);
        }),
      );
      expect(result.similarity).toBeCloseTo(ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length, 13);
    },
  );
});
