import fc from 'fast-check';
import { columnsOf, type Table } from '../../primitives/columns/column.ts';
import { copyIf, partition, removeIf } from '../../primitives/copy-if.ts';
import { bool, f32, fn, i32, u32 } from '../../primitives/functors/functor.ts';
import { rowsOf } from '../arbitraries/columns.ts';
import { present, presentation } from '../arbitraries/presentations.ts';
import { assertSameBytes } from './compare.ts';
import { type Law, law } from './law.ts';
import { take } from './rows.ts';

const rows = rowsOf({ flag: 'bool', number: 'u32', float: 'f32', byte: 'i8' });
/** Rows without subnormal floats, because comparisons on a device may treat these as zero. */
const comparable = rowsOf({ flag: 'bool', number: 'u32', float: 'normal', byte: 'i8' });

/** The indices of the rows whose flag equals `wanted`. */
function where(flags: readonly boolean[], wanted: boolean): number[] {
  return flags.map((_, i) => i).filter((i) => flags[i] === wanted);
}

const isOdd = fn({ number: u32 }, bool, ({ number }) => number.and(1).eq(1));
const isNegative = fn({ x: i32 }, bool, ({ x }) => x.lt(0));
const isPositive = fn({ x: f32 }, bool, ({ x }) => x.gt(0));

export const copyIfLaws: readonly Law[] = [
  law('copyIf keeps the flagged rows, removeIf the others', [rows, presentation], async (run, host, how) => {
    const result = await run((context) => {
      const table = present(context, host, how);
      return { kept: copyIf(table, table.flag), removed: removeIf(table, table.flag) };
    });
    const expected = { kept: take(host, where(host.flag, true)), removed: take(host, where(host.flag, false)) };
    assertSameBytes(result, expected, 'rows', true);
  }),
  law('partition equals copyIf and removeIf', [rows, presentation], async (run, host, how) => {
    const result = await run((context) => {
      const table = present(context, host, how);
      return partition(table, table.flag);
    });
    const expected = { selected: take(host, where(host.flag, true)), rejected: take(host, where(host.flag, false)) };
    assertSameBytes(result, expected, 'rows', true);
  }),
  law('a predicate can be a functor of a row or of a column', [comparable, presentation], async (run, host, how) => {
    const result = await run((context) => {
      const table = present(context, host, how);
      return {
        odd: copyIf(table, isOdd),
        negative: copyIf(table.byte, isNegative),
        positive: partition(table.float, isPositive),
      };
    });
    const indices = host.flag.map((_, i) => i);
    const positive = (i: number): boolean => host.float[i]! > 0;
    const expected = {
      odd: take(
        host,
        indices.filter((i) => host.number[i]! % 2 === 1),
      ),
      negative: take(
        host,
        indices.filter((i) => host.byte[i]! < 0),
      ).byte!,
      positive: {
        selected: take(host, indices.filter(positive)).float!,
        rejected: take(
          host,
          indices.filter((i) => !positive(i)),
        ).float!,
      },
    };
    assertSameBytes(result, expected, 'rows', true);
  }),
  law(
    'a capacity for the rows that there are changes nothing',
    [rows, presentation, fc.nat(3)],
    async (run, host, how, spare) => {
      const [some, others] = [where(host.flag, true), where(host.flag, false)];
      const capacity = { selected: some.length + spare, rejected: others.length };
      const rooms = (table: Table): number[] => columnsOf(table).map((column) => column.capacity);
      const result = await run((context) => {
        const table = present(context, host, how);
        const kept = copyIf(table, table.flag, { capacity: capacity.selected });
        const parts = partition(table, table.flag, { capacity });
        if ([...rooms(kept), ...rooms(parts.selected)].some((room) => room > capacity.selected)) {
          throw new Error('The result has more room than its capacity.');
        }
        return { kept, removed: removeIf(table, table.flag, { capacity: capacity.rejected }), parts };
      });
      const expected = { kept: take(host, some), removed: take(host, others) };
      assertSameBytes(
        result,
        { ...expected, parts: { selected: expected.kept, rejected: expected.removed } },
        'rows',
        true,
      );
    },
  ),
  law('copyIf is idempotent', [rows, presentation], async (run, host, how) => {
    const result = await run((context) => {
      const table = present(context, host, how);
      const once = copyIf(table, table.flag);
      return { once, twice: copyIf(once, once.flag), none: removeIf(once, once.flag) };
    });
    assertSameBytes(result.twice, result.once, 'twice');
    assertSameBytes(result.none, take(host, []), 'none');
  }),
];
