import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createReferenceBackend } from '../../../backends/reference/backend.ts';
import { createWorkersBackend } from '../../../backends/workers/index.ts';
import type { Backend } from '../../../primitives/contract/backend.ts';
import { array, type FunctorDescription, fn, u32, uniform } from '../../../primitives/functors/functor.ts';
import type { U32 } from '../../../primitives/functors/value.ts';
import { caseCount } from '../../cases.ts';
import { bind, randomWords, upload } from '../../support/workers-programs.ts';

/**
 * The backends on which these tests run. The tests are about reads of elements at a fixed offset from the index, and of
 * elements in descending order. Except near the ends of the array, workers read these elements for four indices at a time.
 */

let backends: readonly Backend[];
beforeAll(async () => {
  backends = [
    createReferenceBackend(),
    await createWorkersBackend({ workers: 1, inlineNanoseconds: Number.POSITIVE_INFINITY }),
    await createWorkersBackend({ workers: 2, inlineNanoseconds: 0 }),
  ];
});
afterAll(async () => {
  for (const backend of backends) await backend.close();
});

const ways = ['add', 'sub', 'lower', 'from'] as const;

/** A change of the index: an increase, a decrease, a decrease to at least 0, or what is left of a number. */
const step = fc.record({
  way: fc.constantFrom(...ways),
  by: fc.oneof(
    fc.nat(9),
    fc.nat(300),
    fc.constantFrom(2 ** 31 - 1, 2 ** 31, 2 ** 31 + 3, 2 ** 32 - 300, 2 ** 32 - 3, 2 ** 32 - 1),
  ),
  isUniform: fc.boolean(),
});
const path = fc.array(step, { minLength: 1, maxLength: 4 });
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

function readAlong(steps: readonly Step[]): FunctorDescription {
  const uniforms = Object.fromEntries(steps.map((_, i) => [`k${i}`, uniform(u32)]));
  return fn('readAlong', { i: u32, xs: array(u32), ...uniforms }, u32, ({ i, xs, ...given }) => {
    const place = steps.reduce((at, { way, by, isUniform }, s) => {
      const k = isUniform ? (given as { [name: string]: U32 })[`k${s}`]! : u32(by);
      if (way === 'from') return k.sub(at);
      return way === 'lower' ? at.sub(at.min(k)) : at[way](k);
    }, i as U32);
    return (xs as { at(index: U32): U32 }).at(place);
  });
}

function placeOf(steps: readonly Step[], i: number): number {
  const next = (at: number, { way, by }: Step): number =>
    way === 'from' ? by - at : way === 'add' ? at + by : way === 'sub' ? at - by : at - Math.min(at, by);
  return steps.reduce((at, each) => next(at, each) >>> 0, i);
}

describe('a read at an index moved by additions, subtractions and clamps', () => {
  test('returns the element of the array, and zero past its end', async () => {
    const property = fc.asyncProperty(
      path,
      fc.constantFrom(1, 4, 17, 64, 300),
      fc.constantFrom('u32', 'u16', 'u8'),
      async (steps, rows, storage) => {
        const functor = readAlong(steps);
        const words = randomWords(300, rows);
        const length = 290;
        const elements = { u32: words, u16: new Uint16Array(words.buffer), u8: new Uint8Array(words.buffer) }[storage]!;
        const element = (at: number): number => (at < length ? elements[at]! : 0);
        const uniforms = Object.fromEntries(steps.map(({ by }, i) => [`k${i}`, by]));
        const expected = Uint32Array.from({ length: rows }, (_, i) => element(placeOf(steps, i)));
        for (const backend of backends) {
          const out = upload(backend, new Uint32Array(rows));
          const program = bind(backend, functor.module, { xs: { words, storage, length } }, uniforms);
          backend.run({
            kind: 'forEach',
            extent: rows,
            program,
            stores: [{ buffer: out, offset: 0, capacity: rows, value: 0 }],
          });
          const got = await backend.read(out, 0, rows);
          for (const { buffer } of [...program.arrays.values(), { buffer: out }]) backend.release(buffer);
          expect([backend.name, got]).toEqual([backend.name, expected]);
        }
      },
    );
    const isFrom = (by: number, isUniform = true): Step => ({ way: 'from', by, isUniform });
    const isLowered = (by: number, isUniform = false): Step => ({ way: 'lower', by, isUniform });
    await fc.assert(property, {
      numRuns: caseCount(400),
      examples: [
        ...[0, 2, 288, 289, 290, 299, 305, 2 ** 32 - 1].map((by): [Step[], number, string] => [
          [isFrom(by)],
          300,
          'u32',
        ]),
        [[isFrom(295, false)], 300, 'u8'],
        [[isFrom(280, false), { way: 'sub', by: 3, isUniform: true }], 300, 'u16'],
        [[isFrom(900), isFrom(1000)], 300, 'u32'],
        [[isFrom(299), isLowered(7)], 300, 'u32'],
        [[isLowered(7), isFrom(299)], 300, 'u32'],
        [[isLowered(5), { way: 'add', by: 3, isUniform: false }], 300, 'u32'],
        [[isLowered(2 ** 32 - 1, true)], 300, 'u32'],
        [[{ way: 'add', by: 5, isUniform: true }, isLowered(2 ** 32 - 3, true)], 300, 'u32'],
      ],
    });
  });
});
