import { expect } from 'vitest';
import { Context } from '../../../primitives/context/context.ts';
import type { ArrayBinding, DeviceBuffer, Program, Store } from '../../../primitives/contract/backend.ts';
import { array, bool, f32, fn, u32, uniform } from '../../../primitives/functors/functor.ts';
import type { ArrayValue, Value } from '../../../primitives/functors/value.ts';
import type { Module } from '../../../primitives/ir/ir.ts';
import { unfold } from '../../../primitives/unfold.ts';
import { costlyCaseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { assertSameBytes } from '../../laws/compare.ts';
import { openReference } from '../../support/reference-context.ts';
import {
  bindingOf,
  describeConfigurations,
  edgeSizes,
  expectAgreement,
  randomFloats,
  randomWords,
  slow,
  upload,
} from '../../support/webgpu-support.ts';

/**
 * Starts a walk of up to six steps; most rows have fewer steps or none. Every step changes `left`, `word` and `sum`.
 * The state `odd` says whether the index of the row is odd, and never changes.
 */
const start = fn(
  { i: u32, seeds: array(u32), mirror: uniform(u32) },
  { more: bool, left: u32, word: u32, sum: f32, odd: bool },
  ({ i, seeds, mirror }) => {
    const left = seeds.at(i).shr(7).rem(7);
    return { more: left.gt(0), left, word: seeds.at(mirror.sub(i)), sum: 0.5, odd: i.and(1).eq(1) };
  },
);
const step = fn(
  { i: u32, left: u32, word: u32, sum: f32, odd: bool, table: array(f32), seeds: array(u32) },
  { more: bool, left: u32, word: u32, sum: f32, ended: bool, place: u32, bin: u32, drawn: u32 },
  ({ i, left, word, sum, odd, table, seeds }) => {
    const next = word.mul(1664525).add(1013904223);
    const rest = left.sub(1);
    return {
      more: rest.gt(0),
      left: rest,
      word: next,
      sum: sum.add(table.at(next.shr(20).rem(u32(700)))),
      ended: rest.eq(0).and(odd),
      place: i.mul(6).add(rest),
      bin: next.shr(9).rem(40),
      drawn: seeds.at(next.rem(900)),
    };
  },
);

const programOf = (
  module: Module,
  arrays: { readonly [name: string]: ArrayBinding } = {},
  uniforms: { readonly [name: string]: number } = {},
): Program => ({ module, arrays: new Map(Object.entries(arrays)), uniforms: new Map(Object.entries(uniforms)) });

/** Names of captured columns: two more than a device can bind at once. */
const names = Array.from({ length: 10 }, (_, k) => `a${k}`);
const columns = Object.fromEntries(names.map((name) => [name, array(u32)]));

/** A number that depends on element `at` of all captured columns. */
function mixed(given: object, at: Value<'u32'>): Value<'u32'> {
  const arrays = given as { readonly [name: string]: ArrayValue<'u32'> };
  return names.reduce((sum, name) => sum.mul(3).add(arrays[name]!.at(at)), u32(1));
}

describeConfigurations((backend) => {
  test(
    'walks store in every way, for row counts known to the device',
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.constantFrom(...edgeSizes), fc.option(fc.nat(5)), fc.nat(9), async (n, less, offset) => {
          await expectAgreement(backend(), async (one, keep) => {
            const seeds = bindingOf(keep(upload(one, randomWords(n + 3))), n, 'u32', 2);
            const table = bindingOf(keep(upload(one, randomFloats(650))), 650, 'f32');
            const count = keep(upload(one, Uint32Array.of(n)));
            // Makes a buffer in which every word is 77. Even a buffer for no words has one word, which is filled too.
            const blank = (words: number): DeviceBuffer =>
              keep(upload(one, new Uint32Array(Math.max(1, words)).fill(77)));
            const [own, placed, bins] = [blank(2 * n + offset), blank(6 * n + offset), blank(80)];
            const stores: Store[] = [
              { buffer: own, offset, capacity: n, value: 3 },
              { buffer: own, offset: n + offset, capacity: n, value: 2, guard: 4 },
              { buffer: placed, offset, capacity: Math.max(0, 6 * n - 4), value: 7, index: 5 },
              { buffer: bins, offset: 3, capacity: 39, value: 7, index: 6, combine: 'xor' },
              { buffer: bins, offset: 44, capacity: 30, value: 2, index: 6, guard: 4, combine: 'max' },
            ];
            one.run({
              kind: 'walk',
              extent: less === null ? n : { buffer: count, word: 0, minus: less, limit: n },
              start: programOf(start.module, { seeds }, { mirror: n - 1 }),
              step: programOf(step.module, { table, seeds }),
              changing: 3,
              stores,
            });
            return Promise.all([own, placed, bins].map((buffer) => one.read(buffer, 0, buffer.words)));
          });
        }),
        { numRuns: costlyCaseCount(12) },
      );
    },
    slow,
  );

  test('walks read a buffer that they write elsewhere, and take as many dispatches as necessary', async () => {
    const n = 20_100;
    const twoSteps = fn({ i: u32, a: array(u32) }, { more: bool, left: u32, word: u32 }, ({ i, a }) => ({
      more: true,
      left: 1,
      word: a.at(i),
    }));
    const add = fn({ i: u32, left: u32, word: u32, a: array(u32) }, { more: bool, left: u32, word: u32 }, (row) => ({
      more: row.left.gt(0),
      left: row.left.sub(1),
      word: row.word.mul(5).add(row.a.at(row.i)),
    }));
    await expectAgreement(backend(), async (one, keep) => {
      const buffer = keep(upload(one, randomWords(2 * n)));
      const a = bindingOf(buffer, n);
      one.run({
        kind: 'walk',
        extent: n,
        start: programOf(twoSteps.module, { a }),
        step: programOf(add.module, { a }),
        changing: 2,
        stores: [{ buffer, offset: n, capacity: n, value: 2 }],
      });
      return [await one.read(buffer, 0, 2 * n)];
    });
  });

  test('both functors can read, and store, more columns than the device binds at once', async () => {
    const n = 1100;
    const first = fn({ i: u32, ...columns }, { more: bool, left: u32, word: u32 }, ({ i, ...given }) => ({
      more: true,
      left: i.rem(3),
      word: mixed(given, i),
    }));
    const results = Object.fromEntries(names.map((name) => [name, u32]));
    const next = fn(
      { i: u32, left: u32, word: u32, ...columns },
      { more: bool, left: u32, word: u32, ...results },
      ({ i, left, word, ...given }) => {
        const drawn = word.xor(mixed(given, i));
        return {
          more: left.gt(0),
          left: left.sub(1),
          word: drawn,
          ...Object.fromEntries(names.map((name, k) => [name, drawn.mul(k + 3)])),
        };
      },
    );
    await expectAgreement(backend(), async (one, keep) => {
      const arrays = Object.fromEntries(
        names.map((name, k) => [name, bindingOf(keep(upload(one, randomWords(n + k, k + 1))), n, 'u32', k)]),
      );
      const buffers = names.map(() => keep(upload(one, new Uint32Array(n))));
      one.run({
        kind: 'walk',
        extent: n,
        start: programOf(first.module, arrays),
        step: programOf(next.module, arrays),
        changing: 2,
        stores: buffers.map((buffer, k) => ({ buffer, offset: 0, capacity: n, value: 3 + k })),
      });
      return Promise.all(buffers.map((buffer) => one.read(buffer, 0, n)));
    });
  });

  test(
    'unfold makes several columns of more rows than one binding holds',
    async () => {
      const rows = 3000;
      const pair = fn(
        { seed: u32, byte: u32, word: u32 },
        {
          more: bool,
          emits: bool,
          state: { word: u32 },
          value: { seed: u32, byte: u32, word: u32, high: u32, float: f32 },
        },
        ({ seed, byte, word }) => {
          const next = word.mul(1664525).add(1013904223);
          return {
            more: next.shr(12).rem(4).gt(0),
            emits: next.shr(24).rem(3).gt(0),
            state: { word: next },
            value: { seed, byte, word, high: next.shr(16), float: f32(next.shr(8)) },
          };
        },
      );
      const from = fn({ seed: u32 }, { word: u32 }, ({ seed }) => ({ word: seed }));
      const made = [new Context(backend()), openReference()].map(async (context) => {
        const table = {
          seed: context.column(randomWords(rows)),
          byte: context.column(Uint8Array.from(randomWords(rows, 2))),
        };
        const result = await unfold(table, from, pair);
        const host = await context.read(result);
        context.dispose(table, result);
        return host;
      });
      const [got, expected] = await Promise.all(made);
      expect(expected!.seed.length).toBeGreaterThan(2 * rows);
      assertSameBytes(got!, expected!, 'rows');
    },
    slow,
  );
});
