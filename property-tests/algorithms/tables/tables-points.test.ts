import { describe, expect } from 'vitest';
import { buildMaqTree, type MaqTreeWithEdges } from '../../../algorithms/maq-tree/index.ts';
import { DOMAIN_STEPS, type Domain, decompose, WORLD } from '../../../algorithms/quadrants/index.ts';
import * as t from '../../../algorithms/tables/index.ts';
import type { Context } from '../../../primitives/context/context.ts';
import { onEveryBackend } from '../../backends.ts';
import { fc, test } from '../../law-test.ts';
import { LEVELS, polygons, vertex } from '../../support/arbitrary-domain-polygons.ts';
import { ringsHold } from '../../support/quadrants-by-hand.ts';
import { expectRefusal, openReference } from '../../support/reference-context.ts';
import { columnsOfRings } from '../../support/ring-columns.ts';
import { type Cell, truthAt } from '../../support/table-questions.ts';

const TIMEOUT_MS = 120_000;
/** A domain whose grid has steps of length 1, so that coordinates count steps. */
const STEPS: Domain = { left: 0, bottom: 0, size: DOMAIN_STEPS };

type Point = readonly [x: number, y: number];
const next = fc.constantFrom(-1, 0, 1);
const beside = fc.tuple(vertex, next, next).map(([[x, y], dx, dy]): Point => [x + dx, y + dy]);
const points = fc.array(fc.oneof(vertex, beside), { minLength: 1, maxLength: 70, size: 'max' });

/** Two sets of polygons, from which a tree is built. */
const twoSets = fc.tuple(polygons, polygons);

async function treeOf(context: Context, sets: readonly Parameters<typeof columnsOfRings>[0][], levels: number) {
  const quadrants = [];
  for (const set of sets) quadrants.push(await decompose(context, columnsOfRings(set), { levels, keepsEdges: true }));
  const tree = await buildMaqTree(context, quadrants);
  context.dispose(quadrants);
  return tree;
}

/** Conditions on points of a table, nested to any depth. */
function conditionsWith(tree: MaqTreeWithEdges): fc.Arbitrary<t.Condition> {
  const held = t.inPolygons({ x: 'x', y: 'y' }, tree);
  const swapped = t.inPolygons({ x: 'y', y: 'x' }, tree);
  const side = fc.tuple(vertex, vertex);
  const box = side.map(([[a, b], [c, d]]) => t.inBox({ x: [Math.min(a, c), Math.max(a, c)], y: [b, d] }));
  const small = fc.constantFrom(t.lessThan(t.column('n'), 2), t.isNull(t.column('x')), t.isNull(t.column('n')));
  return fc.letrec<{ any: t.Condition }>((tie) => ({
    any: fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      { weight: 3, arbitrary: fc.oneof(fc.constantFrom(held, swapped), box, small) },
      { weight: 1, arbitrary: tie('any').map((of) => t.not(of)) },
      { weight: 2, arbitrary: fc.array(tie('any'), { maxLength: 3 }).map((of) => t.and(...of)) },
      { weight: 2, arbitrary: fc.array(tie('any'), { maxLength: 3 }).map((of) => t.or(...of)) },
    ),
  })).any;
}

type Row = { readonly [name: string]: Cell };

/** Makes rows of points and small numbers, some of which are null. */
function rowsOf(asked: readonly Point[], seed: number): Row[] {
  return asked.map(([x, y], i): Row => {
    const kind = ((seed >>> 3) + 5 * i) % 9;
    return { x: kind === 0 ? null : BigInt(x), y: kind === 1 ? null : BigInt(y), n: kind === 2 ? null : BigInt(i % 4) };
  });
}

function hostOf(rows: readonly Row[], asked: readonly Point[]): t.HostTable {
  const validity = (name: string): Uint32Array => {
    const bits = new Uint32Array(Math.ceil(rows.length / 32));
    for (const [i, row] of rows.entries()) if (row[name] !== null) bits[i >> 5]! |= 1 << (i & 31);
    return bits;
  };
  const { x, y } = t.pointColumns({ x: asked.map(([at]) => at), y: asked.map(([, at]) => at) }, STEPS);
  return {
    x: { ...x, validity: validity('x') },
    y: { ...y, validity: validity('y') },
    n: { type: 'i32', values: Int32Array.from(rows, (_, i) => i % 4), validity: validity('n') },
  };
}

const isInside = (at: number): boolean => at >= 0 && at < DOMAIN_STEPS;

describe('point-in-polygon conditions', () => {
  onEveryBackend((opened, { runs }) => {
    const agrees = fc.asyncProperty(
      twoSets,
      points,
      fc.integer({ min: 0, max: LEVELS + 1 }),
      fc.nat(),
      fc.gen(),
      async (sets, others, levels, seed, draw) => {
        const { context } = opened();
        const { liveBuffers } = context.backend.counters;
        const tree = await treeOf(context, sets, levels);
        const asked: Point[] = [...sets.flat(3).slice(0, 20), ...others];
        const rows = rowsOf(asked, seed);
        const table = t.createTable(context, hostOf(rows, asked));
        const isHeld = (x: number, y: number): boolean =>
          isInside(x) && isInside(y) && sets.some((set) => set.some((rings) => ringsHold(rings, [x, y])));
        const ask = t.prepareAggregate(table, { count: { kind: 'count' } });
        for (let question = 0; question < 3; question++) {
          const where = draw(() => conditionsWith(tree));
          const selection = t.selectRows(table, where);
          const ids = t.selectedIds(selection);
          const { count } = await t.aggregate(table, { count: { kind: 'count' } }, { where });
          const expected = [...rows.keys()].filter((i) => truthAt(rows[i]!, where, isHeld) === true);
          expect([...(await context.read(ids))]).toEqual(expected);
          expect(count).toBe(expected.length);
          expect([await ask(where), await ask(where)]).toEqual([{ count }, { count }]);
          context.dispose(ids, selection.words);
        }
        ask.dispose();
        t.disposeTable(table);
        context.dispose(tree);
        expect(context.backend.counters.liveBuffers).toBe(liveBuffers);
      },
    );
    test('equal an even-odd test of all edges', () => fc.assert(agrees, { numRuns: runs }), TIMEOUT_MS);
  });
});

test('points outside the domain, and coordinates that are not numbers, are in no polygon', async () => {
  await using context = openReference();
  const whole = [
    [0, 0],
    [DOMAIN_STEPS, 0],
    [DOMAIN_STEPS, DOMAIN_STEPS],
    [0, DOMAIN_STEPS],
  ] as const;
  const tree = await treeOf(context, [[[whole]]], 3);
  const places = t.pointColumns({ x: [-180, -181, 180, Number.NaN, 0, 0], y: [0, 0, 0, 0, Infinity, 179] }, WORLD);
  const table = t.createTable(context, places);
  const held = t.inPolygons({ x: 'x', y: 'y' }, tree);
  expect([...(await context.read(t.selectedIds(t.selectRows(table, held))))]).toEqual([0, 5]);
  expect([...(await context.read(t.selectedIds(t.selectRows(table, t.not(held)))))]).toEqual([1, 2, 3, 4]);
});

test('refused: points with one coordinate, columns that are not steps, trees without edges', async () => {
  const context = openReference();
  expectRefusal(context, 'tables/length', () => t.pointColumns({ x: [0], y: [] }, WORLD));
  const quadrants = [await decompose(context, columnsOfRings([]), { levels: 1 })];
  const bare = await buildMaqTree(context, quadrants);
  expectRefusal(context, 'queries/edges', () => t.inPolygons({ x: 'x', y: 'y' }, bare as MaqTreeWithEdges));
  const tree = await treeOf(context, [[]], 1);
  const table = t.createTable(context, { x: { type: 'f32', values: Float32Array.of(1) } });
  expectRefusal(context, 'tables/type', () => t.selectRows(table, t.inPolygons({ x: 'x', y: 'x' }, tree)));
  expectRefusal(context, 'tables/unknown-column', () => t.selectRows(table, t.inPolygons({ x: 'x', y: 'z' }, tree)));
});
