import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openGeoTiff } from '../../formats/rasters/geotiff.ts';
import { collection, openWorkshop, rectangle, type Workshop, zone } from '../support/cli-support.ts';
import { type RangeServer, serveRanges } from '../support/range-server.ts';

let shop: Workshop;
let server: RangeServer;
let bytes: Buffer;
beforeAll(async () => {
  shop = await openWorkshop();
  await shop.write('zones.json', collection(zone('a', rectangle(0, 0, 2, 3)), zone('b', rectangle(2, 0, 4, 3))));
  const cells = Array.from({ length: 24 }, (_, at) => at);
  await shop.writeRaster('r.tif', { bands: 2, sample: 'u16', nodata: 3 }, cells);
  bytes = await readFile(shop.path('r.tif'));
  server = await serveRanges(bytes);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await shop.remove();
});

const SECRETS = /me:|secret|token/;
/** An address with a password and a signature, and its name in outputs. */
const addressOf = ({ origin }: RangeServer) => `${origin.replace('//', '//me:secret@')}/r.tif?token=1`;
const shownOf = ({ origin }: RangeServer) => `${origin}/r.tif?…`;

const zonal = (...args: readonly string[]) =>
  shop.quadrille(['zonal', '--zones', '@zones.json', '--backend', 'reference', ...args]);

describe('zonal of an address', () => {
  it.each([
    [['--stats', '-']],
    [['--stats', '-', '--band', 'all', '--stat', 'mean,median,nodata']],
    [['--stats', '-', '--band', '1,2', '--wide']],
    [['--unique', '--pixels', 'fractional']],
    [['--stats', '-', '--stat', 'weighted_mean', '--weights', 'RASTER']],
    [['--unique', '--format', 'json']],
  ])('writes what it writes of the file, byte for byte: %j', async (words) => {
    const of = (raster: string) =>
      zonal('--raster', raster, ...words.map((word) => (word === 'RASTER' ? raster : word)));
    const [file, address] = [await of('@r.tif'), await of(addressOf(server))];
    expect(file.exitCode, file.stderr).toBe(0);
    expect(address.exitCode, address.stderr).toBe(0);
    expect(address.stderr).toContain('files beside it (.aux.xml, .msk, world files) are not looked for');
    expect(address.stderr).not.toMatch(SECRETS);
    expect(address.stdout).not.toMatch(SECRETS);
    const withoutNotes = (text: string) => text.replaceAll(/"notes":\[.*?\]/gs, '"notes":[]').replaceAll(/\s+/g, ' ');
    const named = address.stdout.replaceAll(shownOf(server), shop.path('r.tif'));
    if (words.includes('json')) expect(Object.keys(JSON.parse(named))).toEqual(Object.keys(JSON.parse(file.stdout)));
    else expect(withoutNotes(named)).toBe(withoutNotes(file.stdout));
  });

  it('names it without what is secret, also if several differ in that only', async () => {
    const second = addressOf(server).replace('token=1', 'token=2');
    const words = ['--raster', addressOf(server), '--raster', second, '--raster', second, '--stats', '-', '--json-log'];
    const { stdout, stderr, exitCode } = await zonal(...words, '--stat', 'mean');
    expect(exitCode, stderr).toBe(0);
    const names = new Set(
      stdout
        .split('\n')
        .slice(1, -1)
        .map((line) => line.split(',')[0]),
    );
    expect([...names]).toEqual([shownOf(server), `${shownOf(server)} (2)`]);
    expect(stderr).toContain('zonal/raster-again');
    expect(stderr + stdout).not.toMatch(SECRETS);
  });

  it('fails with one error and code, without what is secret', async () => {
    await using other = await serveRanges(bytes, () => 'no file');
    const { stdout, stderr, exitCode } = await zonal('--raster', addressOf(other), '--stats', '-', '--json-log');
    expect([stdout, exitCode]).toEqual(['', 2]);
    const { code, place } = JSON.parse(stderr);
    expect({ code, place }).toEqual({ code: 'format/address-missing', place: { file: shownOf(other) } });
    expect(stderr).not.toMatch(SECRETS);
  });

  it('fails if the file is changed between two of its bands', async () => {
    await using other = await serveRanges(bytes, (before) => (before === 0 ? 'part' : 'another tag'));
    const { stderr, exitCode } = await zonal(
      '--raster',
      addressOf(other),
      '--band',
      '1,2',
      '--stats',
      '-',
      '--json-log',
    );
    expect(exitCode).toBe(2);
    expect(stderr).toContain('"format/changed"');
  });

  it('may be of its overview, and then says so', async () => {
    const cog = await readFile(new URL('../fixtures/gdal/u8-cog-mask.tif', import.meta.url));
    await using other = await serveRanges(cog);
    await shop.write('cog.tif', cog);
    const box = rectangle(20, 10, 120, 50);
    await shop.write('boxes.json', collection(zone('a', box)));
    const of = async (raster: string, ...words: readonly string[]) => {
      const stats = ['--stats', '-', '--stat', 'cells,nodata,mean', '--json-log', ...words];
      const run = await shop.quadrille(['zonal', '--zones', '@boxes.json', '--raster', raster, ...stats]);
      expect(run.exitCode, run.stderr).toBe(0);
      const [, row] = run.stdout.split('\n');
      const notes = run.stderr.split('\n').filter((line) => line.includes('raster/approximate'));
      return { row, notes };
    };
    const whole = await of('@cog.tif');
    const coarse = await of('@cog.tif', '--approximate', '4');
    expect([whole.notes, coarse.notes.length]).toEqual([[], 1]);
    const [, cells] = whole.row!.split(',').map(Number) as [number, number];
    const [, fewer, hidden, mean] = coarse.row!.split(',').map(Number) as [number, number, number, number];
    expect([fewer, cells]).toEqual([(100 / 2) * (40 / 1), (100 / 0.5) * (40 / 0.25)]);
    const raster = await openGeoTiff(shop.path('cog.tif'), { approximate: 4 });
    const window = { column: (20 - 10) / 2, row: 60 - 50, columns: 100 / 2, rows: 40 };
    const [values, mask] = [(await raster.read(window)) as Uint8Array, await raster.readMask!(window)];
    await raster.close();
    const shown = values.filter((_, at) => mask[at] !== 0);
    expect(hidden).toBe(values.length - shown.length);
    expect(hidden).toBeGreaterThan(0);
    expect(mean).toBe(shown.reduce((sum, value) => sum + value, 0) / shown.length);
    expect(await of(`${other.origin}/cog.tif`, '--approximate', '4')).toEqual(coarse);
    expect((await of('@cog.tif', '--approximate', '1.5')).row).toBe(whole.row);
  });

  it.each([
    [['--approximate', '1'], 'usage/approximate'],
    [['--approximate', 'much'], 'usage/approximate'],
    [['--approximate', '2', '--stat', 'weighted_mean', '--weights', '@r.tif'], 'usage/contradiction'],
  ])('is refused in the words %j', async (words, code) => {
    const { stderr, exitCode } = await zonal('--raster', '@r.tif', '--stats', '-', '--json-log', ...words);
    expect([exitCode, JSON.parse(stderr).code]).toEqual([2, code]);
  });

  it('is not handed to workers of a queue, which read files', async () => {
    const words = ['--queue', 'redis://127.0.0.1:1', '--queue-folder', shop.folder];
    const { stderr, exitCode } = await zonal('--raster', addressOf(server), '--stats', '-', ...words);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`Workers of a queue read files only, and ${shownOf(server)} is an address.`);
    expect(stderr).not.toMatch(SECRETS);
  });
});
