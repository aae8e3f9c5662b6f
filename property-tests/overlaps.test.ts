import fc from 'fast-check';
import { expect, test } from 'vitest';
import { overlapsInQuadrants, type QuadrantPairs } from '../algorithms/overlaps/index.ts';
import type { Context } from '../primitives/context.ts';
import { onEveryBackend } from './backends.ts';
import { type CellByHand, type CellCase, type Edge, overlapByHand, type PartByHand } from './overlaps-by-hand.ts';
import type { Ring } from './ring-columns.ts';

const END = 2 ** 30;

type Point = readonly [x: number, y: number];

/** A cell of the domain, with places that matter for it. */
interface Frame {
  readonly x: number;
  readonly y: number;
  readonly side: number;
  readonly vertex: fc.Arbitrary<Point>;
}

const inDomain = (at: number): number => Math.min(END, Math.max(0, at));

/** Cells of few steps, and vertices on the grid in and around them: all coincides, touches and cancels. */
const tiny: fc.Arbitrary<Frame> = fc
  .record({ shift: fc.nat(3), column: fc.constantFrom(0, 5, -1), row: fc.constantFrom(0, 9, -1) })
  .map(({ shift, column, row }) => {
    const side = 2 ** shift;
    const last = END - side;
    const [x, y] = [column, row].map((at) => (at < 0 ? last : at * side)) as [number, number];
    const near = (from: number) => fc.integer({ min: -2, max: side + 2 }).map((step) => inDomain(from + step));
    return { x, y, side, vertex: fc.tuple(near(x), near(y)) };
  });

/** Cells of any side, and vertices at the ends of the domain, at the cell's sides and next to them, and anywhere. */
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
  // All through one point.
  const star = fc
    .tuple(vertex, fc.array(fc.tuple(vertex, vertex), { minLength: 1, maxLength: 5 }))
    .map(([centre, rays]): Ring => rays.flatMap(([a, b]) => [centre, a, b]));
  const ring = fc.oneof({ weight: 4, arbitrary: any }, spike, { weight: 2, arbitrary: rectangle }, star);
  return fc.array(ring, { maxLength: 3 });
};

const cellRing = ({ x, y, side }: Frame): Ring => [
  [x, y],
  [x + side, y],
  [x + side, y + side],
  [x, y + side],
];

/** Two regions that have nothing to do with each other, that share borders, that are the same, or that complete each other. */
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
const cellCases = fc.array(cellCase, { minLength: 1, maxLength: 60 });

interface Row extends CellCase {
  readonly byHand: CellByHand;
}

const withAnswers = (all: readonly CellCase[]): Row[] => all.map((one) => ({ ...one, byHand: overlapByHand(one) }));

/** Asks for the overlaps of rows of two parts each. */
async function overlapsOf(
  context: Context,
  rows: readonly {
    readonly x: number;
    readonly y: number;
    readonly side: number;
    readonly parts: readonly PartByHand[];
  }[],
  options?: { readonly most?: number },
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
  const overlaps = await overlapsInQuadrants(context, pairs, ...tables, options);
  const found = await context.read(overlaps);
  context.dispose(overlaps, pairs, tables);
  return Array.from(found);
}

const inOrder = ({ byHand: { p, q }, ...cell }: Row) => ({ ...cell, parts: [p, q] });
const answers = (rows: readonly Row[]): number[] => rows.map(({ byHand }) => Number(byHand.overlaps));

onEveryBackend((opened, { runs }) => {
  test('regions overlap where a trapezoid of the cell lies in both', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(cellCases, async (all) => {
        const rows = withAnswers(all);
        expect(await overlapsOf(opened().context, rows.map(inOrder))).toEqual(answers(rows));
      }),
      { numRuns: 2 * runs },
    );
  });

  test('cells that are split first give the same', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(cellCases, fc.integer({ min: 0, max: 6 }), async (all, most) => {
        const rows = withAnswers(all);
        expect(await overlapsOf(opened().context, rows.map(inOrder), { most })).toEqual(answers(rows));
      }),
      { numRuns: 2 * runs },
    );
  });
});
