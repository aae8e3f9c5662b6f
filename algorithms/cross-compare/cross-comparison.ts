import { aNumber, anArrayOf, aRecord, aText, type Kind } from '../../primitives/checks/kinds.ts';
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
   * For each side, the number of its tiles that the other side lacks. All polygons of such a tile count as missing. The
   * tiles are also counted in `tiles`.
   */
  readonly alone: BothSides;
  /**
   * Tiles that could not be read on some side, ordered by name. Neither these tiles nor their polygons are counted
   * elsewhere, except that `alone` includes skipped tiles that only one side has.
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
