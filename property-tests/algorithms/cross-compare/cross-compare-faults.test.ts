import { mkdir, readFile } from 'node:fs/promises';
import { Writable, type WritableOptions } from 'node:stream';
import type { Worker } from 'node:worker_threads';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { globals } from 'webgpu';
import { crossCompare } from '../../../algorithms/cross-compare/cross-compare.ts';
import type { CrossComparison } from '../../../algorithms/cross-compare/cross-comparison.ts';
import type { CompareScheme, CrossCompareJob } from '../../../algorithms/cross-compare/job.ts';
import { replaceable } from '../../../algorithms/cross-compare/stand-in.ts';
import type { TileComparison, TileSide } from '../../../algorithms/cross-compare/tile-comparison.ts';
import { openTestGpu } from '../../../backends/webgpu-node/node-gpu.ts';
import { type CompareParts, runCompare } from '../../../cli/compare.ts';
import { parseCompareArguments } from '../../../cli/compare-arguments.ts';
import { jsonLog } from '../../../cli/json-log.ts';
import { compareParts } from '../../../cli/parts.ts';
import { parserOnDevice } from '../../../formats/result-sets/device-parser.ts';
import { openResultSet } from '../../../formats/result-sets/open-result-set.ts';
import type { ResultSet, TileSource } from '../../../formats/result-sets/result-set.ts';
import { openTileParser } from '../../../formats/result-sets/tile-parser.ts';
import type { TraceMark } from '../../../graph/index.ts';
import { open } from '../../../index.ts';
import { DeviceLostError } from '../../../primitives/checks/errors.ts';
import { Context } from '../../../primitives/context/context.ts';
import { someOf, THOROUGH } from '../../cases.ts';
import { openWorkshop, type Workshop } from '../../support/cli-support.ts';
import { parseCsv } from '../../support/parse-csv.ts';
import { openTestBackend, slow } from '../../support/webgpu-support.ts';

const TILES = THOROUGH ? 200 : 60;
const BROKEN = Math.floor(0.6 * TILES) - 3;
/** The code of the error that a text file causes if it ends within a vertex. */
const CODE = 'geometry/not-finite';

let shop: Workshop;
let [p, q, torn]: ResultSet[] = [];
let reference: Context;
/** The results of runs without faults: over all tiles, and over all tiles except the broken one. */
let [whole, good]: CrossComparison[] = [];

beforeAll(async () => {
  shop = await openWorkshop();
  for (const folder of ['first', 'second', 'torn', 'first-good', 'second-good']) await mkdir(shop.path(folder));
  for (let tile = 0; tile < TILES; tile++) {
    const [first, second] = [boxes(tile, 0), boxes(tile, 1)];
    await shop.write(`first/${tile}.txt`, first);
    await shop.write(`second/${tile}.txt`, second);
    await shop.write(`torn/${tile}.txt`, tile === BROKEN ? `${second}x 0,0 4,0 4,` : second);
    if (tile === BROKEN) continue;
    await shop.write(`first-good/${tile}.txt`, first);
    await shop.write(`second-good/${tile}.txt`, second);
  }
  const sets = ['first', 'second', 'torn', 'first-good', 'second-good'].map((folder) =>
    openResultSet(shop.path(folder)),
  );
  const [firstGood, secondGood] = (await Promise.all(sets)).slice(3);
  [p, q, torn] = await Promise.all(sets);
  reference = await open({ backend: 'reference' });
  [whole, good] = [await compare({}), await compare({ p: firstGood!, q: secondGood! })];
}, slow);
afterAll(async () => {
  await reference.close();
  await shop.remove();
});

/**
 * Writes the boxes of one tile as text. The boxes of different tiles have different positions and sizes. The boxes of
 * the two sides (the result sets that are compared) differ slightly.
 */
function boxes(tile: number, side: number): string {
  const line = (_: unknown, i: number): string => {
    const [left, top] = [10 * i + ((tile + side) % 3), tile % 7];
    const [right, bottom] = [left + 4 + ((tile * 5 + i) % 4), top + 3 + ((tile + i * side) % 5)];
    return `${i} ${left},${top} ${right},${top} ${right},${bottom} ${left},${bottom}\n`;
  };
  return Array.from({ length: 5 + (tile % 11) }, line).join('');
}

type Changes = Partial<CrossCompareJob<TileSource>> & {
  readonly context?: Context | undefined;
  /** Actions to run at the nth call of `parse`. */
  readonly atParse?: { readonly [calls: number]: () => void };
};

async function compare({ context = reference, atParse = {}, ...changes }: Changes): Promise<CrossComparison> {
  const parser = openTileParser({ workers: 2, pixelSize: 1 });
  let calls = 0;
  const parse = (tile: TileSource, signal: AbortSignal): Promise<TileSide> => {
    const side = parser.parse(tile, signal);
    atParse[++calls]?.();
    return side;
  };
  try {
    const job = { p: p!, q: q!, parse, parseLanes: parser.lanes, batchPairs: 100, ...changes };
    return await crossCompare(context, job).result;
  } finally {
    await parser.close();
  }
}

/** Runs `work`. Returns its result, and all threads that were started in the meantime. */
async function threadsOf<R>(
  work: (threads: readonly Worker[]) => Promise<R>,
): Promise<{ result: R; threads: readonly Worker[] }> {
  const threads: Worker[] = [];
  const add = (thread: Worker): void => void threads.push(thread);
  process.on('worker', add);
  try {
    return { result: await work(threads), threads };
  } finally {
    process.off('worker', add);
  }
}

const kill = (...threads: readonly (Worker | undefined)[]): void => {
  for (const thread of threads) void thread!.terminate();
};

/** The codes of an error and of all its causes. */
function codesOf(error: unknown): unknown[] {
  return error instanceof Error ? [(error as { code?: unknown }).code, ...codesOf(error.cause)] : [];
}

const failing = (run: Promise<unknown>): Promise<unknown[]> => run.then(() => ['it ended'], codesOf);

/**
 * Converts a multiple of the number of tiles to the number of a call of `parse`. Each tile needs two calls, so 2 gives
 * the last call.
 */
const callAt = (tiles: number): number => Math.round(tiles * TILES);

describe('a killed parser thread', () => {
  test('changes no result', async () => {
    const { result, threads } = await threadsOf((started) =>
      compare({ atParse: { [callAt(0.5)]: () => kill(...started) } }),
    );
    expect(result).toEqual(whole);
    expect(threads.length).toBeGreaterThan(2);
  });

  test('changes no result when threads are killed repeatedly', async () => {
    const { result, threads } = await threadsOf((started) => {
      const atParse = Object.fromEntries(
        [0.25, 0.65, 1.05, 1.45].map(callAt).map((call) => [call, () => kill(...started.slice(-2))]),
      );
      return compare({ atParse });
    });
    expect(result).toEqual(whole);
    expect(threads.length).toBeGreaterThan(5);
  });

  test('is not taken for a lost GPU when tasks migrate', async () => {
    const parseHere = parserOnDevice(reference, 1);
    const onDevice: string[] = [];
    const parseOnGpu = (tile: TileSource, signal: AbortSignal): Promise<TileSide> => {
      onDevice.push(tile.name);
      return parseHere(tile, signal);
    };
    // Rejects as the parser does for a tile whose thread died twice.
    const parse = (tile: TileSource, signal: AbortSignal): Promise<TileSide> =>
      tile.name === String(BROKEN)
        ? Promise.reject(new DeviceLostError('device/parser', 'The thread that parsed the tile died.'))
        : parseHere(tile, signal);
    const marks: string[] = [];
    const observer = { span: ignore, occupancy: ignore, mark: ({ name }: TraceMark) => void marks.push(name) };
    expect(await compare({ parse, migrate: { cpu: reference, parseOnGpu }, observer })).toEqual(whole);
    expect(onDevice).toContain(String(BROKEN));
    expect(marks).not.toContain('migrate/gpu-lost');
  });
});

const ignore = (): void => undefined;

describe('a killed worker of the backend', () => {
  const schemes: readonly CompareScheme[] = ['pipelined', 'no-pipe-single', 'no-pipe-multiple'];

  test.each(someOf(schemes, 1))('ends the run with a clear error, %s', async (scheme) => {
    const { result: workers, threads } = await threadsOf(() => open({ backend: 'workers', workers: 2 }));
    const codes = await failing(
      compare({ scheme, context: workers, atParse: { [callAt(0.5)]: () => kill(threads[0]) } }),
    );
    expect(codes).toContain('device/worker');
    await workers.close();
  });

  test.each(someOf(schemes, 1))('changes no result when workers can be reopened, %s', async (scheme) => {
    const opened = [await threadsOf(() => open({ backend: 'workers', workers: 2 }))];
    const reopen = async (): Promise<Context> => {
      opened.push(await threadsOf(() => open({ backend: 'workers', workers: 2 })));
      return opened.at(-1)!.result;
    };
    const killOne = (): void => kill(opened.at(-1)!.threads[0]);
    const atParse = { [callAt(0.5)]: killOne, [callAt(1.5)]: killOne };
    expect(await compare({ scheme, context: opened[0]!.result, reopen, atParse })).toEqual(whole);
    expect(opened.length).toBeGreaterThan(1);
    for (const { result } of opened) await result.close();
  });

  test('is replaced once for all tasks that it ran', async () => {
    let opened = 0;
    const onContext = replaceable(reference, async () => {
      opened++;
      return open({ backend: 'reference' });
    });
    const losing = (context: Context): Promise<string> =>
      context === reference ? Promise.reject(new DeviceLostError('device/worker', 'Gone.')) : Promise.resolve('done');
    expect(await Promise.all([onContext(losing), onContext(losing)])).toEqual(['done', 'done']);
    expect(await onContext(losing)).toBe('done');
    expect(opened).toBe(1);
    const lost = replaceable(reference, async () => reference);
    expect(await failing(lost(losing))).toEqual(['device/worker']);
    expect(await failing(replaceable(reference, undefined)(losing))).toEqual(['device/worker']);
  });

  test('changes no output of the command', async () => {
    let dead = false;
    const { result } = await threadsOf(async (started) => {
      const watch = setInterval(() => {
        // The first two threads are those of the backend. All later ones are threads of the parser.
        if (dead || started.length < 3) return;
        dead = true;
        kill(started[0]);
      }, 1);
      try {
        return await quadrille('@first', '@second', '--backend', 'workers', '--workers', '2');
      } finally {
        clearInterval(watch);
      }
    });
    expect(result).toMatchObject({ exitCode: 0, stdout: `${whole!.similarity}\n` });
    expect(result.stderr).toContain('A worker thread died.');
  });
});

const quadrille = (...words: readonly string[]) => shop.quadrille(['compare', ...words]);

describe('a destroyed GPU', () => {
  let [gpu, workers]: Context[] = [];
  let device: GPUDevice;

  beforeEach(async () => {
    const { prototype } = (globals as { GPUAdapter: { prototype: GPUAdapter } }).GPUAdapter;
    const spy = vi.spyOn(prototype, 'requestDevice');
    gpu = new Context(await openTestBackend({ gpu: await openTestGpu() }));
    device = (await spy.mock.results.at(-1)!.value) as GPUDevice;
    spy.mockRestore();
    workers = await open({ backend: 'workers', workers: 2 });
  }, slow);
  afterEach(() => Promise.all([gpu!.close(), workers!.close()]));

  const destroyAfter = (tiles: number) => {
    let done = 0;
    return (): void => {
      if (++done === tiles) device.destroy();
    };
  };

  test(
    'changes no result when tasks migrate',
    async () => {
      const migrate = { cpu: workers!, parseOnGpu: parserOnDevice(gpu!, 1) };
      const marks: string[] = [];
      const observer = { span: ignore, occupancy: ignore, mark: ({ name }: TraceMark) => void marks.push(name) };
      const onTile = destroyAfter(Math.round(0.15 * TILES));
      expect(await compare({ context: gpu, migrate, onTile, observer, batchPairs: 20 })).toEqual(whole);
      expect(marks).toContain('migrate/gpu-lost');
    },
    slow,
  );

  test(
    'ends the run with a clear error when tasks do not migrate',
    async () => {
      const codes = await failing(
        compare({ context: gpu, onTile: destroyAfter(Math.round(0.15 * TILES)), batchPairs: 20 }),
      );
      expect(codes).toContain('device/lost');
    },
    slow,
  );

  const endings = [
    ['on', 0],
    ['off', 1],
  ] as const;
  test.each(someOf(endings, 1))(
    'on the command line with --migrate %s: exit code %i',
    async (migrate, exitCode) => {
      const openOnce = [gpu!];
      const parts: CompareParts<Context> = {
        ...compareParts,
        openContext: async ({ backend }) => (backend === 'workers' ? open({ backend, workers: 2 }) : openOnce.pop()!),
        crossCompare: async (context, job) => {
          const destroy = destroyAfter(Math.round(0.15 * TILES));
          const onTile = async (tile: TileComparison): Promise<void> => {
            destroy();
            await job.onTile?.(tile);
          };
          return crossCompare(context, { ...job, onTile, batchPairs: 20 });
        },
      };
      const options = parseCompareArguments([shop.path('first'), shop.path('second'), '--migrate', migrate]);
      const text: string[] = [];
      const write: WritableOptions['write'] = (chunk, _, done) => {
        text.push(String(chunk));
        done();
      };
      const stdout = new Writable({ write });
      const log = jsonLog({ write: ignore }, { quiet: false });
      const surroundings = { log, stdout, signal: new AbortController().signal, beforeExit: ignore };
      const codes = await runCompare(options, parts, surroundings).then(() => [], codesOf);
      expect([text.join(''), codes[0]]).toEqual(
        exitCode === 0 ? [`${whole!.similarity}\n`, undefined] : ['', 'device/lost'],
      );
    },
    slow,
  );
});

describe(`one corrupt tile among ${TILES}`, () => {
  const skipped = [{ tile: String(BROKEN), code: CODE, message: expect.stringContaining(`${BROKEN}.txt:`) }];

  test.each<[string, () => Changes]>([
    ['pipelined', () => ({})],
    ['with migration', () => ({ migrate: { cpu: reference, parseOnGpu: parserOnDevice(reference, 1) } })],
    ['one after another', () => ({ scheme: 'no-pipe-single' })],
    ['several at once', () => ({ scheme: 'no-pipe-multiple' })],
  ])('is reported, and all other tiles are compared: %s', async (_, changes) => {
    const result = await compare({ q: torn!, onError: 'skip', ...changes() });
    expect(result).toEqual({ ...good, skipped });
    expect(result.tiles).toBe(TILES - 1);
  });

  test('ends the run when onError asks for that', async () => {
    expect(await failing(compare({ q: torn! }))).toContain(CODE);
  });

  test('is reported by the command, and all other tiles are compared', async () => {
    const words = ['--backend', 'reference', '--on-error', 'skip', '--out', '@out.json', '--tiles', '@tiles.csv'];
    const { exitCode, stdout, stderr } = await quadrille('@first', '@torn', ...words);
    expect([exitCode, stdout]).toEqual([0, `${good!.similarity}\n`]);
    expect(stderr).toMatch(new RegExp(`^note: The tile "${BROKEN}" is skipped: torn/${BROKEN}\\.txt:`, 'm'));
    const summary = JSON.parse(await readFile(shop.path('out.json'), 'utf8'));
    expect(summary).toMatchObject({
      similarity: good!.similarity,
      pairs: good!.pairs,
      tiles: { compared: TILES - 1, onlyA: 0, onlyB: 0, skipped: 1 },
      skipped: [{ tile: String(BROKEN), code: CODE }],
    });
    const rows = parseCsv(await readFile(shop.path('tiles.csv'), 'utf8')).slice(1);
    const names = Array.from({ length: TILES }, (_, tile) => String(tile)).filter((name) => name !== String(BROKEN));
    expect(rows.map(([name]) => name)).toEqual(names.sort());
  });

  test('ends the command with an error that names the tile, and no output', async () => {
    const { exitCode, stdout, stderr } = await quadrille('@first', '@torn', '--backend', 'reference');
    expect([exitCode, stdout]).toEqual([2, '']);
    expect(stderr).toContain(`torn/${BROKEN}.txt:`);
  });
});
