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
 * A position on a line, as the fraction `num / den` of its length from the left end; `num` from 0, `den` from 1, both
 * up to 2⁶¹.
 */
export type Share = ValuesOf<ShareShape>;

const share: ShareShape = { num: u64, den: u64 };

export function shareOf(num: I32, den: I32): Share {
  return { num: u64OfU32(bitsToU32(num)), den: u64OfU32(bitsToU32(den)) };
}

/** −1, 0 or 1 if a share is smaller than, equal to or larger than another. */
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

/** A share that can be set again. */
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
