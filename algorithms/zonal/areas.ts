import { ratio } from '../exact-ratio.ts';
import type { ProductField } from './fold.ts';
import { ONE } from './fractions/line-numbers.ts';
import type { Folded, FoldedZones } from './statistic-kinds.ts';

/** Number of units of shares in a whole cell. */
export const UNIT: bigint = BigInt(ONE);

/** The areas of each zone in units of 2⁻³⁰ of a cell: of the cells with data, and of those without. */
export interface ZoneAreas {
  readonly data: readonly bigint[];
  readonly lacking: readonly bigint[];
}

/** Areas of the cells of zones, in cells: Σ of the fractions of cells that are in the zone. One row per zone. */
export interface Areas {
  /** Of the cells with data. */
  readonly count: Float64Array;
  /** Of the cells without data. */
  readonly nodata: Float64Array;
  /** Of the cells whose values are below and above all bins. */
  readonly below: Float64Array;
  readonly above: Float64Array;
  /** Of the cells in each row of `bins`. */
  readonly bins: Float64Array;
}

/** The areas of zones, from their numbers of cells and what the shares of cells differ from whole cells. */
export function zoneAreas(
  { cells, nodata }: { readonly cells: BigUint64Array; readonly nodata: BigUint64Array },
  weighted: FoldedZones,
): ZoneAreas {
  const data: bigint[] = [];
  const lacking: bigint[] = [];
  cells.forEach((all, zone) => {
    const differences = weighted.get(zone);
    data.push((all - nodata[zone]!) * UNIT + (differences?.area ?? 0n));
    lacking.push(nodata[zone]! * UNIT + (differences?.lacking ?? 0n));
  });
  return { data, lacking };
}

/** What was folded of zones by fractions, from what was folded of whole cells, and of their differences. */
export function foldedByArea(folded: FoldedZones, weighted: FoldedZones): Map<number, Folded> {
  return new Map(
    Array.from(folded, ([zone, whole]) => {
      const difference = weighted.get(zone);
      const sumOf = (field: 'sum' | 'squares'): bigint | undefined =>
        whole[field] === undefined ? undefined : whole[field] * UNIT + (difference?.[field] ?? 0n);
      return [zone, { ...whole, sum: sumOf('sum'), squares: sumOf('squares') } as Folded];
    }),
  );
}

/** What was folded of zones, with the sums over cells with weights. By fractions, `outlines` has what these sums differ. */
export function withProducts(
  folded: FoldedZones,
  products: FoldedZones,
  outlines: FoldedZones | undefined,
): Map<number, Folded> {
  return new Map(
    Array.from(folded, ([zone, found]) => {
      const [whole, difference] = [products.get(zone)!, outlines?.get(zone)];
      const sumOf = (field: ProductField): bigint =>
        outlines === undefined ? whole[field] : whole[field] * UNIT + (difference?.[field] ?? 0n);
      const sums = { weights: sumOf('weights'), products: sumOf('products'), unweighted: whole.unweighted };
      const squares = whole.productsOfSquares !== undefined && { productsOfSquares: sumOf('productsOfSquares') };
      return [zone, { ...found, ...sums, ...squares }];
    }),
  );
}

/** The areas of bins, and of cells beyond them, in units. */
export interface BinAreas {
  readonly bins: BigInt64Array;
  readonly below: BigInt64Array;
  readonly above: BigInt64Array;
}

/** The areas of zones and bins in cells, each rounded once. */
export function areasInCells({ data, lacking }: ZoneAreas, { bins, below, above }: BinAreas): Areas {
  return {
    count: Float64Array.from(data, inCells),
    nodata: Float64Array.from(lacking, inCells),
    below: cellsOf(below),
    above: cellsOf(above),
    bins: cellsOf(bins),
  };
}

function cellsOf(areas: BigInt64Array): Float64Array {
  const cells = new Float64Array(areas.length);
  for (let row = 0; row < areas.length; row++) cells[row] = inCells(areas[row]!);
  return cells;
}

/** An area in cells. One that is negative by the rounding of shares is 0. */
export function inCells(area: bigint): number {
  return area > 0n ? ratio(area, UNIT) : 0;
}
