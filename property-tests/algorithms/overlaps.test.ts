import fc from 'fast-check';
import { expect, test } from 'vitest';
import { overlapsInQuadrants, type QuadrantPairs } from '../../algorithms/overlaps/index.ts';
import type { Context } from '../../primitives/context/context.ts';
import { onEveryBackend } from '../backends.ts';
import { scaledCount, THOROUGH } from '../cases.ts';
import {
  type CellByHand,
  type CellCase,
  type Edge,
  overlapByHand,
  type PartByHand,
} from '../support/overlaps-by-hand.ts';
import type { Ring } from '../support/ring-columns.ts';

const END = 2 ** 30;

/** The part of a region that is inside a cell. */
type Part = Pick<PartByHand, 'corner' | 'edges'>;
type Point = readonly [x: number, y: number];

/** A cell of the domain, with an arbitrary for the vertices of regions in and around it. */
interface Frame {
  readonly x: number;
  readonly y: number;
  readonly side: number;
  readonly vertex: fc.Arbitrary<Point>;
}

const inDomain = (at: number): number => Math.min(END, Math.max(0, at));

/**
 * Cells whose sides are a few grid steps long. Vertices are on the grid in and around the cells, so that edges often
 * coincide, touch and cancel.
 */
const tiny: fc.Arbitrary<Frame> = fc
  .record({ shift: fc.nat(3), column: fc.constantFrom(0, 5, -1), row: fc.constantFrom(0, 9, -1) })
  .map(({ shift, column, row }) => {
    const side = 2 ** shift;
    const last = END - side;
    const [x, y] = [column, row].map((at) => (at < 0 ? last : at * side)) as [number, number];
    const near = (from: number) => fc.integer({ min: -2, max: side + 2 }).map((step) => inDomain(from + step));
    return { x, y, side, vertex: fc.tuple(near(x), near(y)) };
  });

/** Cells of any size, with vertices at the limits of the domain, at or next to the cell's sides, or anywhere. */
const huge: fc.Arbitrary<Frame> = fc
  .record({ shift: fc.nat(30), across: fc.nat(2 ** 30), up: fc.nat(2 ** 30) })
  .map(({ shift, across, up }) => {
    const side = 2 ** shift;
    const [x, y] = [across, up].map((at) => Math.min(END - side, Math.floor(at / side) * side)) as [number, number];
    const place = (from: number) =>
      fc.oneof(
        fc.constantFrom(0, END),
        fc
          .tuple(fc.constantFrom(0, 0.5, 1), fc.integer({ min: -1, max: 1 }))
          .map(([part, next]) => inDomain(from + Math.floor(part * side) + next)),
        fc.integer({ min: from, max: from + side }),
        fc.integer({ min: 0, max: END }),
      );
    return { x, y, side, vertex: fc.tuple(place(x), place(y)) };
  });

const ringsOf = (vertex: fc.Arbitrary<Point>): fc.Arbitrary<Ring[]> => {
  const any = fc.array(vertex, { minLength: 3, maxLength: 6 });
  const spike = fc.tuple(vertex, vertex).map(([a, b]): Ring => [a, b]);
  const rectangle = fc.tuple(vertex, vertex).map(
    ([[a, b], [c, d]]): Ring => [
      [a, b],
      [c, b],
      [c, d],
      [a, d],
    ],
  );
  // Rings whose edges all pass through one point.
  const star = fc
    .tuple(vertex, fc.array(fc.tuple(vertex, vertex), { minLength: 1, maxLength: 5 }))
    .map(([centre, rays]): Ring => rays.flatMap(([a, b]) => [centre, a, b]));
  const ring = fc.oneof({ weight: 4, arbitrary: any }, spike, { weight: 2, arbitrary: rectangle }, star);
  return fc.array(ring, { maxLength: 3 });
};

const cellRing = ({ x, y, side }: Pick<Frame, 'x' | 'y' | 'side'>): Ring => [
  [x, y],
  [x + side, y],
  [x + side, y + side],
  [x, y + side],
];

/** Two regions that are unrelated, share borders, are equal, or complement each other. */
const regionsIn = (frame: Frame): fc.Arbitrary<readonly [p: Ring[], q: Ring[]]> => {
  const rings = ringsOf(frame.vertex);
  const apart = fc.tuple(rings, rings);
  const shared = fc.tuple(rings, rings, rings).map(
    ([a, b, both]) =>
      [
        [...a, ...both],
        [...b, ...both],
      ] as const,
  );
  const same = rings.map((p) => [p, p] as const);
  const complement = rings.map((p) => [p, [...p, cellRing(frame)]] as const);
  const holed = fc.tuple(rings, rings).map(
    ([a, b]) =>
      [
        [...a, ...b],
        [...b, cellRing(frame)],
      ] as const,
  );
  return fc.oneof(
    { weight: 3, arbitrary: apart },
    { weight: 2, arbitrary: shared },
    same,
    complement,
    holed,
  ) as fc.Arbitrary<readonly [Ring[], Ring[]]>;
};

const cellCase: fc.Arbitrary<CellCase> = fc
  .oneof({ weight: 2, arbitrary: tiny }, huge)
  .chain((frame) => regionsIn(frame).map(([p, q]) => ({ x: frame.x, y: frame.y, side: frame.side, p, q })));
const cellCases = fc.array(cellCase, { minLength: 1, maxLength: THOROUGH ? 60 : 30, size: 'max' });

interface Row extends CellCase {
  readonly byHand: CellByHand;
}

const withAnswers = (all: readonly CellCase[]): Row[] => all.map((one) => ({ ...one, byHand: overlapByHand(one) }));

/** Computes the overlaps of rows. Each row has the parts of two regions. */
async function overlapsOf(
  context: Context,
  rows: readonly {
    readonly x: number;
    readonly y: number;
    readonly side: number;
    readonly parts: readonly Part[];
  }[],
  options?: { readonly maxEdges?: number },
): Promise<number[]> {
  const ends: number[] = [];
  const edge: number[] = [];
  const list = (edges: readonly Edge[]): { first: number; count: number } => {
    const first = edge.length;
    for (const ofEdge of edges) {
      edge.push(ends.length / 4);
      ends.push(...ofEdge.map(Number));
    }
    return { first, count: edges.length };
  };
  const lists = rows.map(({ parts }) => parts.map(({ edges }) => list(edges)));
  const column = (of: (row: number) => number) => context.column(Uint32Array.from(rows.keys(), of));
  const region = (number: number) => ({
    corner: column((row) => Number(rows[row]!.parts[number]!.corner)),
    first: column((row) => lists[row]![number]!.first),
    count: column((row) => lists[row]![number]!.count),
  });
  const pairs: QuadrantPairs = {
    column: column((row) => 2 * rows[row]!.x + rows[row]!.side),
    row: column((row) => rows[row]!.y),
    p: region(0),
    q: region(1),
  };
  const tables = [context.column(Uint32Array.from(edge)), context.column(Int32Array.from(ends))] as const;
  try {
    const overlaps = await overlapsInQuadrants(context, pairs, ...tables, options);
    const found = await context.read(overlaps);
    context.dispose(overlaps);
    return Array.from(found);
  } finally {
    context.dispose(pairs, tables);
  }
}

const inOrder = ({ byHand: { p, q }, ...cell }: Row) => ({ ...cell, parts: [p, q] });
const answers = (rows: readonly Row[]): number[] => rows.map(({ byHand }) => Number(byHand.overlaps));
const reversed = ({ corner, edges }: Part): Part => ({
  corner,
  edges: edges.map(([ax, ay, bx, by]): Edge => [bx, by, ax, ay]).reverse(),
});
/** A whole cell. */
const whole: Part = { corner: true, edges: [] };
const complementOf = ({ corner, edges }: Part): Part => ({ corner: !corner, edges });

/**
 * Cells with more edges than the kernel examines in its first turn. On a small grid, these edges intersect in only a
 * few points.
 */
const manyEdges: fc.Arbitrary<CellCase> = fc.integer({ min: 2, max: 3 }).chain((shift) => {
  const side = 2 ** shift;
  const vertex = fc.tuple(fc.nat(side), fc.nat(side));
  const rings = fc.array(fc.array(vertex, { minLength: 12, maxLength: 12 }), { minLength: 4, maxLength: 4 });
  return fc.record({ p: rings, q: rings, x: fc.constant(0), y: fc.constant(0), side: fc.constant(side) });
});

onEveryBackend((opened, { runs }) => {
  test('regions overlap exactly when a trapezoid of the cell lies in both', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(cellCases, async (all) => {
        const rows = withAnswers(all);
        expect(await overlapsOf(opened().context, rows.map(inOrder))).toEqual(answers(rows));
      }),
      { numRuns: scaledCount(runs, 5, 1) },
    );
  });

  test('cells that are split first give the same result', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(cellCases, fc.integer({ min: 0, max: 6 }), async (all, maxEdges) => {
        const rows = withAnswers(all);
        expect(await overlapsOf(opened().context, rows.map(inOrder), { maxEdges })).toEqual(answers(rows));
      }),
      { numRuns: scaledCount(runs, 3, 1) },
    );
  });

  test('cells of many edges give the same result, split or not', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(manyEdges, fc.boolean(), fc.boolean(), async (one, isSame, isComplement) => {
        const rows = withAnswers([isSame ? { ...one, q: isComplement ? [...one.p, cellRing(one)] : one.p } : one]);
        const found = [];
        for (const maxEdges of [0, 16, 2 ** 32 - 1]) {
          found.push(await overlapsOf(opened().context, rows.map(inOrder), { maxEdges }));
        }
        expect(found).toEqual(found.map(() => answers(rows)));
      }),
      { numRuns: Math.ceil(runs / 4) },
    );
  });

  test('the result does not depend on the order of the regions, nor on the direction or order of edges', {
    timeout: 120_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(cellCases, async (all) => {
        const rows = withAnswers(all);
        const turned = rows.map(({ byHand: { p, q }, ...cell }) => ({ ...cell, parts: [q, reversed(p)] }));
        expect(await overlapsOf(opened().context, turned)).toEqual(answers(rows));
      }),
      { numRuns: scaledCount(runs, 1, 1 / 2) },
    );
  });

  test('a region overlaps itself and the whole cell where it has area there, and never its complement', {
    timeout: 120_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(cellCases, fc.constantFrom(0, 16), async (all, maxEdges) => {
        const rows = withAnswers(all);
        const besides = (other: (p: Part) => Part) =>
          overlapsOf(
            opened().context,
            rows.map(({ byHand: { p }, ...cell }) => ({ ...cell, parts: [p, other(p)] })),
            { maxEdges },
          );
        const hasArea = rows.map(({ byHand }) => Number(byHand.p.hasArea));
        expect(await besides((p) => p)).toEqual(hasArea);
        expect(await besides(reversed)).toEqual(hasArea);
        expect(await besides(() => whole)).toEqual(hasArea);
        expect(await besides(complementOf)).toEqual(hasArea.map(() => 0));
      }),
      { numRuns: scaledCount(runs, 1, 1 / 2) },
    );
  });

  test('slivers across the domain that share area are distinguished from slivers that share none', async () => {
    const sliver = (...ring: Ring): Ring[] => [ring];
    const below = sliver([0, 0], [END, END - 1], [END, END]);
    const cell = { x: 0, y: 0, side: END, p: below };
    const rows = withAnswers([
      { ...cell, q: sliver([0, 0], [END, END], [END - 1, END]) },
      { ...cell, q: sliver([0, 0], [END, END - 1], [END, 0]) },
      { ...cell, q: sliver([1, 1], [END, END - 1], [END - 1, END]) },
      { ...cell, q: sliver([0, 1], [END, END], [END - 1, END]) },
      { ...cell, q: sliver([1, 0], [END, END], [END, END - 2]) },
      { ...cell, q: sliver([END, 0], [END, END], [END - 1, END - 1]) },
    ]);
    expect(answers(rows)).toEqual([0, 0, 1, 0, 1, 1]);
    expect(await overlapsOf(opened().context, rows.map(inOrder))).toEqual(answers(rows));
  });

  test('no rows give no rows, and no memory leaks, even after a failure', async () => {
    const { context } = opened();
    const { liveBytes } = context.backend.counters;
    expect(await overlapsOf(context, [])).toEqual([]);
    const rows = withAnswers(fc.sample(cellCase, { numRuns: 40, seed: 7 }));
    await overlapsOf(context, rows.map(inOrder), { maxEdges: 1 });
    await expect(overlapsOf(context, rows.map(inOrder), { maxEdges: 0.5 })).rejects.toThrow(
      expect.objectContaining({ code: 'overlaps/max-edges' }),
    );
    expect(context.backend.counters.liveBytes).toBe(liveBytes);
  });
});
