import { type Column, columnsOf, commonLength, type Table } from './columns/column.ts';
import { contextOf } from './columns/current-context.ts';
import type { Loader } from './columns/program.ts';
import { computedColumn } from './columns/views.ts';
import { wordsOf } from './columns/words.ts';
import { u32 } from './functors/functor.ts';
import type { Shape } from './functors/shapes.ts';
import { select, type ValueTree } from './functors/standard/choose.ts';
import type { Bool, U32, Value } from './functors/value.ts';
import type { ScalarType } from './ir/ir.ts';
import { memoized } from './ir/memo.ts';
import { type AnyMonoid, type Monoid, monoid } from './monoid.ts';

/**
 * Marks where runs of equal keys start: true for row 0 and for every row whose key differs from that of the previous
 * row. The keys are a column or a record of columns; f32 keys are compared by their bits. Returns a view.
 *
 * - Work O(n), span O(1), per use of the view. Deterministic. An empty input gives an empty view. Accepts device counts
 *   (lengths that only the device knows).
 * - Equivalent loop: `for (let i = 0; i < n; i++) out[i] = i === 0 || keys[i] !== keys[i - 1]`.
 *
 * @example
 * await ctx.read(runHeads(ctx.column(Uint32Array.of(4, 4, 2)))); // Uint8Array [1, 0, 1]
 */
export function runHeads(keys: Table): Column<'bool'> {
  return headsOf('runHeads', keys);
}

/** Like {@link runHeads}, for use in another primitive. Error messages name that primitive. */
export function headsOf(primitive: string, keys: Table): Column<'bool'> {
  const words = columnsOf(keys, primitive, 'keys').map(wordsOf);
  const length = commonLength(words, primitive);
  const rows = { context: contextOf(words, primitive), length };
  const key = { by: [headsOf], columns: words };
  return computedColumn('runHeads', 'bool', rows, key, (index, loader) => startsRun(words, index, loader));
}

/** Whether row `index` is the first row of a run of equal keys. */
export function startsRun(keys: readonly Column[], index: U32, loader: Loader): Bool {
  const before = index.sub(index.min(1));
  return index.eq(0).or(differ(loader.load(keys, before), loader.load(keys, index)));
}

/** Whether row `index` is the last row of a run of equal keys, in a table of the given length. */
export function endsRun(keys: readonly Column[], length: Column['length'], index: U32, loader: Loader): Bool {
  const after = index.add(1);
  const next = loader.loadWithin(keys, after, length);
  return after.ge(loader.length(length)).or(differ(loader.load(keys, index), next));
}

function differ(left: readonly Value<ScalarType>[], right: readonly Value<ScalarType>[]): Bool {
  return left.map((value, leaf) => value.ne(right[leaf]!)).reduce((some, one) => some.or(one));
}

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
