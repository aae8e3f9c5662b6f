import { describe, expect } from 'vitest';
import { FunctorError } from '../../../primitives/checks/errors.ts';
import {
  add64,
  array,
  type Bool,
  Break,
  bool,
  byComponent,
  Continue,
  type F32,
  For,
  f32,
  fn,
  If,
  i32,
  Let,
  Return,
  select,
  type U32,
  u32,
  u64,
  uniform,
  Var,
  While,
} from '../../../primitives/functors/index.ts';
import { evaluate } from '../../../primitives/ir/evaluate.ts';
import { entryOf } from '../../../primitives/ir/ir.ts';
import { monoid } from '../../../primitives/monoid.ts';
import { reduce } from '../../../primitives/reduce.ts';
import { sequence } from '../../../primitives/sequence.ts';
import { integer32, word } from '../../arbitraries/integers.ts';
import { fc, test } from '../../law-test.ts';
import { interpretFunctor } from '../../support/ir-interpreter.ts';

describe('fn', () => {
  test.prop([word, word])('computes by the rules of the operations', (x, y) => {
    const mixed = fn({ x: u32, y: u32 }, { sum: u32, less: bool, part: f32 }, (v) => ({
      sum: v.x.add(v.y).mul(3),
      less: v.x.lt(v.y),
      part: f32(v.x).div(2),
    }));
    expect(interpretFunctor(mixed, { x, y })).toEqual({
      sum: evaluate('mul', 'u32', 'u32', [(x + y) >>> 0, 3]),
      less: x < y,
      part: evaluate('div', 'f32', 'f32', [Math.fround(x), 2]),
    });
  });

  test.prop([integer32, fc.boolean()])('accepts and returns records, nested to any depth', (x, flip) => {
    const shape = { a: { b: i32, c: bool }, d: i32 };
    const turn = fn({ v: shape, flip: bool }, shape, ({ v, flip: f }) => ({
      d: v.a.b,
      a: { c: v.a.c.xor(f), b: v.d },
    }));
    const v = { a: { b: x, c: true }, d: 7 };
    expect(interpretFunctor(turn, { v, flip })).toEqual({ a: { b: 7, c: !flip }, d: x });
  });

  test.prop([fc.integer({ min: 0, max: 30 })])('has If, ElseIf, Else, For, While, Break, Continue and Return', (n) => {
    const odd = fn({ n: u32 }, u32, ({ n: end }) => {
      const sum = Var(u32(0));
      If(end.gt(25), () => Return(999));
      For(0, end, (i) => {
        If(i.and(1).eq(0), () => Continue());
        If(i.gt(15), () => Break());
        sum.set(sum.add(i));
      });
      const left = Var(sum);
      While(
        () => left.gt(10),
        () => left.set(left.sub(10)),
      );
      If(left.eq(0), () => left.set(100))
        .ElseIf(
          () => left.eq(1),
          () => left.set(200),
        )
        .Else(() => left.set(left.add(sum)));
      return left;
    });
    let sum = 0;
    for (let i = 1; i < Math.min(n, 16); i += 2) sum += i;
    let left = sum;
    while (left > 10) left -= 10;
    const result = left === 0 ? 100 : left === 1 ? 200 : left + sum;
    expect(interpretFunctor(odd, { n })).toBe(n > 25 ? 999 : result);
  });

  test('evaluates the end of a For once, and its index cannot be set', () => {
    const rounds = fn({ n: u32 }, u32, ({ n }) => {
      const end = Var(n);
      const count = Var(u32(0));
      For(0, end, () => {
        end.set(0);
        count.set(count.add(1));
      });
      return count;
    });
    expect(interpretFunctor(rounds, { n: 5 })).toBe(5);
  });

  test('Let keeps the current value of a variable, a plain name reads its later value', () => {
    const both = fn({ x: u32 }, { kept: u32, seen: u32 }, ({ x }) => {
      const v = Var(x);
      const kept = Let(v);
      const seen = v;
      v.set(v.add(1));
      return { kept, seen };
    });
    expect(interpretFunctor(both, { x: 4 })).toEqual({ kept: 4, seen: 5 });
  });

  test.prop([word, word])('a variable that passes a conversion to its own type is still a variable', (x, later) => {
    const f = fn({ x: u32, later: u32 }, { old: u32, part: u32, rounds: u32, a: u32, b: u32 }, (given) => {
      const v = Var(given.x.and(7));
      const real = Var({ x: f32(given.x.and(7)) });
      const [old, part] = [Let(u32(v)), Let(byComponent((x) => f32(x), { x: real.x }).x)];
      const rounds = Var(u32(0));
      For(0, u32(v), () => {
        rounds.set(rounds.add(1));
        v.set(v.min(1));
      });
      v.set(given.later);
      real.x.set(0);
      const pair = Var({ a: old, b: given.later });
      pair.set({ a: u32(pair.b), b: u32(pair.a) });
      return { old, part: u32(part), rounds, a: pair.a, b: pair.b };
    });
    const low = x & 7;
    expect(interpretFunctor(f, { x, later })).toEqual({ old: low, part: low, rounds: low, a: later, b: low });
  });

  test('reads of captured arrays out of range give zero', () => {
    const at = fn({ i: u32, xs: array(f32), n: uniform(u32) }, f32, ({ i, xs, n }) =>
      xs.at(i.add(n)).add(f32(xs.length())),
    );
    const bindings = { arrays: { xs: [10, 20] }, uniforms: { n: 1 } };
    expect([0, 1, 0xffffffff].map((i) => interpretFunctor(at, { i }, bindings))).toEqual([22, 2, 12]);
  });

  test('inlines plain helpers that take bodies', () => {
    const forEachPair = (n: U32, body: (i: U32, j: U32) => void): void =>
      For(0, n, (i) => For(i.add(1), n, (j) => body(i, j)));
    const pairs = fn({ n: u32 }, u32, ({ n }) => {
      const count = Var(u32(0));
      forEachPair(n, (i, j) => count.set(count.add(j.sub(i))));
      return count;
    });
    expect(interpretFunctor(pairs, { n: 4 })).toBe(10);
  });

  test('calls other functors with arrays and uniforms of other names', () => {
    const pick = fn('pick', { i: u32, from: array(u32), plus: uniform(u32) }, u32, ({ i, from, plus }) =>
      from.at(i).add(plus),
    );
    const both = fn({ i: u32, a: array(u32), b: array(u32), k: uniform(u32) }, u32, ({ i, a, b, k }) =>
      pick({ i, from: a, plus: k })
        .mul(100)
        .add(pick({ i, from: b, plus: 3 })),
    );
    const bindings = { arrays: { a: [1, 2], b: [5, 6] }, uniforms: { k: 7 } };
    expect(interpretFunctor(both, { i: 1 }, bindings)).toBe(909);
  });

  test('links a functor shared by several callees once', () => {
    const leaf = fn('leaf', { x: u32 }, u32, ({ x }) => x.mul(x));
    const left = fn('left', { x: u32 }, u32, ({ x }) => leaf({ x }).add(1));
    const right = fn('right', { x: u32 }, u32, ({ x }) => leaf({ x: leaf({ x }) }));
    const top = fn('top', { x: u32 }, u32, ({ x }) => left({ x }).add(right({ x })));
    expect(top.module.functions).toHaveLength(4);
    expect(interpretFunctor(top, { x: 3 })).toBe(91);
  });

  test('keeps functors of the same name separate', () => {
    const same = (k: number) => fn('same', { x: u32 }, u32, ({ x }) => x.add(k));
    const [one, two] = [same(1), same(2)];
    const top = fn('same', { x: u32 }, u32, ({ x }) => one({ x }).mul(two({ x })));
    expect(interpretFunctor(top, { x: 3 })).toBe(20);
    const names = top.module.functions.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  test('folds expressions of only literals', () => {
    const constant = fn({}, u32, () =>
      u32(6)
        .mul(7)
        .add(u32(f32(0.5).mul(4))),
    );
    expect(entryOf(constant.module).body.map(({ kind }) => kind)).toEqual(['return']);
    expect(interpretFunctor(constant, {})).toBe(44);
  });

  test('distinguishes calls that differ only in the bits of a literal uniform', () => {
    const over = fn('over', { x: f32, by: uniform(f32) }, f32, ({ x, by }) => x.div(by));
    const min = fn('min', { x: f32, top: uniform(f32) }, f32, ({ x, top }) => x.min(top));
    const zeros = fn('zeros', { x: f32 }, { a: f32, b: f32 }, ({ x }) => ({
      a: over({ x, by: f32(0) }),
      b: over({ x, by: f32(-0) }),
    }));
    const bounds = fn('bounds', { x: f32 }, { a: f32, b: f32 }, ({ x }) => ({
      a: min({ x, top: f32(Infinity) }),
      b: min({ x, top: f32(-Infinity) }),
    }));
    expect(interpretFunctor(zeros, { x: 1 })).toEqual({ a: Infinity, b: -Infinity });
    expect(interpretFunctor(bounds, { x: 5 })).toEqual({ a: 5, b: -Infinity });
  });

  test('marks fast functors', () => {
    const quick = fn('quick', { x: f32 }, f32, ({ x }) => x.div(3), { fast: true });
    const caller = fn('caller', { x: f32 }, f32, ({ x }) => quick({ x }).add(1));
    expect(caller.module.functions.map(({ fast }) => fast)).toEqual([true, false]);
  });
});

/** The number of the line after the line that calls this function. The mistake is in that next line. */
const nextLine = (): number => Number(/:(\d+):\d+\)?$/.exec(new Error().stack!.split('\n')[2]!)![1]) + 1;

function errorOf(functor: { readonly module: unknown }): FunctorError {
  try {
    void functor.module;
  } catch (error) {
    if (error instanceof FunctorError) return error;
    throw error;
  }
  throw new Error('no error');
}

describe('mistakes that tsc cannot detect are reported with the line of the author', () => {
  let line = 0;
  const x: Record<string, () => { readonly module: unknown }> = {
    'functor/javascript-operator: a sum': () =>
      fn({ x: u32 }, u32, (v) => {
        line = nextLine();
        return u32((v.x as unknown as number) + 1);
      }),
    'functor/javascript-operator: a comparison': () =>
      fn({ x: u32 }, u32, (v) => {
        line = nextLine();
        return u32((v.x as unknown as number) > 1);
      }),
    'functor/javascript-operator: a template string': () =>
      fn({ x: u32 }, u32, (v) => {
        line = nextLine();
        return u32(Number(`${v.x as unknown as string}`));
      }),
    'functor/unused-condition: a JavaScript if': () =>
      fn({ x: u32 }, u32, (v) => {
        line = nextLine();
        if (v.x.gt(3)) return u32(1);
        return v.x;
      }),
    'functor/unused-condition: a JavaScript and': () =>
      fn({ x: u32 }, u32, (v) => {
        line = nextLine();
        return select(u32(0), 1, v.x.gt(1) && v.x.lt(5));
      }),
    'functor/unused-condition: a JavaScript conditional': () =>
      fn({ x: u32 }, u32, (v) => {
        line = nextLine();
        return v.x.eq(1) ? v.x : u32(2);
      }),
    'functor/outside-loop: a Break': () =>
      fn({ x: u32 }, u32, (v) => {
        line = nextLine();
        Break();
        return v.x;
      }),
    'functor/outside-loop: a Continue in a branch': () =>
      fn({ x: u32 }, u32, (v) => {
        line = nextLine();
        If(v.x.eq(1), () => Continue());
        return v.x;
      }),
    'functor/outside-loop: a Break after a loop': () =>
      fn({ x: u32 }, u32, (v) => {
        For(0, v.x, () => Break());
        line = nextLine();
        Break();
        return v.x;
      }),
    'functor/type: a value of another type': () =>
      fn({ x: u32, a: f32 }, u32, (v) => {
        line = nextLine();
        return v.x.add(v.a as unknown as U32);
      }),
    'functor/type: a sum of bools': () =>
      fn({ b: bool }, bool, (v) => {
        line = nextLine();
        return (v.b as unknown as U32).add(true as unknown as number) as unknown as Bool;
      }),
    'functor/type: nothing for a value': () =>
      fn({ x: u32 }, u32, (v) => {
        line = nextLine();
        return v.x.add(undefined as unknown as number);
      }),
    'functor/type: an index of f32': () =>
      fn({ a: f32, xs: array(u32) }, u32, (v) => {
        line = nextLine();
        return v.xs.at(v.a as unknown as U32);
      }),
    'functor/type: a scalar for an array': () => {
      const callee = fn('callee', { xs: array(u32) }, u32, ({ xs }) => xs.at(0));
      return fn({ x: u32 }, u32, (v) => {
        line = nextLine();
        return callee({ xs: v.x as never });
      });
    },
    'functor/type: a value for a uniform': () => {
      const callee = fn('callee', { n: uniform(u32) }, u32, ({ n }) => n);
      return fn({ x: u32 }, u32, (v) => {
        line = nextLine();
        return callee({ n: v.x });
      });
    },
    'functor/literal: a fraction as u32': () =>
      fn({ x: u32 }, u32, (v) => {
        line = nextLine();
        return v.x.add(1.5);
      }),
    'functor/literal: a number beyond 32 bits': () =>
      fn({ x: u32 }, u32, () => {
        line = nextLine();
        return u32(2 ** 32);
      }),
    'functor/missing-field: a record without a field': () =>
      fn({ x: u32 }, u32, (v) => {
        line = nextLine();
        return add64({ a: { lo: v.x } as never, b: { lo: 1, hi: 0 } }).lo;
      }),
    'functor/out-of-scope: a value of a block that has ended': () =>
      fn({ x: u32 }, u32, (v) => {
        let inner: U32 | undefined;
        If(v.x.gt(3), () => {
          inner = v.x.add(1);
        });
        line = nextLine();
        return v.x.add(inner!);
      }),
    'functor/out-of-scope: a variable of a block that has ended': () =>
      fn({ x: u32 }, u32, (v) => {
        const variables: { set(value: number): void }[] = [];
        For(0, v.x, (i) => variables.push(Var(i)));
        line = nextLine();
        variables[0]!.set(1);
        return v.x;
      }),
    'functor/out-of-scope: a value of another functor': () =>
      fn({ x: u32 }, u32, (v) => {
        const inner = fn({ y: u32 }, u32, ({ y }) => {
          line = nextLine();
          return y.add(v.x);
        });
        return inner({ y: 1 });
      }),
    'functor/else-apart: an Else that does not follow its If': () =>
      fn({ x: u32 }, u32, (v) => {
        const result = Var(u32(0));
        const otherwise = If(v.x.eq(1), () => result.set(1));
        const later = v.x.add(5);
        line = nextLine();
        otherwise.Else(() => result.set(later));
        return result;
      }),
    'functor/recursion: a functor that calls itself': () => {
      const self: { (args: { x: U32 }): U32; readonly module: unknown } = fn('self', { x: u32 }, u32, (v) => {
        line = nextLine();
        return self({ x: v.x.sub(1) });
      });
      return self;
    },
  };

  test.each(Object.entries(x))('%s', (name, make) => {
    const error = errorOf(make());
    expect(error.code).toBe(name.split(':')[0]);
    expect(`${error.place?.file}:${error.place?.line}`).toMatch(new RegExp(`functor-builder\\.test\\.ts:${line}$`));
    expect(error.message).toContain(`functor-builder.test.ts:${line}:`);
  });

  test('a functor that can end without a value', () => {
    line = nextLine();
    const broken = fn('broken', { x: u32 }, u32, ({ x: v }) => {
      If(v.eq(1), () => Return(2));
    });
    expect(errorOf(broken).code).toBe('functor/no-return');
    expect(errorOf(broken).message).toContain(`functor-builder.test.ts:${line}:`);
    expect(errorOf(broken).message).toContain('broken');
  });

  test('a result of another type than the functor declares', () => {
    line = nextLine();
    const incomplete = fn('incomplete', { x: u32 }, u64, ({ x: v }) => ({ lo: v }) as never);
    expect(errorOf(incomplete).code).toBe('functor/missing-field');
    expect(errorOf(incomplete).message).toContain(`functor-builder.test.ts:${line}:`);
    line = nextLine();
    const other = fn('other', { x: u32 }, f32, ({ x: v }) => v as never);
    expect(errorOf(other).code).toBe('functor/type');
    expect(errorOf(other).message).toContain(`functor-builder.test.ts:${line}:`);
  });

  test('an identity that is not a value of its monoid', () => {
    line = nextLine();
    const use = () => reduce(sequence(3), monoid({ of: u32, identity: 0.5, combine: ({ a }) => a }));
    expect(use).toThrow(`functor-builder.test.ts:${line}:`);
  });

  test('an operation outside of a functor', () => {
    let leaked: F32 | undefined;
    void fn({ x: f32 }, f32, (v) => {
      leaked = v.x;
      return v.x;
    }).module;
    line = nextLine();
    const use = () => leaked!.add(1);
    expect(use).toThrow(FunctorError);
    expect(use).toThrow(`functor-builder.test.ts:${line}:`);
  });

  test('a comparison that is returned or stored is not reported as unused', () => {
    const kept = fn({ x: u32 }, { a: bool, b: bool }, ({ x: v }) => ({ a: v.gt(1), b: Var(v.eq(2)) }));
    expect(interpretFunctor(kept, { x: 2 })).toEqual({ a: true, b: true });
  });

  test('a body that throws does not affect the next functor', () => {
    const bad = fn({ x: u32 }, u32, () => {
      throw new RangeError('mine');
    });
    expect(() => bad.module).toThrow('mine');
    const low = fn({ x: u64 }, u32, ({ x: v }) => v.lo);
    expect(interpretFunctor(low, { x: { lo: 3, hi: 4 } })).toBe(3);
  });
});
