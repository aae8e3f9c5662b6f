import { mkdir, readdir, readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { craftedTiff } from '../fixtures/crafted-tiff.ts';
import { collection, openWorkshop, rectangle, type Workshop, zone } from '../support/cli-support.ts';

let shop: Workshop;

beforeAll(async () => {
  shop = await openWorkshop();
  await Promise.all([shop.writeRaster('raster.tif'), mkdir(shop.path('folder'))]);
  await shop.writeRaster('wide.tif', { stepX: 1e9 });
  await Promise.all(Object.entries(INPUTS).map(([name, content]) => shop.write(name, content)));
  const whole = await readFile(shop.path('raster.tif'));
  await shop.write('cut.tif', whole.subarray(0, whole.length - 20));
  await shop.write('zipped.tif.gz', new Uint8Array(gzipSync(whole)));
});
afterAll(() => shop.remove());

const square = zone('a', rectangle(0, 0, 2, 2));
const arc = [
  [0, 0],
  [1, 0],
  [1, 1],
  [0, 0],
];
const polygon = (x: string): string => `{"type":"Polygon","coordinates":[[[0,0],[${x},0],[1,1],[0,0]]]}`;

const INPUTS: Readonly<Record<string, string | Uint8Array | object>> = {
  'zones.json': collection(square, zone('b', rectangle(2, 0, 4, 3))),
  'jpeg.tif': craftedTiff({ compression: [6] }),
  'complex.tif': craftedTiff({ bitsPerSample: [64], sampleFormat: [6] }),
  // A strip whose compressed bytes are all zeros. A careless LZW decoder would expand them to the full 900 MB of the
  // strip.
  'strip.tif': craftedTiff(
    { imageWidth: [30_000], imageLength: [30_000], rowsPerStrip: [30_000], compression: [5] },
    new Uint8Array(220_000),
  ),
  'nowhere.tif': craftedTiff({ modelPixelScale: undefined, modelTiepoint: undefined }),
  'britain.tif': craftedTiff({ geoKeyDirectory: [1, 1, 0, 2, 1024, 0, 1, 1, 3072, 0, 1, 27700] }),
  'pixels.json': zone('a', rectangle(0, 0, 975, 610)),
  'swapped.json': zone('a', rectangle(35, -110, 36, -100)),
  'points.json': collection({ type: 'Feature', id: 'p', geometry: { type: 'Point', coordinates: [1, 2] } }),
  'nan.json': polygon('NaN'),
  'infinite.json': polygon('1e999'),
  'null.json': polygon('null'),
  'far.json': collection(square, zone('far', rectangle(0, 0, 1e12, 3))),
  'wide.json': collection(square, zone('wide', rectangle(-1e6, 0, 1e6, 3))),
  'layers.json': {
    type: 'Topology',
    arcs: [arc],
    objects: { states: { type: 'Polygon', arcs: [[0]] }, counties: { type: 'Polygon', arcs: [[0]] } },
  },
};

/** The options of a valid command line; each test case replaces some of their values. */
const GOOD: Readonly<Record<string, string>> = {
  zones: '@zones.json',
  raster: '@raster.tif',
  bins: '0:12:3',
  out: '@out.csv',
  stats: '@stats.csv',
  backend: 'reference',
};

type Options = Readonly<Record<string, string | undefined>>;

function wordsOf(changes: Options): string[] {
  const options = Object.entries({ ...GOOD, ...changes }).filter(([, value]) => value !== undefined);
  return ['zonal', ...options.flatMap(([name, value]) => (value === '' ? [`--${name}`] : [`--${name}`, value!]))];
}

const cases: readonly [what: string, changes: Options, line: RegExp][] = [
  ['missing zones', { zones: '@no.json' }, /^no\.json: There is no such file\. Check the path\.$/],
  ['a missing raster', { raster: '@no.tif' }, /^no\.tif: There is no such file\. Check the path\.$/],
  ['a folder for zones', { zones: '@folder' }, /^folder: This is a directory\. Name a file inside it\.$/],
  ['a truncated TIFF', { raster: '@cut.tif' }, /^cut\.tif: .+ beyond the end of the file\..+download it again\.$/],
  [
    'one compressed strip that is too large',
    { raster: '@strip.tif' },
    /^strip\.tif: .+ cannot be read in windows.+got 900000000 bytes \(30000 × 30000 cells\)\. .+ TILED=YES/,
  ],
  ['an unsupported compression', { raster: '@jpeg.tif' }, /^jpeg\.tif: .+ JPEG.+gdal_translate -co COMPRESS=DEFLATE/],
  [
    'samples of an unsupported type',
    { raster: '@complex.tif' },
    /^complex\.tif: .+ type complex f32.+ Rewrite it with gdal_translate -ot Float64 -co COMPRESS=DEFLATE, which keeps/,
  ],
  ['a raster without geotransform', { raster: '@nowhere.tif' }, /^nowhere\.tif: .+ not georeferenced.+gdalwarp\.$/],
  [
    'a file that is not a raster',
    { raster: '@zones.json' },
    /^zones\.json: The file is not a TIFF\..+gdal_translate\.$/,
  ],
  [
    'a gzipped raster',
    { raster: '@zipped.tif.gz' },
    /^zipped\.tif\.gz: .+ got a gzip file\. Unpack it first.+gunzip\.$/,
  ],
  [
    'a file without zones',
    { zones: '@raster.tif' },
    /^raster\.tif: The format .+ got a TIFF image\. Name a file of polygons\.$/,
  ],
  [
    'coordinate systems that need a grid of shifts',
    { raster: '@britain.tif' },
    /^From OGC:CRS84 to EPSG:27700: .+ needs a grid of shifts \(OSTN15.+\. Transform .+ogr2ogr -t_srs EPSG:27700.+towgs84.+\.$/,
  ],
  [
    'coordinates that are not longitudes and latitudes on a geographic raster',
    { zones: '@pixels.json' },
    /^pixels\.json names no .+ but raster\.tif is in .+, EPSG:4326\..+ got 610\. Use .+ --assume-crs EPSG:N\.$/,
  ],
  [
    'latitudes and longitudes in the wrong order',
    { zones: '@swapped.json' },
    /^swapped\.json names no .+ got -110\. Use .+ in this order \(they may be swapped\); or/,
  ],
  [
    'only points as zones',
    { zones: '@points.json' },
    /^points\.json: The layer has no polygons\. Expected Polygon or MultiPolygon, got 1 geometry of another kind/,
  ],
  ['NaN for a coordinate', { zones: '@nan.json' }, /^nan\.json:1:\d+: .+NaN and Infinity are not numbers of JSON/],
  [
    'an infinite coordinate',
    { zones: '@infinite.json' },
    /^infinite\.json, record 0: .+\(Infinity, 0\)\. Correct or remove/,
  ],
  ['null for a coordinate', { zones: '@null.json' }, /^null\.json, record 0: .+\(null, 0\)\. Correct or remove/],
  [
    'coordinates beyond the grid',
    { zones: '@far.json' },
    /^far\.json, record 1: .+x = 1000000000000 of zone 1 \("far"\).+Check that/,
  ],
  [
    'a raster that spans many turns of the earth',
    { raster: '@wide.tif' },
    /^wide\.tif: The longitudes of the raster span 4000000000 degrees\..+Check the coordinate reference systems/,
  ],
  [
    'a zone that spans many turns of the earth',
    { zones: '@wide.json' },
    /^wide\.json, record 1: The longitudes of zone 1 \("wide"\) span 2000000 degrees\..+Check the/,
  ],
  ['decreasing edges', { bins: undefined, edges: '0,2,1' }, /^--edges must increase, but 1 follows 2\. Sort/],
  ['repeated edges', { bins: undefined, edges: '0,0' }, /^--edges must increase, but 0 follows 0\. Sort/],
  ['one edge', { bins: undefined, edges: '1' }, /^--edges 1 gives no bin\. Give at least two edges\.$/],
  [
    'hi = lo',
    { bins: '1:1:0.1' },
    /^--bins 1:1:0\.1: the lower end 1 is not below the upper end 1\. Put the lower end first\.$/,
  ],
  [
    'hi < lo',
    { bins: '1:0:0.1' },
    /^--bins 1:0:0\.1: the lower end 1 is not below the upper end 0\. Put the lower end first\.$/,
  ],
  ['a width of 0', { bins: '0:1:0' }, /^--bins 0:1:0 has a width of 0\. Give a width above 0\.$/],
  ['a width below 0', { bins: '0:1:-0.5' }, /^--bins 0:1:-0\.5 has a width of -0\.5\. Give/],
  ['a width that does not divide', { bins: '0:1:0.3' }, /^--bins 0:1:0\.3 gives 3\.33\d+ bins, .+ or list the edges/],
  ['more than one binning', { unique: '' }, /^--bins and --unique exclude each other\. Give one of/],
  [
    'an unknown layer',
    { zones: '@layers.json', layer: 'x' },
    /^layers\.json: .+ layer "x".+ one of "states", "counties"/,
  ],
  [
    'a layer of a file without layers',
    { layer: 'x' },
    /^zones\.json: The file has no layer "x"\..+Leave the layer out\.$/,
  ],
  [
    'several layers, none named',
    { zones: '@layers.json' },
    /^layers\.json: .+2 layers: "states", "counties"\..+--layer\.$/,
  ],
  ['an unknown property', { id: 'name' }, /^zones\.json, record 0: There is no "name" in feature 0 \("a"\)\./],
  ['an unknown band', { band: '2' }, /^raster\.tif: The raster has no band 2\. .+band 1, the only one/],
  ['band 0', { band: '0' }, /^--band 0 is not a whole number of at least 1\.$/],
  [
    'an output in a missing folder',
    { out: '@no/out.csv' },
    /^no\/out\.csv cannot be written: its folder does not exist\. Name/,
  ],
  ['an output that is a folder', { stats: '@folder' }, /^folder cannot be written: it is a folder\. Name/],
  [
    'the same file for two outputs',
    { stats: '@out.csv' },
    /^Two outputs lead to the same file, out\.csv and out\.csv\. Give/,
  ],
  ['two outputs to stdout', { out: '-', stats: '-' }, /^--out and --stats cannot both write to stdout\. Send/],
  [
    'the raster as output',
    { out: '@raster.tif', format: 'csv' },
    /^raster\.tif is both read and written\. Write to another/,
  ],
];

describe('bad input', () => {
  test.each(cases)('%s: exit code 2, one line with a remedy, and no output written', async (_, changes, line) => {
    const before = await readdir(shop.folder);
    const { exitCode, stdout, stderr } = await shop.quadrille(wordsOf(changes));
    const lines = stderr.trimEnd().split('\n');
    expect(lines.pop()).toMatch(new RegExp(`^quadrille: ${line.source.slice(1)}`));
    for (const note of lines) expect(note).toMatch(/^note: /);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(await readdir(shop.folder)).toEqual(before);
  });

  test('errors are JSON with code, place and remedy on request', async () => {
    const { exitCode, stderr } = await shop.quadrille([...wordsOf({ zones: '@far.json' }), '--json-log']);
    expect(exitCode).toBe(2);
    expect(JSON.parse(stderr.trimEnd().split('\n').at(-1)!)).toMatchObject({
      event: 'error',
      code: 'geometry/beyond-grid',
      place: { file: 'far.json', record: 1 },
      remedy: expect.stringMatching(/^Check /),
      exitCode: 2,
    });
  });

  test('existing outputs stay unchanged', async () => {
    await shop.write('old.csv', 'old');
    expect((await shop.quadrille(wordsOf({ out: '@old.csv', zones: '@far.json' }))).exitCode).toBe(2);
    expect(await readFile(shop.path('old.csv'), 'utf8')).toBe('old');
  });
});

describe('more data than memory', () => {
  test.each<[string, Options, RegExp]>([
    [
      'histograms',
      { bins: '0:1:0.0000001', memory: '256MiB' },
      /at most 64 MiB, got 305 MiB for 2 zones × 10000000 bins/,
    ],
    [
      'very many bins',
      { bins: '0:1000:0.000001', memory: '4GiB' },
      /at most 1 GiB, got 29\.8 GiB for 2 zones × 1000000000 bins/,
    ],
    ['zones', { bins: undefined, unique: '', memory: '100' }, /at most 100 bytes/],
  ])('%s: exit code 1, a line with both sizes and a remedy, and no output written', async (_, changes, line) => {
    const before = await readdir(shop.folder);
    const { exitCode, stdout, stderr } = await shop.quadrille(wordsOf({ ...changes, stats: undefined }));
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(line);
    expect(stderr).toContain('--memory');
    expect(await readdir(shop.folder)).toEqual(before);
  });
});
