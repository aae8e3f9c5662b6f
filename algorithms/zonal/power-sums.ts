import { If, Let, Var } from '../../primitives/functors/control.ts';
import { type Functor, fn, type Parameters, u32, uniform } from '../../primitives/functors/functor.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import { mulU32, mulU64 } from '../../primitives/functors/standard/wide-products.ts';
import type { U32, Variable } from '../../primitives/functors/value.ts';
import { isFloat, SAMPLE_BYTES, type Sample } from '../geometry/raster.ts';
import {
  exactlyAdded,
  type Float,
  type GroupLayout,
  groupSum,
  type HomeGroups,
  LAYOUTS,
  maxExponent,
  type Power,
  type PowerLayout,
  WEIGHTED,
  wholeOf,
  wideSum,
} from './exact-sums.ts';
import type { Fold, SumField, WideSums, Words, ZoneFold } from './fold.ts';
import { ABSENT } from './window-plan.ts';

const WIDE_CELL = { zone: u32, raw: u32, high: u32, byte: uniform(u32), home: uniform(u32) };
const DIGIT = { counter: u32, value: u32 };

type SumOfZone = Pick<ZoneFold, 'name' | 'fields' | 'read' | 'add' | 'isPossible'>;

type Variables = Variable<'u32'>[];

/** The exact sum of the values of a zone, or of their squares. */
export function powerSum(name: SumField, power: Power, sample: Sample): Fold {
  const own = isFloat(sample) ? floatSum(power, LAYOUTS[sample][power]) : integerSum(power, 8 * SAMPLE_BYTES[sample]);
  return sumFold(name, own);
}

/** The fold of a sum: a field of whole numbers. */
export function sumFold<S extends ZoneSum>(name: SumField, { integer, ...words }: S): Omit<S, 'integer'> & SumOfZone {
  return {
    ...words,
    name,
    fields: { [name]: 'bigint' },
    read(found, sums, wide) {
      sums[name] = integer(found, wide);
      return true;
    },
    add(sums, more) {
      sums[name] = exactlyAdded(sums[name], more[name]);
    },
    isPossible: (found) => typeof found[name] === 'bigint',
  };
}

/** The words of a sum of a zone, and the sum as an integer. */
export interface ZoneSum extends Pick<ZoneFold, 'rowWords' | 'neutral' | 'widen' | 'combine' | 'widePower' | 'layout'> {
  integer(words: readonly number[], wide: WideSums): number | bigint;
}

interface SumWords extends ZoneSum, Pick<Fold, 'begin'> {}

/** The most cells of a window have 2^WINDOW_BITS. */
export const WINDOW_BITS = 24;

/** Sums powers of ordered words, which are unsigned integers of `bits` bits. */
function integerSum(power: Power, bits: number): SumWords {
  const words = Math.ceil((power * bits + WINDOW_BITS) / 32);
  const termOf = (value: Words): Words => {
    if (power === 1) return value;
    return bits > 16 ? squareOf(value) : [value[0]!.mul(value[0]!)];
  };
  // A row of 32 cells leaves the upper words 0.
  const wordsMet = Math.ceil((power * bits + 5) / 32);
  return {
    rowWords: words,
    neutral: Array(words).fill(0),
    begin() {
      const sums = zeros(words);
      return { words: sums, take: (value) => addTo(sums.slice(0, wordsMet), termOf(value)) };
    },
    combine: addWords,
    integer: wholeOf,
  };
}

/**
 * Sums powers of floats in two groups of exponents: `home` and the next lower one. The sums of a row are integers in the
 * units of the groups, of which a zone needs one word more. The last word of a row is 0 only if the powers of other
 * groups are all zero or infinite.
 *
 * Adjacent values mostly have the same sign and exponent. Such values form a run. The powers of the significands of a
 * run are added without a shift, and only the sum of the run is shifted.
 */
function floatSum(power: Power, layout: PowerLayout): SumWords {
  const { form } = layout;
  const ofRow = power * form.words + 1;
  return {
    ...groupedSum(power, layout, ofRow),
    begin(homes) {
      const groups = beginGroups(homes[power], ofRow);
      const run =
        power === 1 ? runOfValues(layout) : form.words === 1 ? runOfSquares(layout) : runOfWideSquares(layout);
      return {
        words: groups.words,
        beginRun: run.begin,
        take: run.take,
        endRun: (head, count) => groups.add(termOf(power, layout, head, run.sum(head, count))),
      };
    },
  };
}

/** The sums of a row in both groups, and whether other groups have any summand. */
export function beginGroups(home: U32, ofRow: number): { readonly words: Words; add(term: Term): void } {
  const [atHome, below, wide] = [zeros(ofRow), zeros(ofRow), Var(u32(0))];
  return {
    words: [...atHome, ...below, wide],
    add({ group, words }) {
      const distance = home.sub(group);
      If(distance.eq(0), () => addTo(atHome, words))
        .ElseIf(
          () => distance.eq(1),
          () => addTo(below, words),
        )
        .Else(() => wide.set(words.reduce((or, word) => or.or(word), wide as U32)));
    },
  };
}

/** How the sums of rows in both groups, of `ofRow` words each, become that of a zone. */
export function groupedSum(power: keyof HomeGroups, layout: GroupLayout, ofRow: number): ZoneSum {
  const ofZone = ofRow + 1;
  const both = (words: Words, size: number, change: (words: Words, from: number) => Words): Words =>
    [0, size].flatMap((from) => change(words.slice(from, from + size), from));
  return {
    rowWords: 2 * ofRow + 1,
    neutral: Array(2 * ofZone).fill(0),
    // All bits of the further word equal the sign bit of the sum.
    widen: (row) => both(row, ofRow, (sum) => [...sum, u32(0).sub(sum.at(-1)!.shr(31))]),
    combine: (a, b) => both(a, ofZone, (sum, from) => addWords(sum, b.slice(from, from + ofZone))),
    ...(typeof power === 'number' && { widePower: power }),
    layout,
    integer(words, { zone, digits, homes }) {
      const atHome = groupSum(words.slice(0, ofZone), homes[power]!);
      const below = groupSum(words.slice(ofZone), homes[power]! - 1);
      return atHome + below + wideSum(layout, digits!, zone * layout.counters);
    },
  };
}

/** The power sum of the significands in a run of floats. */
interface Run {
  begin(head: U32): void;
  take(raw: Words): void;
  sum(head: U32, count: U32): Words;
}

/** How floats are stored, and where their exponents begin. */
type FloatLayout = Pick<PowerLayout, 'form' | 'offset'>;

/** The bits of the fraction, which the significand has below the implicit bit, in the highest word of a float. */
function fractionOf({ form }: FloatLayout): number {
  return 2 ** ((form.significandBits - 1) & 31) - 1;
}

/** The exponent in the head of a run, which is the sign and the exponent. */
function exponentIn(head: U32, { form }: FloatLayout): U32 {
  return head.and(2 ** form.exponentBits - 1);
}

/** The significand of a stored float. `implicit` is the implicit bit, in its place, or 0. */
function significandOf(raw: Words, implicit: U32, layout: FloatLayout): Words {
  return [...raw.slice(0, -1), raw.at(-1)!.and(fractionOf(layout)).or(implicit)];
}

function implicitOf(exponent: U32, layout: FloatLayout): U32 {
  return select(u32(0), u32(fractionOf(layout) + 1), exponent.ne(0));
}

/** The sum of the significands fits their words, because a row has 32 cells. The implicit bits are added at the end. */
function runOfValues(layout: PowerLayout): Run {
  const sums = zeros(layout.form.words);
  return {
    begin() {
      for (const sum of sums) sum.set(0);
    },
    take: (raw) => addTo(sums, significandOf(raw, u32(0), layout)),
    sum(head, count) {
      const implicit = count.mul(implicitOf(exponentIn(head, layout), layout));
      return [...sums.slice(0, -1), sums.at(-1)!.add(implicit)];
    },
  };
}

/** The sum of the squares of significands of two words fits four words. */
function runOfWideSquares(layout: PowerLayout): Run {
  const implicit = Var(u32(0));
  const sums = zeros(4);
  return {
    begin(head) {
      implicit.set(implicitOf(exponentIn(head, layout), layout));
      for (const sum of sums) sum.set(0);
    },
    take: (raw) => addTo(sums, squareOf(significandOf(raw, implicit, layout))),
    sum: () => sums,
  };
}

/**
 * The square of a significand a · 2¹² + b is a² · 2²⁴ + 2ab · 2¹² + b². The sums of a², ab and b² fit a word each, because
 * a row has 32 cells.
 */
function runOfSquares(layout: PowerLayout): Run {
  const implicit = Var(u32(0));
  const [high, mixed, low] = zeros(3) as [Variables[0], Variables[0], Variables[0]];
  return {
    begin(head) {
      implicit.set(implicitOf(exponentIn(head, layout), layout));
      for (const sum of [high, mixed, low]) sum.set(0);
    },
    take(raw) {
      const [significand] = significandOf(raw, implicit, layout);
      const [a, b] = [significand!.shr(12), significand!.and(0xfff)];
      high.set(high.add(a.mul(a)));
      mixed.set(mixed.add(a.mul(b)));
      low.set(low.add(b.mul(b)));
    },
    sum: () => addWords(addWords([high.shl(24), high.shr(8)], [mixed.shl(13), mixed.shr(19)]), [low]),
  };
}

/** A summand of a group: an integer in its unit. */
interface Term {
  readonly group: U32;
  readonly words: Words;
}

/** The power sum of a run as a signed integer in the unit of its group. It is 0 if the values of the run are infinite. */
function termOf(power: Power, layout: PowerLayout, head: U32, significands: Words): Term {
  const exponent = exponentIn(head, layout);
  const place = placeOf(power, layout, exponent);
  const words = shifted(finiteOf(significands, exponent, layout), place.and(31));
  const group = place.shr(5);
  if (power === 2) return { group, words };
  return { group, words: signed(words, head.shr(layout.form.exponentBits)) };
}

/** An integer that is negated if `sign` is 1, in two's complement: all bits are inverted, and one is added. */
export function signed(words: Words, sign: U32): Words {
  const turn = u32(0).sub(sign);
  const inverted = words.map((word) => word.xor(turn));
  return addWords(inverted, [sign]);
}

/** The lowest bit of powers of significands with this exponent, in the unit of group 0. */
function placeOf(power: Power, { offset }: FloatLayout, exponent: U32): U32 {
  const least = exponent.max(1);
  return (power === 1 ? least : least.shl(1)).add(offset);
}

/** The words; 0 if the exponent is that of infinity. */
function finiteOf(words: Words, exponent: U32, { form }: FloatLayout): Words {
  return words.map((word) => select(word, u32(0), exponent.gt(maxExponent(form))));
}

/** An integer that is shifted left by 0 to 31 bits, with a word more. */
export function shifted(integer: Words, shift: U32): Words {
  const carried = integer.map((word) => word.shr(1).shr(u32(31).sub(shift)));
  const words = [...integer.map((word) => word.shl(shift)), u32(0)];
  return words.map((word, i) => (i === 0 ? word : word.or(carried[i - 1]!)));
}

/** A power of a stored float, times a weight: the magnitude is shifted left by `place` bits in the unit of group 0. */
interface Summand {
  /** 0 if the float is infinite. */
  readonly magnitude: Words;
  /** 1 if it is negative. */
  readonly sign: U32;
  readonly place: U32;
}

/** @param weight - A signed integer. Default 1. */
export function summandOf(power: Power, layout: FloatLayout, stored: Words, weight?: U32): Summand {
  const { form } = layout;
  const head = stored.at(-1)!.shr((form.significandBits - 1) & 31);
  const exponent = Let(exponentIn(head, layout));
  const significand = significandOf(stored, implicitOf(exponent, layout), layout);
  const finite = finiteOf(power === 1 ? significand : squareOf(significand), exponent, layout);
  const own = power === 1 ? head.shr(form.exponentBits) : u32(0);
  const place = placeOf(power, layout, exponent);
  if (weight === undefined) return { place, magnitude: finite, sign: own };
  const sign = weight.shr(31);
  return { place, magnitude: timesWord(finite, signed([weight], sign)[0]!), sign: own.xor(sign) };
}

/** The product of an integer and a word, with a word more. */
export function timesWord(integer: Words, factor: U32): Words {
  const products = integer.map((word) => mulU32({ a: word, b: factor }));
  const low = [...products.map(({ lo }) => lo), u32(0)];
  return addWords(low, [u32(0), ...products.map(({ hi }) => hi)]);
}

/**
 * Byte number `byte` of the magnitude of a power, and the index of the counter to which the byte is added. The index is
 * ABSENT for powers of the home group and the next lower one, which have no such counters. `raw` and `high` are the words
 * of a stored float; `high` is 0 for f32.
 */
export const WIDE_DIGITS: WideDigits<WideCell> = wideDigits(LAYOUTS, (power, layout) =>
  fn('wideDigit', WIDE_CELL, DIGIT, (given) => digitOf(power, layout, given)),
);

/** The same of powers times weights. */
export const WEIGHTED_DIGITS: WideDigits<WideCell & { readonly weight: Word }> = wideDigits(WEIGHTED, (power, layout) =>
  fn('weightedDigit', { ...WIDE_CELL, weight: u32 }, DIGIT, (given) => digitOf(power, layout, given)),
);

type Word = typeof u32;
type UniformWord = ReturnType<typeof uniform<'u32'>>;
type WideCell = {
  readonly zone: Word;
  readonly raw: Word;
  readonly high: Word;
  readonly byte: UniformWord;
  readonly home: UniformWord;
};
type WideDigits<P extends Parameters> = {
  readonly [sample in Float]: {
    readonly [power in Power]: Functor<P, { readonly counter: Word; readonly value: Word }>;
  };
};

function wideDigits<F>(
  { f32, f64 }: typeof LAYOUTS,
  define: (power: Power, layout: PowerLayout) => F,
): { readonly [sample in Float]: { readonly [power in Power]: F } } {
  return {
    f32: { 1: define(1, f32[1]), 2: define(2, f32[2]) },
    f64: { 1: define(1, f64[1]), 2: define(2, f64[2]) },
  };
}

interface DigitOfCell {
  readonly zone: U32;
  readonly raw: U32;
  readonly high: U32;
  readonly weight?: U32;
  readonly byte: U32;
  readonly home: U32;
}

function digitOf(
  power: Power,
  layout: PowerLayout,
  { zone, raw, high, weight, byte, home }: DigitOfCell,
): { readonly counter: U32; readonly value: U32 } {
  const { form, signs, counters } = layout;
  const { magnitude, sign, place } = summandOf(power, layout, form.words === 1 ? [raw] : [raw, high], weight);
  const words = shifted(magnitude, place.and(7));
  const word = words.reduce((found, next, i) => select(found, next, byte.shr(2).eq(i)));
  const counter = zone.mul(counters).add(place.shr(3)).add(byte);
  const signed = signs === 1 ? counter : counter.add(sign.mul(counters / signs));
  const isWide = zone.ne(ABSENT).and(home.sub(place.shr(5)).gt(1));
  return { counter: select(u32(ABSENT), signed, isWide), value: word.shr(byte.and(3).shl(3)).and(0xff) };
}

/** The square of an integer of one word or two, in twice as many words. */
export function squareOf(value: Words): Words {
  const [low, high] = value as [U32, U32 | undefined];
  if (high === undefined) {
    const { lo, hi } = mulU32({ a: low, b: low });
    return [lo, hi];
  }
  const { lo, hi } = mulU64({ a: { lo: low, hi: high }, b: { lo: low, hi: high } });
  return [lo.lo, lo.hi, hi.lo, hi.hi];
}

export function zeros(count: number): Variables {
  return Array.from({ length: count }, () => Var(u32(0)));
}

export function addTo(sums: Variables, terms: Words): void {
  const added = addWords(sums, terms);
  sums.forEach((sum, i) => {
    sum.set(added[i]!);
  });
}

/** Adds an integer of as many or fewer words to an integer of some words, lowest first. The highest carry is lost. */
export function addWords(a: Words, b: Words): Words {
  let carry: U32 | undefined;
  return a.map((word, i) => {
    const [term, before] = [b[i], carry];
    const sum = term === undefined ? word : word.add(term);
    const whole = before === undefined ? sum : sum.add(before);
    if (i === a.length - 1) return whole;
    const carries = [
      ...(term === undefined ? [] : [u32(sum.lt(term))]),
      ...(before === undefined ? [] : [u32(whole.lt(before))]),
    ];
    carry = carries.length === 0 ? undefined : carries.reduce((one, other) => one.add(other));
    return whole;
  });
}
