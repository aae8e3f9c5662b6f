import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { PolygonLayerOptions } from '../../formats/polygons/polygon-layer.ts';
import { parseZones } from '../../formats/polygons/zones.ts';
import { openResultSet } from '../../formats/result-sets/open-result-set.ts';
import { parseTile } from '../../formats/result-sets/parse-tile.ts';
import { jsonValueOf } from '../../formats/text/json-value.ts';
import { caseCount } from '../cases.ts';
import { fc, test } from '../law-test.ts';
import { collection, openWorkshop } from '../support/cli-support.ts';
import { blockSizes, readText } from '../support/polygon-layers-support.ts';
import { read, written } from '../support/result-sets-support.ts';

/** A whole number of any length, as a text. */
const whole = fc
  .tuple(fc.constantFrom('', '-'), fc.stringMatching(/^(0|[1-9]\d{0,24})$/))
  .map(([sign, digits]) => (digits === '0' ? digits : sign + digits));
const CELLS = ['617700169958293503', '617700169958293502'];
const RING = '[[[0,0],[4,0],[0,4],[0,0]]]';
const GEOMETRY = `{"type":"Polygon","coordinates":${RING}}`;
const featureText = (id: string, space = '') =>
  `{"type":"Feature","id"${space}:${space}${id}${space},"properties":{"cell":${space}${id}},"geometry":${GEOMETRY}}`;
const topologyText = (ids: readonly string[]) =>
  `{"type":"Topology","arcs":[${RING.slice(1, -1)}],"objects":{"layer":{"type":"GeometryCollection","geometries":[${ids
    .map((id) => `{"type":"Polygon","arcs":[[0]],"id":${id},"properties":{"cell":${id}}}`)
    .join(',')}]}}}`;
/** Every way to write features with ids that the readers of zones and layers accept. */
const FORMS: readonly (readonly [PolygonLayerOptions['format'], (ids: readonly string[], space: string) => string])[] =
  [
    [
      'geojson',
      (ids, space) => `{"type":"FeatureCollection","features":[${ids.map((id) => featureText(id, space)).join(',')}]}`,
    ],
    ['geojson-lines', (ids) => ids.map((id) => featureText(id)).join('\n')],
    ['geojson-lines', (ids) => ids.map((id) => `\x1e${featureText(id, '\n')}\n`).join('')],
    ['topojson', topologyText],
  ];

/** The text of a value, and the value that `JSON.parse` gives, or the digits if it is a whole number. */
type Item = readonly [string, unknown];

describe('jsonValueOf', () => {
  /** Builds a text, and the value that it should have. */
  const { tree } = fc.letrec<{ tree: Item; leaf: Item }>((tie) => ({
    leaf: fc.oneof(
      fc
        .oneof(fc.string(), fc.constantFrom('": 12345678901234567,"', ':1234567890123456789}', '\\', '\\"'))
        .map((value) => [JSON.stringify(value), value] as const),
      whole.map((digits) => [digits, digits] as const),
      fc.double({ noDefaultInfinity: true, noNaN: true }).map((value) => [`${value + 0}`, value + 0] as const),
      fc.constantFrom<Item>(
        ['null', null],
        ['true', true],
        ['-0', -0],
        ['9007199254740993.0', 2 ** 53],
        ['18446744073709551617e0', 2 ** 64],
        ['0.1234567890123456789', 0.12345678901234568],
      ),
    ),
    tree: fc.oneof(
      { depthSize: 'small' },
      tie('leaf'),
      fc
        .array(tie('tree'), { maxLength: 4 })
        .map((items) => [`[${items.map(([text]) => text).join(' , ')}]`, items.map(elementOf)] as const),
      fc
        .uniqueArray(
          fc.tuple(fc.oneof(fc.string(), fc.constantFrom('id', '__proto__', '12345678901234567')), tie('tree')),
          {
            selector: ([key]) => key,
            maxLength: 4,
          },
        )
        .map(
          (members): Item => [
            `{${members.map(([key, [text]]) => `${JSON.stringify(key)} :\n${text} `).join(',')}}`,
            Object.fromEntries(members.map(([key, item]) => [key, memberOf(item)])),
          ],
        ),
    ),
  }));
  const isWhole = (text: string): boolean => /^-?\d+$/.test(text) && text !== '-0';
  const elementOf = ([text, value]: Item) => (isWhole(text) ? Number(text) : value);
  const memberOf = (item: Item) =>
    isWhole(item[0]) && !Number.isSafeInteger(Number(item[0])) ? item[0] : elementOf(item);

  test.prop([tree], { numRuns: caseCount(2000) })(
    'keeps the digits of members, and reads all else as JSON.parse',
    (item) => {
      expect(jsonValueOf(item[0])).toEqual(elementOf(item));
    },
  );

  test.prop([tree, fc.nat(), fc.constantFrom('', '"', ',', ':', '}', '0', '\\')], { numRuns: caseCount(2000) })(
    'refuses what JSON.parse refuses',
    ([text], at, put) => {
      const damaged = text.slice(0, at % (text.length + 1)) + put + text.slice((at % (text.length + 1)) + 1);
      const refuses = (parse: (text: string) => unknown): boolean => {
        try {
          parse(damaged);
          return false;
        } catch {
          return true;
        }
      };
      expect(refuses(jsonValueOf)).toBe(refuses(JSON.parse));
    },
  );

  test('reads a long string and deep nesting without a deep stack', () => {
    const long = 'x'.repeat(2 ** 23);
    const deep = `${'[{"a":'.repeat(50_000)}12345678901234567${'}]'.repeat(50_000)}`;
    expect(jsonValueOf(`{"a":"${long}","id":12345678901234567}`)).toEqual({ a: long, id: '12345678901234567' });
    expect(() => jsonValueOf(deep)).not.toThrow();
  });
});

describe('ids of zones and layers', () => {
  test.prop(
    [
      fc.array(whole, { minLength: 1, maxLength: 5 }),
      fc.constantFrom(...FORMS),
      fc.constantFrom('', ' ', '\n\t'),
      blockSizes,
    ],
    {
      examples: FORMS.map((form): [string[], (typeof FORMS)[number], ' ', number[]] => [CELLS, form, ' ', [7]]),
      numRuns: FORMS.length + caseCount(200),
    },
  )('are the digits of whole numbers, by id and by property', async (ids, [format, write], space, sizes) => {
    const text = write(ids, space);
    for (const id of [undefined, 'cell']) {
      expect((await readText(text, { format, id }, sizes)).zones.names).toEqual(ids);
      if (format !== 'geojson-lines') expect(parseZones(text, { id }).zones.names).toEqual(ids);
    }
  });

  test('of other numbers are the shortest digits of their f64', () => {
    const texts = ['-0', '1e3', '1.0', '12345678901234567.0', '1e21', '-12.50'];
    const { zones } = parseZones(FORMS[0]![1](texts, ''));
    expect(zones.names).toEqual(['0', '1000', '1', '12345678901234568', '1e+21', '-12.5']);
    expect(() => parseZones(FORMS[0]![1](['01234567890123456789'], ''))).toThrow(
      expect.objectContaining({ code: 'format/json-syntax' }),
    );
  });
});

describe('ids of compare', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ids-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  test('of two COCO images that f64 rounds to the same stay apart, with their annotations', async () => {
    const file = join(folder, 'coco.json');
    const images = ['9007199254740992', '9007199254740993'];
    const annotations = images.map(
      (id, at) => `{"id":${id}7,"image_id" : ${id} ,"segmentation":[[0,0,${at + 1},0,0,${at + 1}]]}`,
    );
    await writeFile(file, `{"images":[${images.map((id) => `{"id":${id}}`)}],"annotations":[${annotations}]}`);
    const { tiles } = await openResultSet(file, { format: 'coco' });
    expect(tiles.map(({ name }) => name)).toEqual(images);
    for (const [at, tile] of tiles.entries()) {
      const [polygon, ...others] = written(parseTile(await tile.load(), tile.parameters));
      expect(others).toEqual([]);
      expect(polygon).toMatchObject({ id: `${images[at]}7`, rings: [[[0, 0], [at + 1, 0], [0, at + 1]]] }); // biome-ignore format: a ring
    }
    await writeFile(file, `{"images":[{"id":${images[0]}},{"id":"${images[0]}"}],"annotations":[]}`);
    await expect(openResultSet(file, { format: 'coco' })).rejects.toMatchObject({
      code: 'format/duplicate-image',
      message: expect.not.stringContaining('undefined'),
    });
  });

  test('of GeoJSON are the digits, by id, by property and by the property id', () => {
    const [text, other] = [
      featureText(CELLS[0]!),
      featureText(CELLS[1]!).replace('"id"', '"no"').replace('cell', 'id'),
    ];
    const idsOf = (idColumn?: string) =>
      written(read('geojson', `[${idColumn === undefined ? `${text},${other}` : text}]`, { idColumn })).map(
        ({ id }) => id,
      );
    expect(idsOf()).toEqual(CELLS);
    expect(idsOf('cell')).toEqual([CELLS[0]]);
  });
});

describe('ids in results', () => {
  test('of zonal and index keep their digits as CSV and JSON; names are strings in JSON', async () => {
    const shop = await openWorkshop();
    try {
      await shop.write('zones.json', FORMS[0]![1](CELLS, ''));
      await shop.writeRaster('raster.tif');
      await shop.write(
        'windows.json',
        collection({ type: 'Feature', id: 5, properties: {}, geometry: JSON.parse(GEOMETRY) }),
      );
      const run = async (...words: readonly string[]) => {
        const { exitCode, stdout, stderr } = await shop.quadrille([...words, '--backend', 'reference']);
        expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
        return stdout;
      };
      const zonal = ['zonal', '--zones', '@zones.json', '--raster', '@raster.tif', '--edges', '0,99'];
      const cells = JSON.parse(await run(...zonal, '--format', 'json')).zones;
      expect(cells.map(({ name }: { readonly name: string }) => name)).toEqual(CELLS);
      expect(
        (await run(...zonal, '--id', 'cell'))
          .split('\n')
          .slice(1, 3)
          .map((row) => row.split(',')[0]),
      ).toEqual(CELLS);
      await run('index', 'build', '@zones.json', '-o', '@tree.maq', '--levels', '4');
      const query = ['index', 'query', '@tree.maq', '--polygons', '@windows.json'];
      const pairs: { readonly polygon: string }[] = JSON.parse(await run(...query, '--format', 'json'));
      expect(pairs.map(({ polygon }) => polygon)).toEqual(CELLS);
      expect(await run(...query)).toMatch(new RegExp(CELLS.join('[^]*')));
    } finally {
      await shop.remove();
    }
  });
});
