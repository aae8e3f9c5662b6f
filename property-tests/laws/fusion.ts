import { fn, u32 } from '../../primitives/functors/functor.ts';
import { gather } from '../../primitives/gather.ts';
import { map } from '../../primitives/map.ts';
import { plus } from '../../primitives/monoid.ts';
import { reduce } from '../../primitives/reduce.ts';
import { rowsOf } from '../arbitraries/columns.ts';
import { present, presentation } from '../arbitraries/presentations.ts';
import { assertSame } from './compare.ts';
import { type Law, law } from './law.ts';
import { rowsIn } from './rows.ts';

const combine = fn('combine', { x: u32, y: u32 }, u32, ({ x, y }) => x.mul(y).add(1));

export const fusionLaws: readonly Law[] = [
  law(
    'a chain of views reduces to what it does written out step by step',
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
