import { describe, expect, test } from 'vitest';
import { Break, For, If, Let, Return, Var, While } from '../primitives/functors/control.ts';
import { array, bool, f32, fn, i32, u32, uniform } from '../primitives/functors/functor.ts';
import { entryOf, type Module, type Operand, type Statement } from '../primitives/functors/ir.ts';
import { simplify } from '../primitives/functors/simplify.ts';
import { select } from '../primitives/functors/standard/choose.ts';

const body = (module: Module): readonly Statement[] => entryOf(simplify(module)).body;
const kinds = (module: Module): string[] => body(module).map(({ kind }) => kind);

/** What a function that only returns gives back: locals as their place among the parameters. */
function returned(module: Module): (string | number | boolean)[] {
  const { parameters } = entryOf(module);
  const statements = body(module);
  expect(kinds(module)).toEqual(['return']);
  const { values } = statements[0] as Statement & { kind: 'return' };
  const show = (value: Operand): string | number | boolean =>
    value.kind === 'literal'
      ? value.value
      : value.kind === 'uniform'
        ? value.name
        : `#${parameters.findIndex(({ id }) => id === value.id)}`;
  return values.map(show);
}

describe('simplify', () => {
  test('applies the identities that are exact', () => {
    const integer = fn({ x: u32, s: i32 }, { a: u32, b: u32, c: u32, d: u32, e: i32, f: u32 }, ({ x, s }) => ({
      a: x.add(0).mul(1).or(0).shr(32),
      b: x.sub(x),
      c: x.and(0xffffffff).xor(0).div(0),
      d: x.rem(1),
      e: s.neg().neg().and(-1),
      f: x.not().not().min(x),
    }));
    expect(returned(integer.module)).toEqual(['#0', 0, '#0', 0, '#1', '#0']);
  });

  test('keeps x + 0, 0 − x and 0 · x of f32, whose zeros have signs', () => {
    const float = fn({ x: f32 }, { a: f32, b: f32, c: f32 }, ({ x }) => ({
      a: x.add(0),
      b: f32(0).sub(x),
      c: x.mul(0),
    }));
    expect(kinds(float.module)).toEqual(['let', 'let', 'let', 'return']);
    const exact = fn({ x: f32 }, { a: f32, b: f32 }, ({ x }) => ({
      a: x.sub(0).add(-0).mul(1).div(1),
      b: x.neg().neg(),
    }));
    expect(returned(exact.module)).toEqual(['#0', '#0']);
  });

  test('decides logic and selections', () => {
    const logic = fn({ p: bool, x: u32 }, { a: bool, b: bool, c: u32, d: bool, e: bool }, ({ p, x }) => ({
      a: p.and(true).or(false).xor(false).eq(true),
      b: p.not().not().and(p),
      c: select(x, x, p),
      d: select(bool(false), true, p),
      e: x.lt(0).or(x.ge(0)),
    }));
    expect(returned(logic.module)).toEqual(['#0', '#0', '#1', '#0', true]);
  });

  test('takes the branch that a literal decides and drops what follows a jump', () => {
    const branch = fn({ x: u32 }, u32, ({ x }) => {
      const v = Var(u32(3));
      If(v.lt(4), () => Return(x)).Else(() => Return(9));
      return v.mul(x);
    });
    expect(returned(branch.module)).toEqual(['#0']);
  });

  test('drops variables, reads, lengths, calls and loops that no result depends on, and what only they used', () => {
    const helper = fn('helper', { x: u32 }, u32, ({ x }) => x.mul(x));
    const wasteful = fn({ x: u32, xs: array(u32), n: uniform(u32) }, u32, ({ x, xs, n }) => {
      const sum = Var(u32(0));
      For(0, n, (i) => {
        sum.set(sum.add(xs.at(i)).add(xs.length()));
        If(sum.gt(100), () => Break());
      });
      helper({ x: sum });
      return x;
    });
    expect(returned(wasteful.module)).toEqual(['#0']);
    const slim = simplify(wasteful.module);
    expect([slim.functions.length, slim.arrays.size, slim.uniforms.size]).toEqual([1, 0, 0]);
    expect([wasteful.module.functions.length, wasteful.module.arrays.size, wasteful.module.uniforms.size]).toEqual([
      2, 1, 1,
    ]);
  });

  test('keeps loops that decide whether a return is reached', () => {
    const search = fn({ xs: array(u32), n: uniform(u32) }, u32, ({ xs, n }) => {
      For(0, n, (i) => {
        If(xs.at(i).eq(7), () => Return(i));
      });
      return n;
    });
    expect(kinds(search.module)).toEqual(['var', 'loop', 'return']);
  });

  test('keeps a copy of a variable that is set after it was copied', () => {
    const swap = fn({ x: u32, y: u32 }, { a: u32, b: u32 }, ({ x, y }) => {
      const a = Var(x);
      const b = Var(y);
      While(
        () => a.gt(b),
        () => {
          const old = Let(a);
          a.set(b);
          b.set(old);
        },
      );
      return { a, b };
    });
    const text = JSON.stringify(body(swap.module));
    expect(text).toBe(JSON.stringify(entryOf(swap.module).body));
  });

  test('gives a simplified module back as it is', () => {
    const slim = simplify(fn({ x: u32 }, u32, ({ x }) => x.add(1)).module);
    expect(simplify(slim)).toBe(slim);
  });
});
