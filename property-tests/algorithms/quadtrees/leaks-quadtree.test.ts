import { describe, expect, test } from 'vitest';
import { buildMaqTree, type MaqTreeWithEdges } from '../../../algorithms/maq-tree/index.ts';
import {
  DOMAIN_STEPS,
  type Domain,
  decompose,
  decomposeDepthFirst,
  decomposeWhole,
  type QuadrantsWithEdges,
} from '../../../algorithms/quadrants/index.ts';
import * as queries from '../../../algorithms/queries/index.ts';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { Context } from '../../../primitives/context/context.ts';
import type { Backend } from '../../../primitives/contract/backend.ts';
import { someOf } from '../../cases.ts';
import { columnsOfRings, type Ring } from '../../support/ring-columns.ts';

const S = DOMAIN_STEPS;
/** A domain whose grid has steps of length 1, so that coordinates count steps. */
const STEPS: Domain = { left: 0, bottom: 0, size: S };
const triangle: Ring = [
  [1, 1],
  [S - 5, 3],
  [7, S - 9],
];
const hole: Ring = [
  [S / 4, S / 8],
  [S / 2, S / 8],
  [S / 4, S / 2],
];
const square: Ring = [
  [0, 0],
  [S, 0],
  [S, S],
  [0, S],
];
const polygons = columnsOfRings([[triangle, hole], [square], [[...hole].reverse()]]);
const exact = { levels: 3, keepsEdges: true } as const;

const COMMANDS = ['allocate', 'read', 'run'] as const;

/** More commands than any job runs. */
const ENOUGH = 1e9;

/** A reference backend that runs the next `left` commands; all later commands fail. */
class Failing {
  left = ENOUGH;
  readonly backend: Backend = createReferenceBackend();

  constructor() {
    const { backend } = this;
    for (const name of COMMANDS) {
      const command = backend[name].bind(backend) as (...given: unknown[]) => unknown;
      const failing = (...given: unknown[]): unknown => {
        if (this.left-- > 0) return command(...given);
        const failure = new Error('planted');
        if (name === 'read') return Promise.reject(failure);
        throw failure;
      };
      Object.assign(backend, { [name]: failing });
    }
  }
}

interface Asked {
  readonly context: Context;
  readonly quadrants: QuadrantsWithEdges;
  readonly tree: MaqTreeWithEdges;
  readonly windows: queries.PlacedWindows;
  readonly points: queries.PlacedPoints;
  readonly nodes: queries.QueryNodes;
}

const jobs: { readonly [name: string]: (asked: Asked) => Promise<unknown> } = {
  decompose: ({ context }) => decompose(context, polygons, { levels: 2 }),
  'decompose in little memory': ({ context }) =>
    decompose(context, polygons, { ...exact, levels: 2, memoryBytes: 800 }),
  decomposeWhole: ({ context }) => decomposeWhole(context, polygons, { levels: 2 }),
  decomposeDepthFirst: ({ context }) => decomposeDepthFirst(context, polygons, { levels: 2 }),
  buildMaqTree: ({ context, quadrants }) => buildMaqTree(context, [quadrants, quadrants]),
  queryWindows: ({ context, tree, windows }) => queries.queryWindows(context, tree, windows),
  queryWindowsBreadthFirst: ({ context, tree, windows }) =>
    queries.queryWindowsBreadthFirst(context, tree, windows, { capacity: 20 }),
  polygonsOf: ({ context, tree, nodes }) => queries.polygonsOf(context, tree, nodes),
  queryPoints: ({ context, tree, points }) => queries.queryPoints(context, tree, points),
  queryPolygons: ({ context, tree, quadrants }) => queries.queryPolygons(context, tree, quadrants, { capacity: 80 }),
  joinPolygons: ({ context, tree, quadrants }) => queries.joinPolygons(context, tree, quadrants),
  'joinPolygons in parts': ({ context, tree, quadrants }) =>
    queries.joinPolygons(context, tree, quadrants, { capacity: 80 }),
  areasByWindow: ({ context, tree, windows }) => queries.areasByWindow(context, tree, windows),
  areasByRegion: ({ context, tree, quadrants }) => queries.areasByRegion(context, tree, quadrants, { capacity: 80 }),
};

describe('no memory leaks, wherever the backend fails', () => {
  for (const [name, job] of Object.entries(jobs)) {
    test(name, { timeout: 120_000 }, async () => {
      const failing = new Failing();
      const context = new Context(failing.backend);
      const quadrants = await decompose(context, polygons, exact);
      const tree = await buildMaqTree(context, [quadrants]);
      const sides = { left: [0, 5], bottom: [0, S / 3], right: [S, S / 2], top: [S / 2, S] };
      const windows = queries.placeWindows(context, sides, STEPS);
      const points = queries.placePoints(context, { x: [1, S / 3, S / 2], y: [1, S / 3, S / 2] }, STEPS);
      const nodes = await queries.queryWindows(context, tree, windows);
      // Queries keep tables of the tree as long as the tree exists.
      context.dispose(await queries.queryPoints(context, tree, points));
      const asked = { context, quadrants, tree, windows, points, nodes };
      const { liveBytes } = context.backend.counters;
      const run = async (left: number): Promise<unknown> => {
        failing.left = left;
        const made = await job(asked).catch((error: Error) => error);
        const commands = left - failing.left;
        failing.left = ENOUGH;
        if (made instanceof Error) expect(made).toEqual(new Error('planted'));
        else context.dispose(made);
        // Some row counts still wait for a check by the host. `sync` completes the checks, and the counts are freed.
        await context.sync();
        expect(context.backend.counters.liveBytes, `after ${left} commands`).toBe(liveBytes);
        return made instanceof Error ? made : commands;
      };
      const commands = (await run(ENOUGH)) as number;
      expect(commands).toBeGreaterThan(10);
      const stops = Array.from({ length: commands }, (_, i) => i);
      for (const left of someOf(stops, Math.ceil(commands / 8))) expect(await run(left)).toBeInstanceOf(Error);
      await context.close();
    });
  }
});
