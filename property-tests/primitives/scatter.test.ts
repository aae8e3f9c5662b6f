import { test } from 'vitest';
import * as q from '../../primitives/index.ts';
import { testLaws } from '../backends.ts';
import { scatterLaws } from '../laws/scatter.ts';
import { expectRefusal, openReference } from '../support/reference-context.ts';

testLaws(scatterLaws);

test('refuses to scatter onto columns other than those of the rows', () => {
  const context = openReference();
  const rows = context.column(Uint32Array.of(1, 2));
  const onto = context.column(Float32Array.of(1, 2));
  expectRefusal(context, 'scatter/onto', () => q.scatter(rows, q.sequence(2), 2, { onto }));
  expectRefusal(context, 'scatter/onto', () => q.scatter(rows, q.sequence(2), 2, { onto: { rows, onto } }));
});

test('refuses to combine into a view, a packed column, or a column that the rows are read from', () => {
  const context = openReference();
  const rows = context.column(Uint32Array.of(1, 2));
  const packed = context.column(Uint8Array.of(1, 2));
  expectRefusal(context, 'column/not-writable', () => q.scatterReduce(rows, q.sequence(2), 'add', q.reverse(rows)));
  expectRefusal(context, 'column/not-writable', () => q.scatterReduce(rows, q.sequence(2), 'add', packed));
  expectRefusal(context, 'scatter/onto', () => q.scatterReduce<q.WordTable>(rows, q.sequence(2), 'add', { rows }));
  expectRefusal(context, 'scatter/aliased', () => q.scatterReduce(q.reverse(rows), q.sequence(2), 'add', rows));
  const one = context.column(Uint32Array.of(0, 0));
  const twice = { a: q.reverse(rows), b: q.reverse(rows) };
  expectRefusal(context, 'scatter/aliased', () => q.scatterReduce(twice, q.sequence(2), 'add', { a: one, b: one }));
});
