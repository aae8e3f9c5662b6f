import { describe, expect } from 'vitest';
import { repeatedRows, textAt, textColumnOf } from '../../../algorithms/text-column.ts';
import { readNumber } from '../../../formats/result-sets/byte-cursor.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { gaps, spacedOut } from '../../support/polygon-layers-support.ts';
import {
  noted,
  numberText,
  polygons,
  read,
  type Vertex,
  type WrittenPolygon,
  written,
} from '../../support/result-sets-support.ts';

const pair = (separator: string) => (vertex: Vertex) => vertex.map(numberText).join(separator);
const closed = (ring: readonly Vertex[]) => [...ring, ring[0]!];

describe('string columns', () => {
  const string = fc.string({
    unit: fc.oneof(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }), fc.constant('\uFEFF')),
  });
  test.prop([fc.array(string)])('are read back unchanged', (texts) => {
    const column = textColumnOf(texts);
    expect(texts.map((_, row) => textAt(column, row))).toEqual(texts);
  });

  test.prop([fc.array(fc.string({ maxLength: 2 }))])('list the rows whose text occurs in an earlier row', (texts) => {
    const repeated = texts.flatMap((text, row) => (texts.indexOf(text) < row ? [row] : []));
    expect(repeatedRows(textColumnOf(texts))).toEqual(repeated);
  });
});

const decimal = fc.stringMatching(/^[+-]?([0-9]{1,25}\.?[0-9]{0,25}|\.[0-9]{1,25})([eE][+-]?[0-9]{1,3})?$/);

describe('a decimal number', () => {
  test.prop([fc.oneof(decimal, fc.double().map(numberText), fc.maxSafeInteger().map(String))], {
    numRuns: caseCount(2000),
  })('is parsed as by Number, up to its end', (text) => {
    const bytes = Buffer.from(`${text},`);
    const cursor = { bytes, at: 0, end: bytes.length };
    const value = readNumber(cursor);
    const isNumber = /\d/.test(text);
    expect(value).toBe(isNumber ? Number(text) : Number.NaN);
    expect(cursor.at).toBe(isNumber ? text.length : 0);
  });
});

describe('boundaries text', () => {
  const style = fc.record({
    newline: fc.constantFrom('\n', '\r\n'),
    blank: fc.constantFrom(' ', '\t', '  '),
    comma: fc.constantFrom(',', ', '),
    colon: fc.constantFrom('', ':'),
    rings: fc.constantFrom(';', ' | ', '; '),
    closes: fc.boolean(),
    lines: fc.constantFrom('', '# a comment, 1\n', '\n \n'),
    last: fc.boolean(),
  });
  test.prop([polygons, style])('is read as written, with any blanks and line ends', (list, how) => {
    const line = ({ id, rings }: WrittenPolygon): string => {
      const texts = rings.map((ring) => (how.closes ? closed(ring) : ring).map(pair(how.comma)).join(how.blank));
      return `${how.lines}${id}${how.colon}${how.blank}${texts.join(how.rings)}`;
    };
    const text = list.map(line).join(how.newline) + (how.last ? how.newline : '');
    expect(written(read('boundaries', text))).toEqual(list);
  });

  test('names polygons by their index when it has no ids', () => {
    const tile = read('boundaries', '\uFEFF0,0 4,0 4,3\nb 1,1 2,1 2,2\n 5,5 6,5 6,6;');
    expect(written(tile).map(({ id }) => id)).toEqual(['0', 'b', '2']);
  });

  test('makes one note per kind of oddity', () => {
    const tile = read('boundaries', 'a 0,0 1,1\nb\na 0,0 2,0 4,0\na 0,0 2,0 4,1\n');
    expect(noted(tile)).toEqual({
      'polygons/short-rings': 1,
      'polygons/empty': 1,
      'polygons/empty-geometry': 1,
      'polygons/zero-area-rings': 1,
      'polygons/duplicate-ids': 2,
    });
    expect(written(tile).map(({ rings }) => rings.length)).toEqual([0, 1, 1]);
  });

  test.each([
    ['a 0,0 1,0 1,x', 'geometry/not-finite', 1, 13],
    ['\n\na 0,0 1,0 1e999,0', 'geometry/not-finite', 3, 11],
    ['a 0,0 1,0\n# b\nb 0,0 1 0', 'format/malformed-text', 3, 8],
    ['1,2,3 4,5', 'format/malformed-text', 1, 4],
    ['a 0,0 1,0 1,1\rb 0,0', 'format/malformed-text', 2, 1],
    ['a 0,0 nan,0', 'geometry/not-finite', 1, 7],
    ['a 12345678901234567890,1 123456789012,2,3 0,0', 'format/malformed-text', 1, 40],
  ])('%j is an error at its line and column', (text, code, line, column) => {
    expect(() => read('boundaries', text)).toThrow(
      expect.objectContaining({ code, place: { file: 'tile', line, column } }),
    );
  });
});

describe('well-known text', () => {
  const style = fc.record({
    suffix: fc.constantFrom('', 'Z', ' Z', ' M', 'ZM', ' ZM'),
    prefix: fc.constantFrom('', 'SRID=3857;', 'srid=4326; '),
    multi: fc.constantFrom('POLYGON', 'MULTIPOLYGON', 'GEOMETRYCOLLECTION'),
    lower: fc.boolean(),
    newline: fc.constantFrom('\n', '\r\n', ';\n', '\n\n# comment\n'),
  });
  test.prop([polygons, style])('is read as written', (list, { suffix, prefix, multi, lower, newline }) => {
    const more = suffix.includes('ZM') ? ' 7 nan' : suffix === '' ? '' : ' 7';
    const ringText = (ring: readonly Vertex[]) =>
      `(${closed(ring)
        .map((v) => pair(' ')(v) + more)
        .join(', ')})`;
    const geometry = ({ rings }: WrittenPolygon): string => {
      const texts = rings.map(ringText);
      if (multi === 'POLYGON') return `${prefix}POLYGON${suffix} (${texts.join(',')})`;
      if (multi === 'MULTIPOLYGON') return `${prefix}MULTIPOLYGON${suffix}(${texts.map((t) => `(${t})`).join(' , ')})`;
      return `${prefix}GEOMETRYCOLLECTION${suffix} (${texts.map((t) => `POLYGON${suffix} (${t})`).join(',\n')})`;
    };
    const text = list.map(geometry).join(newline);
    const tile = read('wkt', lower ? text.toLowerCase() : text);
    expect(written(tile)).toEqual(list.map(({ rings }, index) => ({ id: String(index), rings })));
    expect(noted(tile)['polygons/unclosed-rings']).toBeUndefined();
  });

  test.prop([polygons, gaps, fc.constantFrom('wkt', 'csv')])(
    'may have any white space within a geometry, also in quotes',
    (list, gaps, format) => {
      const geometries = list.map(({ rings }) => {
        const texts = rings.map((ring) => `(${closed(ring).map(pair(' ')).join(', ')})`);
        return spacedOut(`SRID=4326;MULTIPOLYGON Z ((${texts.join('), (')}))`, gaps);
      });
      const text =
        format === 'wkt'
          ? geometries.join('\n')
          : `id,geom,more\n${list.map(({ id }, row) => `${id},"${geometries[row]}",x\n`).join('')}`;
      expect(written(read(format, text))).toEqual(
        list.map(({ id, rings }, row) => ({ id: format === 'csv' ? id : String(row), rings })),
      );
    },
  );

  test('skips and notes geometries that are not polygons, and keeps the index of the others', () => {
    const tile = read(
      'wkt',
      `POINT (1 2)
POLYGON ((0 0, 1 0, 1 1))
polygon empty
GEOMETRYCOLLECTION (LINESTRING (0 0, 1 1), MULTIPOLYGON (EMPTY, ((0 0, 2 0, 2 2, 0 0))), GEOMETRYCOLLECTION EMPTY)
MULTICURVE ((0 0, 5 5), CIRCULARSTRING (1 1, 2 2, 3 3))
GEOMETRYCOLLECTION EMPTY`,
    );
    expect(written(tile).map(({ id, rings }) => [id, rings.length])).toEqual([
      ['1', 1],
      ['3', 1],
    ]);
    expect(noted(tile)).toEqual({
      'polygons/other-geometry': 3,
      'polygons/unclosed-rings': 1,
      'polygons/empty-geometry': 2,
    });
  });

  test.each([
    ['POLYGON ((0 0, 1 0, 1 1)', 1],
    ['POLYGON ((0 0, 1 0, 1 1))\nPOLYGONE ((0 0))', 2],
    ['POLYGON ((0 0, 1 0, 1 1)) x', 1],
    ['SRID=x;POLYGON EMPTY', 1],
    ['GEOMETRYCOLLECTION (POINT (1 2', 1],
    ['GEOMETRYCOLLECTION (', 1],
    ['POLYGON', 1],
    ['POLYGON ((0 0, 0 1.5.5, 1 1))', 1],
    ['POLYGON ((0 0, 0-1, 1 1))', 1],
    ['POLYGON ((0 0, 1x 0, 1 1))', 1],
    ['POLYGON ((0 0, 1 0x, 1 1))', 1],
    ['POLYGON ((0 0, 1 0 x, 1 1))', 1],
    ['POLYGON ((0 0, 1 0 1-2, 1 1))', 1],
    ['POLYGON ((0 0, 1 0 1 2 3, 1 1))', 1],
  ])('%j is an error at its line', (text, line) => {
    expect(() => read('wkt', text)).toThrow(
      expect.objectContaining({
        code: 'format/malformed-text',
        place: expect.objectContaining({ file: 'tile', line }),
      }),
    );
  });

  const whole = 'MULTIPOLYGON Z (((0 0 1, 1 0 nan, 1 1 1, 0 0 1)), EMPTY)';
  test.prop([fc.nat({ max: whole.length - 'POLYGON'.length - 1 })])(
    'that is truncated is reported as truncated',
    (cut) => {
      const text = whole.slice(0, whole.length - 1 - (cut % (whole.length - 'MULTIPOLYGON Z '.length)));
      // If the cut is inside a keyword or a number, the error is a different one.
      fc.pre(!/[A-Z]$|n$|na$/.test(text.trimEnd().replace(/EMPTY$|Z$/, '')));
      expect(() => read('wkt', text)).toThrow(
        expect.objectContaining({
          code: 'format/malformed-text',
          got: 'the end of the text',
          message: expect.stringContaining('The geometry ends too early.'),
        }),
      );
    },
  );

  test('nests without a stack limit', () => {
    const depth = 200_000;
    const text = `${'GEOMETRYCOLLECTION ('.repeat(depth)}POLYGON ((0 0, 1 0, 1 1, 0 0))${')'.repeat(depth)}`;
    expect(written(read('wkt', text))).toHaveLength(1);
  });
});

describe('delimited text', () => {
  const wkt = ({ rings }: WrittenPolygon) =>
    `POLYGON (${rings.map((ring) => `(${closed(ring).map(pair(' ')).join(',')})`).join(',')})`;
  const style = fc.record({
    delimiter: fc.constantFrom(',', ';', '\t'),
    newline: fc.constantFrom('\n', '\r\n'),
    header: fc.constantFrom('id,class,WKT', 'geom,class,FID', 'x,class,the_geom', undefined),
  });
  test.prop([polygons, style, fc.string()])('is read as written', (list, { delimiter, newline, header }, other) => {
    const quote = (text: string) => `"${text.replaceAll('"', '""')}"`;
    const geometryFirst = header?.startsWith('geom') ?? false;
    const record = (polygon: WrittenPolygon) => {
      const fields = [quote(polygon.id), quote(other.replaceAll('\0', '')), quote(wkt(polygon))];
      return (geometryFirst ? fields.toReversed() : fields).join(delimiter);
    };
    const lines = list.map(record);
    const text = (header === undefined ? lines : [header.replaceAll(',', delimiter), ...lines]).join(newline);
    const named = header === undefined || !header.startsWith('x');
    const expected = list.map(({ id, rings }, index) => ({ id: named ? id : String(index), rings }));
    expect(written(read('csv', text))).toEqual(expected);
  });

  test('is read by the named columns', () => {
    const text = 'a\tb\tc\td\nPOINT (1 1)\tone\t"POLYGON ((0 0, 1 0, 1 1, 0 0))"\t"say ""hi"""\n\n\t\t\tx\r\n';
    const tile = read('csv', text, { geometryColumn: 'c', idColumn: 'd' });
    expect(written(tile).map(({ id, rings }) => [id, rings.length])).toEqual([['say "hi"', 1]]);
    expect(noted(tile)).toMatchObject({ 'polygons/empty-geometry': 1 });
    expect(noted(read('csv', text))).toMatchObject({ 'polygons/empty-geometry': 1 });
    expect(() => read('csv', text, { geometryColumn: 'e' })).toThrow(
      expect.objectContaining({ code: 'format/no-column', got: '"a, b, c, d"' }),
    );
  });

  test.each([
    ['id,wkt\n1,"POLYGON ((0 0, 1 0', 'csv/open-quote', 2],
    ['id,wkt\n1,POLYGON ((0 0, 1 0, 1 1))', 'format/malformed-text', 2],
    ['id,wkt\n1,"POLYGON ((0 0, 1 0, 1 1))"\n\n2', 'format/malformed-text', 4],
    ['id,wkt\n1,"POLYGON ((0 0, 1 0, 1 1))"x', 'csv/bad-quote', 2],
    ['id,geom\n1,0103000020E61000000100000005', 'format/binary-geometry', 2],
    ['id,name\n1,a', 'format/no-column', undefined],
  ])('%j is an error', (text, code, line) => {
    const place = line === undefined ? { file: 'tile' } : expect.objectContaining({ file: 'tile', line });
    expect(() => read('csv', text)).toThrow(expect.objectContaining({ code, place }));
  });

  test('without a header can start with blank geometries', () => {
    const square = '"POLYGON ((0 0, 1 0, 1 1, 0 0))"';
    const ids = (text: string) => written(read('csv', text)).map(({ id, rings }) => [id, rings.length]);
    expect(ids(`7,\n8,""\n9,${square}\n`)).toEqual([['9', 1]]);
    expect(ids(`,7\n${square},8\n`)).toEqual([['8', 1]]);
    // Column names that are numbers, as some programs write them.
    expect(ids(`,0,1\n0,a,${square}\n`)).toEqual([['0', 1]]);
    expect(ids(`x,y\n1,\n2,${square}\n`)).toEqual([['1', 1]]);
  });

  test('has errors with a remedy', () => {
    const text = 'id,wkt\n1,POLYGON ((0 0, 1 0, 1 1))';
    expect(() => read('csv', text)).toThrow('Put geometries in double quotes');
    expect(() => read('csv', 'id,wkt\n1,"POLYGON ((0 0, 1 0"\n')).toThrow('The geometry ends too early.');
    expect(() => read('csv', 'id,wkt\n1,"POLYGON EMPTY"', { idColumn: 'nme' })).toThrow(
      expect.objectContaining({
        expected: 'a header with "nme"',
        got: '"id, wkt"',
        remedy: 'Name the column of the ids exactly as the header does.',
      }),
    );
  });

  test('can be empty, or only a header', () => {
    for (const text of ['', '\n', 'id,wkt\n', 'id,wkt']) expect(written(read('csv', text))).toEqual([]);
  });
});
