import { describe, expect } from 'vitest';
import { explainVectorization } from '../../../backends/workers/index.ts';
import {
  array,
  crossesRightOf32,
  For,
  type FunctorDescription,
  f32,
  fn,
  If,
  mortonEncode64,
  orientation64,
  Return,
  u32,
  uniform,
  Var,
  While,
  wgsl,
} from '../../../primitives/functors/index.ts';
import { straightLine } from '../../arbitraries/functor-sketch.ts';
import { moduleOfSketch } from '../../arbitraries/functor-sketch-ir.ts';
import { sketches } from '../../arbitraries/functors.ts';
import { fc, test } from '../../law-test.ts';

const explain = ({ module }: FunctorDescription) => explainVectorization(module);

describe('explainVectorization', () => {
  test('accepts branches, early returns, calls, and reads at the index of the launch', () => {
    const straight = fn('straight', { i: u32, xs: array(u32), n: uniform(u32) }, u32, ({ i, xs, n }) => {
      const here = xs.at(i);
      If(here.eq(n), () => Return(0));
      return here.mul(xs.at(i.add(1)));
    });
    expect(explain(straight)).toEqual({ vectorizes: true });
    for (const functor of [mortonEncode64, orientation64, crossesRightOf32]) {
      expect(explain(functor)).toEqual({ vectorizes: true });
    }
  });

  test('accepts loops whose rounds, reads and divisions differ from index to index', () => {
    const root = fn('root', { i: u32, parents: array(u32) }, u32, ({ i, parents }) => {
      const at = Var(i);
      While(
        () => parents.at(at).ne(at),
        () => {
          at.set(parents.at(at));
          If(at.rem(7).eq(0), () => Return(0));
        },
      );
      return at;
    });
    expect(explain(root)).toEqual({ vectorizes: true });
  });

  test('accepts reads and divisions at indices of their own only beside many operations', () => {
    const lookup = (operations: number) =>
      fn('lookup', { i: u32, xs: array(u32) }, u32, ({ i, xs }) => {
        let sum = xs.at(xs.at(i)).div(i);
        for (let step = 0; step < operations; step++) sum = sum.mul(3);
        return sum;
      });
    expect([8, 64].map((operations) => explain(lookup(operations)).vectorizes)).toEqual([false, true]);
  });

  test.prop([sketches(straightLine)])('accepts any straight-line program', (sketch) => {
    expect(explainVectorization(moduleOfSketch(sketch))).toEqual({ vectorizes: true });
  });

  test('gives the reason for a refusal and names the functor', () => {
    const loop = fn('loop', { n: f32 }, u32, ({ n }) => {
      const sum = Var(u32(0));
      For(0, u32(n), (i) => sum.set(sum.add(i)));
      return sum;
    });
    const quotient = wgsl('fn quotient(i: u32, y: u32) -> u32 { return i / y; }');
    const lookup = fn('lookup', { i: u32, xs: array(u32) }, u32, ({ i, xs }) => xs.at(xs.at(i)));
    expect([loop, quotient, lookup].map(explain)).toEqual([
      {
        vectorizes: false,
        reason: 'The functor loop runs one index at a time: it is not a functor of the index.',
      },
      { vectorizes: false, reason: 'The functor quotient runs one index at a time: it divides integers.' },
      {
        vectorizes: false,
        reason: 'The functor lookup runs one index at a time: it reads an array at an index of its own.',
      },
    ]);
  });

  test.prop([fc.constantFrom('+', '-', '*')])('accepts a functor from WGSL text', (operator) => {
    expect(explain(wgsl(`fn f(i: u32, a: f32) -> f32 { return f32(i) ${operator} a; }`))).toEqual({ vectorizes: true });
  });
});
