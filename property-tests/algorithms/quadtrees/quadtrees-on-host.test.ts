import fc from 'fast-check';
import { expect, test } from 'vitest';
import { buildOnDevice } from '../../../algorithms/maq-tree/build.ts';
import { buildFromHost } from '../../../algorithms/maq-tree/build-from-host.ts';
import { numberedParts } from '../../../algorithms/maq-tree/concatenate-sets.ts';
import { readMaqTree } from '../../../algorithms/maq-tree/index.ts';
import type { MaqTreeWithEdges } from '../../../algorithms/maq-tree/tree.ts';
import { splitOnDevice } from '../../../algorithms/quadrants/decompose.ts';
import { decomposeOnHost } from '../../../algorithms/quadrants/host-decompose.ts';
import { DOMAIN_STEPS, type DomainPolygons, type QuadrantsWithEdges } from '../../../algorithms/quadrants/index.ts';
import type { Context } from '../../../primitives/index.ts';
import { onEveryBackend } from '../../backends.ts';
import { LEVELS, polygons } from '../../support/arbitrary-domain-polygons.ts';
import { columnsOfRings } from '../../support/ring-columns.ts';

const limits = { memoryBytes: 2 ** 30, maxBytes: Number.POSITIVE_INFINITY, keepsEdges: true };

function onDevice(context: Context, set: DomainPolygons, levels: number): Promise<QuadrantsWithEdges> {
  return splitOnDevice(context, set, { ...limits, levels }) as Promise<QuadrantsWithEdges>;
}

async function requireSame(context: Context, sets: readonly DomainPolygons[], levels: number): Promise<void> {
  const quadrants: QuadrantsWithEdges[] = [];
  for (const set of sets) {
    const made = await onDevice(context, set, levels);
    const { polygon, code, level, boundary, edges } = made;
    const { ends, edge, ...perRow } = edges;
    const { steps: _, edges: own, ...host } = decomposeOnHost(set, levels);
    expect(host).toEqual(await context.read({ polygon, lo: code.lo, hi: code.hi, level, boundary }));
    const read = { ...(await context.read(perRow)), edge: await context.read(edge), ends: await context.read(ends) };
    expect(own).toEqual(read);
    quadrants.push(made);
  }
  // The last set is given in two parts, the later polygons first.
  const last = quadrants.at(-1)!;
  const given = [
    ...quadrants,
    [
      { quadrants: last, firstPolygon: 7 },
      { quadrants: last, firstPolygon: 0 },
    ],
  ];
  const trees = [
    await buildOnDevice(context, given),
    await buildFromHost(context, numberedParts(given), given.length),
  ] as [MaqTreeWithEdges, MaqTreeWithEdges];
  const [device, host] = [await readMaqTree(context, trees[0]), await readMaqTree(context, trees[1])];
  expect(host).toEqual(device);
  expect(await context.read(trees[1].table)).toEqual(await context.read(trees[0].table));
  context.dispose(quadrants, trees);
}

onEveryBackend((opened, { runs }) => {
  test('the host makes the same quadrants and trees as launches', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.tuple(polygons, polygons), fc.integer({ min: 0, max: LEVELS + 1 }), async (sets, levels) => {
        await requireSame(opened().context, sets.map(columnsOfRings), levels);
      }),
      { numRuns: runs },
    );
  });

  test('the host makes the same quadrants of all levels', { timeout: 120_000 }, async () => {
    const all = DOMAIN_STEPS;
    const square = columnsOfRings([
      [
        [
          [0, 0],
          [all, 0],
          [all, all],
          [0, all],
        ],
      ],
    ]);
    const small = columnsOfRings([
      [
        [
          [3, 1],
          [9, 2],
          [4, 12],
        ],
      ],
      [
        [
          [all - 5, all],
          [all, all - 7],
          [all, all],
        ],
      ],
    ]);
    await requireSame(opened().context, [square, small], 30);
  });
});
