import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { encodeBand } from '../../../formats/rasters/packed/encode-band.ts';
import { nodataBits } from '../../../formats/rasters/packed/metadata.ts';
import { packedWriter } from '../../../formats/rasters/packed/writer.ts';
import { openPackedRaster } from '../../../formats/rasters/packed-raster.ts';
import { cut, sourceOf } from '../../fixtures/random-packed.ts';

/** The page that specifies packed rasters. */
const PAGE = await readFile(new URL('../../../docs/packed-rasters.md', import.meta.url), 'utf8');

/** The bytes of the example: what stands before `|` in the lines of its block. */
function bytesOnPage(): Uint8Array {
  const [, block] = /```text\n(00000000 .+?)```/s.exec(PAGE)!;
  const lines = block!.trimEnd().split('\n');
  const bytes = lines.flatMap((line) => line.slice(9).split('|')[0]!.trim().split(/ +/));
  return Uint8Array.from(bytes, (byte) => Number.parseInt(byte, 16));
}

const CELLS = [
  ...[100, 101, 102, 103, 104, 105],
  ...[101, 102, 103, 104, 105, 106],
  ...[102, 103, -1, 106, 107, 108],
  ...[103, 104, 105, 107, 108, 109],
];

test('the example of the page has the bytes that the encoder writes, and the cells that the page states', async () => {
  const layout = { width: 6, height: 4, bands: 1, sample: 'i16', tileColumns: 8, tileRows: 4 } as const;
  const parts: Uint8Array[] = [];
  const writer = packedWriter(layout, async (bytes) => void parts.push(Uint8Array.from(bytes)));
  const cells = Int16Array.from(CELLS);
  await encodeBand(sourceOf(layout, cells, undefined), layout, nodataBits(-1, 'i16'), writer, { memoryBytes: 1 });
  await writer.end({
    geoTransform: [7, 0.5, 0, 47, 0, -0.5],
    ...{ crs: 'EPSG:4326', geographic: true, bands: [{ nodata: '-1' }] },
  });
  const written = Buffer.concat(parts);
  expect(Buffer.from(bytesOnPage()).toString('hex')).toBe(written.toString('hex'));
  const source = await openPackedRaster(bytesOnPage());
  const whole = { column: 0, row: 0, columns: 6, rows: 4 };
  expect([...(await source.read(whole))]).toEqual([...cut(cells, 6, whole)]);
  for (let row = 0; row < 4; row++) expect(PAGE).toContain(CELLS.slice(6 * row, 6 * row + 6).join(' '));
});
