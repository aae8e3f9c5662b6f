import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { openResultSet, type ResultSetOptions } from '../../../formats/result-sets/open-result-set.ts';
import { parseTile } from '../../../formats/result-sets/parse-tile.ts';
import type { LabelType, TileSource } from '../../../formats/result-sets/result-set.ts';
import { traceLabels } from '../../../formats/result-sets/trace-labels.ts';
import { caseCount, someOf, THOROUGH } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { nifti, STORED, type Stored, type Volume } from '../../support/nifti-support.ts';
import { written } from '../../support/result-sets-support.ts';

let root = '';
let folders = 0;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'result-sets-'));
});
afterAll(() => rm(root, { recursive: true }));

/** Makes a new folder with the given files. If the content of a file is null, makes a subfolder instead. */
async function folder(files: Readonly<Record<string, string | Uint8Array | null>>): Promise<string> {
  const path = join(root, String(folders++));
  await mkdir(path);
  for (const [name, content] of Object.entries(files)) {
    if (content === null) await mkdir(join(path, name));
    else await writeFile(join(path, name), content);
  }
  return path;
}

async function parsed(tile: TileSource) {
  return written(parseTile(await tile.load(), tile.parameters));
}

const line = 'a 0,0 1,0 1,1\n';
const square = { type: 'Feature', geometry: { type: 'Polygon', coordinates: [[[0, 0], [1, 0], [1, 1], [0, 0]]] } }; // biome-ignore format: a ring

describe('a folder', () => {
  test('has its files as tiles in order of their names, and notes other files', async () => {
    const path = await folder({
      'b.txt': line,
      'A.TXT': line,
      'a.1.txt': line,
      'notes.md': '',
      '.txt': '',
      more: null,
    });
    const { tiles, format, notes } = await openResultSet(path);
    expect(format).toBe('boundaries');
    expect(tiles.map(({ name }) => name)).toEqual(['A', 'a.1', 'b']);
    expect(notes).toEqual([
      {
        code: 'result-set/other-files',
        message: `3 entries of the folder ${path} are left out: ".txt", "more", "notes.md".`,
        count: 3,
      },
    ]);
    for (const tile of tiles) expect(await parsed(tile)).toHaveLength(1);
  });

  test.each([
    [{}, {}, 'format/no-tiles'],
    [{ 'a.md': '' }, {}, 'format/no-tiles'],
    [{ 'a.txt': line, 'a.wkt': '' }, {}, 'format/several-formats'],
    [{ 'a.json': '[]', 'a.geojson': '[]' }, {}, 'format/duplicate-tile'],
    [{ 'a.txt': line }, { format: 'png' }, 'format/no-tiles'],
  ])('of %j with %j is an error', async (files, options, code) => {
    const path = await folder(files);
    await expect(openResultSet(path, options as ResultSetOptions)).rejects.toThrow(
      expect.objectContaining({ code, place: { file: path } }),
    );
  });

  test('of several formats is read as the given format', async () => {
    const path = await folder({ 'a.json': JSON.stringify([square]), 'a.png': 'x', 'a.txt': line });
    const { tiles, format, notes } = await openResultSet(path, { format: 'geojson' });
    expect([format, tiles.length, notes[0]!.count]).toEqual(['geojson', 1, 2]);
    expect(await parsed(tiles[0]!)).toHaveLength(1);
  });

  const wkt = 'POLYGON ((0 0, 1 0, 1 1, 0 0))\n';
  const features = JSON.stringify([square]);
  const coco = '{"images": [{"id": 1}], "annotations": [], "type": "instances"}';
  test.each<[Record<string, string | null>, ResultSetOptions['format'], string[], number]>([
    [{ a: wkt, 'b.dat': wkt, 'c.x.y': wkt, '.hidden': '', more: null }, 'wkt', ['a', 'b', 'c.x'], 2],
    [{ 'a.txt': wkt, 'b.txt': wkt, 'c.png': 'x' }, 'wkt', ['a', 'b'], 1],
    [{ 'a.txt': wkt, 'b.wkt': wkt, 'c.dat': 'x' }, 'wkt', ['b'], 2],
    [{ 'a.txt': line, 'b.dat': line }, 'boundaries', ['a'], 1],
    [{ 'a.json': coco, 'b.json': features, 'c.geojson': features }, 'geojson', ['b', 'c'], 1],
    [{ 'a.json': coco, 'b.json': features, 'c.geojson': features }, 'coco', ['1'], 2],
  ])('with %j has as %s the tiles %j', async (files, format, names, left) => {
    const { tiles, notes } = await openResultSet(await folder(files), { format });
    expect(tiles.map(({ name }) => name)).toEqual(names);
    expect(notes.map(({ code, count }) => [code, count])).toEqual(left === 0 ? [] : [['result-set/other-files', left]]);
    for (const tile of tiles) expect(await parsed(tile)).toHaveLength(format === 'coco' ? 0 : 1);
  });

  test.each<[Record<string, string>, ResultSetOptions['format'], string, string]>([
    [{ 'a.wkt': wkt, 'b.wkt': wkt }, 'png', 'files of the format png', '2 wkt ("a.wkt")'],
    [{ 'a.txt': line }, 'nifti', 'files of the format nifti', '1 boundaries ("a.txt")'],
    [{ 'a.json': features }, 'coco', 'files of the format coco', '1 json ("a.json")'],
    [{ '.hidden': wkt }, 'wkt', 'files that are not hidden', '".hidden"'],
  ])('with %j has no tiles as %s, and the error states what it has', async (files, format, expected, got) => {
    await expect(openResultSet(await folder(files), { format })).rejects.toThrow(
      expect.objectContaining({ code: 'format/no-tiles', expected, got }),
    );
  });

  test('of thousands of tiles is listed without reading them', async () => {
    const path = await folder({});
    const names = Array.from({ length: THOROUGH ? 10_000 : 2000 }, (_, index) => String(index).padStart(5, '0'));
    for (let at = 0; at < names.length; at += 500) {
      await Promise.all(names.slice(at, at + 500).map((name) => writeFile(join(path, `${name}.txt`), line)));
    }
    const { tiles } = await openResultSet(path);
    expect(tiles.map(({ name }) => name)).toEqual(names);
    await rm(join(path, '00017.txt'));
    await expect(tiles[17]!.load()).rejects.toThrow(expect.objectContaining({ code: 'format/missing-file' }));
    expect(await parsed(tiles[18]!)).toHaveLength(1);
  });
});

describe('a file', () => {
  test.each([
    ['t.wkt', 'POLYGON ((0 0, 1 0, 1 1, 0 0))', 'wkt'],
    ['t.tsv', 'id\twkt\nx\tPOLYGON ((0 0, 1 0, 1 1, 0 0))', 'csv'],
    ['t.txt', line, 'boundaries'],
    ['t.geojson', JSON.stringify(square), 'geojson'],
    ['t.json', JSON.stringify([square]), 'geojson'],
    ['t.json', JSON.stringify({ ...square, annotations: [] }), 'geojson'],
    ['t.json', JSON.stringify({ info: {}, type: 'FeatureCollection', features: [square] }), 'geojson'],
  ])('%s %j is one tile, %s', async (name, content, format) => {
    const path = join(await folder({ [name]: content }), name);
    const set = await openResultSet(path);
    expect([set.format, set.path, set.tiles.map((tile) => tile.name)]).toEqual([format, path, ['t']]);
    expect(set.tiles[0]!.place).toBe(path);
    expect(await parsed(set.tiles[0]!)).toHaveLength(1);
  });

  test.each(['a.tif', 'a.ome.TIFF'])(
    'of labels in TIFF is refused with how to convert it, alone and in a folder: %s',
    async (name) => {
      const path = await folder({ [name]: line });
      const remedy = expect.stringMatching(
        /PNG .*NIfTI, not from TIFF: convert .*gdal_translate -strict -of PNG labels.tif labels.png\. /,
      );
      await expect(openResultSet(join(path, name))).rejects.toMatchObject({ code: 'format/unknown-ending', remedy });
      await expect(openResultSet(path)).rejects.toMatchObject({ code: 'format/no-tiles', remedy });
    },
  );

  test('that is missing, has an unknown ending or is aborted is an error', async () => {
    const path = await folder({ 'a.bin': line, 'a.txt': line });
    await expect(openResultSet(join(path, 'b.txt'))).rejects.toThrow(
      expect.objectContaining({ code: 'format/missing-file' }),
    );
    await expect(openResultSet(join(path, 'a.bin'))).rejects.toThrow(
      expect.objectContaining({ code: 'format/unknown-ending' }),
    );
    const { tiles } = await openResultSet(join(path, 'a.bin'), { format: 'boundaries' });
    expect(await parsed(tiles[0]!)).toHaveLength(1);
    const reason = new Error('enough');
    await expect(tiles[0]!.load(AbortSignal.abort(reason))).rejects.toBe(reason);
  });
});

describe('segmentations of real images', () => {
  const fixtures = join(import.meta.dirname, '..', '..', 'fixtures', 'result-sets');
  // The expected numbers of tiles, regions and corners. The numbers of the atlases were counted by another program.
  const images = [
    ['ihc-sigma-1.0.png', 1, 377, 15_940],
    ['ihc-sigma-1.6.png', 1, 340, 13_954],
    ['aal.nii.gz', 181, 4838, 183_464],
    ['brodmann.nii.gz', 181, 5006, 232_922],
  ] as const;
  test.each(someOf(images, 2))(
    '%s has %i tiles with %i regions and %i corners',
    async (name, tiles, regions, corners) => {
      const set = await openResultSet(join(fixtures, name));
      const found = [set.tiles.length, 0, 0];
      for (const tile of set.tiles) {
        const { polygons, notes } = parseTile(await tile.load(), tile.parameters);
        found[1]! += polygons.polygonRings.length - 1;
        found[2]! += polygons.x.length;
        // Labels of real images fall into several regions, and nothing else is noted.
        expect(notes.filter(({ code }) => code !== 'polygons/components')).toEqual([]);
      }
      expect(found).toEqual([tiles, regions, corners]);
    },
  );
});

describe('a COCO file', () => {
  const annotation = (id: number, image: number | string) => ({
    id,
    image_id: image,
    segmentation: [[0, 0, 1, 0, 1, 1]],
  });

  test.prop([fc.array(fc.integer({ min: 0, max: 4 })), fc.boolean(), fc.constantFrom(undefined, 2)], {
    numRuns: caseCount(30),
  })('has one tile per image, each with its annotations', async (images, annotationsFirst, indent) => {
    const annotations = images.map((image, index) => annotation(100 + index, image));
    const list = [3, 1, 0, 2].map((id) => ({ file_name: `image_${id}.png`, id }));
    const coco = annotationsFirst ? { info: {}, annotations, images: list } : { info: {}, images: list, annotations };
    const path = join(await folder({ 'coco.json': JSON.stringify(coco, null, indent) }), 'coco.json');
    const { tiles, format, notes } = await openResultSet(path);
    expect(format).toBe('coco');
    const ids = await Promise.all(tiles.map(async (tile) => [tile.name, (await parsed(tile)).map(({ id }) => id)]));
    const expected = [0, 1, 2, 3, 4].map((image) => [
      image === 4 ? '4' : `image_${image}`,
      annotations.filter((one) => one.image_id === image).map(({ id }) => String(id)),
    ]);
    const unknown = images.includes(4);
    expect(ids).toEqual(unknown ? [expected[4], ...expected.slice(0, 4)] : expected.slice(0, 4));
    expect(notes.map(({ code }) => code)).toEqual(unknown ? ['result-set/unknown-images'] : []);
  });

  test('of detections only has tiles by image id', async () => {
    const path = join(await folder({ 'd.json': JSON.stringify([annotation(1, 'x'), annotation(2, 'y')]) }), 'd.json');
    const { tiles, notes } = await openResultSet(path);
    expect([tiles.map(({ name }) => name), notes]).toEqual([['x', 'y'], []]);
  });

  test('with a type member is distinguished from GeoJSON', async () => {
    const file = { type: 'instances', images: [{ id: 1 }], annotations: [annotation(1, 1)] };
    const path = join(await folder({ 'c.json': JSON.stringify(file) }), 'c.json');
    const { format, tiles } = await openResultSet(path);
    expect([format, await parsed(tiles[0]!)]).toEqual(['coco', [expect.objectContaining({ id: '1' })]]);
  });

  test('refers to annotations by their ids in errors', async () => {
    const broken = { ...annotation(71, 2), segmentation: [[0, 0, 1]] };
    const text = JSON.stringify([annotation(70, 1), broken]);
    const path = join(await folder({ 'c.json': text, 'd.json': '[{"image_id": 1}, {"id": "x"}]' }), 'c.json');
    const { tiles } = await openResultSet(path);
    await expect(parsed(tiles[1]!)).rejects.toThrow('The segmentation of the annotation with id "71" cannot be read.');
    const other = openResultSet(path.replace('c.json', 'd.json'));
    await expect(other).rejects.toThrow('The annotation with id "x" has no "image_id".');
  });

  test.each([
    ['{"images": [], "annotations": [{"id": 1}]}', 'format/malformed-coco'],
    ['{"images": [{}], "annotations": []}', 'format/malformed-coco'],
    ['{"images": []}', 'format/malformed-coco'],
    ['{"images": [{"id": 1}, {"id": 2}, {"id": 1}], "annotations": []}', 'format/duplicate-image'],
    [
      '{"images": [{"id": 1, "file_name": "a"}, {"id": "1", "file_name": "b"}], "annotations": []}',
      'format/duplicate-image',
    ],
    ['{"images": [', 'format/json-syntax'],
    ['{"annotations": [{"image_id": tru}]}', 'format/json-syntax'],
    ['{"info": [}, "annotations": []}', 'format/json-syntax'],
  ])('%j is an error', async (text, code) => {
    const path = join(await folder({ 'c.json': text }), 'c.json');
    await expect(openResultSet(path)).rejects.toThrow(expect.objectContaining({ code }));
  });
});

describe('a COCO file that is truncated or malformed', () => {
  const annotation = '{"image_id": 1, "segmentation": [[0, 0, 1, 0, 1, 1]]}';
  const whole = `{"images": [{"id": 1}], "annotations": [${annotation},\n${annotation}], "info": {}}`;

  test.prop([fc.constantFrom(whole, `[${annotation},\n${annotation}]`), fc.nat()])(
    'is refused wherever it is truncated',
    async (text, cut) => {
      const path = join(await folder({ 'c.json': text.slice(0, cut % text.length) }), 'c.json');
      const error = { code: 'format/json-syntax', place: expect.objectContaining({ file: path }) };
      const opened = openResultSet(path, { format: 'coco' });
      await expect(opened).rejects.toThrow(expect.objectContaining(error));
    },
  );

  const column = annotation.length + 2;
  test.each([
    [`{"images": [],\n"annotations":\n[${annotation}`, 3, column, 'the text ends too early'],
    [`[${annotation},`, 1, column + 1, 'the text ends too early'],
    [`[${annotation} ${annotation}]`, 1, column + 1, "expected ',' or ']'"],
    [`[${annotation}]]]garbage`, 1, column + 1, 'expected nothing after the value'],
    [`{"annotations":\n[${annotation}}`, 2, column, "expected ',' or ']'"],
    [`{"annotations":\n[${annotation}]]`, 2, column + 1, "expected ',' or '}'"],
    [`{"annotations":\n[${annotation}]} {`, 2, column + 3, 'expected nothing after the value'],
    [`[${annotation},]`, 1, column + 1, 'expected a value'],
  ])('%j is an error at its line and column', async (text, line, column, reason) => {
    const file = join(await folder({ 'c.json': text }), 'c.json');
    await expect(openResultSet(file, { format: 'coco' })).rejects.toThrow(
      expect.objectContaining({
        code: 'format/json-syntax',
        place: { file, line, column },
        message: expect.stringContaining(reason),
      }),
    );
  });
});

const volume: fc.Arbitrary<Volume> = fc
  .tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 12 }))
  .chain((size) => {
    const length = size[0] * size[1] * size[2];
    const voxels = fc.array(fc.integer({ min: 0, max: 100 }), { minLength: length, maxLength: length });
    return fc.record({ size: fc.constant(size), voxels });
  });

describe('a NIfTI volume', () => {
  const how = fc.record({
    stored: fc.constantFrom(...(Object.keys(STORED) as Stored[])),
    little: fc.boolean(),
    version: fc.constantFrom(1, 2),
    packed: fc.boolean(),
    slope: fc.constantFrom(0, 1, Number.NaN, Number.POSITIVE_INFINITY),
  });
  test.prop([volume, how], { numRuns: caseCount(60) })(
    'has one tile per slice, for any type, byte order, version and packing',
    async (written, { stored, little, version, packed, slope }) => {
      const plain = nifti(written, stored, little, version, slope);
      const name = packed ? 'v.nii.gz' : 'v.nii';
      const path = join(await folder({ [name]: packed ? gzipSync(plain) : plain }), name);
      const { tiles, format } = await openResultSet(path);
      expect(format).toBe('nifti');
      const [width, height, slices] = written.size as [number, number, number];
      expect(tiles.map((tile) => tile.name)).toEqual(
        Array.from({ length: slices }, (_, slice) => `slice-${String(slice).padStart(6, '0')}`),
      );
      // Slices may be read in any order and repeatedly. If the volume of a slice was released, it is unpacked again.
      for (const slice of [...tiles.keys()].reverse().concat(0)) {
        const labels = Int32Array.from(
          written.voxels.slice(slice * width * height, (slice + 1) * width * height),
          Number,
        );
        const tile = tiles[slice]!;
        const expected = { ...traceLabels(labels, { width, height }), size: { width, height } };
        expect(parseTile(await tile.load(), tile.parameters)).toEqual(expected);
      }
    },
  );

  test('prefixes the names of its slices in a folder of volumes', async () => {
    const file = nifti({ size: [1, 1, 2], voxels: [1, 2] }, 'u8');
    const { tiles } = await openResultSet(await folder({ 'b.nii': file, 'a.nii.gz': gzipSync(file) }));
    expect(tiles.map(({ name }) => name)).toEqual([
      'a/slice-000000',
      'a/slice-000001',
      'b/slice-000000',
      'b/slice-000001',
    ]);
  });

  test('names slices alike for any number of them, and lists them in order', async () => {
    const file = (slices: number) => nifti({ size: [1, 1, slices], voxels: Array(slices).fill(1) }, 'u8');
    const path = await folder({ 'few.nii': file(9), 'more.nii': file(1200) });
    const names = async (name: string) => (await openResultSet(join(path, name))).tiles.map((tile) => tile.name);
    const more = await names('more.nii');
    expect(await names('few.nii')).toEqual(more.slice(0, 9));
    expect(more[1199]).toBe('slice-001199');
  });

  const small: Volume = { size: [2, 2, 2], voxels: [1, 2, 3, 4, 5, 6, 7, 8] };
  const forged = nifti({ size: [32767, 32767, 4], voxels: [] }, 'u8');
  test.each<[string, Uint8Array, string]>([
    ['v.nii', nifti(small, 'i16').subarray(0, 360), 'format/truncated'],
    ['v.nii', nifti(small, 'i16').subarray(0, 200), 'format/bad-nifti'],
    ['v.nii', forged, 'format/truncated'],
    ['v.nii.gz', gzipSync(forged), 'format/truncated'],
    ['v.nii', nifti(small, 'i16', true, 1, 2), 'format/bad-nifti'],
    ['v.nii', nifti({ ...small, size: [2, 2, 1, 2] }, 'u8'), 'format/bad-nifti'],
    ['v.nii', nifti({ ...small, size: [2, -2, 2] }, 'u8'), 'format/bad-nifti'],
    ['v.nii', nifti({ size: [1, 1, 2 ** 30], voxels: [] }, 'u8', true, 2), 'format/bad-nifti'],
    ['v.nii', new Uint8Array(600), 'format/bad-nifti'],
    ['v.nii.gz', gzipSync(nifti(small, 'u8')).subarray(0, 30), 'format/bad-gzip'],
    ['v.nii.gz', Uint8Array.of(0x1f, 0x8b, 8, 0), 'format/bad-gzip'],
  ])('%s that is damaged is refused when it is opened (%#)', async (name, file, code) => {
    const path = join(await folder({ [name]: file }), name);
    await expect(openResultSet(path)).rejects.toThrow(expect.objectContaining({ code, place: { file: path } }));
  });

  test('that is truncated after its header, or holds fractions, is an error of its slices', async () => {
    const large = {
      size: [64, 64, 8],
      voxels: Array.from({ length: 64 * 64 * 8 }, (_, voxel) => Math.imul(voxel, voxel * 2654435761) >>> 24),
    };
    const whole = gzipSync(nifti(large, 'u8'));
    const path = await folder({
      'v.nii.gz': whole.subarray(0, whole.length - 300),
      'w.nii': nifti({ size: [1], voxels: [0.5] }, 'f32'),
    });
    const cut = await openResultSet(join(path, 'v.nii.gz'));
    await expect(cut.tiles[7]!.load()).rejects.toThrow(expect.objectContaining({ code: 'format/bad-gzip' }));
    const { tiles } = await openResultSet(join(path, 'w.nii'));
    await expect(tiles[0]!.load()).rejects.toThrow(
      expect.objectContaining({ code: 'format/bad-nifti', got: '0.5 at voxel 0 of the slice' }),
    );
  });

  test('that unpacks to more than its header states is read only up to that size', async () => {
    const file = nifti({ size: [2, 2, 1], voxels: [1, 1, 2, 2] }, 'u8' satisfies LabelType);
    const bomb = gzipSync(Buffer.concat([file, Buffer.alloc(THOROUGH ? 2 ** 28 : 2 ** 27)]));
    const path = join(await folder({ 'v.nii.gz': bomb }), 'v.nii.gz');
    const before = process.memoryUsage().rss;
    const { tiles } = await openResultSet(path);
    expect(await parsed(tiles[0]!)).toHaveLength(2);
    expect(process.memoryUsage().rss - before).toBeLessThan(2 ** 26);
  });
});
