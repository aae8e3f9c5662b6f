import { ratio } from '../exact-ratio.ts';
import type { FoldSums, ProductField } from './fold.ts';
import type { FoldTotals } from './fold-totals.ts';
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
  for (let zone = 0; zone < cells.length; zone++) {
    const differences = weighted.get(zone);
    data.push((cells[zone]! - nodata[zone]!) * UNIT + (differences?.area ?? 0n));
    lacking.push(nodata[zone]! * UNIT + (differences?.lacking ?? 0n));
  }
  return { data, lacking };
}

/** What was folded of zones by fractions, from what was folded of whole cells, and of their differences. */
export function foldedByArea(folded: FoldedZones, weighted: FoldedZones): FoldedZones {
  return mapZones(folded, (zone, found) => {
    const difference = weighted.get(zone);
    if (found.sum !== undefined) found.sum = BigInt(found.sum) * UNIT + (difference?.sum ?? 0n);
    if (found.squares !== undefined) found.squares = BigInt(found.squares) * UNIT + (difference?.squares ?? 0n);
    return found as Folded;
  });
}

/**
 * What is folded of zones in another form, made when it is asked for: as many objects at once would take much memory. `of`
 * may change what was found, because {@link FoldTotals.folded} makes it anew each time, and copies take longer.
 */
function mapZones(folded: FoldedZones, of: (zone: number, found: FoldSums) => Folded): FoldedZones {
  return {
    get size() {
      return folded.size;
    },
    get(zone) {
      const found = folded.get(zone);
      return found && of(zone, found as FoldSums);
    },
    *[Symbol.iterator]() {
      for (const [zone, found] of folded) yield [zone, of(zone, found as FoldSums)];
    },
  };
}

/** What was folded of zones, with the sums over cells with weights. By fractions, `outlines` has what these sums differ. */
export function withProducts(
  folded: FoldedZones,
  products: FoldedZones,
  outlines: FoldedZones | undefined,
): FoldedZones {
  return mapZones(folded, (zone, found) => {
    const [whole, difference] = [products.get(zone)!, outlines?.get(zone)];
    const sumOf = (field: ProductField): bigint =>
      outlines === undefined ? whole[field] : whole[field] * UNIT + (difference?.[field] ?? 0n);
    found.weights = sumOf('weights');
    found.products = sumOf('products');
    found.unweighted = whole.unweighted;
    if (whole.productsOfSquares !== undefined) found.productsOfSquares = sumOf('productsOfSquares');
    return found as Folded;
  });
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
