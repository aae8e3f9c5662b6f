import { ratio } from '../../algorithms/exact-ratio.ts';
import type { Cells, RasterSource, Sample, Scaling } from '../../algorithms/geometry/raster.ts';
import { CELL_ARRAYS } from '../../formats/rasters/tiff/samples.ts';
import { open } from '../../index.ts';
import { fc } from '../law-test.ts';
import { STEPS, sharesOf, unitGrid, type WholeZone, wholeZones } from './shares-support.ts';
import { isNodata, rasterOf } from './zonal-support.ts';

/** The cells of the rasters of laws of fractions. */
export const WIDTH = 5;
export const HEIGHT = 4;
const coordinate = (cells: number) =>
  fc.oneof(
    fc.integer({ min: -2, max: 2 * cells + 2 }).map((halves) => (halves * STEPS) / 2),
    fc
      .tuple(fc.integer({ min: 0, max: cells }), fc.integer({ min: -2, max: 2 }))
      .map(([cell, by]) => cell * STEPS + by),
    fc.integer({ min: -STEPS, max: (cells + 1) * STEPS }),
  );
const point = fc.tuple(coordinate(WIDTH), coordinate(HEIGHT));
export const ring: fc.Arbitrary<(readonly [number, number])[]> = fc.array(point, { minLength: 3, maxLength: 5 });
const zone: fc.Arbitrary<WholeZone> = fc.array(fc.array(ring, { minLength: 1, maxLength: 2 }), {
  minLength: 1,
  maxLength: 2,
});
export const zones: fc.Arbitrary<WholeZone[]> = fc.array(zone, { minLength: 1, maxLength: 3 });

/** Values of few kinds and of all magnitudes. */
const integer = (bits: number, isSigned: boolean): fc.Arbitrary<number | bigint> => {
  const [min, max] = isSigned
    ? [-(2n ** BigInt(bits - 1)), 2n ** BigInt(bits - 1) - 1n]
    : [0n, 2n ** BigInt(bits) - 1n];
  const any = fc.oneof(fc.bigInt({ min, max }), fc.constantFrom(min, max, 0n, 7n));
  return bits === 64 ? any : any.map(Number);
};
const VALUES: { readonly [sample in Sample]: fc.Arbitrary<number | bigint> } = {
  u8: integer(8, false),
  i8: integer(8, true),
  u16: integer(16, false),
  i16: integer(16, true),
  u32: integer(32, false),
  i32: integer(32, true),
  u64: integer(64, false),
  i64: integer(64, true),
  f32: fc.oneof(
    { weight: 4, arbitrary: fc.float({ noNaN: true, noDefaultInfinity: true, min: -1000, max: 1000 }) },
    fc.float({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(-0, 7, Number.NaN, ...[1e-44, 3.4e38, -3.4e38].map(Math.fround)),
  ),
  f64: fc.oneof(
    { weight: 4, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true, min: -1000, max: 1000 }) },
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(-0, 7, Number.NaN, 5e-324, 1.7e308, -1.7e308),
  ),
};
/** The cells of a raster of {@link WIDTH} × {@link HEIGHT}, and which of them lack data. */
export interface SomeCells {
  readonly sample: Sample;
  readonly cells: Cells;
  readonly nodata: number | undefined;
  readonly scaling: Scaling | undefined;
  readonly hidden: readonly boolean[] | undefined;
}

const COUNT = WIDTH * HEIGHT;

/** All values drawn for themselves, or some values again and again. */
const valuesOf = (sample: Sample): fc.Arbitrary<(number | bigint)[]> =>
  fc.oneof(
    fc.array(VALUES[sample], { minLength: COUNT, maxLength: COUNT }),
    fc
      .tuple(
        fc.array(VALUES[sample], { minLength: 1, maxLength: 6 }),
        fc.array(fc.nat(), { minLength: COUNT, maxLength: COUNT }),
      )
      .map(([some, picks]) => picks.map((pick) => some[pick % some.length]!)),
  );

export const someCells: fc.Arbitrary<SomeCells> = fc
  .constantFrom(...(Object.keys(VALUES) as Sample[]))
  .chain((sample) =>
    fc.record({
      sample: fc.constant(sample),
      cells: valuesOf(sample).map((values) =>
        (CELL_ARRAYS[sample] as unknown as Float64ArrayConstructor).from(values as number[]),
      ),
      nodata: fc.constantFrom(undefined, 7),
      scaling: fc.constantFrom<Scaling | undefined>(
        undefined,
        { scale: -0.1, offset: 3.3 },
        { scale: 2 ** -9, offset: -1e9 },
      ),
      hidden: fc.option(fc.array(fc.boolean(), { minLength: COUNT, maxLength: COUNT }), { nil: undefined }),
    }),
  );

export function someRaster({ sample, cells, nodata, scaling, hidden }: SomeCells): RasterSource {
  const own = sample.endsWith('64') && sample !== 'f64' && nodata !== undefined ? BigInt(nodata) : nodata;
  const readMask =
    hidden &&
    (async ({ row, column, rows, columns }: { row: number; column: number; rows: number; columns: number }) =>
      Uint8Array.from({ length: rows * columns }, (_, i) =>
        hidden[(row + Math.floor(i / columns)) * WIDTH + column + (i % columns)] ? 0 : 255,
      ));
  return rasterOf(cells as never, WIDTH, sample, {
    ...{ originY: 0, stepY: 1, scaling, nodata: own as number },
    ...(readMask && { readMask }),
  });
}

/** Every f64 is a multiple of 2^-1074. */
export const EXACT = 1074n;
export function exact(value: number | bigint): bigint {
  if (typeof value === 'bigint') return value << EXACT;
  let [rest, bits] = [value, EXACT];
  while (!Number.isInteger(rest)) [rest, bits] = [rest * 2, bits - 1n];
  return BigInt(rest) << bits;
}

/** The shares of the cells of each zone, by their numbers in the raster. */
export async function sharesByZone(
  all: readonly WholeZone[],
  fill?: 'union' | 'even-odd',
): Promise<Map<number, number>[]> {
  await using context = await open({ backend: 'reference' });
  const found = await sharesOf(context, wholeZones(all), unitGrid(WIDTH, HEIGHT), { fill });
  const byZone = all.map(() => new Map<number, number>());
  for (const [key, share] of found) {
    const [zone, row, column] = key.split(':').map(Number) as [number, number, number];
    byZone[zone]!.set(row * WIDTH + column, share);
  }
  return byZone;
}

/** A cell with its share in a zone. */
export interface SharedCell {
  readonly value: number | bigint;
  readonly share: bigint;
}

/** The cells of a zone with data, and those without. */
export function splitCells(
  { sample, cells, nodata, hidden }: SomeCells,
  shares: ReadonlyMap<number, number>,
): { readonly data: SharedCell[]; readonly lacking: SharedCell[] } {
  const [data, lacking]: [SharedCell[], SharedCell[]] = [[], []];
  for (const [cell, share] of shares) {
    const value = cells[cell] as number | bigint;
    const isLacking =
      hidden?.[cell] === true ||
      Number.isNaN(value) ||
      (typeof value === 'bigint' ? nodata !== undefined && value === BigInt(nodata) : isNodata(sample, value, nodata));
    (isLacking ? lacking : data).push({ value, share: BigInt(share) });
  }
  return { data, lacking };
}

export function areaOf(cells: readonly SharedCell[]): bigint {
  return cells.reduce((sum, { share }) => sum + share, 0n);
}

/** An area in cells. */
export function inCells(units: bigint): number {
  return units > 0n ? ratio(units, 2n ** 30n) : 0;
}

/** The number that a stored value means. */
export function scaledBy(scaling: Scaling | undefined, value: number | bigint): number {
  return (scaling === undefined ? Number(value) : Number(value) * scaling.scale + scaling.offset) + 0;
}
