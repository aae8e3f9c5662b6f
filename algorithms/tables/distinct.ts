import type { Column } from '../../primitives/columns/column.ts';
import { copyIf } from '../../primitives/copy-if.ts';
import { u32 } from '../../primitives/functors/functor.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import type { Bool, U32 } from '../../primitives/functors/value.ts';
import { map } from '../../primitives/map.ts';
import { plus } from '../../primitives/monoid.ts';
import { reduce } from '../../primitives/reduce.ts';
import { unique } from '../../primitives/reduce-by-key.ts';
import { scatterReduce } from '../../primitives/scatter-reduce.ts';
import { fill } from '../../primitives/sequence.ts';
import { sort } from '../../primitives/sort.ts';
import type { DeviceTable } from './device-table.ts';
import { type IntegerPart, type IntegerValue, wideOf } from './integers.ts';
import { combineParts, constantPart, mapPart, type QuestionPart, viewsOf } from './part.ts';
import { bitsIn } from './selection.ts';
import { flagsOf } from './values.ts';

/** Maximum size of a range of integers for which setting a bit per integer is cheaper than a sort. */
const MAX_BITS = 2 ** 26;

/**
 * Number of different integers in the included rows. Sets a bit for each integer or, if the range of integers is too
 * large, sorts them.
 */
export async function countDistinct(
  table: DeviceTable,
  integers: IntegerPart,
  counts: QuestionPart<Bool>,
): Promise<number> {
  const { min, max } = integers.bounds;
  const { context } = table;
  const range = max - min + 1n;
  if (range > BigInt(MAX_BITS)) {
    const different = context.scope(() => unique(sort(wordsWhere(table, integers, counts))));
    const { lo } = different as { lo: Column<'u32'> };
    const count = await context.count(lo);
    context.dispose(different);
    return count;
  }
  const total = context.scope(() => {
    const words = fill(context, u32, 0, Math.ceil(Number(range) / 32));
    const base = constantPart('u32', Number(min & 0xffffffffn));
    const bits = combineParts<IntegerValue | U32 | Bool, readonly U32[]>(
      'bit',
      [integers.part, base, counts],
      (made) => {
        const [value, first, holds] = made as [IntegerValue, U32, Bool];
        const place = wideOf(value).lo.sub(first);
        return [select(u32(2 ** 32 - 1), place.shr(5), holds), u32(1).shl(place.and(31))];
      },
    );
    const [index, bit] = viewsOf(context, table.rows, ['u32', 'u32'], bits) as [Column<'u32'>, Column<'u32'>];
    scatterReduce(bit, index, 'or', words);
    return reduce(map(bitsIn, { word: words }), plus(u32), { context });
  });
  const [count] = await context.read(total);
  context.dispose(total);
  return count!;
}

/** The integers of the included rows, as low and high words. */
function wordsWhere(
  table: DeviceTable,
  { part }: IntegerPart,
  counts: QuestionPart<Bool>,
): { readonly lo: Column<'u32'>; readonly hi: Column<'u32'> } {
  const pairs = mapPart('wide', part, (value) => {
    const { lo, hi } = wideOf(value);
    return [lo, hi];
  });
  const [lo, hi] = viewsOf(table.context, table.rows, ['u32', 'u32'], pairs) as [Column<'u32'>, Column<'u32'>];
  return copyIf({ lo, hi }, flagsOf(table, counts), { context: table.context });
}
