import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RasterSource } from '../../algorithms/geometry/raster.ts';
import type { ChosenStatistics, ZonalJob } from '../../algorithms/zonal/index.ts';
import type { ZonalHistogram } from '../../algorithms/zonal/types.ts';
import { perStatistic } from '../../algorithms/zonal/zone-statistics.ts';
import { exitCodeOf } from '../../cli/failure.ts';
import { jsonLog } from '../../cli/json-log.ts';
import type { RunContext } from '../../cli/run-support.ts';
import { runZonal, type ZonalParts } from '../../cli/zonal.ts';
import { parseZonalArguments } from '../../cli/zonal-arguments.ts';
import type { OpenedRaster } from '../../cli/zonal-rasters.ts';
import { readZones } from '../../formats/polygons/read-zones.ts';
import { UsageError } from '../../formats/usage-error.ts';
import { DeviceLostError, FormatError } from '../../primitives/checks/errors.ts';

let folder = '';
const inFolder = (name: string): string => join(folder, name);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quadrille-cli-'));
  await writeFile(inFolder('zones.json'), ZONES);
});
afterEach(() => rm(folder, { recursive: true }));

/** Two unit squares. The ring of the first square is not closed. */
const ZONES = JSON.stringify({
  type: 'FeatureCollection',
  features: [
    {
      type: 'Feature',
      id: 'a',
      properties: {},
      geometry: {
        type: 'Polygon',
        coordinates: [
          [
            [0, 0],
            [1, 0],
            [1, 1],
            [0, 1],
          ],
        ],
      },
    },
    {
      type: 'Feature',
      id: 'b',
      properties: {},
      geometry: {
        type: 'Polygon',
        coordinates: [
          [
            [1, 0],
            [2, 0],
            [2, 1],
            [1, 1],
            [1, 0],
          ],
        ],
      },
    },
  ],
});

/** Records how the command called its parts, in order. */
type Job = ZonalJob<ChosenStatistics>;

interface Trace {
  readonly events: string[];
  job?: Job;
}

interface Changes {
  readonly raster?: Partial<OpenedRaster>;
  readonly count?: (job: Job) => Promise<ZonalHistogram>;
  readonly openContext?: () => Promise<RunContext>;
}

/**
 * Replacements for the command's parts. The replacements read real zones, but count a fake raster in which every zone
 * has four cells of value 1.
 */
function parts(trace: Trace, changes: Changes = {}): ZonalParts<RunContext> {
  const close = (what: string) => async () => void trace.events.push(`close ${what}`);
  return {
    readPipedZones: () => Promise.reject(new Error('not asked')),
    readZones: (path, options) => {
      trace.events.push('read zones');
      return readZones(path, options);
    },
    reprojectZones: () => Promise.reject(new Error('There is one system.')),
    openRaster: async () => {
      trace.events.push('open raster');
      return { ...RASTER, close: close('raster'), ...changes.raster };
    },
    openContext: async () => {
      const context = (await changes.openContext?.()) ?? {
        backend: { name: 'reference' },
        abort: () => void trace.events.push('abort context'),
        close: close('context'),
      };
      trace.events.push('open context');
      return context;
    },
    zonalHistogram: async (_, job) => {
      trace.job = job;
      trace.events.push('count');
      return changes.count?.(job) ?? counted(job);
    },
    surfaceHistogram: () => Promise.reject(new Error('There is one raster.')),
    createOverlay: () => Promise.reject(new Error('There is one raster.')),
    openQueue: () => Promise.reject(new Error('There is no queue.')),
  };
}

const RASTER: OpenedRaster = {
  width: 4,
  height: 2,
  originX: 0,
  originY: 1,
  stepX: 0.5,
  stepY: -0.5,
  crs: 'EPSG:4326',
  geographic: true,
  sample: 'u8',
  nodata: undefined,
  blockColumns: 4,
  blockRows: 2,
  notes: [{ code: 'raster/test', message: 'A note of the raster.' }],
  read: async () => new Uint8Array(8),
  close: async () => undefined,
};

async function counted({ zones, binning, onProgress }: Job): Promise<ZonalHistogram> {
  const all = <T extends Float64Array | BigUint64Array>(column: T): T => column;
  const { length } = zones.names;
  onProgress?.(4, 8);
  onProgress?.(8, 8);
  const none = new BigUint64Array(length);
  const ones = all(new Float64Array(length).fill(1));
  return {
    names: zones.names,
    binning,
    sample: 'u8',
    bins: {
      zone: Uint32Array.from({ length }, (_, zone) => zone),
      lower: ones,
      upper: new Float64Array(length).fill(2),
      count: new BigUint64Array(length).fill(4n),
    },
    cells: new BigUint64Array(length).fill(4n),
    nodata: none,
    below: none,
    above: none,
    statistics: perStatistic((field) => (field === 'sum' ? new Float64Array(length).fill(4) : ones)),
    gridStep: [2 ** -21, 2 ** -21],
    notes: [{ code: 'zonal/note', message: 'A note of the count.' }],
  };
}

interface Outcome {
  readonly error: unknown;
  readonly stdout: string;
  readonly log: readonly { readonly event: string; readonly code?: string; readonly [field: string]: unknown }[];
  readonly trace: Trace;
}

async function run(
  args: readonly string[],
  changes: Changes = {},
  signal = new AbortController().signal,
): Promise<Outcome> {
  const trace: Trace = { events: [] };
  let stdout = '';
  let stderr = '';
  const sink = new Writable({
    write(chunk, _, done) {
      stdout += chunk;
      done();
    },
  });
  const log = jsonLog({ write: (text) => (stderr += text) }, { quiet: false });
  const files = ['--zones', inFolder('zones.json'), '--raster', inFolder('raster.tif'), '--bins', '1:2:1'];
  const options = parseZonalArguments([...files, ...args]);
  const error = await runZonal(options, parts(trace, changes), {
    log,
    stdout: sink,
    signal,
    beforeExit: () => undefined,
  }).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  const lines = stderr.split('\n').filter((line) => line !== '');
  return { error, stdout, log: lines.map((line) => JSON.parse(line)), trace };
}

const files = async (): Promise<string[]> => (await readdir(folder)).filter((name) => name !== 'zones.json').sort();

describe('a successful run', () => {
  test('writes all requested outputs, and only those', async () => {
    const targets = { out: 'out.csv', stats: 'stats.csv', plot: 'plot.svg' };
    const args = Object.entries(targets).flatMap(([name, file]) => [`--${name}`, inFolder(file)]);
    const { error, stdout } = await run(args);
    expect(error).toBeUndefined();
    expect(stdout).toBe('');
    expect(await files()).toEqual(['out.csv', 'plot.svg', 'stats.csv']);
    expect(await readFile(inFolder('out.csv'), 'utf8')).toBe('zone,lower,upper,count\na,1,2,4\nb,1,2,4\n');
    expect(await readFile(inFolder('stats.csv'), 'utf8')).toBe(
      'zone,cells,nodata,min,max,mean,sum\na,4,0,1,1,1,4\nb,4,0,1,1,1,4\n',
    );
    expect(await readFile(inFolder('plot.svg'), 'utf8')).toContain('raster.tif by zones.json');
  });

  test('writes CSV to stdout by default', async () => {
    expect((await run([])).stdout).toBe('zone,lower,upper,count\na,1,2,4\nb,1,2,4\n');
  });

  test.each([
    [[], false],
    [['--stats', 'stats.csv'], true],
    [['--plot', 'plot.svg'], true],
    [['--format', 'json'], true],
  ])('computes statistics only when an output shows them: %j', async (args, wanted) => {
    const { trace } = await run(args.map((word) => (word.includes('.') ? inFolder(word) : word)));
    expect(trace.job?.statistics).toBe(wanted);
  });

  test('writes the notes of every step to the log and to the JSON', async () => {
    const { stdout, log } = await run(['--format', 'json']);
    const { notes } = JSON.parse(stdout);
    const codes = ['zones/unclosed-rings', 'raster/test', 'zonal/note'];
    expect(notes.map((note: { code: string }) => note.code)).toEqual(codes);
    expect(log.filter(({ event }) => event === 'note').map(({ code }) => code)).toEqual(codes);
    expect(notes[2].message).toBe('A note of the count.');
  });

  test('reports progress to the end, and a summary last', async () => {
    const { log } = await run([]);
    expect(log.filter(({ event }) => event === 'progress').at(-1)).toMatchObject({ doneCells: 8, totalCells: 8 });
    expect(log.at(-1)).toMatchObject({ event: 'result', backend: 'reference', zones: 2, cells: 8, outputs: [] });
  });

  test('closes what it opened', async () => {
    const { trace } = await run([]);
    expect(trace.events).toEqual([
      'read zones',
      'open raster',
      'open context',
      'count',
      'close context',
      'close raster',
    ]);
  });
});

describe('names of outputs', () => {
  const parse = (...args: string[]) =>
    parseZonalArguments(['--zones', 'z.json', '--raster', 'r.tif', '--unique', ...args]);

  test.each(['p.png', 'p.PNG', 'a/p.jpeg', 'p.svg.pdf', 'p.svgz'])('refuse a plot in %s', (plot) => {
    expect(() => parse('--plot', plot)).toThrow(UsageError);
  });

  test.each(['-', 'p.svg', 'p.SVG', 'p', 'a.b/p', './p', '../p', '.hidden', '/dev/stdout'])(
    'accept a plot in %s',
    (plot) => {
      expect(parse('--out', 'o.csv', '--plot', plot).plot).toBe(plot);
    },
  );

  test.each(['xlsx', 'xls', 'parquet', 'gpkg', 'shp', 'png', 'svg', 'tif', 'tiff', 'TIFF'])(
    'refuse a table in .%s without --format',
    (ending) => {
      const table = `t.${ending}`;
      expect(() => parse('--out', table)).toThrow(UsageError);
      expect(() => parse('--stats', table)).toThrow(UsageError);
      expect(parse('--out', table, '--format', 'csv')).toMatchObject({ out: table, format: 'csv' });
    },
  );

  test.each(['t.csv', 't.txt', 't', 't.2017', 'parquet', 'a.parquet/t'])('accept a table in %s', (table) => {
    expect(parse('--out', table, '--stats', `${table}2`)).toMatchObject({ out: table, format: 'csv' });
  });

  test('refuse statistics in .json, which are always CSV', () => {
    expect(() => parse('--stats', 's.parquet')).toThrow('would hold CSV or JSON');
    expect(parse('--out', 'o.json').format).toBe('json');
  });
});

describe('a failing run', () => {
  test('reports an unwritable output before it reads anything', async () => {
    const { error, trace } = await run(['--out', inFolder('out.csv'), '--stats', inFolder('missing/stats.csv')]);
    expect(error).toMatchObject({ code: 'output/unwritable' });
    expect(exitCodeOf(error)).toBe(2);
    expect(trace.events).toEqual([]);
    expect(await files()).toEqual([]);
  });

  test('does not overwrite its own input', async () => {
    const { error } = await run(['--out', inFolder('./zones.json')]);
    expect(error).toMatchObject({ code: 'usage/overwrites-input' });
    expect(await readFile(inFolder('zones.json'), 'utf8')).toBe(ZONES);
  });

  test('keeps existing outputs, and closes what it opened', async () => {
    await writeFile(inFolder('out.csv'), 'old');
    const truncated = new FormatError('format/truncated', 'Cut short.');
    const { error, trace } = await run(['--out', inFolder('out.csv'), '--stats', inFolder('stats.csv')], {
      count: () => Promise.reject(truncated),
    });
    expect(error).toBe(truncated);
    expect(trace.events.slice(-2)).toEqual(['close context', 'close raster']);
    expect(await files()).toEqual(['out.csv']);
    expect(await readFile(inFolder('out.csv'), 'utf8')).toBe('old');
  });

  test('ends with the reason of the abort, and writes nothing', async () => {
    const controller = new AbortController();
    const reason = new Error('Ctrl-C');
    const { error, trace, log } = await run(
      ['--out', inFolder('out.csv')],
      {
        count: async (job) => {
          controller.abort(reason);
          return counted(job);
        },
      },
      controller.signal,
    );
    expect(error).toBe(reason);
    expect(trace.events.slice(-3)).toEqual(['abort context', 'close context', 'close raster']);
    expect(log.some(({ event }) => event === 'result')).toBe(false);
    expect(await files()).toEqual([]);
  });

  test('distinguishes a missing device from a lost one', async () => {
    const lost = () => Promise.reject(new DeviceLostError('device/no-adapter', 'None.', { remedy: 'Install one.' }));
    const before = await run([], { openContext: lost });
    expect(before.error).toBeInstanceOf(UsageError);
    expect(before.error).toMatchObject({ code: 'device/no-adapter', message: 'None. Install one.' });
    expect(exitCodeOf(before.error)).toBe(2);
    expect(before.trace.events.at(-1)).toBe('close raster');
    expect(exitCodeOf((await run([], { count: lost })).error)).toBe(1);
  });
});

describe('coordinate systems', () => {
  const inUtm: Partial<RasterSource> = { crs: 'EPSG:32610', geographic: false };

  test('that differ are brought together before anything is counted', async () => {
    const { error, trace } = await run([], { raster: inUtm });
    expect(String(error)).toMatch(/There is one system/);
    expect(trace.events).not.toContain('count');
  });

  test('of a raster without a code are refused, with what the raster states', async () => {
    const ownCrs = 'a projected coordinate system of its own called "x", without an EPSG code';
    const own: Partial<RasterSource> = { crs: undefined, ownCrs, geographic: false };
    const { error, trace } = await run([], { raster: own });
    expect(error).toMatchObject({ code: 'input/crs-mismatch', remedy: expect.stringContaining('--assume-crs') });
    expect(String(error)).toContain(`states ${ownCrs}`);
    expect(trace.events).not.toContain('count');
    const assumed = await run(['--assume-crs', 'EPSG:3035'], { raster: own });
    expect(assumed.error).toBeUndefined();
    expect(assumed.trace.job?.raster).toMatchObject({ crs: 'EPSG:3035', ownCrs: undefined, geographic: false });
  });

  test('can be overridden', async () => {
    const { error, trace } = await run(['--assume-crs', 'epsg:4326'], { raster: inUtm });
    expect(error).toBeUndefined();
    expect(trace.job?.raster).toMatchObject({ crs: 'EPSG:4326', geographic: true, width: 4 });
  });

  test('missing from one file are taken from the other, with a note', async () => {
    const { error, trace, log } = await run([], { raster: { crs: undefined, geographic: false } });
    expect(error).toBeUndefined();
    expect(trace.job?.raster).toMatchObject({ crs: 'OGC:CRS84', geographic: true });
    expect(log.map(({ code }) => code)).toContain('zonal/crs-assumed');
  });
});
