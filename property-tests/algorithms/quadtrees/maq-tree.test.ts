import fc from 'fast-check';
import { expect, test } from 'vitest';
import { buildMaqTree, type MaqTree, readMaqTree } from '../../../algorithms/maq-tree/index.ts';
import { decompose } from '../../../algorithms/quadrants/index.ts';
import { ArgumentError } from '../../../primitives/checks/errors.ts';
import type { Context } from '../../../primitives/context/context.ts';
import { onEveryBackend } from '../../backends.ts';
import { LEVELS, polygons } from '../../support/arbitrary-domain-polygons.ts';
import { columnsOfRings } from '../../support/ring-columns.ts';
import { type QuadrantRow, quadrantRows, uploadRows } from './arbitrary-quadrants.ts';

interface Node {
  readonly level: number;
  readonly code: bigint;
  readonly children: Node[];
  readonly entries: QuadrantRow[];
}

/** The expected tree. Each row is inserted from the root down; then the nodes are listed level by level. */
function treeByHand(all: readonly QuadrantRow[]): Node[] {
  const root: Node = { level: 0, code: 0n, children: [], entries: [] };
  for (const row of all) {
    let node = root;
    for (let level = 1; level <= row.level; level++) {
      const code = row.code >> BigInt(2 * (row.level - level));
      let child = node.children.find((each) => each.code === code);
      if (child === undefined) {
        child = { level, code, children: [], entries: [] };
        node.children.push(child);
      }
      node = child;
    }
    node.entries.push(row);
  }
  const nodes: Node[] = [];
  let front = all.length === 0 ? [] : [root];
  while (front.length > 0) {
    nodes.push(...front);
    for (const node of front) {
      node.children.sort((a, b) => (a.code < b.code ? -1 : 1));
      node.entries.sort((a, b) => a.set - b.set || a.polygon - b.polygon);
    }
    front = front.flatMap(({ children }) => children);
  }
  return nodes;
}

async function read(context: Context, { nodes, entries }: MaqTree) {
  const { code, ...rest } = nodes;
  const found = await context.read({ code: { ...code }, ...rest });
  return {
    nodes: Array.from(found.level, (level, i) => ({
      level,
      code: (BigInt(found.code.hi[i]!) << 32n) | BigInt(found.code.lo[i]!),
      firstChild: found.firstChild[i]!,
      childCount: found.childCount[i]!,
      firstEntry: found.firstEntry[i]!,
      entryCount: found.entryCount[i]!,
      next: found.next[i]!,
    })),
    entries: await context.read({ ...entries }),
  };
}

onEveryBackend((opened, { runs }) => {
  test('the tree equals one built by inserting quadrants one by one, in any order', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(quadrantRows, fc.nat(), async (all, turn) => {
        const { context } = opened();
        const { liveBytes } = context.backend.counters;
        const turned = [...all.slice(turn % (all.length + 1)), ...all.slice(0, turn % (all.length + 1))];
        const sets = uploadRows(context, turned.toReversed());
        const tree = await buildMaqTree(context, sets);
        const found = await read(context, tree);
        context.dispose(tree, sets);
        expect(context.backend.counters.liveBytes).toBe(liveBytes);

        const expected = treeByHand(all);
        const count = (counts: readonly number[]): number => counts.reduce((sum, each) => sum + each, 0);
        expect(found.nodes.map(({ level, code }) => ({ level, code }))).toEqual(
          expected.map(({ level, code }) => ({ level, code })),
        );
        const preorder = expected.slice(0, 1).flatMap(function all(each): Node[] {
          return [each, ...each.children.flatMap(all)];
        });
        for (const [i, { level, code, children, entries }] of expected.entries()) {
          const node = found.nodes[i]!;
          expect([node.childCount, node.entryCount]).toEqual([children.length, entries.length]);
          if (children.length > 0)
            expect(expected.slice(node.firstChild, node.firstChild + children.length)).toEqual(children);
          const before = count(expected.slice(0, i).map((each) => each.entries.length));
          expect(node.firstEntry).toBe(before);
          const inside = (other: Node): boolean =>
            other.level >= level && other.code >> BigInt(2 * (other.level - level)) === code;
          const after = preorder.find((other, at) => at > preorder.indexOf(expected[i]!) && !inside(other));
          expect(node.next).toBe(after === undefined ? expected.length : expected.indexOf(after));
        }
        const listed = expected.flatMap(({ entries }) => entries);
        expect([...found.entries.polygon]).toEqual(listed.map(({ polygon }) => polygon));
        expect([...found.entries.set]).toEqual(listed.map(({ set }) => set));
        expect([...found.entries.boundary]).toEqual(listed.map(({ boundary }) => boundary));
      }),
      { numRuns: 2 * runs },
    );
  });

  test('a set in parts gives the same tree as the whole set, byte for byte', { timeout: 120_000 }, async () => {
    const cuts = fc.array(fc.nat({ max: 5 }), { maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(polygons, polygons, cuts, fc.boolean(), async (all, others, at, keepsEdges) => {
        const { context } = opened();
        const { liveBytes } = context.backend.counters;
        const quadrantsOf = (some: typeof all) =>
          decompose(context, columnsOfRings(some), { levels: LEVELS, keepsEdges });
        const other = await quadrantsOf(others);
        const whole = await quadrantsOf(all);
        const starts = [0, ...at.map((cut) => Math.min(cut, all.length)).sort((a, b) => a - b)];
        const parts = await Promise.all(
          starts.map(async (firstPolygon, part) => ({
            quadrants: await quadrantsOf(all.slice(firstPolygon, starts[part + 1])),
            firstPolygon,
          })),
        );
        const [inOne, inParts] = [
          await buildMaqTree(context, [other, whole]),
          await buildMaqTree(context, [other, parts], { frees: true }),
        ];
        expect('edges' in inParts).toBe(keepsEdges);
        expect(await readMaqTree(context, inParts)).toEqual(await readMaqTree(context, inOne));
        // The option `frees` has already freed the inputs `other` and `parts`.
        context.dispose(inOne, inParts, whole);
        expect(context.backend.counters.liveBytes).toBe(liveBytes);
      }),
      { numRuns: runs },
    );
  });

  test('a set without parts is refused', async () => {
    await expect(buildMaqTree(opened().context, [[]])).rejects.toThrow('got sets[0] without parts');
  });

  test('a tree without sets is refused', async () => {
    await expect(buildMaqTree(opened().context, [])).rejects.toThrow(ArgumentError);
  });
});
