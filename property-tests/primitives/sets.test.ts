import { expect, test } from 'vitest';
import * as q from '../../primitives/index.ts';
import { onEveryBackend, testLaws, testLawsInWalks } from '../backends.ts';
import { setLaws } from '../laws/sets.ts';
import { expectRefusal, openReference } from '../support/reference-context.ts';

testLaws(setLaws);

testLawsInWalks(setLaws, [1, 3, 100]);

onEveryBackend((opened) => {
  test('counts every row of tables whose lengths are around the edges of parts', async () => {
    const { context } = opened();
    for (const [a, b] of [
      [1024, 1024],
      [2047, 1],
      [2048, 2048],
      [2049, 2047],
      [4096, 0],
      [0, 2048],
    ] as const) {
      const rows = (length: number, step: number): Uint32Array => Uint32Array.from({ length }, (_, i) => i * step);
      const [first, second] = [context.column(rows(a, 2)), context.column(rows(b, 3))];
      const both = rows(a, 2).filter((key) => key % 3 === 0 && key < 3 * b).length;
      const counts = [
        q.setUnion(first, second),
        q.setIntersection(first, second),
        q.setDifference(first, second),
        q.setSymmetricDifference(first, second),
      ].map((kept) => context.count(kept));
      expect(await Promise.all(counts)).toEqual([a + b - both, both, a - both, a + b - 2 * both]);
    }
  });
});

test('refuses tables with different columns, and more rows than a column can have', () => {
  const context = openReference();
  const [keys, floats] = [context.column(Uint32Array.of(1)), context.column(Float32Array.of(1))];
  for (const operation of [q.setUnion, q.setIntersection, q.setDifference, q.setSymmetricDifference]) {
    expectRefusal(context, 'merge/columns', () => operation<q.SortKeys>(keys, floats));
    expectRefusal(context, 'merge/columns', () => operation<q.SortKeys>(keys, { lo: keys, hi: keys }));
    expectRefusal(context, 'column/size', () => operation(keys, q.sequence(2 ** 32 - 1)));
    expectRefusal(context, 'column/size', () => operation(keys, keys, { capacity: -1 }));
  }
  for (const operation of [q.setUnionByKey, q.setSymmetricDifferenceByKey]) {
    expectRefusal(context, 'merge/columns', () =>
      operation<typeof keys, q.Table>({ keys, values: keys }, { keys, values: floats }),
    );
    expectRefusal(context, 'column/length', () => operation({ keys, values: q.sequence(2) }, { keys, values: keys }));
  }
  for (const operation of [q.setIntersectionByKey, q.setDifferenceByKey]) {
    expectRefusal(context, 'merge/columns', () => operation<q.SortKeys, q.Table>({ keys, values: keys }, floats));
    expectRefusal(context, 'column/length', () => operation({ keys, values: q.sequence(2) }, keys));
  }
});

test('a capacity bounds the rows, and what does not fit is told', async () => {
  const context = openReference();
  const [a, b] = [context.column(Uint32Array.of(1, 2, 2, 3)), context.column(Uint32Array.of(2, 4))];
  expect(await context.read(q.setUnion(a, b, { capacity: 5 }))).toEqual(Uint32Array.of(1, 2, 2, 3, 4));
  await expect(context.read(q.setUnion(a, b, { capacity: 4 }))).rejects.toMatchObject({ code: 'capacity/outgrown' });
  expect(q.setDifference(a, b, { capacity: 3 }).capacity).toBe(3);
  expect([q.setIntersection(a, b), q.setDifference(a, b), q.setUnion(a, b)].map(({ capacity }) => capacity)).toEqual([
    2, 4, 6,
  ]);
});
