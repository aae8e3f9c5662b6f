import { expect } from 'vitest';
import { noteTally } from '../../algorithms/notes.ts';
import { placeNotes, placeZones } from '../../cli/index-place.ts';
import { parseZones } from '../../formats/polygons/zones.ts';
import { caseCount } from '../cases.ts';
import { fc, test } from '../law-test.ts';
import { collection, rectangle, zone } from '../support/cli-support.ts';

const DOMAIN = { left: 0, bottom: 0, size: 64 };
/** Below half a step of the domain's grid. */
const THIN = 1e-9;

const side = fc.constantFrom(THIN, 1, 100, 2000);
const corner = fc.constantFrom(-3000, -1000, -5, 0, 7, 63, 64, 90, 1000);
const box = fc.record({ x: corner, y: corner, width: side, height: side });

const PLACING = { domain: DOMAIN, fill: 'union', onBadRecord: 'stop', comesRound: false, remedy: '' } as const;

function zonesOf(boxes: readonly { x: number; y: number; width: number; height: number }[]) {
  const zones = boxes.map(({ x, y, width, height }, id) => zone(`${id}`, rectangle(x, y, x + width, y + height)));
  return parseZones(JSON.stringify(collection(...zones)), { crs: 'EPSG:3857' }).zones;
}

test('exactly those queries are said to be narrower than a step that are, wherever they and the others are', () => {
  fc.assert(
    fc.property(fc.array(box, { minLength: 1 }), (boxes) => {
      const tally = noteTally();
      placeZones(zonesOf(boxes), 0, { ...PLACING, tally, mayLeave: true });
      const told = placeNotes({ tally, fill: 'union' }).find(({ code }) => code === 'index/collapsed');
      expect(told?.count ?? 0).toBe(boxes.filter(({ width, height }) => Math.min(width, height) === THIN).length);
    }),
    { numRuns: caseCount(1000) },
  );
});

test('a query that is too far away is not asked to be in the domain', () => {
  const zones = zonesOf([{ x: 1e9, y: 0, width: 1, height: 1 }]);
  const place = (mayLeave: boolean) => () => placeZones(zones, 7, { ...PLACING, tally: noteTally(), mayLeave });
  expect(place(false)).toThrow(
    'record 7: The polygon "0" is not in the domain. Expected x from 0 to 64, y from 0 to 64',
  );
  expect(place(true)).toThrow(
    'record 7: The polygon "0" is too far outside the domain. Expected coordinates at most a million times the size',
  );
});
