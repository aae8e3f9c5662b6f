import { u32 } from './functors/functor.ts';
import type { Shape } from './functors/shapes.ts';
import { select, type ValueTree } from './functors/standard/choose.ts';
import type { U32 } from './functors/value.ts';
import { memoized } from './ir/memo.ts';
import { type AnyMonoid, type Monoid, monoid } from './monoid.ts';

/**
 * Returns a monoid over pairs: the number of runs (groups of consecutive rows) that have started, and the value of the
 * latest run. If a run starts in the right operand, the result has the value of the right operand; otherwise `inner`
 * combines the values of both operands.
 */
export const combinedByRun: (inner: Monoid<Shape>) => AnyMonoid = memoized((inner) => {
  type Operand = { readonly runs: U32; readonly value: ValueTree };
  const combine = inner.combine as never as (operands: { readonly a: ValueTree; readonly b: ValueTree }) => ValueTree;
  return monoid({
    of: { runs: u32, value: inner.shape } as Shape,
    identity: { runs: 0, value: inner.identity } as never,
    combine: (({ a, b }: { readonly a: Operand; readonly b: Operand }) => ({
      runs: a.runs.add(b.runs),
      value: select(combine({ a: a.value, b: b.value }), b.value, b.runs.ne(0)),
    })) as never,
    exact: inner.exact,
    name: 'byRun',
  });
});
