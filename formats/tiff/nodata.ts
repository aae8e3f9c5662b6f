import type { Sample } from '../../algorithms/geometry/raster.ts';
import type { Note } from '../../algorithms/notes.ts';
import { SAMPLE_RANGE } from './samples.ts';

/**
 * Parses a nodata value. Rounds it to the nearest f32 or to the nearest integer, depending on the type of the band. If
 * no cell of the band can have this value, adds a note and returns undefined.
 */
export function readNodata(text: string | undefined, sample: Sample, notes: Note[]): number | undefined {
  if (text === undefined || text.trim() === '') return undefined;
  const value = parseNumber(text.trim());
  const rounded = value === undefined ? undefined : roundToSample(value, sample);
  if (rounded === undefined) {
    notes.push({
      code: 'raster/nodata-unusable',
      message: `The nodata value ${JSON.stringify(text.trim())} cannot occur in a band of type ${sample}; none is used.`,
    });
  }
  return rounded;
}

/** Parses a decimal number, infinity or NaN; undefined if the text is none of these. */
export function parseNumber(text: string): number | undefined {
  const word = WORDS.get(text.toLowerCase());
  if (word !== undefined) return word;
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : undefined;
}

const WORDS: ReadonlyMap<string, number> = new Map([
  ['nan', Number.NaN],
  ['-nan', Number.NaN],
  ['inf', Number.POSITIVE_INFINITY],
  ['+inf', Number.POSITIVE_INFINITY],
  ['infinity', Number.POSITIVE_INFINITY],
  ['-inf', Number.NEGATIVE_INFINITY],
  ['-infinity', Number.NEGATIVE_INFINITY],
]);

function roundToSample(value: number, sample: Sample): number | undefined {
  if (sample === 'f32') {
    const rounded = Math.fround(value);
    return Number.isFinite(value) && !Number.isFinite(rounded) ? undefined : rounded;
  }
  const [min, max] = SAMPLE_RANGE[sample];
  const rounded = Math.round(value) + 0;
  return rounded >= min && rounded <= max ? rounded : undefined;
}
