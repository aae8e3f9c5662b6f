import { expect } from 'vitest';
import { noteTally } from '../../algorithms/notes.ts';
import { placeNotes, placeZones } from '../../cli/index-place.ts';
import { parseZones } from '../../formats/zones.ts';
import { caseCount } from '../cases.ts';
import { fc, test } from '../law-test.ts';

const DOMAIN = { left: 0, bottom: 0, size: 64 };
/** Below half a step of the domain's grid. */
const THIN = 1e-9;

const side = fc.constantFrom(THIN, 1, 100, 2000);
const corner = fc.constantFrom(-3000, -1000, -5, 0, 7, 63, 64, 90, 1000);
const box = fc.record({ x: corner, y: corner, width: side, height: side });

test('exactly those queries are said to be narrower than a step that are, wherever they and the others are', () => {
  fc.assert(
    fc.property(fc.array(box, { minLength: 1 }), (boxes) => {
      const features = boxes.map(({ x, y, width, height }, id) => {
        const [right, top] = [x + width, y + height];
        const ring = [
          ...[
            [x, y],
            [right, y],
          ],
          ...[
            [right, top],
            [x, top],
          ],
          [x, y],
        ];
        return { type: 'Feature', id, properties: {}, geometry: { type: 'Polygon', coordinates: [ring] } };
      });
      const { zones } = parseZones(JSON.stringify({ type: 'FeatureCollection', features }), { crs: 'EPSG:3857' });
      const placing = { domain: DOMAIN, fill: 'union', onBadRecord: 'stop', comesRound: false, remedy: '' } as const;
      const tally = noteTally();
      placeZones(zones, 0, { ...placing, tally, mayLeave: true });
      const told = placeNotes({ tally, fill: 'union' }).find(({ code }) => code === 'index/collapsed');
      expect(told?.count ?? 0).toBe(boxes.filter(({ width, height }) => Math.min(width, height) === THIN).length);
    }),
    { numRuns: caseCount(1000) },
  );
});
