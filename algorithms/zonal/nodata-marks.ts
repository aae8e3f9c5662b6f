import { type Parameters, u32, uniform } from '../../primitives/functors/functor.ts';
import type { Bool, U32 } from '../../primitives/functors/value.ts';
import { largestOf, smallestOf } from '../../primitives/host/extremes.ts';
import { bitsOfF32 } from '../../primitives/ir/semantics.ts';
import type { NarrowSample } from '../geometry/raster.ts';
import { type NodataBand, rangesOf, type ValueRange } from './nodata-ranges.ts';
import { orderedWord } from './ordered-words.ts';
import { ABSENT } from './window-plan.ts';

/** The values of the parameters of {@link uniformsFor} inside a functor. */
export interface CapturedMarks {
  readonly nodataKey?: U32;
  readonly hasNodata?: U32;
  readonly nodataLow?: U32;
  readonly nodataSpan?: U32;
  readonly farLow?: U32;
  readonly farSpan?: U32;
  readonly nodataHead?: U32;
  readonly nodataHeadSpan?: U32;
  readonly nodataHeadBits?: U32;
}

/** The words that mark cells without data, as parameters of the functors of a classifier. */
export type Marks = { readonly [name in keyof CapturedMarks]?: number };

export function uniformsFor(marks: Marks): Parameters {
  return Object.fromEntries(Object.keys(marks).map((name) => [name, uniform(u32)]));
}

/**
 * The ordered words of the cells without data: one word for integers; for f32 an interval, given by its smallest word
 * and its span, and a second interval only if the nodata value has one.
 *
 * @param turned - The bits that are inverted in ordered words.
 */
export function marksOf(band: NodataBand & { readonly sample: NarrowSample }, turned: number): Marks {
  const { sample, nodata } = band;
  const [own, far] = rangesOf(band);
  const nodataKey = own === undefined ? 0 : (orderedWord(sample, Number(nodata)) ^ turned) >>> 0;
  if (sample !== 'f32') return { nodataKey, hasNodata: own === undefined ? 0 : 1 };
  const [nodataLow, nodataSpan] = own === undefined ? [NAN_WORD, 0] : spanOf(own, turned);
  const heads = headsWithout(own, far);
  if (far === undefined) return { nodataKey, nodataLow, nodataSpan, ...heads };
  const [farLow, farSpan] = spanOf(far, turned);
  return { nodataKey, nodataLow, nodataSpan, farLow, farSpan, ...heads };
}

/** An ordered word that only a NaN has. Cells that are NaN lack data anyway. */
const NAN_WORD = 0xffffffff;

/** The smallest ordered word of an interval of f32 values, and the difference to its greatest word. */
function spanOf({ low, high }: ValueRange, turned: number): readonly [low: number, span: number] {
  const ends = [low, high].map((value) => (orderedWord('f32', value) ^ turned) >>> 0);
  const least = smallestOf(ends);
  return [least, largestOf(ends) - least];
}

/** Whether an f32 cell with this ordered word matches the nodata value. */
export function isMarked(key: U32, { nodataLow, nodataSpan, farLow, farSpan }: CapturedMarks): Bool {
  const own = key.sub(nodataLow!).le(nodataSpan!);
  return farLow === undefined ? own : own.or(key.sub(farLow).le(farSpan!));
}

/**
 * The first of the heads (sign and exponent) of f32 cells without data, the difference to the last one, and a mask of
 * the bits to compare. For zero, the mask leaves out the sign, so that both 0 and −0 match.
 */
function headsWithout(...ranges: readonly (ValueRange | undefined)[]): Marks {
  const ends = ranges.flatMap((range) => (range === undefined ? [] : [range.low, range.high]));
  if (ends.length === 0) return { nodataHead: ABSENT, nodataHeadSpan: 0, nodataHeadBits: 0 };
  const nodataHeadBits = ends[0] === 0 ? 0xff : 0x1ff;
  const heads = ends.map((value) => (bitsOfF32(value) >>> 23) & nodataHeadBits);
  const nodataHead = smallestOf(heads);
  return { nodataHead, nodataHeadSpan: largestOf(heads) - nodataHead, nodataHeadBits };
}

/** Whether a 32-bit integer cell has data. `key` is the cell as an ordered word. */
export function isDataKey(key: U32, { nodataKey, hasNodata }: CapturedMarks): Bool {
  return key.ne(nodataKey!).or(hasNodata!.eq(0));
}
