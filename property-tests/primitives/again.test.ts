import { expect, test } from 'vitest';
import * as q from '../../primitives/index.ts';
import { testLaws } from '../backends.ts';
import { againLaws } from '../laws/again.ts';
import { openReference } from '../support/reference-context.ts';

testLaws(againLaws);

test('calls of the same functors are distinguished by which of them reads which', async () => {
  const context = openReference();
  const twice = q.fn('twice', { x: q.u32 }, q.u32, ({ x }) => x.mul(2));
  const weigh = q.fn('weigh', { x: q.u32, y: q.u32, z: q.u32 }, q.u32, ({ x, y, z }) =>
    x.add(y.mul(10)).add(z.mul(100)),
  );
  const [one, two] = [1, 2].map((word) => q.map(twice, { x: context.column(Uint32Array.of(word)) })) as [
    q.Column<'u32'>,
    q.Column<'u32'>,
  ];
  const weighed = (of: q.Column<'u32'>): q.Column<'u32'> =>
    q.map(weigh, { x: one, y: two, z: q.map(twice, { x: of }) });
  expect(await context.read(weighed(one))).toEqual(Uint32Array.of(442));
  expect(await context.read(weighed(two))).toEqual(Uint32Array.of(842));
});
