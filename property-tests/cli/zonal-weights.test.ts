import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { zonalHistogram } from '../../algorithms/zonal/index.ts';
import { readZones } from '../../formats/polygons/read-zones.ts';
import { openGeoTiff } from '../../formats/rasters/geotiff.ts';
import { open } from '../../index.ts';
import { collection, openWorkshop, rectangle, type Workshop, zone } from '../support/cli-support.ts';
import { parseCsv } from '../support/parse-csv.ts';

let workshop: Workshop;
beforeAll(async () => {
  workshop = await openWorkshop();
  const zones = [
    zone('a', rectangle(0.5, 0, 2, 3)),
    zone('b', rectangle(2, 0, 4.5, 3)),
    zone('c', rectangle(9, 0, 12, 3)),
  ];
  await workshop.write('zones.json', collection(...zones));
  const cells = [1, 2, 9, 4, 5, 6, 7, 8, 9, 10, 11, 12];
  await workshop.writeRaster('r.tif', { sample: 'i16', nodata: 9 }, cells);
  await workshop.writeRaster('s.tif', {}, [0, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  await workshop.writeRaster('w.tif', { sample: 'f32', nodata: -1 }, [3, 0.1, -1, 4, 5, 6, 7, 0, 0, 2, 1, 1]);
  await workshop.writeRaster('few.tif', { sample: 'f32', nodata: 4 }, [3, 0.1, 1, 4, 5, 6, 7, 0, 0, 2, 1, 1]);
  await workshop.writeRaster('moved.tif', { originX: 1 });
  await workshop.writeRaster('system.tif', { crs: 'EPSG:4269' });
  await workshop.writeRaster('wide.tif', { sample: 'i64' }, Array.from({ length: 12 }, (_, i) => BigInt(i)) as never);
});
afterAll(() => workshop.remove());

const NAMES = ['weighted_mean', 'weighted_sum', 'weighted_variance', 'weighted_stdev', 'mean'] as const;
const zonal = (...args: readonly string[]) =>
  workshop.quadrille(['zonal', '--zones', '@zones.json', '--backend', 'reference', ...args]);
const WEIGHED = ['--stat', NAMES.join(), '--pixels', 'fractional', '--stats'];

async function inLibrary(raster: string, weights: string) {
  await using context = await open({ backend: 'reference' });
  const { zones } = await readZones(workshop.path('zones.json'));
  const [own, masses] = [await openGeoTiff(workshop.path(raster)), await openGeoTiff(workshop.path(weights))];
  const job = { zones, raster: own, weights: masses, binning: { kind: 'none' }, pixels: 'fractional' } as const;
  const { statistics } = await zonalHistogram(context, { ...job, statistics: NAMES });
  await Promise.all([own.close(), masses.close()]);
  return zones.names.map((name, at) => [name, ...NAMES.map((each) => statistics[each][at]!)]);
}

describe('zonal --weights', () => {
  it.each(['w.tif', 'few.tif'])('writes what the library gives: %s', async (weights) => {
    const expected = await inLibrary('r.tif', weights);
    const { stdout, stderr, exitCode } = await zonal('--raster', '@r.tif', '--weights', `@${weights}`, ...WEIGHED, '-');
    expect(exitCode, stderr).toBe(0);
    const shown = expected.map((row) => row.map((value) => (Number.isNaN(value) ? '' : `${value}`)));
    expect(parseCsv(stdout)).toEqual([['zone', ...NAMES], ...shown]);
    // Both have a zone of which all is known; in one, a cell with a value lacks a weight.
    expect(shown.map((row) => row[1] === '')).toEqual([false, weights === 'few.tif', true]);
  });

  it('weighs each of several rasters, whatever the systems are, if they are assumed to be one', async () => {
    const files = ['r.tif', 's.tif'];
    const rows = await Promise.all(files.map((raster) => inLibrary(raster, 'w.tif')));
    const words = ['--raster', '@r.tif', '--raster', '@s.tif', '--weights', '@w.tif', '--assume-crs', 'EPSG:4269'];
    const { stdout, stderr, exitCode } = await zonal(...words, ...WEIGHED, '-');
    expect(exitCode, stderr).toBe(0);
    const shown = rows.flat().map((row) => row.map((value) => (Number.isNaN(value) ? '' : `${value}`)));
    const found = parseCsv(stdout).slice(1);
    expect(found.map(([, ...row]) => row)).toEqual(shown);
    expect(found.map(([raster]) => raster!.slice(-5))).toEqual(files.flatMap((file) => [file, file, file]));
  });

  const RASTER = ['--raster', '@r.tif'];
  const WEIGHTS = [...RASTER, '--weights'];
  it.each([
    [[...RASTER], 'weighted_mean needs weights.', '--weights FILE'],
    [[...WEIGHTS, '@w.tif', '--merge'], '--weights and --merge exclude each other.', 'Count each raster by itself.'],
    [
      [...WEIGHTS, '@w.tif', '--queue', 'redis://127.0.0.1:1', '--queue-folder', '@'],
      '--weights and a queue exclude each other.',
      'QUADRILLE_QUEUE',
    ],
    [[...WEIGHTS, '@moved.tif'], 'The weights are on another grid than r.tif.', 'gdalwarp -te 0 0 4 3 -ts 4 3'],
    [
      [...RASTER, '--raster', '@moved.tif', '--weights', '@w.tif'],
      'The weights are on another grid than moved.tif.',
      'gdalwarp',
    ],
    [[...WEIGHTS, '@system.tif'], 'The weights are in another coordinate system than r.tif.', 'gdalwarp -t_srs'],
    [[...WEIGHTS, '@wide.tif'], 'Weights cannot be integers of 64 bits.', '-ot Float64'],
    [[...WEIGHTS, '@absent.tif'], 'absent.tif', ''],
  ] as const)('is refused before anything is counted or written: %j', async (words, sentence, remedy) => {
    const { stdout, stderr, exitCode } = await zonal(...words, ...WEIGHED, '-');
    expect(exitCode).not.toBe(0);
    expect(stdout).toBe('');
    expect(stderr).toContain(sentence);
    expect(stderr).toContain(remedy);
  });

  it('is refused where no statistic needs it, and a map of one that does needs it', async () => {
    const unused = await zonal('--raster', '@r.tif', '--weights', '@w.tif', '--stats', '-', '--stat', 'mean');
    expect([unused.exitCode, unused.stderr]).toEqual([2, expect.stringContaining('serves no statistic')]);
    const plot = await zonal(
      '--raster',
      '@r.tif',
      '--bins',
      '0:9:3',
      '--plot',
      '@m.svg',
      '--plot-stat',
      'weighted_sum',
    );
    expect([plot.exitCode, plot.stderr]).toEqual([2, expect.stringContaining('weighted_sum needs weights.')]);
    const other = await zonal('--raster', '@r.tif', '--weights', '@w.tif', '--stats', '-', '--stat', 'weighted_frac');
    expect([other.exitCode, other.stderr]).toEqual([2, expect.stringContaining('its weighted_mean is the share')]);
  });
});
