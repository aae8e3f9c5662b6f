import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { caseCount } from '../cases.ts';
import { geoTiffBytes, randomRaster } from '../fixtures/random-raster.ts';
import { fc, test } from '../law-test.ts';
import { openWorkshop, type Workshop } from '../support/cli-support.ts';
import { type RangeServer, serveRanges, type Way } from '../support/range-server.ts';

let shop: Workshop;
beforeAll(async () => {
  shop = await openWorkshop();
});
afterAll(() => shop.remove());

const SECRETS = /me:|secret|token/;
/** An address with a password and a signature, and its name in outputs. */
const addressOf = ({ origin }: RangeServer, name: string) => `${origin.replace('//', '//me:secret@')}/${name}?token=1`;

async function run(...words: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await shop.quadrille(['raster', ...words]);
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
  expect(stdout + stderr).not.toMatch(SECRETS);
  return stdout;
}

async function failure(...words: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await shop.quadrille(['raster', ...words, '--json-log']);
  expect(exitCode).toBe(2);
  expect(stdout + stderr).not.toMatch(SECRETS);
  return JSON.parse(stderr.trim().split('\n').at(-1)!).code;
}

describe('quadrille raster of an address', () => {
  const packable = randomRaster.filter(({ raster: { sample } }) => !sample.endsWith('64'));
  const ways = fc.array(fc.constantFrom<Way>('part', 'wider', 'cut off', 'led on', 'whole'), { maxLength: 6 });

  test.prop([packable, ways], { numRuns: caseCount(20) })(
    'makes, tells and unpacks what it makes, tells and unpacks of the file',
    async (written, answers) => {
      const bytes = await geoTiffBytes({ ...written, raster: { ...written.raster, crs: 'EPSG:3035' } });
      await shop.write('near.tif', bytes);
      const wayOf = (before: number, path: string) =>
        path.startsWith('/led') && answers[before] === 'led on' ? 'part' : (answers[before] ?? 'part');
      await using far = await serveRanges(bytes, wayOf);
      await run('encode', '@near.tif', '-o', '@near.qbp');
      await run('encode', addressOf(far, 'near.tif'), '-o', '@far.qbp');
      const packed = await readFile(shop.path('near.qbp'));
      expect((await readFile(shop.path('far.qbp'))).equals(packed)).toBe(true);
      await using packedFar = await serveRanges(packed, wayOf);
      const told = await run('info', addressOf(packedFar, 'near.qbp'), '--check', '--json');
      expect(JSON.parse(told)).toEqual(JSON.parse(await run('info', '@near.qbp', '--check', '--json')));
      expect(await run('info', addressOf(packedFar, 'near.qbp'))).toContain(`${packedFar.origin}/near.qbp?\u2026`);
      await run('decode', '@near.qbp', '-o', '@near-back.tif');
      await run('decode', addressOf(packedFar, 'near.qbp'), '-o', '@far-back.tif');
      const back = await readFile(shop.path('near-back.tif'));
      expect((await readFile(shop.path('far-back.tif'))).equals(back)).toBe(true);
    },
  );

  test('names the packed raster in a folder by its path', async () => {
    await shop.writeRaster('r.tif', {});
    await using server = await serveRanges(await readFile(shop.path('r.tif')));
    await run('encode', addressOf(server, 'deep/relief%20one.tif'), '-o', shop.folder);
    expect(await readFile(shop.path('relief%20one.qbp'))).toBeDefined();
  });

  test('fails with one code, and leaves no file', async () => {
    await shop.writeRaster(
      'r.tif',
      { bands: 2, sample: 'u16' },
      Array.from({ length: 24 }, (_, at) => at),
    );
    const bytes = await readFile(shop.path('r.tif'));
    for (const [way, code] of [
      ['no file', 'format/address-missing'],
      ['a page', 'format/address-page'],
    ] as const) {
      await using server = await serveRanges(bytes, () => way);
      expect(await failure('encode', addressOf(server, 'r.tif'), '-o', '@none.qbp')).toBe(code);
      expect(await failure('decode', addressOf(server, 'r.qbp'), '-o', '@none.tif')).toBe(code);
      expect(await failure('info', addressOf(server, 'r.qbp'))).toBe(code);
    }
    await using other = await serveRanges(bytes, (before) => (before === 0 ? 'part' : 'another tag'));
    expect(await failure('encode', addressOf(other, 'r.tif'), '-o', '@none.qbp')).toBe('format/changed');
    await expect(readFile(shop.path('none.qbp'))).rejects.toThrow('ENOENT');
  });
});
