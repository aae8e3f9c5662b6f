import { describe, expect, test } from 'vitest';
import * as q from '../../primitives/index.ts';
import { testLaws } from '../backends.ts';
import { crossReduceLaws } from '../laws/cross-reduce.ts';
import { expectRefusal, openReference } from '../support/reference-context.ts';

const { f32, fn, u32 } = q;

testLaws(crossReduceLaws);

describe('crossReduce', () => {
  const context = openReference();
  const column = (...values: number[]) => context.column(Float32Array.from(values));
  const step = fn({ sum: f32, a: f32, b: f32 }, f32, ({ sum, a, b }) => sum.add(a.mul(b)));
  const value = fn({ sum: f32 }, f32, ({ sum }) => sum);
  const contraction = { start: 0, step, value };
  const vectors = (dimensions: number, ...values: number[]) => ({ elements: column(...values), dimensions });

  test('computes a matrix product', async () => {
    const a = { a: vectors(2, 1, 2, 3, 4) };
    const b = { b: vectors(2, 5, 7, 6, 8) };
    const product = q.crossReduce(a, b, contraction, q.plus(f32), { run: 1 });
    expect(await context.read(product)).toEqual(Float32Array.of(19, 43, 22, 50));
  });

  test('refuses sides that do not match', () => {
    const refuse = (code: string, call: () => unknown) => expectRefusal(context, code, call);
    const [a, b] = [{ a: vectors(2, 1, 2) }, { b: vectors(2, 1, 2) }];
    const [flat, odd, none] = [{ b: vectors(1, 1, 2) }, { b: vectors(2, 1, 2, 3) }, { b: vectors(0, 1) }];
    const two = { ...b, c: column(1, 2) };
    refuse('cross-reduce/side', () => q.crossReduce(a, a, contraction, q.plus(f32)));
    refuse('cross-reduce/side', () => q.crossReduce({}, b, contraction, q.plus(f32)));
    refuse('cross-reduce/vectors', () => q.crossReduce(a, flat, contraction, q.plus(f32)));
    refuse('cross-reduce/vectors', () => q.crossReduce(a, odd, contraction, q.plus(f32)));
    refuse('cross-reduce/vectors', () => q.crossReduce(a, none, contraction, q.plus(f32)));
    refuse('cross-reduce/run', () => q.crossReduce(a, b, contraction, q.plus(f32), { run: 0 }));
    refuse('cross-reduce/value', () => q.crossReduce(a, b, contraction, q.plus(u32) as never));
    const other = fn({ sum: f32, c: f32 }, f32, ({ sum, c }) => sum.add(c));
    refuse('cross-reduce/step', () => q.crossReduce(a, b, { start: 0, step: other, value }, q.plus(f32)));
    refuse('cross-reduce/value', () => q.crossReduce(a, b, { start: 0, step, value: other }, q.plus(f32)));
    refuse('column/lengths', () => q.crossReduce(a, two, contraction, q.plus(f32)));
  });
});
