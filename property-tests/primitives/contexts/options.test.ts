import { afterAll, describe, expect } from 'vitest';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { ArgumentError } from '../../../primitives/checks/errors.ts';
import { Context } from '../../../primitives/context/context.ts';
import * as q from '../../../primitives/index.ts';
import { fc, test } from '../../law-test.ts';

const { fn, neighbours, u32 } = q;
const context = new Context(createReferenceBackend());
afterAll(() => context.close());

const x = context.column(Uint32Array.of(1, 2, 4));
const flags = context.column([true, false, true]);
const counts = context.column(new Uint32Array(5));
const pair = { keys: x, values: x };
const whole = fn({ x: u32, rank: u32 }, u32, ({ x }) => x);
const counted = fn({ rank: u32 }, { bin: u32, histogram: u32 }, ({ rank }) => ({ bin: rank, histogram: 0 }));
const middle = fn({ cell: neighbours(u32) }, u32, ({ cell }) => cell.at(0));
const start = fn({ x: u32 }, { left: u32 }, ({ x }) => ({ left: x }));
const step = fn({ left: u32 }, { more: q.bool, emits: q.bool, state: { left: u32 }, value: u32 }, ({ left }) => ({
  more: false,
  emits: true,
  state: { left },
  value: left,
}));
const place = fn(
  { left: u32 },
  { more: q.bool, emits: q.bool, state: { left: u32 }, value: { index: u32, value: u32 } },
  ({ left }) => ({ more: false, emits: true, state: { left }, value: { index: left, value: 1 } }),
);

/** All calls that take options. For each call, its required options and an optional one are given. */
const calls: readonly (readonly [name: string, call: (options: never) => unknown, asked: object, option: object])[] = [
  ['sort', (options) => q.sort(x, options), {}, { descending: true }],
  ['sortByKey', (options) => q.sortByKey(x, x, options), {}, { bits: { from: 0, to: 8 } }],
  ['sortPermutation', (options) => q.sortPermutation(x, options), {}, { descending: true }],
  ['merge', (options) => q.merge(x, x, options), {}, { descending: true }],
  ['mergeByKey', (options) => q.mergeByKey(pair, pair, options), {}, { descending: true }],
  ['setUnion', (options) => q.setUnion(x, x, options), {}, { descending: true }],
  ['setDifferenceByKey', (options) => q.setDifferenceByKey(pair, x, options), {}, { descending: true }],
  ['lowerBound', (options) => q.lowerBound(x, x, options), {}, { descending: true }],
  ['upperBound', (options) => q.upperBound(x, x, options), {}, { descending: true }],
  ['selectKth', (options) => q.selectKth(x, 1, options), {}, { descending: true }],
  ['quantiles', (options) => q.quantiles(x, [0.5], options), {}, { descending: true }],
  ['histogram', (options) => q.histogram(x, 5, options), {}, { segment: 2 }],
  [
    'rankHistogram',
    (options) => q.rankHistogram({ active: flags }, counted, options),
    { ranks: 2, bins: 2, histograms: 1 },
    { captures: {} },
  ],
  ['scatter', (options) => q.scatter(x, x, 5, options), {}, { onto: x }],
  ['scatterIf', (options) => q.scatterIf(x, x, flags, 5, options), {}, { onto: x }],
  ['expand', (options) => q.expand({ x }, 2, whole, options), { capacity: 9 }, { captures: {} }],
  ['unfold', (options) => q.unfold({ x }, start, step, options), { capacity: 9 }, { captures: {} }],
  ['unfoldReduce', (options) => q.unfoldReduce({ x }, start, place, 'add', counts, options), {}, { captures: {} }],
  ['stencil', (options) => q.stencil(middle, { cell: x }, options), {}, { width: 3, boundary: 'wrap' }],
  [
    'monoid',
    q.monoid,
    { of: u32, identity: 0, combine: ({ a, b }: { a: q.U32; b: q.U32 }) => a.add(b) },
    { name: 'sum' },
  ],
];

describe.each(calls)('%s', (name, call, asked, option) => {
  test('accepts its options', () => {
    context.scope(() => expect(() => call({ ...asked, ...option } as never)).not.toThrow());
  });

  test.prop([fc.string({ unit: fc.constantFrom(...'desc_ZX7'), minLength: 1 }), fc.anything()])(
    'refuses unknown options of any value',
    (other, value) => {
      expect(() => call({ ...asked, ...option, [other]: value } as never)).toThrow(
        expect.objectContaining({
          code: 'options/unknown',
          got: other,
          expected: expect.stringMatching(/^\w+(, \w+)*$/),
        }),
      );
    },
  );

  test.each([null, true, 7, 'descending', [1]])('refuses %j instead of options', (given) => {
    expect(() => call(given as never)).toThrow(ArgumentError);
    expect(() => call(given as never)).toThrow(expect.objectContaining({ code: 'options/none' }));
    expect(() => call(given as never)).toThrow(name);
  });
});
