import { expect } from 'vitest';
import { createCountTotals } from '../../../algorithms/zonal/count-totals.ts';
import { exactlyAdded, wholeOf } from '../../../algorithms/zonal/exact-sums.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';

const ZONES = 6;

/** A counter of a window that is not 0: the index of the zone in the window, the slot and the number of cells. */
const counter = fc.record({ local: fc.nat(3), slot: fc.nat(9), count: fc.integer({ min: 1, max: 2 ** 32 - 1 }) });

const windows = fc.array(
  fc.record({
    members: fc.uniqueArray(fc.nat(ZONES - 1), { minLength: 4, maxLength: 4 }).map((all) => all.sort()),
    counters: fc.uniqueArray(counter, { selector: ({ local, slot }) => local * 10 + slot, maxLength: 12 }),
  }),
  { maxLength: 20 },
);

const job = fc.record({ windows, bins: fc.integer({ min: 1, max: 7 }), hasNear: fc.boolean(), freeRows: fc.nat(30) });

/** What a plain table of zones × slots gives. */
function countPlainly(all: typeof windows extends fc.Arbitrary<infer T> ? T : never, slots: number): bigint[][] {
  const table = Array.from({ length: ZONES }, () => Array.from({ length: slots }, () => 0n));
  for (const { members, counters } of all) {
    for (const { local, slot, count } of counters) if (slot < slots) table[members[local]!]![slot]! += BigInt(count);
  }
  return table;
}

test.prop([job], { numRuns: caseCount(400) })(
  'totals of windows are those of a table, however many rows are kept before they are merged',
  ({ windows, bins, hasNear, freeRows }) => {
    const count = bins + (hasNear ? 4 : 3);
    const slots = { bins, nodata: bins, below: bins + 1, above: bins + 2, near: hasNear ? bins + 3 : bins, count };
    const totals = createCountTotals(ZONES, slots, freeRows);
    for (const { members, counters } of windows) {
      const known = counters.filter(({ slot }) => slot < count);
      const rows = known.map((of): [slot: number, count: number] => [of.local * count + of.slot, of.count]);
      rows.sort((a, b) => a[0] - b[0]);
      const [slot, counts] = [0, 1].map((field) => Uint32Array.from(rows, (row) => row[field]!));
      totals.add(Uint32Array.from(members), { slot: slot!, count: counts! });
    }
    const edges = { lower: Float64Array.from({ length: bins }, (_, i) => i), upper: new Float64Array(bins).fill(9) };
    const found = totals.finish(edges);
    const table = countPlainly(windows, count);
    const column = (...picked: number[]) =>
      BigUint64Array.from(table, (row) => picked.reduce((sum, slot) => sum + row[slot]!, 0n));
    expect(found.cells).toEqual(BigUint64Array.from(table, (row) => row.reduce((sum, cells) => sum + cells, 0n)));
    expect(found.nodata).toEqual(hasNear ? column(slots.nodata, slots.near) : column(slots.nodata));
    expect(found.near).toEqual(hasNear ? column(slots.near) : column());
    expect([found.below, found.above]).toEqual([column(slots.below), column(slots.above)]);
    const filled = table.flatMap((row, zone) =>
      row.slice(0, bins).flatMap((cells, bin) => (cells === 0n ? [] : [[zone, bin, cells] as const])),
    );
    expect(found.bins).toEqual({
      zone: Uint32Array.from(filled, ([zone]) => zone),
      lower: Float64Array.from(filled, ([, bin]) => bin),
      upper: new Float64Array(filled.length).fill(9),
      count: BigUint64Array.from(filled, ([, , cells]) => cells),
    });
  },
);

const word = fc.oneof(
  fc.constantFrom(0, 1, 2 ** 21 - 1, 2 ** 21, 2 ** 32 - 1),
  fc.integer({ min: 0, max: 2 ** 32 - 1 }),
);
test.prop([fc.array(fc.array(word, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 6 })])(
  'sums of words are exact, whether they are numbers or not',
  (all) => {
    const numbers = all.map((words) => words.reduceRight((upper, low) => 2n ** 32n * upper + BigInt(low), 0n));
    expect(all.map((words) => BigInt(wholeOf(words)))).toEqual(numbers);
    const sum = all.map(wholeOf).reduce(exactlyAdded);
    expect(BigInt(sum)).toBe(numbers.reduce((a, b) => a + b));
    expect(typeof sum === 'number').toBe(numbers.reduce((a, b) => a + b) < 2n ** 53n);
  },
);
