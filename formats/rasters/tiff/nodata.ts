import { isFloat, type NarrowSample, type Sample } from '../../../algorithms/geometry/raster.ts';
import type { Note } from '../../../algorithms/notes.ts';
import { SAMPLE_RANGE } from './samples.ts';

/**
 * Parses a nodata value, and finds the stored value that it marks in a band: for floats the nearest one, for integers the
 * value without its fraction, if it lies in the range of values that GDAL's mask compares. Adds a note if this is not
 * the value itself. If no cell of the band can have the value, adds a note and returns undefined. For integers of 64 bits
 * the value is a bigint, read from the digits of the text.
 */
export function readNodata(text: string | undefined, sample: NarrowSample, notes: Note[]): number | undefined;
export function readNodata(text: string | undefined, sample: Sample, notes: Note[]): number | bigint | undefined;
export function readNodata(text: string | undefined, sample: Sample, notes: Note[]): number | bigint | undefined {
  if (text === undefined || text.trim() === '') return undefined;
  const value = parseLeadingNumber(text);
  const quoted = JSON.stringify(text.trim());
  if (sample === 'i64' || sample === 'u64') {
    const marked = markedInteger(text, sample);
    if (marked === undefined) notes.push(unusable(quoted, sample));
    else if (value !== Math.trunc(value!)) notes.push(rounded(quoted, sample, marked));
    return marked;
  }
  const marked = value === undefined ? undefined : markedValue(value, sample);
  if (marked === undefined) {
    notes.push(unusable(quoted, sample));
  } else if (isChanged(value!, marked, sample)) {
    notes.push(rounded(quoted, sample, marked));
  }
  return marked;
}

function unusable(quoted: string, sample: Sample): Note {
  const message = `The nodata value ${quoted} cannot occur in a band of type ${sample}; none is used.`;
  return { code: 'raster/nodata-unusable', message };
}

function rounded(quoted: string, sample: Sample, marked: number | bigint): Note {
  const message = `The nodata value ${quoted} cannot occur in a band of type ${sample}; it marks cells of ${marked}, as in GDAL.`;
  return { code: 'raster/nodata-rounded', message };
}

/** The ranges of integers of 64 bits. */
const WIDE_RANGE = { i64: [-(2n ** 63n), 2n ** 63n - 1n], u64: [0n, 2n ** 64n - 1n] } as const;

/**
 * The number with which a text begins, without its fraction, as an integer of 64 bits. Undefined if there is none, or if
 * it is out of range, also by an exponent that would take many digits.
 */
function markedInteger(text: string, sample: 'i64' | 'u64'): bigint | undefined {
  const whole = wholeOf(text);
  const [min, max] = WIDE_RANGE[sample];
  return whole !== undefined && whole >= min && whole <= max ? whole : undefined;
}

function wholeOf(text: string): bigint | undefined {
  const trimmed = text.trim().replace(',', '.');
  if (parseLeadingNumber(trimmed) === undefined) return undefined;
  const [, sign, digits = '', fraction = '', power = '0'] = PARTS.exec(trimmed) ?? [];
  const all = (digits + fraction).replace(/^0+/, '');
  // The point stands behind this many digits.
  const point = digits.length - (digits + fraction).length + all.length + Number(power);
  if (all === '' || point <= 0) return PARTS.test(trimmed) ? 0n : undefined;
  if (point > MAX_DIGITS) return undefined;
  const size = BigInt(all.slice(0, point).padEnd(point, '0'));
  return sign === '-' ? -size : size;
}

/** The sign, the digits before and after the point, and the exponent with which a text begins. */
const PARTS = /^([+-]?)(\d*)\.?(\d*)(?:e([+-]?\d+))?/i;

/** Number of digits of the largest u64. */
const MAX_DIGITS = 20;

/** Whether a nodata value marks cells of a clearly different value: its fraction is lost, or it is 0 or infinite. */
function isChanged(value: number, marked: number, sample: Sample): boolean {
  if (value === marked || Number.isNaN(value)) return false;
  return !isFloat(sample) || marked === 0 || !Number.isFinite(marked);
}

/**
 * Value of the cells in blocks that are not stored: the nodata value, rounded and clamped to the type of the band, or 0
 * if there is none. GDAL fills such blocks in the same way.
 */
export function fillValue(text: string | undefined, sample: Sample): number | bigint {
  const value = parseLeadingNumber(text ?? '') ?? 0;
  if (sample === 'i64' || sample === 'u64') return filledInteger(text ?? '', value, sample);
  if (sample === 'f64') return value;
  if (sample === 'f32') return Math.fround(value);
  const [min, max] = SAMPLE_RANGE[sample];
  const rounded = Math.sign(value) * Math.floor(Math.abs(value) + 0.5);
  return Number.isNaN(value) ? 0 : Math.min(max, Math.max(min, rounded)) + 0;
}

function filledInteger(text: string, value: number, sample: 'i64' | 'u64'): bigint {
  const [min, max] = WIDE_RANGE[sample];
  if (value >= 2 ** 64) return max;
  if (value <= -(2 ** 64)) return min;
  const whole = wholeOf(text) ?? 0n;
  return whole < min ? min : whole > max ? max : whole;
}

/**
 * Parses a decimal number, infinity or NaN, also as the C library of Windows writes them (`-1.#INF`, `1.#QNAN`);
 * undefined if the text is none of these.
 */
export function parseNumber(text: string): number | undefined {
  const word = wordOf(text);
  if (word !== undefined) return word;
  return NUMBER.exec(text)?.[0] === text ? Number(text) : undefined;
}

/**
 * Parses the number with which a text begins, as GDAL reads a nodata value: a comma may stand for the decimal point, and
 * what follows is ignored.
 */
function parseLeadingNumber(text: string): number | undefined {
  const trimmed = text.trim();
  const word = wordOf(trimmed);
  if (word !== undefined) return word;
  const [number] = NUMBER.exec(trimmed.replace(',', '.')) ?? [];
  const isHexadecimal = /^[+-]?0x/i.test(trimmed);
  return number === undefined || isHexadecimal ? undefined : Number(number);
}

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?/i;

function wordOf(text: string): number | undefined {
  const [, sign, word = ''] = /^([+-]?)(.*)$/s.exec(text.toLowerCase()) ?? [];
  if (/^(nan(\(.*\))?|1\.#(qnan|snan|ind)\d*)$/.test(word)) return Number.NaN;
  if (!/^(inf|infinity|1\.#inf\d*)$/.test(word)) return undefined;
  return sign === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
}

/**
 * The stored value that a nodata value marks, as in GDAL's mask: integers drop the fraction of a value in the range of
 * the type that GDAL compares in, which is wider than the type of the band for 16 bits and i8.
 */
function markedValue(value: number, sample: Exclude<Sample, 'i64' | 'u64'>): number | undefined {
  if (sample === 'f64') return value;
  if (sample === 'f32') return Math.fround(value);
  const [low, high] = SAMPLE_RANGE[COMPARED_AS[sample]];
  if (!(value >= low && value <= high)) return undefined;
  const [min, max] = SAMPLE_RANGE[sample];
  const whole = Math.trunc(value) + 0;
  return whole >= min && whole <= max ? whole : undefined;
}

/** The type in which GDAL compares the cells of a band with the nodata value. */
const COMPARED_AS = { u8: 'u8', i8: 'i32', u16: 'u32', i16: 'i32', u32: 'u32', i32: 'i32' } as const;
