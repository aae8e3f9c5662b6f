import {
  bitsToU32,
  compareI128,
  type Functor,
  fn,
  type I32,
  i32,
  mulU64,
  u64,
  u64OfU32,
  type ValuesOf,
  Var,
  type Variable,
} from '../../primitives/index.ts';

/** The shape of a {@link Share}. */
export type ShareShape = { readonly num: typeof u64; readonly den: typeof u64 };
/**
 * A position on a line, as the fraction `num / den` of its length from the left end. `num` is at least 0 and `den` at
 * least 1; both are below 2⁶³.
 */
export type Share = ValuesOf<ShareShape>;

const share: ShareShape = { num: u64, den: u64 };

export function shareOf(num: I32, den: I32): Share {
  return { num: u64OfU32(bitsToU32(num)), den: u64OfU32(bitsToU32(den)) };
}

/** Compares two positions on a line: −1, 0 or 1 if the first is before, at or after the second. */
export const compareShares: Functor<{ readonly a: ShareShape; readonly b: ShareShape }, typeof i32> = fn(
  'compareShares',
  { a: share, b: share },
  i32,
  ({ a, b }) => compareI128({ a: mulU64({ a: a.num, b: b.den }), b: mulU64({ a: b.num, b: a.den }) }),
);

interface MovingPart {
  readonly lo: Variable<'u32'>;
  readonly hi: Variable<'u32'>;
}

/** A position on a line in variables, so that a loop can change it. */
export interface MovingShare {
  readonly num: MovingPart;
  readonly den: MovingPart;
}

export function movingShare({ num, den }: Share): MovingShare {
  return { num: { lo: Var(num.lo), hi: Var(num.hi) }, den: { lo: Var(den.lo), hi: Var(den.hi) } };
}

export function moveShare(moving: MovingShare, to: Share): void {
  for (const part of ['num', 'den'] as const) {
    moving[part].lo.set(to[part].lo);
    moving[part].hi.set(to[part].hi);
  }
}
