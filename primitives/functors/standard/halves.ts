import { type I32, requireOperand, type U32, Value } from '../value.ts';
import { bitsToI32, bitsToU32 } from './bits.ts';

/**
 * Packs two numbers into the low and high halves of a 32-bit word, for {@link dotOfHalves}. Only the lower 16 bits of
 * each number are kept.
 *
 * @example
 * const f = fn({ x: i32, y: i32 }, u32, ({ x, y }) => packHalves(x, y));
 * await ctx.read(map(f, { x: ctx.column(Int32Array.of(1, -1)), y: ctx.column(Int32Array.of(2, 0)) }));
 * // Uint32Array [131073, 65535]
 */
export function packHalves(low: I32, high: I32): U32 {
  const [a, b] = [low, high].map(
    (half, i) => new Value<'i32'>(requireOperand('packHalves', ['low', 'high'][i]!, half)),
  );
  return bitsToU32(a!).and(0xffff).or(bitsToU32(b!).shl(16));
}

/**
 * The product of the low halves of two words plus the product of their high halves, modulo 2^32. Each half is read as
 * i16. The workers backend computes four such results in one instruction.
 *
 * @example
 * const f = fn({ a: u32, b: u32 }, i32, ({ a, b }) => dotOfHalves(a, b));
 * const a = ctx.column(Uint32Array.of(0x0003_0002, 0xffff_0001));
 * await ctx.read(map(f, { a, b: ctx.column(Uint32Array.of(0x0005_0004, 0x0007_0006)) })); // Int32Array [23, -1]
 */
export function dotOfHalves(a: U32, b: U32): I32 {
  const [x, y] = [a, b].map((word, i) => new Value<'u32'>(requireOperand('dotOfHalves', ['a', 'b'][i]!, word)));
  return lowHalf(x!)
    .mul(lowHalf(y!))
    .add(highHalf(x!).mul(highHalf(y!)));
}

function lowHalf(word: U32): I32 {
  return bitsToI32(word.shl(16)).shr(16);
}

function highHalf(word: U32): I32 {
  return bitsToI32(word).shr(16);
}
