import fc from 'fast-check';
import type { Quadrants } from '../../../algorithms/quadrants/index.ts';
import type { Context } from '../../../primitives/context/context.ts';

/** One quadrant of a polygon's decomposition. */
export interface QuadrantRow {
  readonly set: number;
  readonly polygon: number;
  readonly level: number;
  readonly code: bigint;
  readonly boundary: number;
}

/**
 * The position of a quadrant on one of the levels 0 to 30. Few different codes occur, so that quadrants of different
 * polygons are often equal or nested.
 */
const place = fc.integer({ min: 0, max: 30 }).chain((level) => {
  const last = (1n << BigInt(2 * level)) - 1n;
  const code = fc.oneof(
    fc.bigInt({ min: 0n, max: last < 7n ? last : 7n }),
    fc.bigInt({ min: last < 7n ? 0n : last - 7n, max: last }),
    fc.bigInt({ min: 0n, max: last }),
  );
  return fc.record({ level: fc.constant(level), code });
});
const shallow = place.filter(({ level }) => level <= 3);
/** Rows of quadrants that belong to a few polygons in three sets. No polygon has the same quadrant twice. */
export const quadrantRows: fc.Arbitrary<QuadrantRow[]> = fc.uniqueArray(
  fc
    .tuple(fc.oneof(shallow, place), fc.nat({ max: 4 }), fc.nat({ max: 2 }), fc.nat({ max: 1 }))
    .map(([at, polygon, set, boundary]): QuadrantRow => ({ ...at, polygon, set, boundary })),
  { maxLength: 60, selector: ({ set, polygon, level, code }) => `${set}/${polygon}/${level}/${code}` },
);

const SETS = [0, 1, 2];

/** Uploads the rows, set by set. */
export function uploadRows(context: Context, all: readonly QuadrantRow[]): Quadrants[] {
  const column = (of: readonly QuadrantRow[], field: (row: QuadrantRow) => number) =>
    context.column(Uint32Array.from(of, field));
  return SETS.map((set) => {
    const own = all.filter((row) => row.set === set);
    return {
      polygon: column(own, ({ polygon }) => polygon),
      code: {
        lo: column(own, ({ code }) => Number(code & 0xffffffffn)),
        hi: column(own, ({ code }) => Number(code >> 32n)),
      },
      level: column(own, ({ level }) => level),
      boundary: column(own, ({ boundary }) => boundary),
    };
  });
}
