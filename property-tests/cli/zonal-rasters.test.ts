import { mkdir, readFile, symlink } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test as plainTest } from 'vitest';
import { notesOnRasters, openRasters } from '../../cli/zonal-rasters.ts';
import { expandPatterns } from '../../formats/bytes/file-patterns.ts';
import { encodePackedRaster } from '../../formats/rasters/encode-packed-raster.ts';
import { caseCount } from '../cases.ts';
import { fc, test } from '../law-test.ts';
import { collection, openWorkshop, rectangle, type Workshop, zone } from '../support/cli-support.ts';
import { rasterOf } from '../support/zonal-support.ts';

let shop: Workshop;
beforeAll(async () => {
  shop = await openWorkshop();
  await shop.write('zones.json', collection(zone('a', rectangle(0, 0, 2, 3)), zone('b', rectangle(2, 0, 6, 3))));
  await mkdir(shop.path('relief/deep/er'), { recursive: true });
  await mkdir(shop.path('folder.tif'));
  const left = Array.from({ length: 12 }, (_, cell) => cell);
  await shop.writeRaster('relief/b.tif', {}, left);
  // Columns 3 to 6, so that one column of three cells lies in both.
  await shop.writeRaster('relief/a.tif', { originX: 3 }, left);
  await shop.writeRaster('relief/deep/er/c.tif', { originX: 7 }, left);
  await shop.writeRaster('relief/.hidden.tif');
  await shop.writeRaster('relief/i16.tiff', { sample: 'i16' }, left);
  await shop.writeRaster('utm.tif', { crs: 'EPSG:32633' });
  await shop.writeRaster('silent.tif', { crs: undefined });
  await shop.writeRaster('fine.tif', { stepX: 0.5, stepY: -0.5, originY: 1.5, originX: 2 }, left);
  await shop.writeRaster('odd[1]*.tif');
});
afterAll(() => shop.remove());

const run = (rasters: readonly string[], ...args: string[]) =>
  shop.quadrille([
    ...['zonal', '--zones', '@zones.json', '--backend', 'reference'],
    ...rasters.flatMap((raster) => ['--raster', `@${raster}`]),
    ...args,
  ]);

async function answer(...[rasters, ...args]: Parameters<typeof run>): Promise<string> {
  const { stdout, stderr, exitCode } = await run(rasters, ...args);
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
  return stdout.replaceAll(`${shop.folder}/`, '');
}

const BINS = ['--bins', '0:12:12'];

describe('several rasters', () => {
  plainTest('have rows of their own, sorted by name within a pattern', async () => {
    expect(await answer(['relief/?.tif'], ...BINS)).toBe(
      'raster,zone,lower,upper,count\nrelief/a.tif,b,0,12,9\nrelief/b.tif,a,0,12,6\nrelief/b.tif,b,0,12,6\n',
    );
    const stats = 'raster,zone,cells,nodata,min,max,mean,sum';
    expect(await answer(['relief/b.tif', 'relief/a.tif'], '--stats', '-')).toBe(
      `${stats}\nrelief/b.tif,a,6,0,0,9,4.5,27\nrelief/b.tif,b,6,0,2,11,6.5,39\n` +
        'relief/a.tif,a,0,0,,,,\nrelief/a.tif,b,9,0,0,10,5,45\n',
    );
  });

  plainTest('with --merge are one surface, in which a cell counts once, by the raster first named', async () => {
    const { stdout, stderr } = await run(['relief/b.tif', 'relief/a.tif'], ...BINS, '--merge');
    expect(stdout).toBe('zone,lower,upper,count\na,0,12,6\nb,0,12,12\n');
    expect(stderr).toContain('3 cells of the zones lie in a raster named earlier');
    expect(stderr).toContain('2 zones, 18 cells inside in 2 rasters');
    const sums = async (...rasters: string[]) =>
      (await answer(rasters, '--stats', '-', '--merge')).split('\n').slice(1, 3);
    expect(await sums('relief/b.tif', 'relief/a.tif')).toEqual(['a,6,0,0,9,4.5,27', 'b,12,0,1,11,6,72']);
    expect(await sums('relief/a.tif', 'relief/b.tif')).toEqual(['a,6,0,0,9,4.5,27', 'b,12,0,0,10,5.25,63']);
  });

  plainTest('may have grids of their own', async () => {
    const { stdout, stderr } = await run(['fine.tif', 'relief/b.tif'], '--stats', '-', '--merge');
    expect(stdout.split('\n')[2]).toBe('b,16,0,0,11,5.25,84');
    expect(stderr).toContain('2 cells of the zones lie in a raster named earlier');
    expect(stderr).toContain('grids of 4.77e-7 × 4.77e-7, 9.54e-7 × 9.54e-7 raster units');
  });

  plainTest('are named in JSON, with the notes at its end', async () => {
    const each = JSON.parse(await answer(['relief/?.tif'], ...BINS, '--format', 'json'));
    expect(Object.keys(each)).toEqual(['source', 'backend', 'binning', 'rasters', 'zones', 'notes']);
    expect(each.source.rasters).toEqual(['relief/a.tif', 'relief/b.tif']);
    expect(each.rasters[1]).toEqual({ raster: 'relief/b.tif', sample: 'u8', gridStep: [2 ** -20, 2 ** -20] });
    expect(each.zones.map((one: { raster: string; name: string }) => [one.raster, one.name])).toEqual([
      ['relief/a.tif', 'a'],
      ['relief/a.tif', 'b'],
      ['relief/b.tif', 'a'],
      ['relief/b.tif', 'b'],
    ]);
    expect(each.notes.map(({ message }: { message: string }) => message)).toContainEqual(
      expect.stringMatching(/relief\/a\.tif": 1 zone lies wholly outside the raster/),
    );
    const merged = JSON.parse(await answer(['relief/?.tif'], ...BINS, '--merge', '--format', 'json'));
    expect(merged.source.rasters).toEqual(['relief/a.tif', 'relief/b.tif']);
    expect(merged.zones.map(({ cells }: { cells: number }) => cells)).toEqual([6, 12]);
    expect(merged.notes.map(({ code }: { code: string }) => code)).toEqual(['zonal/cells-left-out']);
  });

  plainTest('are drawn below each other, or as one surface', async () => {
    const plot = async (...args: string[]) =>
      answer(['relief/?.tif'], ...BINS, '--out', '@o.csv', '--plot', '-', ...args);
    const each = await plot();
    expect(each.match(/[ab]\.tif by zones\.json<\/title>/g)).toHaveLength(2);
    expect(new Set(each.match(/id="[^"]*"/g)).size).toBe(each.match(/id="/g)!.length);
    const merged = await plot('--merge');
    expect(merged.match(/a\.tif and 1 more by zones\.json<\/title>/g)).toHaveLength(1);
  });

  plainTest('may be one, whose outputs are those of its name', async () => {
    const expected = await answer(['relief/b.tif'], ...BINS, '--format', 'json');
    expect(await answer(['relief/b*'], ...BINS, '--format', 'json', '--merge')).toBe(expected);
  });

  plainTest('on one grid share where zones lie, and give the rows that each gives alone', async () => {
    for (const month of [1, 2, 3])
      await shop.writeRaster(
        `zz${month}.tif`,
        {},
        Array.from({ length: 12 }, (_, cell) => (cell * month) % 7),
      );
    const months = [1, 2, 3].map((month) => `zz${month}.tif`);
    const { stdout, stderr } = await run(months, '--stats', '-', ...BINS, '--out', '@series.csv');
    expect(stderr).not.toContain('on another grid');
    const alone = await Promise.all(
      months.map((month) => answer([month], '--stats', '-', ...BINS, '--out', '@one.csv')),
    );
    const rows = alone.flatMap((text, at) =>
      text
        .split('\n')
        .slice(1, -1)
        .map((row) => `${months[at]},${row}`),
    );
    expect(stdout.replaceAll(`${shop.folder}/`, '').split('\n').slice(1, -1)).toEqual(rows);
  });

  plainTest('on other grids than the first are told', async () => {
    const { stderr } = await run(['relief/b.tif', 'fine.tif', 'relief/a.tif'], ...BINS, '--json-log');
    const notes = stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const [note] = notes.filter(({ code }) => code === 'zonal/other-grids');
    expect(note).toMatchObject({ event: 'note', count: 2 });
    expect(note.message).toMatch(/^2 of 3 rasters are on another grid than ".*b\.tif", .*fine\.tif", ".*a\.tif"\.$/);
  });

  plainTest('that are named twice count once, where first named', async () => {
    const { stdout, stderr } = await run(['relief/b.tif', 'relief/?.tif'], ...BINS);
    expect(stdout.replaceAll(`${shop.folder}/`, '').match(/relief\/.\.tif,b/g)).toEqual([
      'relief/b.tif,b',
      'relief/a.tif,b',
    ]);
    expect(stderr).toContain('1 raster is named again');
  });

  plainTest.each([
    ['usage/no-match', ['relief/*.jp2']],
    ['usage/no-match', ['nowhere/*.tif']],
    ['format/missing-file', ['relief/b.tif', 'relief/none.tif']],
    ['zonal/surface-samples', ['relief/b.tif', 'relief/i16.tiff']],
    ['input/crs-mismatch', ['relief/b.tif', 'utm.tif']],
  ])('are refused before any output: %s %j', async (code, rasters) => {
    const { stdout, stderr, exitCode } = await run(rasters, ...BINS, '--merge', '--json-log');
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    const error = stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .at(-1);
    expect(error).toMatchObject({ event: 'error', code, remedy: expect.any(String) });
    expect(error.message).toContain(rasters.at(-1)!);
  });

  plainTest('of which one states no system are one surface where the zones name it', async () => {
    expect(await answer(['relief/b.tif', 'silent.tif'], ...BINS, '--merge')).toContain('b,0,12,6');
  });

  plainTest('give the same as packed rasters, of which the device decodes tiles', async () => {
    const size = { width: 192, height: 128, stepX: 1 / 32, stepY: -1 / 32, sample: 'i16', nodata: 3 } as const;
    const cells = Array.from({ length: 192 * 128 }, (_, cell) => ((cell * 7919) % 1013) >> 6);
    await shop.writeRaster('large-1.tif', size, cells);
    await shop.writeRaster('large-2.tif', { ...size, originX: 1.5, originY: 3.25 }, cells.toReversed());
    for (const name of ['large-1', 'large-2']) {
      await encodePackedRaster(shop.path(`${name}.tif`), shop.path(`${name}.qbp`));
    }
    for (const args of [['--merge'], ['--merge', '--stats', '-'], []]) {
      const bins = args.includes('--stats') ? [] : BINS;
      const expected = await answer(['large-?.tif'], ...bins, ...args);
      expect((await answer(['large-?.qbp'], ...bins, ...args)).replaceAll('.qbp', '.tif')).toBe(expected);
    }
  });

  plainTest('are no files to write to', async () => {
    const { stderr, exitCode } = await run(['relief/?.tif'], ...BINS, '--out', '@relief/a.tif', '--format', 'csv');
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('is both read and written')]);
  });

  plainTest('write no file if one fails, after others were counted', async () => {
    const bytes = await readFile(shop.path('relief/b.tif'));
    await shop.write('zz.tif', bytes.subarray(0, bytes.length - 4));
    const { exitCode } = await run(['relief/b.tif', 'zz.tif'], ...BINS, '--out', '@none.csv');
    expect(exitCode).toBe(2);
    await expect(readFile(shop.path('none.csv'))).rejects.toThrow('ENOENT');
  });
});

describe('a pattern', () => {
  const expand = async (...patterns: string[]): Promise<string[]> =>
    (
      await expandPatterns(
        patterns.map((pattern) => shop.path(pattern)),
        '--raster',
      )
    ).map((path) => path.slice(shop.folder.length + 1));

  plainTest.each([
    ['relief/*.tif', ['relief/a.tif', 'relief/b.tif']],
    ['relief/.*.tif', ['relief/.hidden.tif']],
    ['relief/[!a].tif', ['relief/b.tif']],
    ['re*/[a-b].t?f', ['relief/a.tif', 'relief/b.tif']],
    [
      '**/*.tif',
      ['fine.tif', 'odd[1]*.tif', 'relief/a.tif', 'relief/b.tif', 'relief/deep/er/c.tif', 'silent.tif', 'utm.tif'],
    ],
    ['relief/**/c.tif', ['relief/deep/er/c.tif']],
    ['**/**/c.tif', ['relief/deep/er/c.tif']],
    ['odd[1]*.tif', ['odd[1]*.tif']],
    ['odd[[]*', ['odd[1]*.tif']],
    ['none.tif', ['none.tif']],
  ])('%s', async (pattern, files) => {
    expect((await expand(pattern)).filter((file) => !/^(zz|large)/.test(file))).toEqual(files);
  });

  plainTest('does not follow links in circles', async () => {
    await symlink(shop.path('relief'), shop.path('relief/deep/loop'));
    expect(await expand('relief/**/*.tif')).toEqual(['relief/a.tif', 'relief/b.tif', 'relief/deep/er/c.tif']);
  });

  const letters = fc.string({ unit: fc.constantFrom('a', 'b', '.', '-', '(', '+', '$', 'é', '😀'), maxLength: 6 });

  test.prop([letters, letters, letters], { numRuns: caseCount(40) })(
    'of a name with a part left out matches the name',
    async (before, part, after) => {
      const name = `x${before}${part}${after}`;
      const folder = `law-${Buffer.from(name).toString('hex')}`;
      await mkdir(shop.path(folder), { recursive: true });
      await shop.write(`${folder}/${name}`, '');
      const stars = `x${before}*${after}`;
      expect(await expand(`${folder}/${stars}`)).toEqual([`${folder}/${name}`]);
      const marks = `x${before}${[...part].map(() => '?').join('')}${after}`;
      expect(await expand(`${folder}/${marks}`)).toEqual([`${folder}/${name}`]);
    },
  );
});

describe('opened rasters', () => {
  const raster = { ...rasterOf(Uint8Array.of(1, 2), 2, 'u8', { file: 'r' }), notes: [] };

  plainTest('beyond those that may stay open are opened again when they are read', async () => {
    const events: string[] = [];
    const open = async (path: string) => {
      events.push(`open ${path}`);
      return { ...raster, close: async () => void events.push(`close ${path}`) };
    };
    const paths = Array.from({ length: 129 }, (_, at) => `${at}`);
    const opened = await openRasters(paths, [1], open);
    expect(events).toEqual(paths.flatMap((path) => [`open ${path}`, `close ${path}`]));
    events.length = 0;
    const window = { column: 0, row: 0, columns: 2, rows: 1 };
    expect(await opened[1]!.raster.read(window)).toEqual(Uint8Array.of(1, 2));
    await opened[1]!.raster.close();
    await opened[1]!.raster.close();
    expect(events).toEqual(['open 1', 'close 1']);
  });

  plainTest('that change meanwhile are refused', async () => {
    let width = 2;
    const opened = await openRasters(['a', 'b'], [1], async () => ({ ...raster, width: width++ }));
    await opened[0]!.raster.close();
    const window = { column: 0, row: 0, columns: 2, rows: 1 };
    await expect(opened[0]!.raster.read(window)).rejects.toMatchObject({ code: 'format/changed' });
  });

  plainTest('share notes that say the same', () => {
    const note = { code: 'a/b', message: 'The same.' };
    const found = ['p', 'q', 'r'].map((path) => ({ path, notes: path === 'r' ? [] : [note] }));
    expect(notesOnRasters(found)).toEqual([{ code: 'a/b', message: '"p", "q": The same.' }]);
    expect(notesOnRasters(found.slice(0, 2))).toEqual([{ code: 'a/b', message: 'All 2 rasters: The same.' }]);
    expect(notesOnRasters(found.slice(0, 1))).toEqual([note]);
    const bands = (path: string, ...noted: readonly number[]) =>
      [1, 2, 3].map((band) => ({ path, band, notes: noted.includes(band) ? [note] : [] }));
    const sentence = (all: ReturnType<typeof bands>) => notesOnRasters(all)[0]!.message;
    expect(sentence(bands('p', 1, 2, 3))).toBe('"p": The same.');
    expect(sentence(bands('p', 2))).toBe('"p", band 2: The same.');
    expect(sentence([...bands('p', 1, 3), ...bands('q', 1, 2, 3)])).toBe('"p", bands 1, 3, "q": The same.');
    expect(sentence([...bands('p', 1, 2, 3), ...bands('q', 1, 2, 3)])).toBe('All 2 rasters: The same.');
  });
});
