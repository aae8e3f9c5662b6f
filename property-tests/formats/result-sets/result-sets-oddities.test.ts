import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { crossCompare } from '../../../algorithms/cross-compare/cross-compare.ts';
import { tileSide } from '../../../algorithms/cross-compare/tile-side.ts';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { humanLog } from '../../../cli/human-log.ts';
import { parseLabels } from '../../../formats/result-sets/label-image.ts';
import { openResultSet } from '../../../formats/result-sets/open-result-set.ts';
import { parseTile } from '../../../formats/result-sets/parse-tile.ts';
import { isLabelFormat, type ResultSet } from '../../../formats/result-sets/result-set.ts';
import { traceLabels } from '../../../formats/result-sets/trace-labels.ts';
import { compareSummary } from '../../../formats/results/compare-summary.ts';
import { Context } from '../../../primitives/context/context.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { nifti } from '../../support/nifti-support.ts';

let root = '';
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'oddities-'));
});
afterAll(() => rm(root, { recursive: true }));

let files = 0;
async function opened(content: string | Uint8Array | object, ending: string): Promise<ResultSet> {
  const path = join(root, `${files++}.${ending}`);
  const isText = typeof content === 'string' || content instanceof Uint8Array;
  await writeFile(path, isText ? content : JSON.stringify(content));
  return openResultSet(path);
}

async function compared(p: ResultSet, q: ResultSet) {
  const job = {
    p,
    q,
    parse: async (tile: ResultSet['tiles'][number]) => {
      const bytes = await tile.load();
      if (isLabelFormat(p.format) && isLabelFormat(q.format)) return parseLabels(bytes, tile.parameters);
      return tileSide(parseTile(bytes, tile.parameters), { place: tile.place });
    },
  };
  const result = await crossCompare(new Context(createReferenceBackend()), job).result;
  return {
    result,
    codes: result.notes.map(({ code }) => code),
    said: result.notes.map(({ message }) => message).join(),
  };
}

describe('labels that fall into several regions', () => {
  const image = (strays: boolean): Uint16Array =>
    Uint16Array.from({ length: 3600 }, (_, i) => {
      const [x, y] = [i % 60, Math.floor(i / 60)];
      if (strays && x === y && (x === 20 || x === 50)) return x === 20 ? 1 : 2;
      if (x < 5 || x > 19) return 0;
      return y >= 5 && y <= 19 ? 1 : y >= 30 && y <= 44 ? 2 : 0;
    });
  test('are noted with their number and the option that takes each whole', () => {
    const [note] = traceLabels(image(true), { width: 60, height: 60 }).notes;
    expect(note).toMatchObject({ code: 'polygons/components', count: 2 });
    expect(note!.message).toMatch(/^2 labels fell into 4 .*"1", "2"; --regions labels/);
    expect(traceLabels(image(true), { width: 60, height: 60, regions: 'labels' }).notes).toEqual([]);
    expect(traceLabels(image(false), { width: 60, height: 60 }).notes).toEqual([]);
  });

  test.prop([fc.array(fc.nat({ max: 3 }), { minLength: 12, maxLength: 12 })], { numRuns: caseCount(200) })(
    'are noted exactly where a name has a number',
    (labels) => {
      const parameters = { format: 'nifti', place: 'a', labels: { width: 4, height: 3, type: 'u8' } } as const;
      const { ids, notes } = parseLabels(Uint8Array.from(labels), parameters);
      const names = new TextDecoder().decode(ids.bytes);
      expect(notes.length).toBe(names.includes('#') ? 1 : 0);
    },
  );
});

describe('a pair of volumes', () => {
  type Affine = readonly number[];
  const placed = (affine: Affine | undefined, spacing = [1, 1, 1], units = 2): Uint8Array => {
    const file = nifti({ size: [3, 2, 2], voxels: [1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0] }, 'u8');
    const view = new DataView(file.buffer);
    for (const [axis, step] of [1, ...spacing].entries()) view.setFloat32(76 + 4 * axis, step, true);
    view.setUint8(123, units);
    view.setInt16(254, affine === undefined ? 0 : 1, true);
    for (const [index, value] of (affine ?? []).entries()) view.setFloat32(280 + 4 * index, value, true);
    return file;
  };
  const pair = async (a: Uint8Array, b: Uint8Array) => compared(await opened(a, 'nii'), await opened(b, 'nii'));

  test('with different affines is noted with both', async () => {
    const [a, b] = [placed([2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3, 0]), placed([-2, 0, 0, 6, 0, 2, 0, 0, 0, 0, 3, 0])];
    const { codes, said } = await pair(a, b);
    expect(codes).toEqual(['compare/voxel-grids']);
    expect(said).toContain(
      '[2 0 0 0; 0 2 0 0; 0 0 3 0] in the first set and [-2 0 0 6; 0 2 0 0; 0 0 3 0] in the second',
    );
    expect((await pair(a, a)).codes).toEqual([]);
  });

  test('with voxels of different sizes is noted, in whatever units', async () => {
    const { codes, said } = await pair(placed(undefined, [2, 2, 3]), placed(undefined, [2, 2, 4]));
    expect([codes, said.includes('2 × 2 × 3')]).toEqual([['compare/voxel-grids'], true]);
    expect((await pair(placed(undefined, [2, 2, 3]), placed(undefined, [2000, 2000, 3000], 3))).codes).toEqual([]);
    expect((await pair(placed(undefined, [2, 2, 3]), placed(undefined, [2, 2, 3], 3))).codes).toEqual(codes);
  });

  const affine = fc.array(fc.integer({ min: -5, max: 5 }), { minLength: 12, maxLength: 12 });
  test.prop([affine, affine], { numRuns: caseCount(100) })('is noted exactly if its affines differ', async (a, b) => {
    const diagonal = (numbers: Affine): Affine => numbers.map((value, at) => (at % 5 === 0 ? value || 1 : value));
    const independent = (numbers: Affine) => diagonal(numbers.map((value, at) => (at % 4 === 3 ? value : 0)));
    const [p, q] = [independent(a), independent(b)];
    const { codes } = await pair(placed(p), placed(q));
    expect(codes).toEqual(p.join() === q.join() ? [] : ['compare/voxel-grids']);
  });

  test('whose quaternion says what the matrix of the other says is not noted', async () => {
    const turned = placed(undefined, [2, 2, 3]);
    const view = new DataView(turned.buffer);
    view.setInt16(252, 1, true);
    for (const [index, value] of [0, 0, Math.SQRT1_2, 5, 6, 7].entries()) view.setFloat32(256 + 4 * index, value, true);
    expect((await pair(turned, placed([0, -2, 0, 5, 2, 0, 0, 6, 0, 0, 3, 7]))).codes).toEqual([]);
    expect((await pair(turned, placed([2, 0, 0, 5, 0, 2, 0, 6, 0, 0, 3, 7]))).codes).toEqual(['compare/voxel-grids']);
  });
});

describe('NIfTI labels of 64 bits', () => {
  test.prop([fc.constantFrom('i64', 'u64'), fc.boolean(), fc.array(fc.maxSafeNat(), { minLength: 1, maxLength: 4 })])(
    'are read exactly',
    async (stored, little, voxels) => {
      const { tiles } = await opened(nifti({ size: [voxels.length, 1, 1], voxels }, stored, little), 'nii');
      const { ids } = parseTile(await tiles[0]!.load(), { ...tiles[0]!.parameters, regions: 'labels' });
      expect(new TextDecoder().decode(ids.bytes)).toBe([...new Set(voxels)].filter((label) => label > 0).join(''));
    },
  );

  test('beyond 2⁵³ are refused with their place', async () => {
    for (const [stored, label] of [
      ['i64', -(2n ** 53n)],
      ['u64', 2n ** 53n],
      ['i64', 2n ** 53n + 1n],
      ['u64', 2n ** 64n - 1n],
    ] as const) {
      const { tiles, path } = await opened(nifti({ size: [2, 2, 1], voxels: [1, 2, 3, label] }, stored), 'nii');
      await expect(tiles[0]!.load()).rejects.toMatchObject({
        code: 'format/bad-nifti',
        got: `${label} at voxel 3 of the slice (column 1, row 1)`,
        place: { file: `${path} (slice-000000)` },
      });
    }
  });
});

describe('COCO', () => {
  const mask = (height: number, width: number) => ({ size: [height, width], counts: [7, 60, height * width - 67] });
  const coco = (segmentation: object, height = 20, width = 30) => ({
    images: [{ id: 1, file_name: 'a.png', height, width }],
    annotations: [{ id: 8, image_id: 1, segmentation }],
  });

  test('masks of another size than their image are noted with both sizes', async () => {
    const [right, turned] = [await opened(coco(mask(20, 30)), 'json'), await opened(coco(mask(30, 20)), 'json')];
    expect((await compared(right, right)).codes).toEqual([]);
    const { codes, said } = await compared(right, turned);
    expect(codes).toEqual(['polygons/mask-size']);
    expect(said).toContain('"height" 20 and "width" 30: the mask of "8" has "size" [30, 20]');
  });

  test('images of different sizes are noted', async () => {
    const ring = [[0, 0, 5, 0, 5, 5]];
    const pair = [await opened(coco(ring), 'json'), await opened(coco(ring, 30, 20), 'json')] as const;
    expect((await compared(...pair)).codes).toEqual(['compare/tile-sizes']);
    const detections = [{ image_id: 1, segmentation: mask(30, 20) }];
    expect((await compared(pair[0], await opened(detections, 'json'))).codes).toEqual(['compare/tile-sizes']);
  });
});

test('an empty geometry is no polygon, and an empty comparison says why', async () => {
  const square = 'POLYGON ((0 0, 4 0, 4 4, 0 4, 0 0))';
  const [empty, one] = [await opened('POLYGON EMPTY\n', 'wkt'), await opened(`POLYGON EMPTY\n${square}\n`, 'wkt')];
  const { result, codes } = await compared(one, one);
  expect([result.polygons, result.matching.f1, codes]).toEqual([{ p: 1, q: 1 }, 1, ['polygons/empty-geometry']]);
  const said = async (p: ResultSet, q: ResultSet) => {
    const run = { a: 'a', b: 'b', backend: 'reference', pixelSize: 1 };
    const { similarity, similarityNote, matchingNote } = JSON.parse(compareSummary((await compared(p, q)).result, run));
    return [similarity, similarityNote, matchingNote];
  };
  const both = [
    null,
    expect.stringMatching(/^Both sets have no polygons/),
    expect.stringContaining('precision, recall, F1'),
  ];
  expect(await said(empty, empty)).toEqual(both);
  expect(await said(one, empty)).toEqual([
    null,
    expect.stringMatching(/^The second set \(B\) has no polygons/),
    expect.stringContaining('precision would divide by 0'),
  ]);
  expect(await said(one, one)).toEqual([1, undefined, undefined]);
});

test.each([
  ['COCO panoptic', { images: [{ id: 1 }], annotations: [{ image_id: 1, file_name: 'a.png', segments_info: [] }] }],
  ['Label Studio', [{ id: 1, annotations: [{ id: 2, result: [] }], data: { image: 'a.png' } }]],
  ['LabelMe', { version: '5', flags: {}, shapes: [{ label: 'a', points: [[0, 0]] }], imagePath: 'a.png' }],
  ['HoVerNet', { mag: 40, nuc: { 1: { bbox: [], centroid: [1, 1], contour: [[0, 0]], type: 1 } } }],
  ['HoVerNet', { 1: { centroid: [1, 1], contour: [[0, 0]] } }],
])('%s JSON is named, with a way to convert it', async (name, content) => {
  const read = async () => {
    const { tiles } = await opened(content, 'json');
    for (const tile of tiles) parseTile(await tile.load(), tile.parameters);
  };
  await expect(read()).rejects.toMatchObject({
    code: 'format/foreign-json',
    got: name,
    remedy: expect.stringMatching(/./),
  });
});

test.prop([fc.string({ unit: 'binary' })])('nothing in a message is obeyed by a terminal', async (name) => {
  let out = '';
  const log = humanLog({ write: (text: string) => (out += text) }, { quiet: false });
  log.note({ code: 'a', message: `${name} \u001b[2J\u009b31m` });
  log.error(new Error(`${name}\u001b]0;x\u0007`), 1);
  log.summary({ lines: [name], fields: {} });
  expect(out.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
});

test('the magic of a NIfTI file is escaped', async () => {
  const file = nifti({ size: [1, 1, 1], voxels: [1] }, 'u8');
  file.set([0x1b, 0x5b, 0x63], 344);
  await expect(opened(file, 'nii')).rejects.toMatchObject({ code: 'format/bad-nifti', got: '"\\u001b[c"' });
});
