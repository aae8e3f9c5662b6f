import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { collection, rectangle, zone } from '../support/cli-support.ts';
import { parseCsv } from '../support/parse-csv.ts';
import { answer, type IndexWorkshop, openIndexWorkshop } from './cli-index-support.ts';

let shop: IndexWorkshop;
beforeAll(async () => {
  shop = await openIndexWorkshop();
  // A polygon across the antimeridian as files store it: longitudes jump from 180 to −180.
  const across = [
    [170, 60],
    [-170, 60],
    [-170, 70],
    [170, 70],
    [170, 60],
  ];
  await shop.write('east.geojson', collection(zone('chukotka', across), zone('iceland', rectangle(-24, 63, -13, 67))));
  await shop.write(
    'points.csv',
    'id,x,y\nw,175,65\ne,-175,65\non,-180,65\ngreenland,-40,65\niceland,-20,65\nbeside,-165,65\n',
  );
});
afterAll(() => shop.remove());

const rowsOf = async (...words: string[]) => parseCsv(await answer(shop.query(...words))).slice(1);
const unwrap = ['--antimeridian', 'unwrap'];

describe('quadrille index with --antimeridian unwrap', () => {
  beforeAll(async () => {
    const built = await shop.build('@east.geojson', '-o', '@east.maq', '--levels', '7', ...unwrap);
    expect(built.stderr).toContain('note: 1 ring was read as crossing the antimeridian, in: "chukotka".\n');
    const written = await shop.build('@east.geojson', '-o', '@written.maq', '--levels', '7');
    expect(written.stderr).toContain(
      'note: 1 ring jumps by more than 180 degrees of longitude; taken as written (--antimeridian unwrap would read ' +
        'them as crossing the antimeridian), in: "chukotka".\n',
    );
  });

  test('finds points on both sides, and none on the other side of the earth', async () => {
    expect(await rowsOf('@east.maq', '--points', '@points.csv')).toEqual([
      ['w', 'east', 'chukotka'],
      ['e', 'east', 'chukotka'],
      ['on', 'east', 'chukotka'],
      ['iceland', 'east', 'iceland'],
    ]);
    const written = await rowsOf('@written.maq', '--points', '@points.csv');
    expect(written.filter(([, , polygon]) => polygon === 'chukotka').map(([point]) => point)).toEqual([
      'greenland',
      'iceland',
      'beside',
    ]);
  });

  test('accepts points from any turn of longitude', async () => {
    await shop.write('turned.csv', 'x,y\n189,65\n180,65\n535,65\n-185,65\n320,65\n');
    expect(await rowsOf('@east.maq', '--points', '@turned.csv', ...unwrap)).toEqual(
      ['0', '1', '2', '3'].map((point) => [point, 'east', 'chukotka']),
    );
    expect(await rowsOf('@east.maq', '--points', '@turned.csv')).toEqual([]);
  });

  test('accepts windows across the antimeridian', async () => {
    await shop.write(
      'windows.csv',
      'id,left,bottom,right,top\nacross,175,62,-175,64\nbeyond,175,62,185,64\nwest,-179,62,-178,64\nround,-200,60,200,70\n',
    );
    const rows = await rowsOf('@east.maq', '--windows', '@windows.csv', ...unwrap);
    const areas = new Map(
      rows.map(([window, , polygon, min, max]) => [`${window} ${polygon}`, [Number(min), Number(max)]]),
    );
    expect([...areas.keys()]).toEqual([
      'across chukotka',
      'beyond chukotka',
      'west chukotka',
      'round chukotka',
      'round iceland',
    ]);
    for (const [window, area] of [
      ['across', 20],
      ['beyond', 20],
      ['west', 2],
      ['round', 200],
    ] as const) {
      const [min, max] = areas.get(`${window} chukotka`)!;
      expect(min).toBeLessThanOrEqual(area + 1e-5);
      expect(max).toBeGreaterThanOrEqual(area - 1e-5);
    }
    // The minimum area must apply to the sum of both halves of the polygon.
    const above = (area: number) =>
      rowsOf('@east.maq', '--windows', '@windows.csv', ...unwrap, '--above', String(area));
    expect((await above(15)).map(([window]) => window)).toEqual(['across', 'beyond', 'round', 'round']);
    const refused = await shop.query('@east.maq', '--windows', '@windows.csv');
    expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringContaining('left 175 is above right -175')]);
  });

  test('accepts polygons across the antimeridian', async () => {
    const strip = [
      [178, 61],
      [-178, 61],
      [-178, 62],
      [178, 62],
      [178, 61],
    ];
    await shop.write('strip.geojson', collection(zone('strip', strip), zone('greenland', rectangle(-50, 61, -30, 62))));
    const rows = await rowsOf('@east.maq', '--polygons', '@strip.geojson', ...unwrap);
    expect(rows.map((row) => row.slice(0, 3))).toEqual([['strip', 'east', 'chukotka']]);
  });

  test('has holes on either side where zonal has them, of collections and of lines', async () => {
    const box = (left: number, bottom: number, right: number, top: number) => [
      [left, bottom],
      [right, bottom],
      [right, top],
      [left, top],
      [left, bottom],
    ];
    const holed = zone(
      'holed',
      box(170, 0, -170, 10),
      box(-178, 2, -176, 4),
      box(172, 5, 175, 9),
      box(179, 5, -179, 6),
    );
    await shop.write('holed.geojson', collection(holed));
    await shop.write('holed.ndjson', `${JSON.stringify(holed)}\n`);
    await shop.writeRaster(
      'world.tif',
      { sample: 'u8', width: 360, height: 12, originX: -180, originY: 12 },
      Array<number>(360 * 12).fill(1),
    );
    const centres = Array.from({ length: 360 * 12 }, (_, at) => [(at % 360) - 179.5, Math.floor(at / 360) + 0.5]);
    await shop.write('centres.csv', `x,y\n${centres.map((centre) => centre.join()).join('\n')}\n`);
    for (const file of ['holed.geojson', 'holed.ndjson']) {
      const words = ['--zones', `@${file}`, '--raster', '@world.tif', '--stats', '-', '--stat', 'cells', ...unwrap];
      const counted = await answer(shop.quadrille(['zonal', ...words, '--backend', 'reference']));
      expect(counted).toBe('zone,cells\nholed,182\n');
      await answer(shop.build(`@${file}`, '-o', '@holed.maq', '--levels', '9', ...unwrap));
      expect(await rowsOf('@holed.maq', '--points', '@centres.csv', ...unwrap)).toHaveLength(182);
    }
  });

  test('leaves coordinates that are not longitudes unchanged', async () => {
    const far = collection(zone('far', rectangle(0, 0, 1000, 1000)), zone('near', rectangle(10, 10, 20, 20)));
    await shop.write('metres.geojson', far);
    const words = ['@metres.geojson', '-o', '@metres.maq', '--levels', '5'];
    await answer(shop.build(...words, ...unwrap));
    const unwrapped = await shop.bytesOf('metres.maq');
    await answer(shop.build(...words));
    expect(Buffer.compare(unwrapped, await shop.bytesOf('metres.maq'))).toBe(0);
  });
});

describe('quadrille index of parts that overlap', () => {
  const part = (left: number) => [rectangle(left, 0, left + 20, 20)];
  const feature = (id: string, of: object) => ({ type: 'Feature', id, properties: {}, geometry: of });
  const both = feature('both', { type: 'MultiPolygon', coordinates: [part(0), part(10)] });
  const apart = feature('apart', { type: 'MultiPolygon', coordinates: [part(0), part(20)] });

  test('unites them, or uses even-odd with --fill, with a note', async () => {
    await shop.write('parts.geojson', collection(both, apart));
    await shop.write('in-parts.csv', 'x,y\n5,5\n15,5\n25,5\n');
    const build = (...words: string[]) => shop.build('@parts.geojson', '-o', '@parts.maq', '--levels', '6', ...words);
    const united = await build();
    expect(united.stderr).toContain(
      'note: 1 polygon has parts that overlap; what several of them cover is inside and counts once: "both".\n',
    );
    const pairs = async () =>
      (await rowsOf('@parts.maq', '--points', '@in-parts.csv'))
        .map(([point, , polygon]) => `${point} ${polygon}`)
        .sort();
    const all = ['0 apart', '0 both', '1 apart', '1 both', '2 apart', '2 both'];
    expect(await pairs()).toEqual(all);
    const cancelled = await build('--fill', 'even-odd');
    expect(cancelled.stderr).toContain(
      'note: 1 polygon has parts that overlap; by the even-odd rule what two of them cover is outside: "both".\n',
    );
    expect(await pairs()).toEqual(all.filter((pair) => pair !== '1 both'));
  });

  test('unites those of query polygons too; a tree keeps the fill rule that it was built with', async () => {
    await shop.write(
      'tiles.geojson',
      collection(feature('common', { type: 'Polygon', coordinates: [rectangle(12, 5, 18, 15)] })),
    );
    await shop.write('both.geojson', collection(both));
    await answer(shop.build('@tiles.geojson', '-o', '@tiles.maq', '--levels', '8'));
    const ask = ['@tiles.maq', '--polygons', '@both.geojson'];
    const rows = await rowsOf(...ask);
    expect(rows.map((row) => row.slice(0, 3))).toEqual([['both', 'tiles', 'common']]);
    expect(await rowsOf(...ask, '--fill', 'even-odd')).toEqual([]);
    const refused = await shop.query('@tiles.maq', '--points', '@in-parts.csv', '--fill', 'union');
    expect(refused.stderr).toContain('--fill has no effect with --points.');
  });
});
