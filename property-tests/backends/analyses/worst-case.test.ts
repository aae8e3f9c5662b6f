import { describe, expect } from 'vitest';
import { worstCase } from '../../../backends/analyses/worst-case.ts';
import { Break, Continue, For, If, Let, Var, While, WhileAtMost } from '../../../primitives/functors/control.ts';
import { array, bool, fn, i32, u32, uniform } from '../../../primitives/functors/functor.ts';
import { wgsl } from '../../../primitives/functors/text/wgsl.ts';
import type { Bool, U32 } from '../../../primitives/functors/value.ts';
import type { Module } from '../../../primitives/ir/ir.ts';
import { everything } from '../../arbitraries/functor-sketch.ts';
import { functorOfSketch } from '../../arbitraries/functor-sketch-builder.ts';
import { moduleOfSketch } from '../../arbitraries/functor-sketch-ir.ts';
import { textOfSketch } from '../../arbitraries/functor-sketch-text.ts';
import { fuzzCases } from '../../arbitraries/functors.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { type Bindings, interpret } from '../../support/ir-interpreter.ts';

/** A different cost for every kind of statement, so that a test fails if two kinds are confused. */
const weights = { let: 1, read: 3, length: 5, var: 7, set: 11, call: 13, if: 17, loop: 19, break: 23, continue: 29 };
const weigh = ({ kind }: { readonly kind: string }): number => weights[kind as keyof typeof weights] ?? 31;

/** Maximum number of statements of an evaluation. An evaluation that runs more is assumed never to end. */
const MAX_STATEMENTS = 5000;

/**
 * The total cost of the statements that an evaluation runs. Statements after the first MAX_STATEMENTS are not counted.
 */
function costOfRun(module: Module, args: readonly (number | boolean)[], bindings: Bindings = {}): number {
  let cost = 0;
  let statements = 0;
  try {
    interpret(module, args, bindings, (statement) => {
      if (++statements > MAX_STATEMENTS) throw new RangeError('long enough');
      cost += weigh(statement);
    });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  return cost;
}

type Counter = 'u32' | 'i32';

/** A counting loop: its start, its bound, and the steps of its counter, which may be anywhere in the body. */
interface CountingLoop {
  readonly type: Counter;
  readonly start: number | 'argument';
  readonly bound: number | 'argument' | 'masked';
  readonly comparison: 'lt' | 'le' | 'gt' | 'ge' | 'ne' | 'eq';
  readonly mirrored: boolean;
  readonly negated: boolean;
  readonly alone: boolean;
  /** Position of the guard (the test that ends the loop) among the steps. */
  readonly guardAt: number;
  readonly steps: readonly {
    readonly by: number;
    readonly where: 'always' | 'sometimes' | 'else too' | 'before continue';
  }[];
  /** Whether the counter keeps its value between iterations of an outer loop. */
  readonly nested: boolean;
}

const numbers = {
  u32: [0, 1, 2, 3, 7, 40, 2 ** 31, 2 ** 32 - 2, 2 ** 32 - 1],
  i32: [0, 1, -1, 2, -3, 7, 40, 2 ** 31 - 1, 2 ** 31 - 2, -(2 ** 31), 1 - 2 ** 31],
};

const countingLoop: fc.Arbitrary<CountingLoop> = fc.constantFrom<Counter>('u32', 'i32').chain((type) => {
  const number = fc.constantFrom(...numbers[type]);
  return fc.record({
    type: fc.constant(type),
    start: fc.oneof(number, fc.constant('argument' as const)),
    bound: fc.oneof(number, fc.constantFrom('argument' as const, 'masked' as const)),
    comparison: fc.constantFrom('lt', 'le', 'gt', 'ge', 'ne', 'eq'),
    mirrored: fc.boolean(),
    negated: fc.boolean(),
    alone: fc.boolean(),
    guardAt: fc.nat(2),
    steps: fc.array(
      fc.record({ by: number, where: fc.constantFrom('always', 'sometimes', 'else too', 'before continue') }),
      { maxLength: 2 },
    ),
    nested: fc.boolean(),
  });
});

function functorOfLoop(loop: CountingLoop) {
  const { type, start, bound, comparison, mirrored, negated, alone, guardAt, steps, nested } = loop;
  const scalar = (type === 'u32' ? u32 : i32) as typeof u32;
  return fn('counting', { a: scalar, b: scalar, flag: bool }, u32, ({ a, b, flag }) => {
    const rounds = Var(u32(0));
    const counter = Var(start === 'argument' ? a : scalar(start));
    const end = bound === 'argument' ? b : bound === 'masked' ? b.and(15) : scalar(bound);
    const add = (by: number): void => counter.set(counter.add(by));
    const guard = (): void => {
      const compared: Bool = mirrored ? end[comparison](counter) : counter[comparison](end);
      const goesOn = alone ? compared : compared.and(rounds.ne(12345));
      if (negated) If(goesOn.not(), () => Break());
      else If(goesOn, () => {}).Else(() => Break());
    };
    const count = (): void =>
      While(
        () => bool(true) as Bool,
        () => {
          rounds.set(rounds.add(1));
          const doStep = ({ by, where }: CountingLoop['steps'][number]): void => {
            if (where === 'always') add(by);
            else if (where === 'sometimes') If(flag, () => add(by));
            else if (where === 'else too') If(flag, () => add(by)).Else(() => add(by));
            else {
              If(flag.and(rounds.and(1).eq(0)), () => {
                add(by);
                Continue();
              });
            }
          };
          for (const [place, step] of steps.entries()) {
            if (place === guardAt) guard();
            doStep(step);
          }
          if (guardAt >= steps.length) guard();
        },
      );
    if (nested) For(0, 3, count);
    else count();
    return rounds;
  });
}

describe('the worst case of a functor', () => {
  test.prop([fuzzCases({ ...everything, boolCaptures: false }, 4)], { numRuns: caseCount(150) })(
    'is at least the cost of every run, and finite for loops that count to constants',
    ({ sketch, inputs }) => {
      for (const module of [
        moduleOfSketch(sketch),
        functorOfSketch(sketch).module,
        wgsl(textOfSketch(sketch)).module,
      ]) {
        const bound = worstCase(module, weigh);
        expect(bound).toBeLessThan(1e15);
        for (const row of inputs.rows) expect(costOfRun(module, row, inputs)).toBeLessThanOrEqual(bound);
      }
    },
  );

  test.prop([countingLoop, fc.array(fc.tuple(fc.nat(10), fc.nat(10), fc.boolean()), { minLength: 4, maxLength: 4 })], {
    numRuns: caseCount(1000),
  })('is at least the cost of every run, for any counting loop', (loop, drawn) => {
    const { module } = functorOfLoop(loop);
    const bound = worstCase(module, weigh);
    const pick = (at: number): number => numbers[loop.type][at % numbers[loop.type].length]!;
    for (const [a, b, flag] of drawn) {
      expect(costOfRun(module, [pick(a), pick(b), flag])).toBeLessThanOrEqual(bound);
    }
  });

  const max = (module: Module): number => worstCase(module, ({ kind }) => (kind === 'loop' ? 1 : 0));
  const counting = (rounds: (x: U32) => void): Module =>
    fn('f', { x: u32, xs: array(u32), n: uniform(u32) }, u32, ({ x }) => {
      rounds(x);
      return x;
    }).module;
  const nothing = (): void => {};

  test.each<[string, number, Module]>([
    ['For', 11, counting(() => For(0, 10, nothing))],
    ['For from a number', 8, counting(() => For(3, 10, nothing))],
    ['For up to a masked number', 16, counting((x) => For(0, x.and(15), nothing))],
    ['nested loops', 11 * (1 + 6), counting(() => For(0, 10, () => For(0, 5, nothing)))],
    [
      'a loop in a helper that gets the number of rounds as an argument',
      8,
      counting((x) => {
        const helper = fn('helper', { from: u32, to: u32 }, u32, ({ from, to }) => {
          For(from, to, nothing);
          return to;
        });
        helper({ from: x, to: u32(7) });
      }),
    ],
    [
      'a countdown',
      6,
      counting(() => {
        const left = Var(u32(5));
        While(
          () => left.gt(0),
          () => left.set(left.sub(1)),
        );
      }),
    ],
    [
      'While with a provable bound',
      5,
      counting((x) => {
        const left = Var(x);
        WhileAtMost(
          4,
          () => left.gt(0),
          () => left.set(left.shr(8)),
        );
      }),
    ],
    [
      'text',
      11,
      wgsl('fn f(x: u32) -> u32 { var s = x; for (var i = 0; i < 10; i++) { s += u32(i); } return s; }').module,
    ],
    [
      'a loop that returns in its first round',
      1,
      counting(() =>
        While(
          () => bool(true) as Bool,
          () => Break(),
        ),
      ),
    ],
  ])('of %s is %i rounds', (_, rounds, module) => {
    expect(max(module)).toBe(rounds);
  });

  test.each<[string, Module]>([
    ['an endless loop', counting(() => While(() => bool(true) as Bool, nothing))],
    [
      'While on data',
      counting((x) => {
        const left = Var(x);
        While(
          () => left.ne(1),
          () => left.set(left.mul(3).add(1)),
        );
      }),
    ],
    [
      'a counter that overflows before it reaches the bound',
      counting(() => {
        const i = Var(u32(0));
        While(
          () => i.le(2 ** 32 - 1),
          () => i.set(i.add(1)),
        );
      }),
    ],
    [
      'a counter that is reset',
      counting((x) => {
        const i = Var(u32(0));
        While(
          () => i.lt(9),
          () => {
            i.set(i.add(1));
            If(x.eq(7), () => i.set(u32(0)));
          },
        );
      }),
    ],
    [
      'a round that skips the step',
      counting((x) => {
        const i = Var(u32(0));
        While(
          () => i.lt(9),
          () => {
            If(x.eq(7), () => Continue());
            i.set(i.add(1));
          },
        );
      }),
    ],
    [
      'a comparison with a stale value',
      counting(() => {
        const i = Var(u32(0));
        const less = Let(i.lt(9));
        While(
          () => less,
          () => i.set(i.add(1)),
        );
      }),
    ],
  ])('of %s is unbounded', (_, module) => {
    expect(max(module)).toBe(Number.POSITIVE_INFINITY);
  });

  test.each<[string, Module]>([
    [
      'a column',
      fn('f', { x: u32 }, u32, ({ x }) => {
        For(0, x, nothing);
        return x;
      }).module,
    ],
    [
      'a captured array',
      fn('f', { xs: array(u32) }, u32, ({ xs }) => {
        For(0, xs.at(0), nothing);
        return xs.length();
      }).module,
    ],
    [
      'a uniform',
      fn('f', { n: uniform(u32) }, u32, ({ n }) => {
        For(0, n, nothing);
        return n;
      }).module,
    ],
  ])('of For up to a number from %s is unbounded', (_, module) => {
    expect(max(module)).toBe(Number.POSITIVE_INFINITY);
  });
});
