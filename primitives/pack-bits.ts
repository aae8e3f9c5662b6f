import { wrongArgument } from './checks/arguments.ts';
import { type Column, type ColumnOwner, requireType } from './columns/column.ts';
import { destination, extentOf, fuse, programOf, storeRows } from './columns/program.ts';
import { fuseColumns } from './columns/views.ts';
import { type CapacityOption, expectRows, withCapacity } from './context/capacity-option.ts';
import { type ContextOption, inContext, requireContext } from './context/context-option.ts';
import { u32 } from './functors/functor.ts';
import { ctz, popcount } from './functors/standard/bits.ts';
import type { Bool, U32 } from './functors/value.ts';
import { plus } from './monoid.ts';
import { countIn, fusedScan } from './scan.ts';
import { constant } from './sequence.ts';

/**
 * Packs flags into the bits of 32-bit words: flag i becomes bit `i % 32` of word `i >> 5`. Bits after the last flag are
 * 0.
 *
 * - Work O(n), span O(1). Deterministic. An empty input gives no words. If only the device knows the number of flags,
 *   the number of words follows from the capacity of `flags`.
 * - Equivalent loop: `for (let i = 0; i < n; i++) if (flags[i]) words[i >> 5] |= 1 << (i % 32)`.
 *
 * @example
 * await ctx.read(packBits(ctx.column([true, false, true]))); // Uint32Array [5]
 */
export function packBits(flags: Column<'bool'>, options?: ContextOption): Column<'u32'> {
  return inContext('packBits', options, () => {
    requireType(flags, ['bool'], 'flags', 'packBits');
    const context = requireContext([flags], 'packBits');
    return context.scope(() => {
      const words = context.stored('u32', Math.ceil(flags.capacity / 32));
      storeBits(context, flags, words);
      return words;
    });
  });
}

/** Stores flags as the bits of words, of which there are enough. */
export function storeBits(context: ColumnOwner, flags: Column<'bool'>, words: Column<'u32'>): void {
  storeRows(context, words.length, fuseColumns('fill', [constant(u32, 0, words.length)]), [
    { ...destination(words), value: 0 },
  ]);
  const bits = fuse(
    'packBits',
    [],
    ['bool', 'u32', 'u32'],
    (index, _, loader) => [...loader.load([flags], index), index.shr(5), bitOf(index)],
    { by: [packBits], columns: [flags] },
  );
  // Flags that belong to the same word may be evaluated in parallel, so the OR must be atomic.
  const store = { ...destination(words), guard: 0, index: 1, value: 2, combine: 'or' } as const;
  storeRows(context, flags.length, bits, [store]);
}

/** The mask of the bit that belongs to a row, within the row's word. */
function bitOf(row: U32): U32 {
  return u32(1).shl(row.and(31));
}

/** Whether the bit of a row is set. `word` must be the word that contains this bit (word `row >> 5`). */
export function hasBit(word: U32, row: U32): Bool {
  return word.and(bitOf(row)).ne(0);
}

/**
 * The positions of the set bits, in ascending order. For a result of {@link packBits}, these are the rows whose flags
 * are true. Only the device knows the length of the result.
 *
 * - Work O(words + bits), span O(log words). Deterministic. Accepts device counts (lengths that only the device knows).
 *   At most 2^27 − 1 words.
 * - Equivalent loop: `for (let i = 0; i < 32 * words.length; i++) if ((words[i >> 5] >> i % 32) & 1) out.push(i)`.
 *
 * @throws {@link ArgumentError} `column/size` if there are more than 2^27 − 1 words.
 * @example
 * await ctx.read(bitPlaces(ctx.column(Uint32Array.of(5, 1)))); // Uint32Array [0, 2, 32]
 */
export function bitPlaces(words: Column<'u32'>, options?: CapacityOption): Column<'u32'> {
  return withCapacity('bitPlaces', options, (capacity = Number.POSITIVE_INFINITY) => {
    requireType(words, ['u32'], 'words', 'bitPlaces');
    const context = requireContext([words], 'bitPlaces');
    const { length } = words;
    if (words.capacity >= 2 ** 27) {
      throw wrongArgument('bitPlaces', 'words', words, 'fewer than 2^27 words', { code: 'column/size' });
    }
    return context.scope(() => {
      const count = context.allocate(1);
      const firsts = context.stored('u32', length);
      fusedScan('bitPlaces', {
        context,
        length,
        monoid: plus(u32),
        element: (index, loader) => loader.load([words], index).map((word) => popcount(word as U32)),
        emit: (_index, before) => [...before],
        emitted: ['u32'],
        stores: [{ ...destination(firsts), value: 0 }],
        total: count,
        keys: {
          element: { by: [bitPlaces], columns: [words] },
          emit: { by: [bitPlaces], columns: [] },
        },
      });
      const placed = countIn(count, 0, Math.min(capacity, 32 * words.capacity));
      const places = context.stored('u32', placed);
      const start = fuse(
        'bitPlacesStart',
        [],
        ['bool', 'u32', 'u32'],
        (index, _, loader) => {
          const [word, first] = loader.load([words, firsts], index) as [U32, U32];
          return [word.ne(0), word, first];
        },
        { by: [bitPlaces], columns: [words, firsts] },
      );
      const step = fuse(
        'bitPlaces',
        ['u32', 'u32'],
        ['bool', 'u32', 'u32', 'u32', 'u32'],
        (index, [word, place]) => {
          const [left, at] = [word, place] as [U32, U32];
          const rest = left.and(left.sub(1));
          return [rest.ne(0), rest, at.add(1), index.shl(5).add(ctz(left)), at];
        },
        { by: [bitPlaces], columns: [] },
      );
      context.backend.run({
        kind: 'walk',
        extent: extentOf(length),
        start: programOf(start, context, length),
        step: programOf(step, context, length),
        steps: 32,
        changing: 2,
        stores: [{ ...destination(places), index: 4, value: 3 }],
      });
      expectRows('bitPlaces', context, placed, 32 * words.capacity);
      return places;
    });
  });
}
