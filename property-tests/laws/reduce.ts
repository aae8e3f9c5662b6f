import { all, any, count } from '../../primitives/count.ts';
import { reduce } from '../../primitives/reduce.ts';
import { inclusiveScan } from '../../primitives/scan.ts';
import { fewRows, rowsOf } from '../arbitraries/columns.ts';
import { exactMonoids, inexactMonoids, rowsForAny } from '../arbitraries/monoids.ts';
import { present, presentation } from '../arbitraries/presentations.ts';
import { canonicalTotal } from './canonical-tree.ts';
import { assertSame, type HostTable } from './compare.ts';
import { type Law, law } from './law.ts';
import { inputOf, leavesOf, rowsIn, tableOf } from './rows.ts';

export const reduceLaws: readonly Law[] = [
  law(
    'reductions of exact monoids equal a plain loop',
    [rowsForAny(exactMonoids), presentation],
    async (run, { sample, rows }, how) => {
      const total = leavesOf(rows).reduce(sample.combine, sample.identity);
      const result = await run((context) => reduce(inputOf(sample, present(context, rows, how)), sample.monoid));
      assertSame(result as HostTable, tableOf(sample, [total]));
    },
  ),
  law(
    'reductions of inexact monoids follow the canonical tree',
    [rowsForAny(inexactMonoids, fewRows), presentation],
    async (run, { sample, rows }, how) => {
      const total = canonicalTotal(leavesOf(rows), sample.combine) ?? sample.identity;
      const result = await run((context) => reduce(inputOf(sample, present(context, rows, how)), sample.monoid));
      assertSame(result as HostTable, tableOf(sample, [total]));
    },
  ),
  law(
    'a reduction equals the last inclusive prefix',
    [rowsForAny(exactMonoids), presentation],
    async (run, { sample, rows }, how) => {
      const { total, prefixes } = (await run((context) => {
        const input = inputOf(sample, present(context, rows, how));
        return { total: reduce(input, sample.monoid), prefixes: inclusiveScan(input, sample.monoid) };
      })) as { total: HostTable; prefixes: HostTable };
      if (rowsIn(rows) > 0) assertSame(total, lastRow(prefixes));
    },
  ),
  law(
    'count, all and any equal those of arrays',
    [rowsOf({ flag: 'bool' }), presentation],
    async (run, { flag }, how) => {
      const result = await run((context) => {
        const table = present(context, { flag }, how);
        return { count: count(table, table.flag), all: all(table, table.flag), any: any(table, table.flag) };
      });
      assertSame(result, {
        count: Uint32Array.of(flag.filter((set) => set).length),
        all: Uint8Array.of(Number(flag.every((set) => set))),
        any: Uint8Array.of(Number(flag.some((set) => set))),
      });
    },
  ),
];

function lastRow(table: HostTable): HostTable {
  if (ArrayBuffer.isView(table)) return (table as unknown as Uint32Array).slice(-1);
  return Object.fromEntries(Object.entries(table).map(([name, field]) => [name, lastRow(field)]));
}
