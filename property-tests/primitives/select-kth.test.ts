import { expect, test } from 'vitest';
import * as q from '../../primitives/index.ts';
import { testLaws } from '../backends.ts';
import { selectKthLaws } from '../laws/select-kth.ts';
import { expectRefusal, openReference } from '../support/reference-context.ts';

testLaws(selectKthLaws);

test('refuses places out of range and invalid fractions', () => {
  const context = openReference();
  const [keys, none] = [context.column(Uint32Array.of(5, 6)), context.column(new Uint32Array())];
  for (const k of [2, -1, 0.5, Number.NaN]) expectRefusal(context, 'select/place', () => q.selectKth(keys, k));
  expectRefusal(context, 'select/place', () => q.selectKth(none, 0));
  expectRefusal(context, 'column/type', () => q.selectKth(keys, q.constant(q.i32, 1, 1) as never));
  expectRefusal(context, 'sort/keys', () => q.selectKth(q.constant(q.bool, true, 1) as never, keys));
  for (const f of [1.1, -0.1, Number.NaN]) expectRefusal(context, 'select/fraction', () => q.quantiles(keys, [f]));
});

test.each([1, 7, 10, 100, 101, 1000])(
  'fractions of whole places select exactly those places among %d rows',
  async (last) => {
    const context = openReference();
    const rows = q.sequence(last + 1);
    const fractions = Array.from({ length: last + 1 }, (_, place) => place / last);
    expect(await context.read(q.quantiles(context.materialize(rows), fractions))).toEqual(await context.read(rows));
  },
);

test('nothing is read back before the result', async () => {
  const context = openReference();
  const { readbacks } = context.backend.counters;
  const odd = q.copyIf(context.column(Uint32Array.of(9, 4, 7, 1)), context.column([true, false, true, true]));
  const median = q.quantiles(odd, [0.5]);
  expect(context.backend.counters.readbacks).toBe(readbacks);
  expect(await context.read(median)).toEqual(Uint32Array.of(7));
});

test('keys of more kinds and lengths than the cache of prepared selections holds leak nothing', async () => {
  const context = openReference();
  for (let power = 0; power <= 12; power++) {
    for (const make of [Uint32Array, Int32Array, Float32Array, Uint8Array]) {
      for (const descending of [false, true]) {
        const keys = new make(Array.from({ length: 2 ** power }, (_, i) => (i * 37) % 101));
        const [column, k] = [context.column(keys), (power * 11) % keys.length];
        const found = q.selectKth(column as q.Column<'u32'>, k, { descending });
        const sorted = [...keys].sort((a, b) => (descending ? b - a : a - b));
        expect([...(await context.read(found))]).toEqual([sorted[k]]);
        context.dispose(column, found);
        expect(context.backend.counters.liveBuffers).toBe(0);
      }
    }
  }
});
