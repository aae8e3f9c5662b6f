import fc from 'fast-check';
import { expect, test } from 'vitest';
import { buildMaqTree } from '../../../algorithms/maq-tree/index.ts';
import { DOMAIN_STEPS, type Domain, decompose } from '../../../algorithms/quadrants/index.ts';
import {
  areasByRegion,
  areasByWindow,
  placeWindows,
  queryWindows,
  type SharedAreas,
} from '../../../algorithms/queries/index.ts';
import { ArgumentError } from '../../../primitives/checks/errors.ts';
import type { Context } from '../../../primitives/context/context.ts';
import { onEveryBackend } from '../../backends.ts';
import { scaledCount } from '../../cases.ts';
import { LEVELS, polygons, vertex } from '../../support/arbitrary-domain-polygons.ts';
import { placeOf, ringsHold, splitByHand } from '../../support/quadrants-by-hand.ts';
import { columnsOfRings, type Ring } from '../../support/ring-columns.ts';

/** A domain whose grid has steps of length 1, so that coordinates count steps. */
const STEPS: Domain = { left: 0, bottom: 0, size: DOMAIN_STEPS };

interface Area {
  readonly min: bigint;
  readonly max: bigint;
}

interface Piece {
  readonly key: string;
  readonly left: bigint;
  readonly bottom: bigint;
  readonly right: bigint;
  readonly top: bigint;
  readonly boundary: boolean;
}

/** The quadrants of a set of polygons, converted to squares. */
function piecesOf(set: readonly (readonly Ring[])[], levels: number, prefix = ''): Piece[] {
  return set
    .flatMap((rings, polygon) => splitByHand(polygon, rings, levels))
    .map(({ polygon, level, code, boundary }) => {
      const side = BigInt(DOMAIN_STEPS) >> BigInt(level);
      const { column, row } = placeOf(level, code);
      const [left, bottom] = [BigInt(column) * side, BigInt(row) * side];
      return { key: prefix + polygon, left, bottom, right: left + side, top: bottom + side, boundary };
    });
}

const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b);

function areasByHand(regions: readonly Piece[], polygons: readonly Piece[]): Map<string, Area> {
  const areas = new Map<string, Area>();
  for (const a of regions) {
    for (const b of polygons) {
      const width = smaller(a.right, b.right) - larger(a.left, b.left);
      const height = smaller(a.top, b.top) - larger(a.bottom, b.bottom);
      if (width <= 0n || height <= 0n) continue;
      const key = `${a.key} ${b.key}`;
      const { min, max } = areas.get(key) ?? { min: 0n, max: 0n };
      const area = width * height;
      areas.set(key, { min: min + (a.boundary || b.boundary ? 0n : area), max: max + area });
    }
  }
  return areas;
}

async function read(context: Context, areas: SharedAreas): Promise<[key: string, area: Area][]> {
  const { region, set, polygon, min, max } = areas;
  const found = await context.read({ region, set, polygon, min: { ...min }, max: { ...max } });
  context.dispose(areas);
  const wide = ({ lo, hi }: { lo: Uint32Array; hi: Uint32Array }, i: number): bigint =>
    (BigInt(hi[i]!) << 32n) | BigInt(lo[i]!);
  return Array.from(found.region, (number, i) => [
    `${number} ${found.set[i]} ${found.polygon[i]}`,
    { min: wide(found.min, i), max: wide(found.max, i) },
  ]);
}

const inOrder = (keys: readonly string[]): string[] =>
  keys.toSorted((a, b) => {
    const [x, y] = [a, b].map((key) => key.split(' ').map(Number)) as [number[], number[]];
    return x[0]! - y[0]! || x[1]! - y[1]! || x[2]! - y[2]!;
  });

const sets = fc.tuple(polygons, polygons);
const depth = fc.integer({ min: 0, max: LEVELS });
const thresholds = fc.oneof(
  fc.constant(0n),
  fc.bigInt({ min: 0n, max: 2n ** 60n }),
  fc.integer({ min: 0, max: 60 }).map((bit) => 2n ** BigInt(bit)),
);

onEveryBackend((opened, { runs }) => {
  test('areas by region equal the sum of the shared quadrants, computed by hand', {
    timeout: 120_000,
  }, async () => {
    const capacities = fc.constantFrom(undefined, 1, 5);
    await fc.assert(
      fc.asyncProperty(
        sets,
        polygons,
        depth,
        depth,
        thresholds,
        capacities,
        async (sets, asked, a, b, above, capacity) => {
          const { context } = opened();
          const { liveBytes } = context.backend.counters;
          const quadrants = [];
          for (const set of sets) quadrants.push(await decompose(context, columnsOfRings(set), { levels: a }));
          const tree = await buildMaqTree(context, quadrants);
          const regions = await decompose(context, columnsOfRings(asked), { levels: b });
          const found = await read(context, await areasByRegion(context, tree, regions, { above, capacity }));
          context.dispose(quadrants, tree, regions);
          expect(context.backend.counters.liveBytes).toBe(liveBytes);

          const polygons = sets.flatMap((set, s) => piecesOf(set, a, `${s} `));
          const expected = areasByHand(piecesOf(asked, b), polygons);
          const kept = [...expected].filter(([, { max }]) => max > above).map(([key]) => key);
          expect(found).toEqual(inOrder(kept).map((key) => [key, expected.get(key)]));
        },
      ),
      { numRuns: scaledCount(runs, 2, 1 / 2) },
    );
  });

  test('areas by window equal the sum of the shared quadrants, computed by hand', { timeout: 120_000 }, async () => {
    const windows = fc.array(fc.tuple(vertex, vertex), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(sets, windows, depth, thresholds, async (sets, asked, levels, above) => {
        const { context } = opened();
        const { liveBytes } = context.backend.counters;
        const quadrants = [];
        for (const set of sets) quadrants.push(await decompose(context, columnsOfRings(set), { levels }));
        const tree = await buildMaqTree(context, quadrants);
        const column = (at: 0 | 1, of: 0 | 1): number[] => asked.map((corners) => corners[at][of]);
        const sides = { left: column(0, 0), bottom: column(0, 1), right: column(1, 0), top: column(1, 1) };
        const placed = placeWindows(context, sides, STEPS);
        const found = await read(context, await areasByWindow(context, tree, placed, { above }));
        context.dispose(quadrants, tree, placed.sides);
        expect(context.backend.counters.liveBytes).toBe(liveBytes);

        const pieces = asked.map(([[left, bottom], [right, top]], number) => ({
          key: String(number),
          left: BigInt(left),
          bottom: BigInt(bottom),
          right: BigInt(right),
          top: BigInt(top),
          boundary: false,
        }));
        const polygons = sets.flatMap((set, s) => piecesOf(set, levels, `${s} `));
        const expected = areasByHand(pieces, polygons);
        const kept = [...expected].filter(([, { max }]) => max > above).map(([key]) => key);
        expect(found).toEqual(inOrder(kept).map((key) => [key, expected.get(key)]));
      }),
      { numRuns: scaledCount(runs, 2, 1 / 2) },
    );
  });

  test('a window split in two: the halves find the same nodes, and their areas add up', {
    timeout: 120_000,
  }, async () => {
    const cut = fc.tuple(vertex, vertex, fc.integer({ min: 0, max: DOMAIN_STEPS }));
    await fc.assert(
      fc.asyncProperty(polygons, cut, depth, async (set, [[a, b], [c, d], middle], levels) => {
        const { context } = opened();
        const [left, right, bottom, top] = [Math.min(a, c), Math.max(a, c), Math.min(b, d), Math.max(b, d)];
        const at = Math.min(Math.max(middle, left), right);
        const quadrants = await decompose(context, columnsOfRings(set), { levels });
        const tree = await buildMaqTree(context, [quadrants]);
        const windows = placeWindows(
          context,
          { left: [left, left, at], bottom: [bottom, bottom, bottom], right: [right, at, right], top: [top, top, top] },
          STEPS,
        );
        const pairs = await queryWindows(context, tree, windows);
        const { query, node } = await context.read({ ...pairs });
        const nodes = [0, 1, 2].map((number) => [...node].filter((_, row) => query[row] === number));
        const areas = new Map(await read(context, await areasByWindow(context, tree, windows)));
        context.dispose(quadrants, tree, windows.sides, pairs);

        expect([...new Set([...nodes[1]!, ...nodes[2]!])].sort()).toEqual(nodes[0]!.toSorted());
        for (const polygon of set.keys()) {
          const [whole, first, second] = [0, 1, 2].map((number) => {
            return areas.get(`${number} 0 ${polygon}`) ?? { min: 0n, max: 0n };
          }) as [Area, Area, Area];
          expect(whole.min).toBe(first.min + second.min);
          expect(whole.max).toBe(first.max + second.max);
        }
      }),
      { numRuns: scaledCount(runs, 1, 1 / 2) },
    );
  });

  test('bounds contain the true area and tighten with the level', { timeout: 120_000 }, async () => {
    // Vertices on a grid, so that the area is a whole number of grid cells.
    const cell = DOMAIN_STEPS / 8;
    const at = fc.nat({ max: 8 }).map((i) => i * cell);
    const rectangle = fc.tuple(at, at, at, at).map(
      ([left, bottom, right, top]): Ring => [
        [left, bottom],
        [right, bottom],
        [right, top],
        [left, top],
      ],
    );
    const shape = fc.array(rectangle, { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(shape, shape, async (a, b) => {
        const { context } = opened();
        let cells = 0n;
        for (let i = 0; i < 64; i++) {
          const point = [(i % 8) * cell, Math.floor(i / 8) * cell] as const;
          if (ringsHold(a, point) && ringsHold(b, point)) cells++;
        }
        const area = cells * BigInt(cell) ** 2n;
        let outer: Area = { min: 0n, max: 2n ** 60n };
        for (let levels = 0; levels <= 4; levels++) {
          const region = await decompose(context, columnsOfRings([a]), { levels });
          const quadrants = await decompose(context, columnsOfRings([b]), { levels });
          const tree = await buildMaqTree(context, [quadrants]);
          const found = await read(context, await areasByRegion(context, tree, region));
          context.dispose(quadrants, tree, region);
          const { min, max } = found[0]?.[1] ?? { min: 0n, max: 0n };
          expect(min >= outer.min && max <= outer.max && min <= area && area <= max).toBe(true);
          if (levels >= 3) expect(min).toBe(max);
          outer = { min, max };
        }
      }),
      { numRuns: scaledCount(runs, 1, 1 / 2) },
    );
  });

  test('refused: a capacity of 0, a threshold that is not an area', async () => {
    const { context } = opened();
    const quadrants = await decompose(context, columnsOfRings([]), { levels: 3 });
    const tree = await buildMaqTree(context, [quadrants]);
    for (const options of [{ capacity: 0 }, { above: -1n }, { above: 2n ** 64n }]) {
      await expect(areasByRegion(context, tree, quadrants, options)).rejects.toThrow(ArgumentError);
      const windows = placeWindows(context, { left: [], bottom: [], right: [], top: [] }, STEPS);
      if ('above' in options)
        await expect(areasByWindow(context, tree, windows, options)).rejects.toThrow(ArgumentError);
      context.dispose(windows.sides);
    }
    context.dispose(quadrants, tree);
  });
});
