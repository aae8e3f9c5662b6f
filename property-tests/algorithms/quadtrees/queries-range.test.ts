import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { buildMaqTree, type MaqTree } from '../../../algorithms/maq-tree/index.ts';
import { DOMAIN_STEPS, type Domain, WORLD } from '../../../algorithms/quadrants/index.ts';
import { placeWindows, polygonsOf, queryWindows, queryWindowsBreadthFirst } from '../../../algorithms/queries/index.ts';
import { ArgumentError } from '../../../primitives/checks/errors.ts';
import { Context } from '../../../primitives/context/context.ts';
import { onEveryBackend } from '../../backends.ts';
import { expectRefusal, openReference } from '../../support/reference-context.ts';
import { type QuadrantRow, quadrantRows, uploadRows } from './arbitrary-quadrants.ts';

/** A domain whose grid has steps of length 1, so that coordinates count steps. */
const STEPS: Domain = { left: 0, bottom: 0, size: DOMAIN_STEPS };

/** Coordinates that are on a side of a quadrant, next to such a side, or anywhere. */
const side = fc.oneof(
  fc.integer({ min: 0, max: 16 }).map((i) => (i * DOMAIN_STEPS) / 16),
  fc.tuple(fc.integer({ min: 1, max: 15 }), fc.constantFrom(-1, 1)).map(([i, by]) => (i * DOMAIN_STEPS) / 16 + by),
  fc.integer({ min: 0, max: 4 }),
  fc.integer({ min: 0, max: DOMAIN_STEPS }),
);
type Window = readonly [left: number, bottom: number, right: number, top: number];
const windows: fc.Arbitrary<Window[]> = fc.array(fc.tuple(side, side, side, side), { maxLength: 12 });

function squareOf({ level, code }: QuadrantRow): Window {
  let [x, y] = [0, 0];
  for (let bit = 0; bit < level; bit++) {
    x += Number((code >> BigInt(2 * bit)) & 1n) * 2 ** bit;
    y += Number((code >> BigInt(2 * bit + 1)) & 1n) * 2 ** bit;
  }
  const size = DOMAIN_STEPS / 2 ** level;
  return [x * size, y * size, (x + 1) * size, (y + 1) * size];
}

function share(a: Window, b: Window): boolean {
  const width = Math.min(a[2], b[2]) - Math.max(a[0], b[0]);
  const height = Math.min(a[3], b[3]) - Math.max(a[1], b[1]);
  return width > 0 && height > 0;
}

const columns = (all: readonly Window[]) => ({
  left: all.map((each) => each[0]),
  bottom: all.map((each) => each[1]),
  right: all.map((each) => each[2]),
  top: all.map((each) => each[3]),
});

onEveryBackend((opened, { runs }) => {
  test('windows return the quadrants and polygons that they share a point with, for repeated queries', {
    timeout: 120_000,
  }, async () => {
    const capacities = fc.constantFrom(undefined, 1, 7);
    // Maximum numbers of sets and of polygons. With the first pair of limits, sort keys fit in 64 bits; with the second
    // pair, they do not.
    const sizes = fc.constantFrom({ sets: 2 ** 28, polygons: 2 ** 32 }, { sets: 2 ** 32, polygons: 2 ** 32 });
    const queries = fc.array(windows, { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(quadrantRows, queries, capacities, sizes, async (rows, all, capacity, size) => {
        const { context } = opened();
        const { liveBytes } = context.backend.counters;
        const sets = uploadRows(context, rows);
        const tree = await buildMaqTree(context, sets);
        const wide = { ...tree, extent: { ...tree.extent, ...size } };
        // Each query estimates its number of rows from the previous query, so several run in sequence.
        for (const asked of all) await checkQuery(context, tree, wide, rows, asked, capacity);
        context.dispose(sets, tree);
        expect(context.backend.counters.liveBytes).toBe(liveBytes);
      }),
      { numRuns: 2 * runs },
    );
  });
});

async function checkQuery(
  context: Context,
  tree: MaqTree,
  wide: MaqTree,
  rows: readonly QuadrantRow[],
  asked: readonly Window[],
  capacity: number | undefined,
): Promise<void> {
  const placed = placeWindows(context, columns(asked), STEPS);
  const pairs = await queryWindows(context, tree, placed);
  const byLevels = await queryWindowsBreadthFirst(context, tree, placed, { capacity });
  const polygons = await polygonsOf(context, tree, pairs);
  const again = await polygonsOf(context, wide, pairs);
  const found = await context.read({ ...pairs });
  const sorted = await context.read({ ...byLevels });
  const { lo, hi } = await context.read({ ...tree.nodes.code });
  const levels = await context.read(tree.nodes.level);
  const met = await context.read({ ...polygons });
  expect(await context.read({ ...again })).toEqual(met);
  context.dispose(placed.sides, pairs, byLevels, polygons, again);

  const codeAt = (node: number): bigint => (BigInt(hi[node]!) << 32n) | BigInt(lo[node]!);
  const nodes = Array.from(found.node, (node, i) => `${found.query[i]} ${levels[node]} ${codeAt(node)}`);
  const hits = asked.flatMap((window, query) =>
    rows.filter((row) => share(window, squareOf(row))).map((row) => ({ query, ...row })),
  );
  const distinct = new Set(hits.map(({ query, level, code }) => `${query} ${level} ${code}`));
  expect(nodes.toSorted()).toEqual([...distinct].sort());
  const placesOf = ({ query, node }: typeof found) => Array.from(node, (each, i) => query[i]! * 2 ** 20 + each);
  expect(placesOf(sorted)).toEqual(placesOf(found).sort((a, b) => a - b));
  expect([...found.query]).toEqual([...found.query].sort((a, b) => a - b));
  for (const [i, node] of found.node.entries()) {
    // A node must not follow its descendants within a query.
    const inside = found.node.subarray(i + 1, found.query.lastIndexOf(found.query[i]!) + 1);
    const holds = (outer: number): boolean =>
      levels[outer]! < levels[node]! && codeAt(node) >> BigInt(2 * (levels[node]! - levels[outer]!)) === codeAt(outer);
    expect(inside.some(holds)).toBe(false);
  }

  const expected = hits
    .map(({ query, set, polygon }): [number, number, number] => [query, set, polygon])
    .sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2])
    .filter((row, i, all) => i === 0 || row.join() !== all[i - 1]!.join());
  expect(Array.from(met.query, (query, i) => [query, met.set[i], met.polygon[i]])).toEqual(expected);
}

test('a repeated query takes fewer launches and waits, and keeps no more memory', async () => {
  await using context = openReference();
  const rows = Array.from(
    { length: 64 },
    (_, i): QuadrantRow => ({ set: 0, polygon: i % 5, level: 3, code: BigInt(i), boundary: 0 }),
  );
  const sets = uploadRows(context, rows);
  const tree = await buildMaqTree(context, sets);
  const placed = placeWindows(context, columns([[0, 0, DOMAIN_STEPS, DOMAIN_STEPS]]), STEPS);
  const { counters } = context.backend;
  const costs: { waits: number; dispatches: number; bytes: number }[] = [];
  for (let i = 0; i < 3; i++) {
    const before = { ...counters };
    let waits = 0;
    const read = vi.spyOn(context, 'read').mockImplementation(async (...args) => {
      waits++;
      return (await Context.prototype.read.apply(context, args as never)) as never;
    });
    const pairs = await queryWindows(context, tree, placed);
    const polygons = await polygonsOf(context, tree, pairs);
    read.mockRestore();
    context.dispose(pairs, polygons);
    costs.push({ waits, dispatches: counters.dispatches - before.dispatches, bytes: counters.liveBytes });
  }
  expect(costs[1]).toEqual(costs[2]);
  expect(costs[1]!.waits).toBeLessThan(costs[0]!.waits);
  expect(costs[1]!.dispatches).toBeLessThan(costs[0]!.dispatches);
  expect(costs[1]!.bytes).toBe(costs[0]!.bytes);
  context.dispose(tree, sets, placed.sides);
  expect(counters.liveBytes).toBe(0);
});

test('windows are rounded to steps and clipped to the domain', async () => {
  await using context = openReference();
  const placed = placeWindows(context, columns([[-1000, 0.1, Number.POSITIVE_INFINITY, 90]]), WORLD);
  const [left, bottom, right, top] = await context.read(placed.sides);
  expect([left, right, top]).toEqual([0, DOMAIN_STEPS, 3 * 2 ** 28]);
  expect(bottom).toBe(Math.round((180.1 / 360) * DOMAIN_STEPS));
});

test('refused: windows without four sides, sides that are not numbers, a capacity of 0', async () => {
  await using context = openReference();
  const refuses = (window: Parameters<typeof placeWindows>[1]): void =>
    expectRefusal(context, 'queries/windows', () => placeWindows(context, window, WORLD));
  refuses({ left: [0], bottom: [0], right: [1], top: [] });
  refuses({ left: [0], bottom: [Number.NaN], right: [1], top: [1] });
  const tree = await buildMaqTree(context, uploadRows(context, []));
  const placed = placeWindows(context, columns([[0, 0, 1, 1]]), WORLD);
  await expect(queryWindowsBreadthFirst(context, tree, placed, { capacity: 0 })).rejects.toThrow(ArgumentError);
});
