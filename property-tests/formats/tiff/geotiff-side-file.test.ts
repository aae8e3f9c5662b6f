import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import { type GeoTiffOptions, openGeoTiff } from '../../../formats/geotiff.ts';
import { parseSideFile } from '../../../formats/tiff/side-file.ts';
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
  return { nodata: raster.nodata, scaling: raster.scaling, notes };
}

const scaledInFile = '<GDALMetadata><Item name="SCALE" sample="0" role="scale">2</Item></GDALMetadata>';

describe('a side file', () => {
  test('wins over the nodata tag, and a note says so; the option wins over both', async () => {
    const xml = inBand('<NoDataValue>7</NoDataValue>');
    const found = await openBeside(xml, { gdalNodata: '9' });
    expect(found.nodata).toBe(7);
    expect(found.notes['raster/side-file']).toContain('x.tif.aux.xml gives nodata 7 (instead of 9).');
    expect((await openBeside(xml, { gdalNodata: '9' }, { nodata: 3 })).nodata).toBe(3);
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
