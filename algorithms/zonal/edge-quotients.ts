import { If, Var } from '../../primitives/functors/control.ts';
import { u32 } from '../../primitives/functors/functor.ts';
import { mulhi } from '../../primitives/functors/standard/bits.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import { add64, ltU64, sub64, type U64 } from '../../primitives/functors/standard/wide.ts';
import { mul64 } from '../../primitives/functors/standard/wide-products.ts';
import type { ArrayValue, U32 } from '../../primitives/functors/value.ts';

/** The numbers of ⌊(start + k · rest) / divisor⌋, below 2⁵² each; `start` and `rest` are below `divisor`. */
export interface Quotient {
  readonly start: number;
  readonly rest: number;
  readonly divisor: number;
}

/** Writes the seven words from which {@link quotientAt} computes quotients. */
export function setQuotient(words: Uint32Array, at: number, { start, rest, divisor }: Quotient): void {
  // The slope rest / divisor in units of 2⁻³², rounded down by at most 2 units. It is never above the exact slope, so
  // `quotientAt` never starts with too large a quotient.
  words[at] = Math.max(0, Math.floor((rest / divisor) * 2 ** 32) - 1);
  setPair(words, at + 1, start);
  setPair(words, at + 3, rest);
  setPair(words, at + 5, divisor);
}

function setPair(words: Uint32Array, at: number, value: number): void {
  const high = Math.floor(value / 2 ** 32);
  words[at] = value - high * 2 ** 32;
  words[at + 1] = high;
}

/**
 * Emits ⌊(start + k · rest) / divisor⌋ for the quotient at `at`, and whether nothing remains. The first guess is at most 3
 * too small. It is corrected in exact integers.
 */
export function quotientAt(
  table: ArrayValue<'u32'>,
  at: U32,
  k: U32,
): { readonly quotient: U32; readonly remains: U32 } {
  const pair = (field: number): U64 => ({ lo: table.at(at.add(field)), hi: table.at(at.add(field + 1)) });
  const guess = mulhi(k, table.at(at));
  const divisor = pair(5);
  const quotient = Var(guess);
  const remains = Var(u32(0));
  const large = divisor.hi.ne(0).or(divisor.lo.ge(2 ** 29));
  If(large, () => {
    const wide = (word: U32): U64 => ({ lo: word, hi: u32(0) });
    const scaled = add64({ a: mul64({ a: wide(k), b: pair(3) }), b: pair(1) });
    let rest = sub64({ a: scaled, b: mul64({ a: wide(guess), b: divisor }) });
    for (let step = 0; step < 3; step++) {
      const fits = ltU64({ a: rest, b: divisor }).not();
      quotient.set(quotient.add(u32(fits)));
      rest = select(rest, sub64({ a: rest, b: divisor }), fits);
    }
    remains.set(rest.lo.or(rest.hi));
  }).Else(() => {
    let rest = k
      .mul(table.at(at.add(3)))
      .add(table.at(at.add(1)))
      .sub(guess.mul(divisor.lo));
    for (let step = 0; step < 3; step++) {
      const fits = rest.ge(divisor.lo);
      quotient.set(quotient.add(u32(fits)));
      rest = select(rest, rest.sub(divisor.lo), fits);
    }
    remains.set(rest);
  });
  return { quotient, remains };
}
