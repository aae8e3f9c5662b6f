import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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

  it('is not handed to workers of a queue, which read files', async () => {
    const words = ['--queue', 'redis://127.0.0.1:1', '--queue-folder', shop.folder];
    const { stderr, exitCode } = await zonal('--raster', addressOf(server), '--stats', '-', ...words);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`Workers of a queue read files only, and ${shownOf(server)} is an address.`);
    expect(stderr).not.toMatch(SECRETS);
  });
});
