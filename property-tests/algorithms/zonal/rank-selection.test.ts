import { expect } from 'vitest';
import { selectRanks } from '../../../algorithms/zonal/rank-selection.ts';
import { array, bool, type Context, copyIf, fn, map, sequence, u32, uniform } from '../../../primitives/index.ts';
import { onEveryBackend } from '../../backends.ts';
import { scaledCount, THOROUGH } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { openReference } from '../../support/reference-context.ts';

/** Words that are hard to tell apart by some of their digits, or that lie far apart. */
const word = fc.oneof(
  fc.nat(2 ** 32 - 1),
  fc.constantFrom(0, 1, 2 ** 11, 2 ** 21, 2 ** 21 + 1, 2 ** 22 - 1, 2 ** 31, 2 ** 32 - 1),
  fc.integer({ min: 2 ** 31, max: 2 ** 31 + 4000 }),
);

/** Some words, of which those that a zone has in a store are an excerpt. */
const given = fc.record({
  words: fc.array(word, { minLength: 1, maxLength: 60 }),
  zones: fc.integer({ min: 1, max: 12 }),
  stores: fc.integer({ min: 1, max: 4 }),
  steps: fc.tuple(fc.nat(40), fc.nat(7), fc.nat(90)),
  has: fc.array(fc.boolean(), { minLength: 1, maxLength: 20 }),
  shares: fc.uniqueArray(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 9 }),
});

type Given = typeof given extends fc.Arbitrary<infer G> ? G : never;

/** The words of each zone in each store: none in some, and more than a row in others. */
function wordsOf({ words, zones, stores, steps: [offset, step, length], has }: Given): number[][][] {
  return Array.from({ length: stores }, (_, store) =>
    Array.from({ length: zones }, (_, zone) =>
      Array.from(
        { length: has[(store * zones + zone) % has.length] ? (store * step + zone * 3 + offset) % (length + 1) : 0 },
        (_, at) => words[(at * (1 + zone) + store * step) % words.length]!,
      ),
    ),
  );
}

/** A store of the words of zones, whose numbers count from the last zone down. Rows have gaps. */
function storeOf(context: Context, zones: readonly (readonly number[])[]) {
  const [zone, cell, mask, cells]: number[][] = [[], [], [], []];
  const numbers = Array.from(zones.keys()).reverse();
  numbers.forEach((member, number) => {
    for (let first = 0; first < zones[member]!.length; first += 16) {
      const own = zones[member]!.slice(first, first + 16);
      zone!.push(number);
      cell!.push(cells!.length);
      mask!.push(own.reduce((bits, _, at) => bits | (1 << (2 * at)), 0) >>> 0);
      // Cells between are not the zone's.
      cells!.push(...own.flatMap((each) => [each, 2 ** 31]), ...Array<number>(32 - 2 * own.length).fill(7));
    }
  });
  const column = (numbers: readonly number[]) => context.column(Uint32Array.from(numbers));
  const rows = { zone: column(zone!), cell: column(cell!), mask: column(mask!) };
  return { rows, cells: column(cells!), sample: 'u32' as const, members: Uint32Array.from(numbers) };
}

onEveryBackend((opened, { runs }) => {
  const many = {
    words: [5, 2 ** 31, 7, 6],
    stores: 2,
    steps: [1, 3, 2] as [number, number, number],
    shares: [0, 1],
    has: [true],
  };
  // More zones than are sought at a time; their digits are short.
  const examples: [Given][] = THOROUGH ? [[{ ...many, zones: 17_000 }]] : [];
  test.prop([given], { numRuns: scaledCount(runs, 1, 4), examples })(
    'ranks are those of the sorted values of all stores',
    async (own) => {
      const { context } = opened();
      const words = wordsOf(own);
      const stores = words.map((zones) => storeOf(context, zones));
      const sorted = Array.from({ length: own.zones }, (_, zone) =>
        words.flatMap((store) => store[zone]!).sort((a, b) => a - b),
      );
      const sought = sorted.flatMap((all, zone) => {
        if (all.length === 0) return [];
        const [low, high] = [all[0]!, all.at(-1)!];
        const ranks = new Set(own.shares.map((share) => Math.round(share * (all.length - 1))));
        const bits = high === low ? 0 : 32 - Math.clz32(high - low);
        return [{ zone, low, bits, ranks: Array.from(ranks).sort((a, b) => a - b) }];
      });
      const found: number[][] = [];
      await selectRanks(context, stores, sought, (zone, rank, value) => found.push([zone, rank, value]));
      const expected = sought.flatMap(({ zone, ranks }) => ranks.map((rank) => [zone, rank, sorted[zone]![rank]!]));
      expect(found.sort(([a, b], [c, d]) => a! - c! || b! - d!)).toEqual(expected);
      context.dispose(stores);
    },
  );
});

const isBelow = fn('isBelow', { index: u32, end: uniform(u32) }, bool, ({ index, end }) => index.lt(end));

const paddedRow = fn(
  'paddedRow',
  { index: u32, zone: array(u32), cell: array(u32), mask: array(u32) },
  { zone: u32, cell: u32, mask: u32 },
  ({ index, zone, cell, mask }) => ({ zone: zone.at(index), cell: cell.at(index), mask: mask.at(index) }),
);

test('of stores with room for very many rows, more ranks are found than all of them could be looked at for', async () => {
  // The room of the rows decides, which all backends reckon alike.
  const context = openReference();
  const values = Array.from({ length: 4200 }, (_, i) => Math.imul(i, 2654435761) >>> 12);
  const { rows, ...store } = storeOf(context, [values]);
  const room = 2 ** 19 + 1;
  const index = sequence(room);
  const filled = map(paddedRow, { index, zone: rows.zone, cell: rows.cell, mask: rows.mask });
  const few = copyIf(filled, map(isBelow, { index, end: rows.zone.capacity }));
  const sorted = values.toSorted((a, b) => a - b);
  const ranks = Array.from({ length: 4097 }, (_, rank) => rank);
  const [low, bits] = [sorted[0]!, 32 - Math.clz32(sorted.at(-1)! - sorted[0]!)];
  const found: number[][] = [];
  const stores = [{ ...store, rows: few as typeof rows }];
  await selectRanks(context, stores, [{ zone: 0, low, bits, ranks }], (_, rank, value) => found.push([rank, value]));
  expect(found.sort(([a], [b]) => a! - b!)).toEqual(ranks.map((rank) => [rank, sorted[rank]!]));
  context.dispose([store, rows, few]);
});
