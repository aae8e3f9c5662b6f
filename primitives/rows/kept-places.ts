import { If, Let, Var } from '../functors/control.ts';
import { i32, u32 } from '../functors/functor.ts';
import { select } from '../functors/standard/choose.ts';
import type { Bool, I32, U32, Variable } from '../functors/value.ts';
import { NO_ROW, WORST } from './key-ranks.ts';

/** A row, or another candidate, and its rank. */
export interface Ranked {
  readonly rank: I32;
  readonly row: U32;
}

/** The best candidates so far, the best first. */
export interface Kept {
  readonly ranks: readonly I32[];
  readonly rows: readonly U32[];
}

/** Variables for what is kept, the best first. */
export interface Places {
  readonly ranks: readonly Variable<'i32'>[];
  readonly rows: readonly Variable<'u32'>[];
}

export function emptyPlaces(k: number): Places {
  return {
    ranks: Array.from({ length: k }, () => Var(i32(WORST))),
    rows: Array.from({ length: k }, () => Var(u32(NO_ROW))),
  };
}

export function letAll({ ranks, rows }: Places): Kept {
  return { ranks: ranks.map(Let), rows: rows.map(Let) };
}

export function setAll({ ranks, rows }: Places, kept: Kept): void {
  for (const [j, rank] of ranks.entries()) {
    rank.set(kept.ranks[j]!);
    rows[j]!.set(kept.rows[j]!);
  }
}

/** What was kept, and one more candidate: it goes behind those for which `isBehind` is false. */
export function withCandidate({ ranks, rows }: Kept, { rank, row }: Ranked, isBehind: readonly Bool[]): Kept {
  return {
    ranks: ranks.map((each, j) => Let(each.max(j === 0 ? rank : rank.min(ranks[j - 1]!)))),
    rows: rows.map((each, j) => {
      const moved = j === 0 ? row : select(row, rows[j - 1]!, isBehind[j - 1]!);
      return Let(select(each, moved, isBehind[j]!));
    }),
  };
}

/** Keeps a candidate if it is among the best by rank and then by row. Candidates may come in any order. */
export function keep(places: Places, given: Ranked): void {
  const isBehind = (rank: I32, row: U32): Bool => rank.lt(given.rank).or(rank.eq(given.rank).and(row.gt(given.row)));
  If(isBehind(places.ranks.at(-1)!, places.rows.at(-1)!), () => {
    const kept = letAll(places);
    const behind = kept.ranks.map((rank, j) => Let(isBehind(rank, kept.rows[j]!)));
    setAll(places, withCandidate(kept, given, behind));
  });
}
