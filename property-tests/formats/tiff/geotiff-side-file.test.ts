import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import { type GeoTiffOptions, openGeoTiff } from '../../../formats/rasters/geotiff.ts';
import { parseSideFile } from '../../../formats/rasters/tiff/side-file.ts';
import { craftedTiff, type Tags } from '../../fixtures/crafted-tiff.ts';
import { fc, test } from '../../law-test.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quadrille-side-file-'));
});
afterEach(() => rm(folder, { recursive: true }));

const inBand = (content: string, band = 1): string =>
  `<PAMDataset>\n  <PAMRasterBand band="${band}">${content}</PAMRasterBand>\n</PAMDataset>\n`;

/** Opens a TIFF with the given tags, beside which a side file stands. */
async function openBeside(xml: string, tags: Tags = {}, options: GeoTiffOptions = {}) {
  const path = join(folder, 'x.tif');
  await writeFile(path, craftedTiff(tags));
  await writeFile(`${path}.aux.xml`, xml);
  const raster = await openGeoTiff(path, options);
  await raster.close();
  const notes = Object.fromEntries(raster.notes.map(({ code, message }) => [code, message]));
  return { ...raster, notes };
}

const scaledInFile = '<GDALMetadata><Item name="SCALE" sample="0" role="scale">2</Item></GDALMetadata>';

describe('a side file', () => {
  test('wins over the nodata tag, and a note says so; the option wins over both', async () => {
    const xml = inBand('<NoDataValue>7</NoDataValue>');
    const found = await openBeside(xml, { gdalNodata: '9' });
    expect(found.nodata).toBe(7);
    expect(found.notes['raster/side-file']).toContain('x.tif.aux.xml gives nodata 7 (instead of 9).');
    const overruled = await openBeside(xml, { gdalNodata: '9' }, { nodata: 3 });
    expect([overruled.nodata, overruled.notes['raster/side-file']]).toEqual([3, undefined]);
  });

  test('gives scale and offset, which raw leaves out', async () => {
    const xml = inBand('<Offset>10</Offset><Scale>0.5</Scale>');
    expect((await openBeside(xml)).scaling).toEqual({ scale: 0.5, offset: 10 });
    expect((await openBeside(xml, { gdalMetadata: scaledInFile })).scaling).toEqual({ scale: 0.5, offset: 10 });
    const raw = await openBeside(xml, {}, { raw: true });
    expect(raw.scaling).toBeUndefined();
    expect(raw.notes).toHaveProperty('raster/scaling-left-out');
  });

  test('that gives an offset alone leaves the scale of the file', async () => {
    const { scaling } = await openBeside(inBand('<Offset>10</Offset>'), { gdalMetadata: scaledInFile });
    expect(scaling).toEqual({ scale: 2, offset: 10 });
  });

  const W = 'GEOGCS["WGS 84",DATUM["x",SPHEROID["y",1,2]],UNIT["degree",0.0174],AUTHORITY["EPSG","4326"]]';
  const HEIGHT = 'VERT_CS["EGM96 height",VERT_DATUM["x",2005],UNIT["metre",1],AUTHORITY["EPSG","5773"]';
  const LAEA = 'PROJCS["My LAEA",GEOGCS["WGS 84",AUTHORITY["EPSG","4326"]],UNIT["metre",1]]';
  const GEOCENTRIC = 'GEOCCS["WGS 84",DATUM["x",SPHEROID["y",1,2]],UNIT["metre",1],AUTHORITY["EPSG","4978"]]';
  const dataset = (srs: string | undefined, geoTransform?: string): string =>
    `<PAMDataset>${srs === undefined ? '' : `<SRS dataAxisToSRSAxisMapping="2,1">${srs.replaceAll('"', '&quot;')}</SRS>`}` +
    `${geoTransform === undefined ? '' : `<GeoTransform>${geoTransform}</GeoTransform>`}</PAMDataset>`;
  const inTags = { originX: 100, originY: 200, stepX: 2, stepY: -3, crs: 'EPSG:32633' };

  // Checked against GDAL 3.6.2.
  test.each<[string, string, Tags, object]>([
    [
      'placement and system',
      dataset(W, ' 10, 1, 0, 20, 0, -1'),
      {},
      { originX: 10, originY: 20, stepX: 1, stepY: -1, crs: 'EPSG:4326', geographic: true },
    ],
    ['system', dataset(W), {}, { ...inTags, crs: 'EPSG:4326', geographic: true }],
    ['system by a code', dataset('EPSG:25832'), {}, { ...inTags, crs: 'EPSG:25832', geographic: false }],
    [
      'placement',
      dataset(undefined, '10,1,0,20,0,-1'),
      {},
      { ...inTags, originX: 10, originY: 20, stepX: 1, stepY: -1 },
    ],
    [
      'first placement',
      dataset(undefined, '10,1,0,20,0,-1</GeoTransform><GeoTransform>1,1,0,2,0,-1'),
      {},
      { originX: 10 },
    ],
    [
      'corner, though cells represent points',
      dataset(undefined, '10,1,0,20,0,-1'),
      { geoKeyDirectory: [1, 1, 0, 1, 1025, 0, 1, 2] },
      { originX: 10, originY: 20 },
    ],
    [
      'placement that the tags lack',
      dataset(W, '10,1,0,20,0,-1'),
      { modelPixelScale: undefined, modelTiepoint: undefined },
      { originX: 10, crs: 'EPSG:4326' },
    ],
    [
      'system without a code',
      dataset(LAEA),
      {},
      { crs: undefined, ownCrs: 'a projected coordinate system of its own called "My LAEA", without an EPSG code' },
    ],
    [
      'geocentric system',
      dataset(GEOCENTRIC),
      {},
      { crs: undefined, ownCrs: 'the geocentric coordinate system EPSG:4978' },
    ],
    ...[
      `COMPD_CS["WGS 84 + EGM96 height",${W},${HEIGHT}],AUTHORITY["EPSG","9707"]]`,
      `COMPOUNDCRS["WGS 84 + EGM96 (height)",${W.replace('GEOGCS', 'GEOGCRS')},${HEIGHT}],ID["EPSG",9707]]`,
      `${W},VERTCS["EGM96_Geoid",VDATUM["EGM96_Geoid"],PARAMETER["Direction",1.0],UNIT["Meter",1.0]]`,
      'EPSG:4326+5773',
      '<![CDATA[EPSG:4326]]>',
      '\n <![CDATA[ EPSG:4326+5773 ]]> ',
    ].map((srs): [string, string, Tags, object] => [
      `horizontal system ${srs.slice(0, 25)}`,
      dataset(srs),
      {},
      { ...inTags, crs: 'EPSG:4326', geographic: true },
    ]),
    [
      'projected system of a compound',
      dataset(`COMPD_CS["x",PROJCS["y",${W},UNIT["metre",1],AUTHORITY["EPSG","25832"]],${HEIGHT}]`),
      {},
      { ...inTags, crs: 'EPSG:25832', geographic: false },
    ],
    ['unknown system', dataset(''), {}, { ...inTags, crs: undefined, geographic: false }],
  ])('wins over tags and world file with its %s, with a note', async (_, xml, tags, expected) => {
    await writeFile(join(folder, 'x.tfw'), '9\n0\n0\n-9\n0\n0\n');
    const raster = await openBeside(xml, tags);
    expect(raster).toMatchObject(expected);
    expect(raster.notes['raster/side-file']).toMatch(/x\.tif\.aux\.xml gives the (geotransform|coordinate system)/);
    expect(raster.notes['raster/world-file']).toContain('is ignored');
  });

  test('says what it replaces', async () => {
    const { notes } = await openBeside(dataset(W, '10,1,0,20,0,-1'));
    expect(notes['raster/side-file']).toContain(
      'gives the geotransform 10,1,0,20,0,-1 (instead of that in the tags), the coordinate system EPSG:4326 (instead of that in the tags).',
    );
  });

  test.each(['1, 2, 3', 'a, b, c, d, e, f', '1,1,0,1,0,-1,7'])(
    'with a placement of %s leaves that of the tags, with a note',
    async (geoTransform) => {
      const raster = await openBeside(dataset(undefined, geoTransform));
      expect(raster).toMatchObject(inTags);
      expect(raster.notes).toHaveProperty('raster/side-file-unreadable');
    },
  );

  test.each([
    ['a rotation', dataset(undefined, '10,1,0.5,20,0.5,-1')],
    ['columns from east to west', dataset(undefined, '10,-1,0,20,0,-1')],
    ['grads', dataset(W.replace('degree', 'grad'))],
    ['grads in a compound', dataset(`COMPD_CS["x",${W.replace('degree', 'grad')},${HEIGHT}]]`)],
  ])('with %s is refused', async (_, xml) => {
    await expect(openBeside(xml)).rejects.toMatchObject({ code: 'format/unsupported-geotransform' });
  });

  test('that is cut off is ignored, with a note', async () => {
    const { nodata, notes } = await openBeside(inBand('<NoDataValue>7</NoDataValue>').slice(0, -8));
    expect(nodata).toBeUndefined();
    expect(notes).toHaveProperty('raster/side-file-unreadable');
  });

  test.each([
    ['of another band', inBand('<NoDataValue>7</NoDataValue>', 2), {}],
    ['in bytes', inBand('<NoDataValue le_hex_equiv="0000000000001C40">1</NoDataValue>'), { nodata: '7' }],
    [
      'in other case',
      '<pamdataset><PamRasterBand BAND="1"><nodatavalue>7</nodatavalue></PamRasterBand></pamdataset>',
      { nodata: '7' },
    ],
    ['in a comment', inBand('<!-- <NoDataValue>7</NoDataValue> -->'), {}],
    [
      'of a subdataset',
      `<PAMDataset><Subdataset name="2">${inBand('<NoDataValue>7</NoDataValue>')}</Subdataset></PAMDataset>`,
      {},
    ],
    [
      'inside metadata',
      inBand('<Metadata><MDI key="a"/><NoDataValue>7</NoDataValue></Metadata><Scale>2</Scale>'),
      { scale: '2' },
    ],
    ['twice', inBand('<NoDataValue>7</NoDataValue><NoDataValue>1</NoDataValue>'), { nodata: '7' }],
    ['empty', inBand('<NoDataValue></NoDataValue>'), {}],
    [
      'of two bands of one number',
      `<PAMDataset>${[7, 1].map((v) => `<PAMRasterBand band="1"><NoDataValue>${v}</NoDataValue></PAMRasterBand>`).join('')}</PAMDataset>`,
      { nodata: '1' },
    ],
    ['in another document', `<x>${inBand('<NoDataValue>7</NoDataValue>')}</x>`, undefined],
  ])('with a value %s is read as GDAL reads it', (_, xml, found) => {
    expect(parseSideFile(xml, 1)).toEqual(found);
  });

  test('of hostile text is refused before the test times out, as its work is linear', () => {
    for (const piece of ['<PAMRasterBand band="1">', '<!--', '<', '<NoDataValue', '<a><', '<![CDATA[']) {
      expect(parseSideFile(`<PAMDataset>${piece.repeat(200_000)}`, 1)).toBeUndefined();
    }
  });

  test.prop([fc.string()])('of any text is read or refused without an error', (text) => {
    const found = parseSideFile(inBand(text), 1);
    expect([undefined, 'object']).toContain(found === undefined ? undefined : typeof found);
  });
});

describe('the option mask', () => {
  const alpha: Tags = { samplesPerPixel: [2], bitsPerSample: [8, 8], sampleFormat: [1, 1], extraSamples: [2] };

  test.each<[GeoTiffOptions, boolean]>([
    [{}, true],
    [{ mask: 'all' }, true],
    [{ mask: 'none' }, false],
  ])('%j decides whether an alpha band hides cells', async (options, isMasked) => {
    const raster = await openGeoTiff(craftedTiff(alpha, new Uint8Array(24)), options);
    expect(raster.readMask !== undefined).toBe(isMasked);
    expect(raster.notes.some(({ code }) => code === 'raster/mask')).toBe(isMasked);
  });

  test.each([
    [5, 'CMYK'],
    [8, 'CIE Lab'],
  ])('a raster of colours %i gets a note', async (photometricInterpretation, name) => {
    const { notes } = await openGeoTiff(craftedTiff({ photometricInterpretation: [photometricInterpretation] }));
    expect(notes.find(({ code }) => code === 'raster/colours-raw')?.message).toContain(name);
  });
});
