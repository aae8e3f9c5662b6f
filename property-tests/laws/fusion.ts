import fc from 'fast-check';
import { adjacentDifference } from '../../primitives/adjacent-difference.ts';
import type { Column } from '../../primitives/columns/column.ts';
import { f32, fn, u32, uniform } from '../../primitives/functors/functor.ts';
import { neighbours } from '../../primitives/functors/neighbours.ts';
import { gather } from '../../primitives/gather.ts';
import { map } from '../../primitives/map.ts';
import { plus } from '../../primitives/monoid.ts';
import { reduce } from '../../primitives/reduce.ts';
import { reverse, slice } from '../../primitives/slice.ts';
import { stencil } from '../../primitives/stencil.ts';
import { rowsOf } from '../arbitraries/columns.ts';
import { present, presentation } from '../arbitraries/presentations.ts';
import { assertSame } from './compare.ts';
import { type Law, law } from './law.ts';
import { rowsIn } from './rows.ts';

const combine = fn('combine', { x: u32, y: u32 }, u32, ({ x, y }) => x.mul(y).add(1));

/**
 * A step that derives a column from two earlier columns. `kind` is the operation; `a` and `b` select the two columns.
 */
export const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('map', 'mixed', 'f32', 'stencil', 'gather', 'reverse', 'slice', 'difference', 'zip'),
  a: fc.nat({ max: 30 }),
  b: fc.nat({ max: 30 }),
});

export interface Step {
  readonly kind: 'map' | 'mixed' | 'f32' | 'stencil' | 'gather' | 'reverse' | 'slice' | 'difference' | 'zip';
  readonly a: number;
  readonly b: number;
}

type Words = Column<'u32'>;

const hash = fn('hash', { x: u32 }, u32, ({ x }) => x.xor(x.shr(7)).mul(0x9e3779b1));
const mixed = fn('mixed', { x: u32, y: u32 }, { sum: u32, min: u32 }, ({ x, y }) => ({
  sum: x.add(y),
  min: x.min(y),
}));
const floats = fn('floats', { x: u32, y: u32 }, u32, ({ x, y }) => {
  const [a, b] = [f32(x.shr(8)), f32(y.shr(8))];
  return u32(a.mul(b).add(a).div(b.add(1)));
});
const around = fn('around', { x: neighbours(u32), y: u32 }, u32, ({ x, y }) =>
  [-2, -1, 1, 2].reduce((sum, dx) => sum.add(x.at(dx)), y),
);
const within = fn('within', { x: u32, rows: uniform(u32) }, u32, ({ x, rows }) => x.rem(rows.max(1)));

/** The view that a step makes; it has as many rows as its operands. */
function viewOf({ kind }: Step, x: Words, y: Words): Words {
  const rows = x.capacity + 1;
  switch (kind) {
    case 'map':
      return map(hash, { x });
    case 'mixed':
      return map(combine, { x, y });
    case 'f32':
      return map(floats, { x, y });
    case 'stencil':
      return stencil(around, { x, y });
    case 'gather':
      return gather(x, map(within, { x: y, rows }));
    case 'reverse':
      return reverse(x);
    case 'slice':
      return gather(slice(x, 1), map(within, { x: y, rows }));
    case 'difference':
      return adjacentDifference(x);
    default: {
      const { sum, min } = map(mixed, { x, y });
      return map(combine, { x: sum, y: min });
    }
  }
}

/**
 * Carries out all steps. Each step takes its operands from the last four columns: `first` and the results of earlier
 * steps. Returns all columns.
 */
export function takeSteps(first: Words, steps: readonly Step[], finish: (view: Words) => Words): Words[] {
  const columns = [first];
  for (const each of steps) {
    const pick = (number: number): Words => columns[Math.max(0, columns.length - 1 - (number % 4))]!;
    columns.push(finish(viewOf(each, pick(each.a), pick(each.b))));
  }
  return columns;
}

export const fusionLaws: readonly Law[] = [
  law(
    'nested views equal the same steps each materialized, and leak nothing',
    [rowsOf({ a: 'u32' }), presentation, fc.array(step, { minLength: 6, maxLength: 30 })],
    async (run, { a }, how, steps) => {
      const { last, sum, plain, plainSum } = await run((context) => {
        const first = present(context, { a }, how).a;
        const lazy = takeSteps(first, steps, (view) => view).at(-1)!;
        const stepwise = takeSteps(first, steps, (view) => context.materialize(view)).at(-1)!;
        const total = (column: Words): Words => reduce(column, plus(u32));
        return { last: lazy, sum: total(lazy), plain: stepwise, plainSum: total(stepwise) };
      });
      assertSame({ last, sum }, { last: plain, sum: plainSum });
    },
  ),
  law(
    'a reduction of chained views equals the same steps each materialized',
    [rowsOf({ a: 'u32', idx: 'u32' }), presentation, rowsOf({ b: 'u32' }), presentation],
    async (run, { a, idx }, how, { b }, otherHow) => {
      const within = idx.map((word) => word % (rowsIn({ b }) + 1));
      const result = await run((context) => {
        const rows = present(context, { a, idx: within }, how);
        const other = present(context, { b }, otherHow).b;
        const fused = reduce(map(combine, { x: rows.a, y: gather(other, rows.idx) }), plus(u32));
        const gathered = context.materialize(gather(other, rows.idx));
        const combined = context.materialize(map(combine, { x: context.materialize(rows.a), y: gathered }));
        return { fused, stepwise: reduce(combined, plus(u32)) };
      });
      const total = a.reduce((sum, x, i) => (sum + Math.imul(x, b[within[i]!] ?? 0) + 1) >>> 0, 0);
      assertSame(result, { fused: Uint32Array.of(total), stepwise: Uint32Array.of(total) });
    },
  ),
];
