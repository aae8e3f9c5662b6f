import { requireArguments } from './checks/arguments.ts';
import { someRecord } from './checks/kinds.ts';
import { type Column, requireType } from './columns/column.ts';
import { type ContextOption, inContext, requireContext } from './context/context-option.ts';
import { expand } from './expand.ts';
import { For, Let, Var } from './functors/control.ts';
import { array, fn, u32 } from './functors/functor.ts';
import { bitsFrom } from './functors/packed-bits.ts';
import { clz } from './functors/standard/bits.ts';
import { select } from './functors/standard/choose.ts';
import type { U32 } from './functors/value.ts';
import { map } from './map.ts';
import { plus } from './monoid.ts';
import { exclusiveScan } from './scan.ts';
import { sequence } from './sequence.ts';

/** Number of values of a block, which all take the same number of bits. Then a block with the width w takes w words. */
const BLOCK = 32;

/** Unsigned integers in as few bits as the largest of every 32 takes. */
export interface Packed {
  /** The bits of the values, lowest first, without gaps. Every block starts at a word of its own. */
  readonly words: Column<'u32'>;
  /** Bits of a value, from 0 to 32, for each block of 32 values. Such a block takes as many words. */
  readonly widths: Column<'u32'>;
}

/**
 * Packs integers in as few bits as the largest of every 32 takes. A last block of fewer than 32 values is filled with
 * zeros. Only the device knows the number of words. {@link unpack} is the inverse.
 *
 * - Work O(n), span O(log n). Deterministic. An empty input gives no words and no widths. Accepts device counts (lengths
 *   that only the device knows); then there is a width for every block of the capacity, 0 past the last value.
 *
 * Source: Lemire and Boytsov, Decoding billions of integers per second through vectorization, 2015 (binary packing).
 *
 * @example
 * const { words, widths } = pack(ctx.column(Uint32Array.of(3, 0, 1)));
 * await ctx.read({ words, widths }); // { words: Uint32Array [19, 0], widths: Uint32Array [2] }
 */
export function pack(values: Column<'u32'>, options?: ContextOption): Packed {
  return inContext('pack', options, () => {
    requireType(values, ['u32'], 'values', 'pack');
    const context = requireContext([values], 'pack');
    const blocks = Math.ceil(values.capacity / BLOCK);
    return context.scope(() => {
      const stored = context.materialize(values);
      const widths = context.materialize(map(widthOf, { block: sequence(blocks), values: stored }));
      const rows = { block: sequence(blocks), width: widths };
      const words = expand(rows, widths, wordOf, { capacity: BLOCK * blocks, captures: { values: stored } });
      return { words, widths };
    });
  });
}

/**
 * The integers that {@link pack} has packed, as a view: `32 * widths.length` values, of which the last ones may have
 * filled up the last block. A value past the end of the words has zeros in place of missing bits.
 *
 * - Work O(n) per use of the view, and O(n / 32) once for the places of blocks; span O(log n). Deterministic. Widths
 *   beyond 32 count as 32. If only the device knows the number of widths, the view has 32 rows for every block of the
 *   capacity, 0 past the last block.
 * - Equivalent loop: `for (let b = 0, at = 0; b < widths.length; at += 32 * widths[b++]) for (let i = 0; i < 32; i++)
 *   out[32 * b + i] = bits(words, at + i * widths[b], widths[b])`.
 *
 * @example
 * const widths = ctx.column(Uint32Array.of(2, 1));
 * const values = unpack({ words: ctx.column(Uint32Array.of(19, 0, 5)), widths });
 * const all = await ctx.read(values);
 * [all.length, [...all.subarray(0, 3)], [...all.subarray(32, 35)]]; // [64, [3, 0, 1], [1, 0, 1]]
 */
export function unpack(packed: Packed, options?: ContextOption): Column<'u32'> {
  requireArguments('unpack', { packed }, { packed: someRecord });
  const { words, widths } = packed;
  return inContext('unpack', options, () => {
    requireType(words, ['u32'], 'packed.words', 'unpack');
    requireType(widths, ['u32'], 'packed.widths', 'unpack');
    const context = requireContext([words, widths], 'unpack');
    return context.scope(() => {
      const stored = context.materialize({ words, widths: map(atMostAWord, { width: widths }) });
      const starts = exclusiveScan(stored.widths, plus(u32));
      return map(packedValue, { i: sequence(BLOCK * widths.capacity), starts, ...stored });
    });
  });
}

const atMostAWord = fn({ width: u32 }, u32, ({ width }) => width.min(32));

const widthOf = fn({ block: u32, values: array(u32) }, u32, ({ block, values }) => {
  const bits = Var(u32(0));
  const first = Let(block.mul(BLOCK));
  For(0, BLOCK, (i) => bits.set(bits.or(values.at(first.add(i)))));
  return u32(32).sub(clz(bits as U32));
});

/** Word `rank` of a block: its bits `32 * rank` to `32 * rank + 31`. */
const wordOf = fn({ block: u32, width: u32, rank: u32, values: array(u32) }, u32, ({ block, width, rank, values }) => {
  const word = Var(u32(0));
  const start = Let(rank.mul(32));
  const first = Let(block.mul(BLOCK));
  For(start.div(width), Let(start.add(31).div(width).add(1)).min(BLOCK), (i) => {
    const at = Let(i.mul(width));
    const value = Let(values.at(first.add(i)));
    const before = at.lt(start);
    word.set(word.or(select(value.shl(at.sub(start)), value.shr(start.sub(at)), before)));
  });
  return word;
});

const packedValue = fn(
  { i: u32, words: array(u32), widths: array(u32), starts: array(u32) },
  u32,
  ({ i, words, widths, starts }) => {
    const block = Let(i.div(BLOCK));
    const width = Let(widths.at(block));
    const bit = Let(i.and(BLOCK - 1).mul(width));
    const value = bitsFrom(words, starts.at(block), bit);
    return select(u32(0), value.and(u32(0xffffffff).shr(u32(32).sub(width))), width.ne(0));
  },
);
