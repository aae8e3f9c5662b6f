import { access, readdir, readFile, writeFile } from 'node:fs/promises';
import { Writable } from 'node:stream';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { SAMPLE_BYTES } from '../../algorithms/geometry/raster.ts';
import { exitCodeOf } from '../../cli/failure.ts';
import { Interrupted } from '../../cli/interrupt.ts';
import { rasterParts } from '../../cli/parts.ts';
import { parseDecodeArguments, parseEncodeArguments } from '../../cli/raster-arguments.ts';
import { runRasterDecode } from '../../cli/raster-decode.ts';
import { runRasterEncode } from '../../cli/raster-encode.ts';
import { openGeoTiff } from '../../formats/rasters/geotiff.ts';
import type { GeoTiffRaster } from '../../formats/rasters/geotiff-writer.ts';
import { caseCount, someOf } from '../cases.ts';
import {
  bytesOf,
  geoTiffBytes,
  randomCells,
  randomRaster,
  windowAt,
  windowFractions,
} from '../fixtures/random-raster.ts';
import { fc, test } from '../law-test.ts';
import { collection, openWorkshop, rectangle, type Workshop, zone } from '../support/cli-support.ts';
import { quietLog } from './cli-index-support.ts';

let shop: Workshop;
beforeAll(async () => {
  shop = await openWorkshop();
  await shop.write(
    'zones.json',
    collection(zone('a', rectangle(0, 0, 2.6, 2)), zone('b', rectangle(1, 0.4, 4, 3), rectangle(2, 1, 3, 2))),
  );
  await shop.writeRaster('raster.tif', { nodata: 3 });
});
afterAll(() => shop.remove());

const run = async (...words: readonly string[]): Promise<string> => {
  const { exitCode, stdout, stderr } = await shop.quadrille(words);
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
  return stdout;
};

describe('quadrille raster', () => {
  test.prop([randomRaster, fc.constantFrom('f64', 'i64', 'u64')], { numRuns: caseCount(6) })(
    'refuses cells of 64 bits, and leaves no file',
    async ({ raster: { width, height, ...raster } }, sample) => {
      const wide = { ...raster, width, height, sample, bands: 1, predictor: 'none', crs: 'EPSG:3035' } as const;
      const bands = [randomCells(sample, width * height, width, 256)];
      await writeFile(shop.path('f64.tif'), await geoTiffBytes({ raster: wide, bands }));
      const words = ['raster', 'encode', '@f64.tif', '-o', '@f64.qbp', '--quiet'];
      const { exitCode, stderr } = await shop.quadrille(words);
      expect({ exitCode, stderr }).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(sample) });
      await expect(access(shop.path('f64.qbp'))).rejects.toThrow('ENOENT');
    },
  );

  const packable = randomRaster.filter(({ raster: { sample } }) => SAMPLE_BYTES[sample] < 8);

  test.prop([packable, windowFractions, fc.option(fc.constantFrom('7', '0', '-1.5', 'nan'), { nil: undefined })], {
    numRuns: caseCount(60),
  })('packs a GeoTIFF, and makes the same of it, or a part', async ({ raster, bands }, fractions, nodata) => {
    const stated = { ...raster, nodata, crs: 'EPSG:3035' };
    await writeFile(shop.path('random.tif'), await geoTiffBytes({ raster: stated, bands }));
    await run('raster', 'encode', '@random.tif', '-o', '@random.qbp', '--quiet', '--memory', '1MB');
    await run('raster', 'info', '@random.qbp', '--check', '--quiet');
    const window = windowAt(fractions, raster);
    const part = [window.column, window.row, window.columns, window.rows].join(',');
    const isPart = window.columns > 0 && window.rows > 0;
    await run('raster', 'decode', '@random.qbp', '-o', '@back.tif', '--quiet', ...(isPart ? ['--window', part] : []));
    for (const band of bands.keys()) {
      const [before, after] = [
        await openGeoTiff(shop.path('random.tif'), { band: band + 1, threads: 0 }),
        await openGeoTiff(shop.path('back.tif'), { band: band + 1, threads: 0 }),
      ];
      const { column, row, columns, rows } = isPart ? window : { ...ALL, columns: raster.width, rows: raster.height };
      const { sample, nodata: value, crs, stepX, stepY, originX, originY } = before;
      expect(after).toMatchObject({ sample, nodata: value, crs, stepX, stepY, width: columns, height: rows });
      expect([after.originX, after.originY]).toEqual([originX + column * stepX, originY + row * stepY]);
      const cells = await before.read({ column, row, columns, rows });
      expect(bytesOf(await after.read({ column: 0, row: 0, columns, rows }))).toEqual(bytesOf(cells));
      await before.close();
      await after.close();
    }
  });

  const ALL = { column: 0, row: 0 };

  test('lets zonal print the same of BQ-trees, on whatever backend they were encoded', async () => {
    const cells = Array.from({ length: 128 * 96 }, (_, i) => ((i >> 4) * 5 + (i >> 11) * 3) % 11);
    await shop.writeRaster('trees.tif', { width: 128, height: 96, sample: 'u8', stepX: 1 / 32, stepY: -1 / 32 }, cells);
    const [backend] = someOf([['reference'], ['workers', '--workers', '1']], 1) as [string[]];
    await run(
      'raster',
      'encode',
      '@trees.tif',
      '-o',
      '@trees.qbp',
      '--codec',
      'bq',
      '--backend',
      ...backend,
      '--quiet',
    );
    const zonal = ['zonal', '--zones', '@zones.json', '--unique', '--backend', 'reference', '--quiet', '--raster'];
    const printed = await run(...zonal, '@trees.qbp');
    expect(printed).toBe(await run(...zonal, '@trees.tif'));
    expect(printed).toMatch(/^zone,/);
  });

  test.each<[string, Partial<GeoTiffRaster>, readonly number[]]>([
    ['nodata', { nodata: 3 }, [1, 3, 3, 4, 5, 3, 7, 8, 9, 3, 3, 3]],
    ['floats and NaN', { sample: 'f32', nodata: -9 }, [Number.NaN, -9, 2.5, 0, -0, 1e9, 7, 8, -9, 3, 3, 3]],
    [
      'a nodata value that its floats do not have',
      { sample: 'f32', nodata: '0.1' },
      [0.1, 2, 3, 0.1, 0, 1, 2, 3, 4, 5, 6, 7],
    ],
    ['rows from south to north', { sample: 'i16', stepY: 1, originY: 0 }, [-1, -2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]],
    ['large numbers', { sample: 'u32' }, [4e9, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]],
  ])('lets zonal print the same bytes of a raster with %s', async (_, changes, cells) => {
    await shop.writeRaster('zonal.tif', changes, cells);
    await run('raster', 'encode', '@zonal.tif', '-o', '@zonal.qbp');
    const questions = [
      ['--unique'],
      ['--bins', '0:10:2', '--stats', '-', '--out', '/dev/null'],
      ['--unique', '--nodata', '4'],
    ];
    for (const options of someOf(questions, 1)) {
      const words = ['zonal', '--zones', '@zones.json', ...options, '--backend', 'reference'];
      const [tiff, packed] = [
        await shop.quadrille([...words, '--raster', '@zonal.tif', '--json-log']),
        await shop.quadrille([...words, '--raster', '@zonal.qbp', '--json-log']),
      ];
      expect(packed.stdout).toBe(tiff.stdout);
      expect(notesOf(packed.stderr)).toEqual(notesOf(tiff.stderr));
    }
  });

  test('keeps the mask of another file, with and without --mask none', async () => {
    await shop.writeRaster('masked.tif', { sample: 'i16' });
    await shop.writeRaster('masked.tif.msk', { sample: 'u8' }, [0, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1, 0]);
    await run('raster', 'encode', '@masked.tif', '-o', '@masked.qbp');
    await run('raster', 'decode', '@masked.qbp', '-o', '@unmasked.tif');
    const words = ['zonal', '--zones', '@zones.json', '--unique', '--backend', 'reference', '--quiet', '--raster'];
    for (const more of [[], ['--mask', 'none']]) {
      const expected = await run(...words, '@masked.tif', ...more);
      expect(await run(...words, '@masked.qbp', ...more)).toBe(expected);
      expect(await run(...words, '@unmasked.tif', ...more)).toBe(expected);
    }
    await run('raster', 'encode', '@masked.tif', '-o', '@bare.qbp', '--mask', 'none');
    expect(await run(...words, '@bare.qbp')).toBe(await run(...words, '@masked.tif', '--mask', 'none'));
    const other = await shop.quadrille([...words, '@masked.qbp', '--nodata', '4']);
    expect([other.exitCode, other.stderr]).toEqual([
      2,
      expect.stringContaining('The mask of the packed raster covers'),
    ]);
  });

  test('keeps scale, offset and nodata value of a side file', async () => {
    await shop.writeRaster('beside.tif');
    const band = '<NoDataValue>5</NoDataValue><Scale>0.25</Scale><Offset>-1</Offset>';
    const pam = `<PAMDataset><PAMRasterBand band="1">${band}</PAMRasterBand></PAMDataset>`;
    await shop.write('beside.tif.aux.xml', pam);
    await run('raster', 'encode', '@beside.tif', '-o', '@beside.qbp');
    await run('raster', 'decode', '@beside.qbp', '-o', '@alone.tif');
    for (const open of [await openGeoTiff(shop.path('beside.tif')), await openGeoTiff(shop.path('alone.tif'))]) {
      expect(open).toMatchObject({ nodata: 5, scaling: { scale: 0.25, offset: -1 } });
      await open.close();
    }
    const facts = JSON.parse(await run('raster', 'info', '@beside.qbp', '--json'));
    expect(facts).toMatchObject({ bands: [{ nodata: '5', scale: '0.25', offset: '-1', minimum: 0, maximum: 11 }] });
  });

  test('tells infinities and NaN in JSON from a band without data', async () => {
    const [nan, ten] = [Number.NaN, Array.from({ length: 10 }, () => 1)];
    const facts = async (cells: readonly number[]) => {
      await shop.writeRaster('odd.tif', { sample: 'f32', nodata: 1 }, cells);
      await run('raster', 'encode', '@odd.tif', '-o', '@odd.qbp');
      return JSON.parse(await run('raster', 'info', '@odd.qbp', '--json')).bands[0];
    };
    expect(await facts([-Infinity, Infinity, ...ten])).toMatchObject({ minimum: '-Infinity', maximum: 'Infinity' });
    expect(await facts([2, nan, ...ten])).toMatchObject({ minimum: 2, maximum: 'NaN' });
    expect(await facts([1, 1, ...ten])).toMatchObject({ minimum: null, maximum: null });
  });

  test('packs several files into a folder, all or none', async () => {
    const { mkdir } = await import('node:fs/promises');
    await mkdir(shop.path('packed'));
    await run('raster', 'encode', '@raster.tif', '@zonal.tif', '-o', '@packed');
    expect((await readdir(shop.path('packed'))).sort()).toEqual(['raster.qbp', 'zonal.qbp']);
    const failed = await shop.quadrille(['raster', 'encode', '@raster.tif', '@zones.json', '-o', '@packed']);
    expect(failed.exitCode).toBe(2);
    expect(await readdir(shop.path('packed'))).toHaveLength(2);
  });

  test('packs the files that a pattern names', async () => {
    const { mkdir } = await import('node:fs/promises');
    await mkdir(shop.path('months'));
    for (const month of ['may', 'june']) await shop.writeRaster(`months/${month}.tif`);
    await run('raster', 'encode', '@months/*.tif', '-o', '@months');
    expect((await readdir(shop.path('months'))).sort()).toEqual(['june.qbp', 'june.tif', 'may.qbp', 'may.tif']);
  });

  test('decodes through a link to where the link leads', async () => {
    const { lstat, symlink } = await import('node:fs/promises');
    await run('raster', 'encode', '@raster.tif', '-o', '@linked.qbp');
    await symlink(shop.path('behind.tif'), shop.path('link.tif'));
    await writeFile(shop.path('behind.tif'), 'old');
    await run('raster', 'decode', '@linked.qbp', '-o', '@link.tif');
    expect((await lstat(shop.path('link.tif'))).isSymbolicLink()).toBe(true);
    expect((await readFile(shop.path('behind.tif'))).length).toBeGreaterThan(100);
  });

  test('gives the same bytes, whatever memory is allowed', async () => {
    await shop.writeRaster(
      'wide.tif',
      { width: 900, height: 3, sample: 'u16' },
      Array.from({ length: 2700 }, (_, i) => i * i),
    );
    await run('raster', 'encode', '@wide.tif', '-o', '@wide.qbp', '--tile', '32x1');
    await run('raster', 'encode', '@wide.tif', '-o', '@narrow.qbp', '--tile', '32x1', '--memory', '1');
    expect(await readFile(shop.path('narrow.qbp'))).toEqual(await readFile(shop.path('wide.qbp')));
  });
});

function notesOf(log: string): unknown[] {
  const events = log
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  return events.filter(({ event }) => event === 'note');
}

describe('bad usage', () => {
  test.each([
    [['raster'], 'No command is given. See quadrille raster --help.'],
    [['raster', 'endcode'], 'Did you mean raster encode?'],
    [['raster', 'encode'], 'FILE is missing'],
    [['raster', 'encode', '@raster.tif'], '--out is missing'],
    [['raster', 'encode', '@raster.tif', '-o', '-'], 'to which rasters are not written'],
    [['raster', 'encode', '@raster.tif', '-o', '@x.tif'], 'does not match .tif'],
    [['raster', 'encode', '@raster.tif', '@zones.json', '-o', '@x.qbp'], 'is not a folder, which 2 files need'],
    [['raster', 'encode', '@raster.tif', '-o', '@no/'], 'is not a folder, which 1 file needs'],
    [['raster', 'encode', '@zones.json', '-o', '@x.qbp'], 'not a TIFF'],
    [['raster', 'encode', '@raster.qbp', '-o', '@x.qbp'], 'is a packed raster already'],
    [['raster', 'encode', '@no*.tif', '-o', '@x.qbp'], 'matches no file'],
    [['raster', 'encode', '@raster.tif', '-o', '@x.qbp', '--tile', '60x1'], 'is not a tile'],
    [['raster', 'encode', '@raster.tif', '-o', '@x.qbp', '--band', '2'], 'has no band 2'],
    [['raster', 'encode', '@raster.tif', '-o', '@no/x.qbp'], 'its folder does not exist'],
    [['raster', 'encode', '@raster.tif', '-o', '@x.qbp', '--codec', 'residual'], 'Did you mean residuals?'],
    [
      ['raster', 'encode', '@raster.tif', '-o', '@x.qbp', '--backend', 'workers', '--adapter', 'software'],
      'has no effect',
    ],
    [['raster', 'info', '@raster.tif'], 'does not begin as a packed raster does'],
    [['raster', 'info', '-'], '- is stdin'],
    [['raster', 'decode', '@raster.tif', '-o', '@raster.tif'], 'both read and written'],
    [['raster', 'decode', '@raster.qbp', '-o', '@x.qbp'], 'does not match .qbp'],
    [
      ['raster', 'decode', '@raster.qbp', '-o', '@x.tif', '--window', '1,2,3'],
      'not of the form column,row,width,height',
    ],
    [['raster', 'decode', '@raster.qbp', '-o', '@x.tif', '--window', '0,0,5,1'], 'does not lie inside the raster'],
    [['raster', 'decode', '@raster.qbp', '-o', '@x.tif', '--band', '2'], 'has no band 2'],
    [['raster', 'decode', '@raster.qbp', '-o', '@no/x.tif'], 'its folder does not exist'],
    [['raster', 'decode', '@raster.qbp', '-o', '@'], 'cannot be written: it is a folder'],
  ])('is reported in one line: %j', async (words, why) => {
    await run('raster', 'encode', '@raster.tif', '-o', '@raster.qbp', '--quiet');
    const before = await readdir(shop.folder);
    const { exitCode, stdout, stderr } = await shop.quadrille(words);
    expect([exitCode, stdout]).toEqual([2, '']);
    expect(stderr).toContain(why);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(await readdir(shop.folder)).toEqual(before);
  });

  test.each([
    [
      ['raster', '--help'],
      ['raster encode', 'raster info', 'raster decode'],
    ],
    [
      ['raster', 'encode', '--help'],
      ['--band', '--tile', '--codec', '--memory'],
    ],
    [
      ['raster', 'info', '--help'],
      ['--json', '--check'],
    ],
    [
      ['raster', 'decode', '-h'],
      ['--window', '--band'],
    ],
  ])('has a help page: %j', async (words, told) => {
    const stdout = await run(...words);
    for (const each of told) expect(stdout).toContain(each);
    expect(stdout.split('\n').every((line) => line.length <= 131)).toBe(true);
  });
});

describe('Ctrl-C', () => {
  const stopping = () => {
    const controller = new AbortController();
    const log = { ...quietLog(), progressEvery: 0, progress: () => controller.abort(new Interrupted('SIGINT')) };
    return { log, stdout: new Writable(), signal: controller.signal, beforeExit: (): void => undefined };
  };

  test.each(['encode', 'decode'] as const)('during %s leaves no file', async (what) => {
    await shop.writeRaster(
      'long.tif',
      { width: 4, height: 9000 },
      Array.from({ length: 36_000 }, (_, i) => i % 250),
    );
    await run('raster', 'encode', '@long.tif', '-o', '@long.qbp', '--tile', '4x8');
    const before = await readdir(shop.folder);
    const surroundings = stopping();
    const stopped =
      what === 'encode'
        ? runRasterEncode(
            parseEncodeArguments([shop.path('long.tif'), '-o', shop.path('new.qbp')]),
            rasterParts,
            surroundings,
          )
        : runRasterDecode(
            parseDecodeArguments([shop.path('long.qbp'), '-o', shop.path('new.tif')]),
            rasterParts,
            surroundings,
          );
    const error = await stopped.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect([exitCodeOf(error), (error as Error).message]).toEqual([130, 'Stopped by SIGINT; nothing was written.']);
    expect(await readdir(shop.folder)).toEqual(before);
  });

  test('a failure after the first bytes leaves no file', async () => {
    const before = await readdir(shop.folder);
    let during: readonly string[] = [];
    const failing: typeof rasterParts = {
      ...rasterParts,
      async encodeGeoTiff(_, write) {
        await write(new Uint8Array(1000));
        during = await readdir(shop.folder);
        throw new Error('no more');
      },
    };
    const words = [shop.path('raster.tif'), '-o', shop.path('new.qbp')];
    await expect(runRasterEncode(parseEncodeArguments(words), failing, stopping())).rejects.toThrow('no more');
    expect([during.length, await readdir(shop.folder)]).toEqual([before.length + 1, before]);
  });
});
