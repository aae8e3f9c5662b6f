import { If, Let, Var, WhileAtMost } from './control.ts';
import { bool } from './functor.ts';
import type { Bool, U32 } from './value.ts';

/**
 * A bisection among 2³² − 1 numbers takes at most this many rounds, because every round halves the range that is left.
 */
const BISECTIONS = 32;

/**
 * Finds the first number in `[from, to)` for which `isBefore` is false, by bisection. Returns `to` if `isBefore` is
 * true for all of these numbers. `isBefore` must be true for all numbers below the returned number, and false for the
 * others.
 */
export function partitionPoint(from: U32, to: U32, isBefore: (number: U32) => Bool): U32 {
  const first = Var(from);
  const end = Var(to);
  WhileAtMost(
    BISECTIONS,
    () => first.lt(end),
    () => {
      const middle = Let(first.add(end.sub(first).shr(1)));
      If(isBefore(middle), () => first.set(middle.add(1))).Else(() => end.set(middle));
    },
  );
  return Let(first);
}

/** Whether `left` is lexicographically below `right`. Both are lists of words, the most significant first. */
export function below(left: readonly U32[], right: readonly U32[]): Bool {
  return left.reduceRight<Bool>((rest, word, i) => word.lt(right[i]!).or(word.eq(right[i]!).and(rest)), bool(false));
}
