import { describe, expect } from 'vitest';
import { emptyCoordinates, readCoordinates } from '../../../formats/polygons/json-coordinates.ts';
import { numberEnd, readJsonNumber } from '../../../formats/polygons/json-number.ts';
import { emptyRecord, parseRecord, scanRecord } from '../../../formats/polygons/json-record.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';

describe('numbers', () => {
  const digits = fc.stringMatching(/^\d{0,21}$/);
  const written = fc.oneof(
    fc.tuple(fc.constantFrom('', '-'), fc.stringMatching(/^(0|[1-9]\d{0,20})$/), digits).map(([sign, whole, part]) => {
      return `${sign}${whole}${part === '' ? '' : `.${part}`}`;
    }),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
    fc.double({ min: -180, max: 180, noNaN: true }).map((value) => value.toFixed(17)),
    fc
      .tuple(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constantFrom('e3', 'E-12', 'e+0', 'e999'))
      .map(([a, e]) => `${a}`.split('e')[0] + e),
  );
  /** Decimals that are halfway between two f64, where rounding is hardest, and decimals close to such ones. */
  const middles = fc
    .tuple(
      fc.integer({ min: 2 ** 52, max: 2 ** 53 - 1 }),
      fc.integer({ min: 0, max: 6 }),
      fc.constantFrom('', '1', '0'),
    )
    .map(([mantissa, halvings, more]) => {
      const numerator = (2n * BigInt(mantissa) + 1n) * 5n ** BigInt(halvings + 1);
      const text = String(numerator).padStart(halvings + 2, '0');
      return `${text.slice(0, -halvings - 1)}.${text.slice(-halvings - 1)}${more}`;
    });

  test.prop([fc.oneof(written, middles)], { numRuns: caseCount(5000) })('are read as JSON.parse reads them', (text) => {
    const value = readJsonNumber(Buffer.from(`${text},`), 0);
    expect([value, numberEnd]).toEqual([Number(text), text.length]);
  });

  test.prop([fc.stringMatching(/^[-+.eE0-9]{0,8}$/)], { numRuns: caseCount(3000) })(
    'are refused when JSON.parse refuses them',
    (text) => {
      let expected: unknown;
      try {
        expected = JSON.parse(text);
      } catch {}
      const value = readJsonNumber(Buffer.from(`${text}\0`), 0);
      if (expected !== undefined) expect([value, numberEnd]).toEqual([expected, text.length]);
      else expect(Number.isNaN(value) || numberEnd < text.length).toBe(true);
    },
  );
});

describe('coordinates', () => {
  const deep = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom(1, -2.5, 0, null),
      fc.array(tie('value'), { maxLength: 3 }),
    ),
  })).value;
  const position = fc.array(fc.integer({ min: -9, max: 9 }), { minLength: 2, maxLength: 4 });
  const rings = fc.array(fc.array(position, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 3 });
  const nested = fc.oneof(rings, fc.array(rings, { minLength: 1, maxLength: 3 }), deep);

  /**
   * The nesting depth of an array of positions: 1 for a position, 3 for the coordinates of a Polygon, 4 for those of a
   * MultiPolygon. Undefined for empty arrays, and for arrays whose elements differ in depth or are not positions.
   */
  const depthOf = (value: unknown): number | undefined => {
    if (!Array.isArray(value) || value.length === 0) return undefined;
    if (value.every((part) => typeof part === 'number')) return value.length >= 2 ? 1 : undefined;
    const depths = new Set(value.map(depthOf));
    const [depth] = depths;
    return depths.size === 1 && depth !== undefined ? depth + 1 : undefined;
  };

  test.prop([nested, fc.nat({ max: 2 })], { numRuns: caseCount(3000) })(
    'are read when they are nested like those of polygons',
    (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      const columns = emptyCoordinates();
      const end = readCoordinates(columns, Buffer.from(`${text}\0`), 0, text.length);
      const depth = depthOf(value);
      if (depth !== 3 && depth !== 4) {
        expect([end < 0, columns.length, columns.arrayEnds]).toEqual([true, 0, []]);
        return;
      }
      const positions = (value as number[][][][]).flat(depth - 2) as unknown as number[][];
      expect([end, columns.depths]).toEqual([text.length, [depth]]);
      expect([...columns.x.subarray(0, columns.length)]).toEqual(positions.map(([x]) => x));
      expect([...columns.y.subarray(0, columns.length)]).toEqual(positions.map(([, y]) => y));
    },
  );

  /** A value whose whole numbers beyond 2^53 − 1 are strings where they are members of objects. */
  const withIds = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(withIds);
    if (typeof value !== 'object' || value === null) return value;
    const isId = (x: unknown): boolean =>
      typeof x === 'number' && Number.isInteger(x) && !Number.isSafeInteger(x) && !String(x).includes('e');
    return Object.fromEntries(Object.entries(value).map(([key, x]) => [key, isId(x) ? String(x) : withIds(x)]));
  };

  test.prop([fc.jsonValue({ maxDepth: 5 }), fc.stringMatching(/^[,\]} \n]?$/)], { numRuns: caseCount(1000) })(
    'are not read from other JSON, whose end is found',
    (value, behind) => {
      const text = JSON.stringify(value);
      const bytes = Buffer.from(`${text}${behind}\0`);
      const record = emptyRecord();
      const end = scanRecord(record, bytes, 0, bytes.length - 1);
      // If the text ends right after a number or a literal, it is unknown where the number or literal ends, because it
      // might continue.
      if (end === -1) expect([behind, /^["[{]/.test(text)]).toEqual(['', false]);
      else expect([end, parseRecord(record)]).toEqual([Buffer.byteLength(text), withIds(JSON.parse(text))]);
    },
  );

  test.each([
    ['{"coordinates":[[[1,2]]]}', true],
    ['{"properties":{"a":"\\n"},"geometry":{"coordinates":[[[1,2]]]}}', true],
    ['{"geometry":{"coordinates":[[[1,2]]]},"properties":{"a":"\\n","b":{"coordinates":[5]}},"id":1}', true],
    ['{"properties":{"coordinates":[[[1,2]]]}}', false],
    ['{"id":"\\n","geometry":{"coordinates":[[[1,2]]]}}', false],
    ['{"a":{"properties":{"a":"\\n"}},"coordinates":[[[1,2]]]}', false],
    ['{"geometries":[{"coordinates":[[[1,2]]]},{"coordinates":[1,2]}]}', false],
    ['"coordinates"', false],
  ])('are split from %s: %s', (text, split) => {
    const record = emptyRecord();
    expect(scanRecord(record, Buffer.from(`${text}\0`), 0, text.length)).toBe(text.length);
    expect(record.split).toBe(split);
    const [array] = split ? ['[0]'] : ['[[[1,2]]]'];
    expect(parseRecord(record)).toEqual(JSON.parse(text.replace('[[[1,2]]]', array)));
  });
});
