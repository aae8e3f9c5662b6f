import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HostRows } from '../../algorithms/host-rows.ts';

test('rows keep their words however often their memory grows', () => {
  const takes = fc.array(fc.oneof(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 8000, max: 20_000 })), {
    maxLength: 12,
  });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 8 }), takes, (width, counts) => {
      const rows = new HostRows(width);
      const expected = Array.from({ length: width }, (): number[] => []);
      for (const count of counts) {
        const words = rows.take(count);
        for (let row = 0; row < count; row++, rows.count++) {
          for (const [field, column] of expected.entries()) {
            words[rows.count + field * rows.stride] = 3 * rows.count + field;
            column.push(3 * rows.count + field);
          }
        }
      }
      expect(rows.columns()).toEqual(expected.map((column) => Uint32Array.from(column)));
    }),
    { numRuns: 20 },
  );
});
