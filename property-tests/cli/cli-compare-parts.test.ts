import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { NEVER, of } from 'rxjs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { TileComparison } from '../../algorithms/cross-compare/tile-comparison.ts';
import { totalsOf } from '../../algorithms/cross-compare/totals.ts';
import { type CompareJob, type CompareParts, runCompare } from '../../cli/compare.ts';
import { parseCompareArguments } from '../../cli/compare-arguments.ts';
import { humanLog } from '../../cli/human-log.ts';
import { Interrupted } from '../../cli/interrupt.ts';
import { jsonLog } from '../../cli/json-log.ts';
import type { RunContext, Surroundings } from '../../cli/run-support.ts';
import type { ResultSetFormat } from '../../formats/result-sets/result-set.ts';
import { UsageError } from '../../formats/usage-error.ts';
import { GraphError, QuadrilleError } from '../../primitives/checks/errors.ts';
import { texts } from '../support/random-label-images.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quadrille-compare-'));
});
afterEach(() => rm(folder, { recursive: true }));

interface Changes {
  readonly backend?: string;
  readonly format?: ResultSetFormat;
  readonly compare?: (job: CompareJob<RunContext>) => Promise<never>;
}

/** Replacements for the parts of the command. They compare nothing, and record that they were called. */
const side = { ids: texts([]), polygons: 0, missing: new Uint32Array(0) };
const none = new BigUint64Array(0);
/** The result of a tile without polygons. */
const EMPTY_TILE = {
  tile: 't1',
  p: side,
  q: side,
  pairs: {
    p: new Uint32Array(0),
    q: new Uint32Array(0),
    areas: { intersection: none, p: none, q: none },
    ratio: new Float64Array(0),
    matched: new Uint8Array(0),
  },
} as unknown as TileComparison;

function parts(
  events: string[],
  { backend = 'reference', format = 'png', compare }: Changes = {},
): CompareParts<RunContext> {
  const result = {
    ...totalsOf({ minIou: 0.5, method: 'optimal' }).comparison(),
    alone: { p: 0, q: 0 },
    skipped: [],
    notes: [],
  };
  return {
    openResultSet: async (path) => ({ path, format, tiles: [], notes: [] }),
    openContext: async (options) => {
      const name = options.backend === 'workers' ? 'workers' : backend;
      events.push(`open ${name}`);
      return {
        backend: { name },
        abort: () => void events.push(`abort ${name}`),
        close: async () => void events.push(`close ${name}`),
      };
    },
    openParser: async () => ({
      lanes: 1,
      parse: () => Promise.reject(new Error('there is nothing to parse')),
      close: async () => void events.push('close parser'),
    }),
    openDeviceParser: async ({ backend: { name } }) => {
      events.push(`parse on ${name}`);
      return () => Promise.reject(new Error('there is nothing to parse'));
    },
    crossCompare: async (_, job) => {
      events.push(`compare, ${job.migrate === undefined ? 'at home' : 'migrating'}`);
      return {
        result: compare?.(job) ?? Promise.resolve(result),
        progress$: NEVER,
        shape: { name: 'compare', nodes: [], edges: [] },
        counters: () => [],
        edges: () => [],
        abort: () => undefined,
      };
    },
  };
}

const ignore = (): Writable => new Writable({ write: (_, __, done) => done() });
const surroundings = (signal = new AbortController().signal): Surroundings => ({
  log: jsonLog({ write: () => undefined }, { quiet: false }),
  stdout: ignore(),
  signal,
  beforeExit: () => undefined,
});
const options = (...words: string[]) => parseCompareArguments(['a', 'b', ...words]);
const inFolder = (name: string): string => join(folder, name);

describe('runCompare', () => {
  test('shows the elapsed time during a comparison of one tile, and clears it at the end', async () => {
    const events: string[] = [];
    let written = '';
    const stream = {
      isTTY: true,
      columns: 80,
      write: (text: string): void => {
        written += text;
      },
    };
    const own = parts(events);
    const report = (done: number, elapsed: number) => ({ done, total: 1, rate: 0, eta: undefined, elapsed });
    const counting: CompareParts<RunContext> = {
      ...own,
      async crossCompare(context, job) {
        const run = await own.crossCompare(context, job);
        const result = new Promise((resolve) => setTimeout(resolve, 20)).then(() => run.result);
        return { ...run, result, progress$: of(report(0, 0.2), report(0, 61), report(1, 90)) };
      },
    };
    await runCompare(options(), counting, { ...surroundings(), log: humanLog(stream, { quiet: false }) });
    const lines = written.split('\r\u001b[K');
    expect(lines.slice(1, 3)).toEqual(['0:01', '1:01']);
    expect(lines[3]).toContain('100 %');
    expect(lines[4]).not.toContain('%');
  });

  test('closes what it opened, and commits the outputs', async () => {
    const events: string[] = [];
    await runCompare(options('--out', inFolder('o.json'), '--pairs', inFolder('p.csv')), parts(events), surroundings());
    expect(events).toEqual(['open reference', 'compare, at home', 'close parser', 'close reference']);
    expect((await readdir(folder)).sort()).toEqual(['o.json', 'p.csv']);
  });

  test.each([
    [[], true],
    [['--migrate', 'on'], true],
    [['--migrate', 'off'], false],
  ])('opens workers as a standby for a GPU with %j: %s', async (words, migrating) => {
    const events: string[] = [];
    await runCompare(options(...words), parts(events, { backend: 'webgpu (a card)' }), surroundings());
    expect(events.includes('open workers')).toBe(migrating);
    expect(events).toContain(migrating ? 'compare, migrating' : 'compare, at home');
    expect(events.filter((event) => event.startsWith('open')).length).toBe(
      events.filter((event) => /^close (?!parser)/.test(event)).length,
    );
  });

  test.each<[ResultSetFormat, string[], boolean]>([
    ['boundaries', [], true],
    ['boundaries', ['--migrate', 'off'], false],
    ['wkt', [], false],
  ])('%s with %j are parsed on an idle GPU: %s', async (format, words, isParsed) => {
    const events: string[] = [];
    await runCompare(options(...words), parts(events, { backend: 'webgpu (a card)', format }), surroundings());
    expect(events.includes('parse on webgpu (a card)')).toBe(isParsed);
  });

  test('stops when it is aborted, aborts the contexts, and leaves no file', async () => {
    const events: string[] = [];
    const stop = new AbortController();
    const compare = ({ signal }: CompareJob<RunContext>): Promise<never> =>
      new Promise((_, reject) => {
        signal!.addEventListener('abort', () => reject(signal!.reason));
        setTimeout(() => stop.abort(new Error('enough')), 1);
      });
    const run = runCompare(
      options('--pairs', inFolder('p.csv')),
      parts(events, { compare }),
      surroundings(stop.signal),
    );
    await expect(run).rejects.toThrow('enough');
    expect(events).toContain('abort reference');
    expect(events.slice(-2)).toEqual(['close parser', 'close reference']);
    expect(await readdir(folder)).toEqual([]);
  });

  test.each([
    ['-', true, 'Stopped by SIGINT; the output on stdout is incomplete, and no file was written.'],
    ['-', false, 'Stopped by SIGINT; nothing was written.'],
    ['p.csv', true, 'Stopped by SIGINT; nothing was written.'],
  ])('reports what a Ctrl-C leaves of the pairs in %s, with tiles before it: %s', async (path, hasTiles, message) => {
    const stop = new AbortController();
    const compare = async ({ signal, onTile }: CompareJob<RunContext>): Promise<never> => {
      if (hasTiles) await onTile!(EMPTY_TILE);
      stop.abort(new Interrupted('SIGINT'));
      throw signal!.reason;
    };
    const words = ['--pairs', path === '-' ? path : inFolder(path)];
    const run = runCompare(options(...words), parts([], { compare }), surroundings(stop.signal));
    await expect(run).rejects.toMatchObject({ code: 'run/interrupted', message, exitCode: 130 });
  });

  test('throws the cause of a failed graph node, not the GraphError, and leaves no file', async () => {
    const cause = new QuadrilleError('output/write-failed', 'p.csv could not be written.');
    const failed = new GraphError('graph/item-failed', 'The item failed.', { cause });
    const compare = () => Promise.reject<never>(new GraphError('graph/item-failed', 'It failed.', { cause: failed }));
    const run = runCompare(options('--pairs', inFolder('p.csv')), parts([], { compare }), surroundings());
    await expect(run).rejects.toBe(cause);
    expect(await readdir(folder)).toEqual([]);
  });

  test('checks its outputs before it reads anything', async () => {
    const events: string[] = [];
    const run = runCompare(options('--pairs', inFolder('nowhere/p.csv')), parts(events), surroundings());
    await expect(run).rejects.toBeInstanceOf(UsageError);
    expect(events).toEqual([]);
  });
});
