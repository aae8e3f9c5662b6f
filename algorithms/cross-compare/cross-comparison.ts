import { aNumber, anArrayOf, aRecord, aText, type Kind } from '../../primitives/kinds.ts';
import { type Note, someNotes } from '../notes.ts';
import { type BothSides, type Comparison, comparisonFields } from './totals.ts';

/** A tile that could not be read, and was passed over. */
export interface SkippedTile {
  readonly tile: string;
  /** Code of the error, such as `format/syntax`. */
  readonly code: string;
  readonly message: string;
}

/** The comparison of two result sets, and what was met on the way. */
export interface CrossComparison extends Comparison {
  /** Tiles that only one side has: all their polygons are missing on the other. They are among `tiles`. */
  readonly alone: BothSides;
  /** Tiles of which a side could not be read, in order: their polygons are in no count. They are not among `tiles`. */
  readonly skipped: readonly SkippedTile[];
  readonly notes: readonly Note[];
}

export const aComparison: Kind = aRecord<CrossComparison>({
  ...comparisonFields,
  alone: aRecord<BothSides>({ p: aNumber, q: aNumber }),
  skipped: anArrayOf(aRecord<SkippedTile>({ tile: aText, code: aText, message: aText })),
  notes: someNotes,
});
