import { describe, expect } from 'vitest';
import { buildMaqTree } from '../../../algorithms/maq-tree/index.ts';
import { DOMAIN_STEPS, type Domain, decompose, placeInDomain } from '../../../algorithms/quadrants/index.ts';
import { areasByRegion, joinPolygons, placePolygons } from '../../../algorithms/queries/index.ts';
import { pathAround, REACH } from '../../../algorithms/queries/path-around.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { openReference } from '../../support/reference-context.ts';
import { type Rings, zonesOf } from '../../support/zonal-support.ts';

const context = openReference();

/** A domain with one step to a unit, and domains around it, each twice as large as the one before. */
const SMALL: Domain = { left: 0, bottom: 0, size: DOMAIN_STEPS };
const larger = (times: number, left: number, bottom: number): Domain => ({
  left: -left * DOMAIN_STEPS,
  bottom: -bottom * DOMAIN_STEPS,
  size: 2 ** times * DOMAIN_STEPS,
});

interface Case {
  readonly tree: readonly Rings[];
  readonly asked: readonly Rings[];
  readonly levels: number;
}

/** The pairs of a join, with the bounds of their areas in units of the coordinates. */
async function answers({ tree, asked, levels }: Case, domain: Domain, isSmall: boolean) {
  const options = { levels: levels + Math.log2(domain.size / DOMAIN_STEPS), keepsEdges: true } as const;
  const placed = placeInDomain(zonesOf(tree).polygons, domain);
  const { polygons } = zonesOf(asked);
  const queries = isSmall ? placePolygons(polygons, domain) : placeInDomain(polygons, domain);
  const quadrants = [await decompose(context, placed, options), await decompose(context, queries, options)] as const;
  const built = await buildMaqTree(context, [quadrants[0]]);
  const found = await joinPolygons(context, built, quadrants[1]);
  const shared = await areasByRegion(context, built, quadrants[1]);
  const pairs = await context.read({ ...found });
  const areas = await context.read({ ...shared, min: { ...shared.min }, max: { ...shared.max } });
  context.dispose(quadrants, built, found, shared);
  const unit = BigInt(domain.size / DOMAIN_STEPS) ** 2n;
  const areaOf = ({ lo, hi }: { lo: Uint32Array; hi: Uint32Array }, row: number): bigint =>
    ((BigInt(hi[row]!) << 32n) + BigInt(lo[row]!)) * unit;
  return {
    pairs: Array.from(pairs.query, (query, row) => [query, pairs.polygon[row]!]),
    areas: Array.from(areas.region, (region, row) => [
      region,
      areas.polygon[row]!,
      areaOf(areas.min, row),
      areaOf(areas.max, row),
    ]),
  };
}

/** Coordinates that are steps of the grids of all domains: on sides of quadrants, beside them, or anywhere. */
const UNIT = DOMAIN_STEPS / 16;
const coordinate = (from: number, to: number) =>
  fc.oneof(
    fc.integer({ min: from * 16, max: to * 16 }).map((side) => side * UNIT),
    fc.integer({ min: from * 16 + 1, max: to * 16 - 1 }).map((side) => side * UNIT + 8),
    fc.integer({ min: (from * DOMAIN_STEPS) / 8, max: (to * DOMAIN_STEPS) / 8 }).map((step) => step * 8),
  );
const ringWithin = (left: number, right: number, bottom: number, top: number) =>
  fc.array(fc.tuple(coordinate(left, right), coordinate(bottom, top)), { minLength: 3, maxLength: 6 });
const polygonsWithin = (...box: [number, number, number, number]) =>
  fc.array(fc.array(ringWithin(...box), { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 3 });

const treeAndQueries = fc
  .record({ times: fc.integer({ min: 1, max: 3 }), place: fc.tuple(fc.nat(7), fc.nat(7)) })
  .chain(({ times, place: [column, row] }) => {
    const [left, bottom] = [column % 2 ** times, row % 2 ** times];
    const [right, top] = [2 ** times - left, 2 ** times - bottom];
    return fc.record({
      large: fc.constant(larger(times, left, bottom)),
      tree: polygonsWithin(0, 1, 0, 1),
      asked: polygonsWithin(-left, right, -bottom, top),
      levels: fc.integer({ min: 0, max: 5 }),
    });
  });

describe('polygons that leave the domain of a tree', () => {
  test.prop([treeAndQueries], { numRuns: caseCount(200) })(
    'join as over a domain that holds them, with the same bounds of areas',
    async ({ large, ...asked }) => {
      expect(await answers(asked, SMALL, true)).toEqual(await answers(asked, large, false));
    },
  );

  test('of a square from -5 to 15 over a tree of 0 to 64 find what is inside', async () => {
    const square = (from: number, to: number): Rings => [
      [
        [from, from],
        [to, from],
        [to, to],
        [from, to],
      ],
    ];
    const domain = { left: 0, bottom: 0, size: 64 };
    const placed = placePolygons(zonesOf([square(-5, 15), square(1, 2), square(-9, -1)]).polygons, domain);
    expect([placed.leaving, placed.shortened].map((list) => [...list])).toEqual([[0, 2], []]);
    const options = { levels: 6, keepsEdges: true } as const;
    const tree = await decompose(
      context,
      placeInDomain(zonesOf([square(10, 20), square(30, 40)]).polygons, domain),
      options,
    );
    const built = await buildMaqTree(context, [tree]);
    const queries = await decompose(context, placed, options);
    const found = await joinPolygons(context, built, queries);
    const { query, polygon } = await context.read({ ...found });
    expect([[...query], [...polygon]]).toEqual([[0], [0]]);
    context.dispose(tree, built, queries, found);
  });

  const far = fc.integer({ min: -(2 ** 40), max: 2 ** 40 });
  const point = fc.record({ x: fc.oneof(far, coordinate(-2, 3)), y: fc.oneof(far, coordinate(-2, 3)) });

  test.prop(
    [fc.array(point, { minLength: 3, maxLength: 6 }), fc.record({ x: coordinate(0, 1), y: coordinate(0, 1) })],
    {
      numRuns: caseCount(2000),
    },
  )('are led around the domain on the same side, within reach', (ring, { x, y }) => {
    const paths = ring.map((to, i) => pathAround(ring.at(i - 1)!, to));
    const led = paths.flatMap(({ points }) => points);
    for (const { x, y } of led) {
      expect(Math.min(x, y)).toBeGreaterThanOrEqual(-REACH);
      expect(Math.max(x, y)).toBeLessThanOrEqual(DOMAIN_STEPS + REACH);
    }
    // A corner of the domain may become a point of a path. Whether it is in the ring is then a matter of half a step, too.
    fc.pre(x % DOMAIN_STEPS !== 0 || y % DOMAIN_STEPS !== 0);
    // Rounded ends may move an edge across a point within half a step of it.
    const isClear = paths.every(({ isExact }, i) => isExact || !isClose(ring.at(i - 1)!, ring[i]!, x, y));
    if (isClear) expect(holds(led, x, y)).toBe(holds(ring, x, y));
  });
});

interface Point {
  readonly x: number;
  readonly y: number;
}

/** Twice the signed area of the triangle of an edge and a point. */
const turn = (a: Point, b: Point, x: number, y: number): bigint =>
  BigInt(b.x - a.x) * BigInt(y - a.y) - BigInt(b.y - a.y) * BigInt(x - a.x);

/** Whether a point is in a ring by the even-odd rule. Left and bottom edges belong to it. */
function holds(ring: readonly Point[], x: number, y: number): boolean {
  return ring.reduce((inside, b, i) => {
    const a = ring.at(i - 1)!;
    const isPast = b.y > a.y ? turn(a, b, x, y) <= 0n : turn(a, b, x, y) >= 0n;
    return a.y <= y !== b.y <= y && isPast ? !inside : inside;
  }, false);
}

/** Whether a point is within a step of the line of an edge. */
function isClose(a: Point, b: Point, x: number, y: number): boolean {
  const area = turn(a, b, x, y);
  const length = BigInt(Math.floor(Math.max(Math.abs(b.x - a.x), Math.abs(b.y - a.y))));
  return (area < 0n ? -area : area) <= 2n * length;
}
