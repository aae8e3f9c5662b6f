import { test } from 'vitest';
import * as q from '../../primitives/index.ts';
import { testLaws } from '../backends.ts';
import { sortLaws } from '../laws/sort.ts';
import { expectRefusal, openReference } from '../support/reference-context.ts';

testLaws(sortLaws);

test.each([
  { from: -1, to: 8 },
  { from: 0, to: 33 },
  { from: 9, to: 8 },
  { from: 0.5, to: 8 },
])('refuses %o as bits of a key', (bits) => {
  const context = openReference();
  const keys = context.column(Uint32Array.of(2, 1));
  expectRefusal(context, 'sort/bits', () => q.sort(keys, { bits }));
  expectRefusal(context, 'sort/bits', () => q.sortByKey(keys, { keys }, { bits }));
});

test('refuses bits beyond those of 64-bit keys, and columns that cannot be keys', () => {
  const context = openReference();
  const keys = context.column(Uint32Array.of(2, 1));
  expectRefusal(context, 'sort/bits', () => q.sort({ lo: keys, hi: keys }, { bits: { from: 0, to: 65 } }));
  const signed = context.column(Int32Array.of(2, 1));
  const flags = context.column([true, false]);
  for (const wrong of [{ low: keys }, { lo: keys, hi: signed }, flags, Uint32Array.of(2, 1), undefined]) {
    expectRefusal(context, 'sort/keys', () => q.sort(wrong as never));
  }
});
