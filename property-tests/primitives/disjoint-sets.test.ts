import { test } from 'vitest';
import * as q from '../../primitives/index.ts';
import { backendsWithout, testLaws } from '../backends.ts';
import { disjointSetsLaws } from '../laws/disjoint-sets.ts';
import { expectRefusal, openReference } from '../support/reference-context.ts';

testLaws(disjointSetsLaws);
testLaws(disjointSetsLaws, backendsWithout('unite'));

test('refuses columns of other types and lengths', () => {
  const context = openReference();
  const [a, b] = [context.column(Uint32Array.of(1, 2)), context.column(Uint32Array.of(0, 1))];
  const floats = context.column(Float32Array.of(1, 2)) as never;
  const shorter = context.column(Uint32Array.of(1));
  expectRefusal(context, 'column/type', () => q.disjointSets({ a: floats, b }, 3));
  expectRefusal(context, 'column/type', () => q.disjointSets({ a, b }, 2, { links: floats }));
  expectRefusal(context, 'column/length', () => q.disjointSets({ a, b: shorter }, 3));
  expectRefusal(context, 'column/length', () => q.disjointSets({ a, b }, 3, { links: a }));
  expectRefusal(context, 'column/size', () => q.disjointSets({ a, b }, -1));
});
