import { aNumber, anArrayOf, aRecord, aText, type Kind } from '../../primitives/kinds.ts';
import { type Note, someNotes } from '../notes.ts';
import { type BothSides, type Comparison, comparisonFields } from './totals.ts';

/** A tile that was skipped because it could not be read. */
export interface SkippedTile {
  readonly tile: string;
  /** Code of the error that occurred, such as `format/syntax`. */
  readonly code: string;
  readonly message: string;
}

/** The comparison of two result sets, with skipped tiles and notes. */
export interface CrossComparison extends Comparison {
  /**
   * Number of tiles that only one side has, for each side. All polygons of such a tile count as missing on the other
   * side. The tiles are also counted in `tiles`.
   */
  readonly alone: BothSides;
  /**
   * Tiles that could not be read on some side, in order. Neither these tiles nor their polygons are counted anywhere
   * else.
   */
  readonly skipped: readonly SkippedTile[];
  readonly notes: readonly Note[];
}

export const aComparison: Kind = aRecord<CrossComparison>({
  ...comparisonFields,
  alone: aRecord<BothSides>({ p: aNumber, q: aNumber }),
  skipped: anArrayOf(aRecord<SkippedTile>({ tile: aText, code: aText, message: aText })),
  notes: someNotes,
});
