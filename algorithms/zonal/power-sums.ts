import { If, Var } from '../../primitives/functors/control.ts';
import { type Functor, fn, u32, uniform } from '../../primitives/functors/functor.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import { mulU32 } from '../../primitives/functors/standard/wide-products.ts';
import type { U32, Variable } from '../../primitives/functors/value.ts';
import { SAMPLE_BYTES, type Sample } from '../geometry/raster.ts';
import { groupSum, integerOf, LAYOUTS, type Power, wideSum } from './exact-sums.ts';
import type { Fold, WideSums, Words } from './fold.ts';
import { ABSENT } from './window-plan.ts';

type PowerField = 'sum' | 'squares';

type Variables = Variable<'u32'>[];

/** The exact sum of the values of a zone, or of their squares. */
export function powerSum(name: PowerField, power: Power, sample: Sample): Fold {
  const own = sample === 'f32' ? floatSum(power) : integerSum(power, 8 * SAMPLE_BYTES[sample]);
  const { integer, ...words } = own;
  return {
    ...{ name, ...words },
    fields: { [name]: 'bigint' },
    read(found, sums, wide) {
      sums[name] = integer(found, wide);
      return true;
    },
    add(sums, more) {
      sums[name] += more[name];
    },
    isPossible: (found) => typeof found[name] === 'bigint',
  };
}

/** The words of a sum, and the sum as an integer. */
interface SumWords extends Omit<Fold, 'name' | 'fields' | 'read' | 'add' | 'isPossible'> {
  integer(words: readonly number[], wide: WideSums): bigint;
}

/** The most cells of a window have 2^WINDOW_BITS. */
const WINDOW_BITS = 24;

/** Sums powers of ordered words, which are unsigned integers of `bits` bits. */
function integerSum(power: Power, bits: number): SumWords {
  const words = Math.ceil((power * bits + WINDOW_BITS) / 32);
  const termOf = (value: U32): Words => {
    if (power === 1) return [value];
    return bits > 16 ? squareOf(value) : [value.mul(value)];
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
    integer: integerOf,
  };
}

/**
 * Sums powers of f32 in two groups of exponents: `home` and the next lower one. The sums of a row are integers in the
 * units of the groups, of which a zone needs one word more. The last word of a row is 0 only if the powers of other
 * groups are all zero or infinite.
 *
 * Adjacent values mostly have the same sign and exponent. Such values form a run. The powers of the significands of a
 * run are added without a shift, and only the sum of the run is shifted.
 */
function floatSum(power: Power): SumWords {
  const [ofRow, ofZone] = [power + 1, power + 2];
  const both = (words: Words, size: number, change: (words: Words, from: number) => Words): Words =>
    [0, size].flatMap((from) => change(words.slice(from, from + size), from));
  return {
    rowWords: 2 * ofRow + 1,
    neutral: Array(2 * ofZone).fill(0),
    begin(homes) {
      const [atHome, below, wide] = [zeros(ofRow), zeros(ofRow), Var(u32(0))];
      const run = power === 1 ? runOfValues() : runOfSquares();
      return {
        words: [...atHome, ...below, wide],
        beginRun: run.begin,
        take: run.take,
        endRun(head, count) {
          const { group, words } = termOf(power, head, run.sum(head, count));
          const distance = homes[power].sub(group);
          If(distance.eq(0), () => addTo(atHome, words))
            .ElseIf(
              () => distance.eq(1),
              () => addTo(below, words),
            )
            .Else(() => wide.set(words.reduce((or, word) => or.or(word), wide as U32)));
        },
      };
    },
    // All bits of the further word equal the sign bit of the sum.
    widen: (row) => both(row, ofRow, (sum) => [...sum, u32(0).sub(sum.at(-1)!.shr(31))]),
    combine: (a, b) => both(a, ofZone, (sum, from) => addWords(sum, b.slice(from, from + ofZone))),
    widePower: power,
    integer(words, { zone, digits, homes }) {
      const atHome = groupSum(words.slice(0, ofZone), homes[power]);
      const below = groupSum(words.slice(ofZone), homes[power] - 1);
      return atHome + below + wideSum(power, digits!, zone * LAYOUTS[power].counters);
    },
  };
}

/** The power sum of the significands in a run of f32. */
interface Run {
  begin(head: U32): void;
  take(raw: U32): void;
  sum(head: U32, count: U32): Words;
}

/** The sum of the significands fits a word, because a row has 32 cells. */
function runOfValues(): Run {
  const sum = Var(u32(0));
  return {
    begin: () => sum.set(0),
    take: (raw) => sum.set(sum.add(raw.and(FRACTION))),
    sum: (head, count) => [sum.add(select(u32(0), count.shl(23), head.and(0xff).ne(0)))],
  };
}

/**
 * The square of a significand a · 2¹² + b is a² · 2²⁴ + 2ab · 2¹² + b². The sums of a², ab and b² fit a word each, because
 * a row has 32 cells.
 */
function runOfSquares(): Run {
  const implicit = Var(u32(0));
  const [high, mixed, low] = zeros(3) as [Variables[0], Variables[0], Variables[0]];
  return {
    begin(head) {
      implicit.set(select(u32(0), u32(FRACTION + 1), head.and(0xff).ne(0)));
      for (const sum of [high, mixed, low]) sum.set(0);
    },
    take(raw) {
      const significand = raw.and(FRACTION).or(implicit);
      const [a, b] = [significand.shr(12), significand.and(0xfff)];
      high.set(high.add(a.mul(a)));
      mixed.set(mixed.add(a.mul(b)));
      low.set(low.add(b.mul(b)));
    },
    sum: () => addWords(addWords([high.shl(24), high.shr(8)], [mixed.shl(13), mixed.shr(19)]), [low]),
  };
}

/** The bits of the fraction of an f32, which its significand has below the implicit bit. */
const FRACTION = 0x7fffff;

interface Term {
  readonly group: U32;
  readonly words: Words;
}

/** The power sum of a run as a signed integer in the unit of its group. It is 0 if the values of the run are infinite. */
function termOf(power: Power, head: U32, significands: Words): Term {
  const { group, words } = placed(power, significands, head.and(0xff));
  if (power === 2) return { group, words };
  // Negates the sum of negative values in two's complement: inverts all bits and adds one.
  const sign = head.shr(8);
  const turn = u32(0).sub(sign);
  const inverted = words.map((word) => word.xor(turn));
  return { group, words: addWords(inverted, [sign]) };
}

/**
 * Shifts a sum of powers of significands with the same exponent, so that it is an integer in the unit of the group of
 * this exponent. It is 0 if the exponent is that of infinity.
 */
function placed(power: Power, significands: Words, exponent: U32): Term {
  const least = exponent.max(1);
  const place = (power === 1 ? least : least.shl(1)).add(LAYOUTS[power].offset);
  const shift = place.and(31);
  const finite = significands.map((word) => select(word, u32(0), exponent.eq(0xff)));
  const carried = finite.map((word) => word.shr(1).shr(u32(31).sub(shift)));
  const words = [...finite.map((word) => word.shl(shift)), u32(0)];
  return { group: place.shr(5), words: words.map((word, i) => (i === 0 ? word : word.or(carried[i - 1]!))) };
}

/**
 * Byte number `byte` of the magnitude of a power, and the index of the counter to which the byte is added. The index is
 * ABSENT for powers of the home group and the next lower one, which have no such counters.
 */
export const WIDE_DIGITS: { readonly [power in Power]: WideDigit } = { 1: wideDigit(1), 2: wideDigit(2) };

type Word = typeof u32;
type UniformWord = ReturnType<typeof uniform<'u32'>>;
type WideDigit = Functor<
  { readonly zone: Word; readonly raw: Word; readonly byte: UniformWord; readonly home: UniformWord },
  { readonly counter: Word; readonly value: Word }
>;

function wideDigit(power: Power): WideDigit {
  const { bytes, signs, counters } = LAYOUTS[power];
  return fn(
    'wideDigit',
    { zone: u32, raw: u32, byte: uniform(u32), home: uniform(u32) },
    { counter: u32, value: u32 },
    ({ zone, raw, byte, home }) => {
      const exponent = raw.shr(23).and(0xff);
      const significand = raw.and(FRACTION).or(select(u32(0), u32(FRACTION + 1), exponent.ne(0)));
      const { group, words } = placed(power, power === 1 ? [significand] : squareOf(significand), exponent);
      const word = words.reduce((found, next, i) => select(found, next, byte.shr(2).eq(i)));
      const signedGroup = signs === 1 ? group : group.mul(2).add(raw.shr(31));
      const counter = zone.mul(counters).add(signedGroup.mul(bytes)).add(byte);
      const isWide = zone.ne(ABSENT).and(home.sub(group).gt(1));
      return { counter: select(u32(ABSENT), counter, isWide), value: word.shr(byte.and(3).shl(3)).and(0xff) };
    },
  );
}

function squareOf(value: U32): Words {
  const { lo, hi } = mulU32({ a: value, b: value });
  return [lo, hi];
}

function zeros(count: number): Variables {
  return Array.from({ length: count }, () => Var(u32(0)));
}

function addTo(sums: Variables, terms: Words): void {
  const added = addWords(sums, terms);
  sums.forEach((sum, i) => {
    sum.set(added[i]!);
  });
}

/** Adds an integer of as many or fewer words to an integer of some words, lowest first. The highest carry is lost. */
function addWords(a: Words, b: Words): Words {
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
