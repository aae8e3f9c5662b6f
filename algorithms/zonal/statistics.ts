import { scaleLength } from '../../primitives/columns/length.ts';
import { array, type Functor, fn, u32, uniform } from '../../primitives/functors/functor.ts';
import type { Scalar } from '../../primitives/functors/shapes.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import type { U32 } from '../../primitives/functors/value.ts';
import { type Column, type Context, constant, copyIf, map, scatterReduce, sequence } from '../../primitives/index.ts';
import { SAMPLE_BYTES, type Sample } from '../geometry/raster.ts';
import { type Captured, type Classifier, orderedKey } from './binning.ts';
import type { Coverage } from './coverage.ts';
import { allPairs, wordRows } from './tiles.ts';
import { ABSENT } from './window-plan.ts';

/**
 * Exact sums by digits: every cell adds the bytes of its value to counters of their own, so that nothing is rounded and the
 * order does not matter. An f32 is its 24-bit significand at one of 512 signed exponents.
 */
interface Digits {
  /** Counters a zone has. */
  readonly counters: number;
  /** Bytes of a value. */
  readonly bytes: number;
}

/** How many digits a sample has; a window of at most 2²⁴ cells cannot overflow a counter. */
export function digitsOf(sample: Sample): Digits {
  if (sample === 'f32') return { counters: 512 * 3, bytes: 3 };
  const bytes = SAMPLE_BYTES[sample];
  return { counters: bytes, bytes };
}

/** What a window adds to the statistics of its zones, as columns over its zones. */
export interface WindowStatistics {
  /** Least and greatest value as ordered words; {@link ABSENT} and 0 where no cell has data. */
  readonly least: Column<'u32'>;
  readonly greatest: Column<'u32'>;
  readonly digits: Column<'u32'>;
}

/** Cells in zones that carry data, as rows of their zone and stored bits. */
export function zoneCells(
  context: Context,
  coverage: Coverage,
  cells: Column<'u32'>,
  classifier: Classifier,
): { readonly zone: Column<'u32'>; readonly raw: Column<'u32'> } {
  const { active, ...rows } = wordRows(context, coverage, allPairs(context, coverage));
  const words = copyIf(rows, active);
  const all = map(cellFunctor(classifier), {
    index: sequence(scaleLength(context, words.zone.length, 32)),
    ...words,
    cells,
    nodataSlot: classifier.slots.nodata,
    ...classifier.captures,
  } as never) as { zone: Column<'u32'>; raw: Column<'u32'> };
  return all;
}

const cellFunctors = new WeakMap<Classifier, ReturnType<typeof defineCellFunctor>>();

function cellFunctor(classifier: Classifier): ReturnType<typeof defineCellFunctor> {
  const known = cellFunctors.get(classifier) ?? defineCellFunctor(classifier);
  cellFunctors.set(classifier, known);
  return known;
}

/** The zone (ABSENT where the cell is outside or has no data) and bits of cell `index % 32` of word `index / 32`. */
function defineCellFunctor(classifier: Classifier) {
  const parameters = {
    index: u32,
    zone: array(u32),
    cell: array(u32),
    mask: array(u32),
    cells: array(u32),
    nodataSlot: uniform(u32),
  };
  return fn(
    'zoneCell',
    { ...parameters, ...classifier.parameters } as typeof parameters,
    { zone: u32, raw: u32 },
    ({ index, zone, cell, mask, cells, nodataSlot, ...captured }) => {
      const word = index.shr(5);
      const rank = index.and(31);
      const raw = cells.at(cell.at(word).add(rank));
      const data = classifier.slotOf(raw, captured as Captured).ne(nodataSlot);
      const inside = mask.at(word).shr(rank).and(1).eq(1);
      return { zone: select(u32(ABSENT), zone.at(word), inside.and(data)), raw };
    },
  );
}

/** Adds up the cells of a window. */
export function windowStatistics(
  context: Context,
  sample: Sample,
  coverage: Coverage,
  cells: Column<'u32'>,
  classifier: Classifier,
): WindowStatistics {
  return context.scope(() => {
    const zones = coverage.plan.zones.length;
    const rows = zoneCells(context, coverage, cells, classifier);
    const { counters, bytes } = digitsOf(sample);
    const least = context.materialize(constant(u32, ABSENT, zones));
    const greatest = context.materialize(constant(u32, 0, zones));
    const digits = context.materialize(constant(u32, 0, zones * counters));
    const ordered = map(orderedFunctor(sample), { raw: rows.raw });
    scatterReduce(ordered, rows.zone, 'min', least);
    scatterReduce(ordered, rows.zone, 'max', greatest);
    for (let byte = 0; byte < bytes; byte++) {
      const digit = map(digitFunctor(sample), { ...rows, byte });
      scatterReduce(digit.value, digit.counter, 'add', digits);
    }
    return { least, greatest, digits };
  });
}

/** Stored bits as words in the order of the values. */
export function orderedFunctor(sample: Sample): Functor<{ readonly raw: Scalar<'u32'> }, Scalar<'u32'>> {
  return fn('ordered', { raw: u32 }, u32, ({ raw }) => orderedRaw(sample, raw));
}

function orderedRaw(sample: Sample, raw: U32): U32 {
  if (sample === 'i8') return raw.xor(0x80);
  if (sample === 'i16') return raw.xor(0x8000);
  return orderedKey(sample, raw);
}

function digitFunctor(sample: Sample) {
  const { counters } = digitsOf(sample);
  return fn(
    'digit',
    { zone: u32, raw: u32, byte: uniform(u32) },
    { counter: u32, value: u32 },
    ({ zone, raw, byte }) => {
      const shift = byte.shl(3);
      const absent = zone.eq(ABSENT);
      if (sample !== 'f32') {
        const value = orderedRaw(sample, raw).shr(shift).and(0xff);
        return { counter: select(zone.mul(counters).add(byte), u32(ABSENT), absent), value };
      }
      const exponent = raw.shr(23);
      const finite = exponent.and(0xff).ne(0xff);
      const implicit = select(u32(0), u32(0x800000), exponent.and(0xff).ne(0));
      // Infinities are counted in the lowest digit of their exponent.
      const significand = select(u32(1), raw.and(0x7fffff).or(implicit), finite);
      const counter = zone.mul(counters).add(exponent.mul(3)).add(byte);
      return { counter: select(counter, u32(ABSENT), absent), value: significand.shr(shift).and(0xff) };
    },
  );
}

/** The sum that digits stand for, of `count` values, rounded once to f64; and divided by the count, likewise. */
export function roundSum(sample: Sample, digits: Float64Array, count: bigint): { sum: number; mean: number } {
  if (sample === 'f32') return roundF32Sum(digits, count);
  const bits = 8 * digits.length;
  let sum = 0n;
  for (let byte = 0; byte < digits.length; byte++) sum += BigInt(digits[byte]!) << BigInt(8 * byte);
  if (sample.startsWith('i')) sum -= count << BigInt(bits - 1);
  return { sum: ratio(sum, 1n), mean: ratio(sum, count) };
}

function roundF32Sum(digits: Float64Array, count: bigint): { sum: number; mean: number } {
  const positive = digits[255 * 3]!;
  const negative = digits[511 * 3]!;
  if (positive > 0 || negative > 0) {
    const sum = positive > 0 && negative > 0 ? Number.NaN : positive > 0 ? Infinity : -Infinity;
    return { sum, mean: sum };
  }
  // In units of 2^-149, the least subnormal.
  let sum = 0n;
  for (let exponent = 0; exponent < 512; exponent++) {
    let significands = 0n;
    for (let byte = 0; byte < 3; byte++) significands += BigInt(digits[exponent * 3 + byte]!) << BigInt(8 * byte);
    if (significands === 0n) continue;
    const scaled = significands << BigInt(Math.max(0, (exponent & 255) - 1));
    sum += exponent < 256 ? scaled : -scaled;
  }
  const unit = 1n << 149n;
  return { sum: ratio(sum, unit), mean: ratio(sum, unit * count) };
}

/** The f64 nearest to a fraction, ties to even. */
export function ratio(numerator: bigint, denominator: bigint): number {
  if (numerator === 0n) return 0;
  const sign = numerator < 0n ? -1 : 1;
  const magnitude = numerator < 0n ? -numerator : numerator;
  const shift = 54 + bitLength(denominator) - bitLength(magnitude);
  const scaled = shift >= 0 ? magnitude << BigInt(shift) : magnitude;
  const divisor = shift >= 0 ? denominator : denominator << BigInt(-shift);
  const quotient = scaled / divisor;
  // A sticky last bit keeps what was cut off from being taken for a tie.
  const sticky = scaled % divisor === 0n ? quotient << 1n : (quotient << 1n) | 1n;
  return sign * Number(sticky) * 2 ** -(shift + 1);
}

function bitLength(value: bigint): number {
  return value.toString(2).length;
}
