import fc from 'fast-check';
import type { AtomicCombination } from '../../primitives/contract/backend.ts';
import { expand } from '../../primitives/expand.ts';
import { array, bool, f32, fn, i32, u32, uniform } from '../../primitives/functors/functor.ts';
import { scatterReduce } from '../../primitives/scatter-reduce.ts';
import { unfold, unfoldReduce } from '../../primitives/unfold.ts';
import { fewRows, type HostRows, hostColumn, recipe, rowsOf } from '../arbitraries/columns.ts';
import { present, presentation } from '../arbitraries/presentations.ts';
import { assertSame, assertSameBytes } from './compare.ts';
import { type Law, law } from './law.ts';
import { rowsIn, takeArray } from './rows.ts';

/** The start of a walk that emits one row for each rank, like `expand`. The first rank is 0. */
const fromZero = fn({}, { rank: u32 }, () => ({ rank: 0 }));
const ranks = fn(
  { id: u32, float: f32, count: u32, rank: u32 },
  {
    more: bool,
    emits: bool,
    state: { rank: u32 },
    value: { id: u32, rank: u32, float: f32 },
  },
  ({ id, float, count, rank }) => ({
    more: rank.add(1).lt(count),
    emits: rank.lt(count),
    state: { rank: rank.add(1) },
    value: { id, rank, float },
  }),
);
const pair = fn({ id: u32, float: f32, rank: u32 }, { id: u32, rank: u32, float: f32 }, (row) => row);

const RING = Uint32Array.of(5, 70, 1100, 13000, 17, 0, 9);

/**
 * The start of a pseudorandom walk of up to `max` steps, only some of which emit a row. The state of the walk has a
 * field of every type.
 */
const begin = fn(
  { seed: u32, steps: u32, max: uniform(u32) },
  { word: u32, left: i32, sum: f32, flag: bool },
  ({ seed, steps, max }) => ({ word: seed, left: i32(steps.rem(max)).sub(1), sum: 0, flag: seed.and(1).eq(1) }),
);
const wander = fn(
  { byte: i32, word: u32, left: i32, sum: f32, flag: bool, ring: array(u32), rare: uniform(u32) },
  {
    value: { sum: f32, left: i32, where: { word: u32, byte: i32 }, flag: bool },
    more: bool,
    state: { flag: bool, sum: f32, left: i32, word: u32 },
    emits: bool,
  },
  ({ byte, word, left, sum, flag, ring, rare }) => {
    const next = word.mul(1664525).add(1013904223);
    const found = ring.at(next.shr(8).rem(9));
    const total = sum.add(f32(found)).sub(f32(byte));
    return {
      more: left.gt(0),
      emits: next.shr(16).rem(rare).eq(0),
      state: { word: next, left: left.sub(1), sum: total, flag: flag.xor(next.shr(9).and(1).eq(1)) },
      value: { sum: total, left, flag, where: { word, byte } },
    };
  },
);

type Wanderers = HostRows<{ seed: 'u32'; steps: 'u32'; byte: 'i8' }>;

interface Wandered {
  readonly sum: number;
  readonly left: number;
  readonly word: number;
  readonly byte: number;
  readonly flag: boolean;
}

/** The expected rows that the walks emit, computed by plain loops. */
function wandered({ seed, steps, byte }: Wanderers, max: number, rare: number): Wandered[] {
  const out: Wandered[] = [];
  for (let row = 0; row < seed.length; row++) {
    let [word, left, sum, flag] = [seed[row]!, (steps[row]! % max) - 1, 0, seed[row]! % 2 === 1];
    for (let more = true; more; ) {
      const next = (Math.imul(word, 1664525) + 1013904223) >>> 0;
      sum += (RING[(next >>> 8) % 9] ?? 0) - byte[row]!;
      if ((next >>> 16) % rare === 0) out.push({ sum, left, word, byte: byte[row]!, flag });
      more = left > 0;
      flag = flag !== (((next >>> 9) & 1) === 1);
      word = next;
      left--;
    }
  }
  return out;
}

const wanderers = rowsOf({ seed: 'u32', steps: 'u32', byte: 'i8' }, fewRows);
const maxSteps = fc.constantFrom(1, 2, 7, 40);
const rareness = fc.constantFrom(1, 2, 5, 70000);

/**
 * The start of a walk over the multiples of the number in its row. Target indices and values to combine are computed
 * from the multiples.
 */
const multiplesFrom = fn({ by: u32 }, { at: u32 }, ({ by }) => ({ at: by }));
const multiples = fn(
  { by: u32, at: u32, end: uniform(u32) },
  { more: bool, emits: bool, state: { at: u32 }, value: { value: u32, index: u32 } },
  ({ by, at, end }) => ({
    more: at.add(by).lt(end).and(by.gt(0)),
    emits: at.and(4).eq(0),
    state: { at: at.add(by) },
    value: { value: at.mul(0x9e3779b1), index: at.rem(50) },
  }),
);
const combinations: readonly AtomicCombination[] = ['add', 'and', 'or', 'xor', 'min', 'max'];

/** The start of a walk that counts from 1 to the number in its row. The state of the walk is a single column. */
const fromOne = fn({}, { k: u32 }, () => ({ k: 1 }));
const upTo = fn({ last: u32, k: u32 }, { more: bool, emits: bool, state: { k: u32 }, value: u32 }, ({ last, k }) => ({
  more: k.lt(last),
  emits: k.le(last),
  state: { k: k.add(1) },
  value: last.sub(k),
}));

export const unfoldLaws: readonly Law[] = [
  law(
    'unfold of ranks equals expand, for an exact or a larger capacity',
    [rowsOf({ count: 'tiny', id: 'u32', float: 'f32' }, fewRows), presentation, fc.nat({ max: 300 })],
    async (run, host, how, spare) => {
      const from = Array.from(host.count, (count, row) => new Array<number>(count).fill(row)).flat();
      const capacity = from.length + spare;
      const result = await run((context) => {
        const { count, ...fields } = present(context, host, how);
        const walked = unfold({ ...fields, count }, fromZero, ranks, { capacity });
        return { walked, expanded: expand(fields, count, pair, { capacity }) };
      });
      assertSameBytes(result.walked, result.expanded, 'rows');
      assertSameBytes(result.walked.id, takeArray(host.id, from), 'ids');
    },
  ),
  law(
    'unfold equals a plain loop, for any types of the state and of captures',
    [wanderers, presentation, maxSteps, rareness, fc.nat({ max: 300 })],
    async (run, host, how, max, rare, spare) => {
      const expected = wandered(host, max, rare);
      const result = await run((context) => {
        const { ring } = present(context, { ring: RING }, how);
        const captures = { ring, max, rare };
        return unfold(present(context, host, how), begin, wander, { captures, capacity: expected.length + spare });
      });
      assertSame(result, {
        sum: Float32Array.from(expected, ({ sum }) => sum),
        left: Int32Array.from(expected, ({ left }) => left),
        where: {
          word: Uint32Array.from(expected, ({ word }) => word),
          byte: Int32Array.from(expected, ({ byte }) => byte),
        },
        flag: Uint8Array.from(expected, ({ flag }) => Number(flag)),
      });
    },
  ),
  law(
    'unfold handles uneven walks: all output from one row, or from the last',
    [fc.integer({ min: 1, max: 40 }), fc.nat({ max: 39 }), fc.constantFrom(0, 1, 255, 256, 257, 4097, 65537)],
    async (run, length, place, many) => {
      const heavy = place % length;
      const last = Uint32Array.from({ length }, (_, i) => (i === heavy ? many : i % 2));
      const expected = Array.from(last, (count) => Array.from({ length: count }, (_, k) => count - k - 1)).flat();
      const result = await run((context) => unfold(context.column(last), fromOne, upTo, { capacity: expected.length }));
      assertSame(result, Uint32Array.from(expected));
    },
  ),
  law(
    'unfoldReduce equals unfold followed by scatterReduce',
    [
      rowsOf({ by: 'u32' }, fewRows),
      recipe,
      fc.constantFrom(1, 5, 49, 300),
      fc.constantFrom(...combinations),
      presentation,
    ],
    async (run, { by }, startRecipe, length, combine, how) => {
      const end = 400;
      const start = hostColumn('u32', length, startRecipe);
      const capacity = end * rowsIn({ by });
      const result = await run((context) => {
        const rows = present(context, { by }, how);
        const [direct, written] = [context.column(start), context.column(start)];
        unfoldReduce(rows, multiplesFrom, multiples, combine, direct, { captures: { end } });
        const { index, value } = unfold(rows, multiplesFrom, multiples, { captures: { end }, capacity });
        scatterReduce(value, index, combine, written);
        return { direct, written };
      });
      assertSame(result.direct, result.written);
    },
  ),
];
