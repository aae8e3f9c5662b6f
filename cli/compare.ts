import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';
import type { CrossCompareRun } from '../algorithms/cross-compare/cross-compare.ts';
import type { CrossComparison } from '../algorithms/cross-compare/cross-comparison.ts';
import type { CrossCompareJob, Migration } from '../algorithms/cross-compare/job.ts';
import type { FillRule } from '../algorithms/geometry/polygons.ts';
import type { Note } from '../algorithms/notes.ts';
import { resolveTarget } from '../formats/bytes/atomic-write.ts';
import { requirePlot } from '../formats/charts/plot-packages.ts';
import type { ResultSetOptions } from '../formats/result-sets/open-result-set.ts';
import { isLabelFormat, type ResultSet, type TileSource } from '../formats/result-sets/result-set.ts';
import type { TileParser } from '../formats/result-sets/tile-parser.ts';
import type { CompareRun } from '../formats/results/compare-summary.ts';
import { UsageError } from '../formats/usage-error.ts';
import { ItemError } from '../graph/index.ts';
import { CapacityError, FormatError, GeometryError } from '../primitives/checks/errors.ts';
import type { BackendOptions } from './arguments.ts';
import type { CompareOptions } from './compare-arguments.ts';
import { openCompareOutputs } from './compare-outputs.ts';
import { compareSummaryLines } from './compare-summary.ts';
import type { Log } from './log.ts';
import { sharesOf } from './memory.ts';
import {
  causeOf,
  closing,
  filesAmong,
  openContext,
  protectInputs,
  type RunContext,
  type Surroundings,
  stageRun,
  type WriteOutput,
  watchRun,
  writeBetween,
} from './run-support.ts';
import { isClosed, writeToStdout } from './standard-output.ts';

/** The functions of other layers that the command uses. Tests pass replacements. */
export interface CompareParts<C extends RunContext> {
  openResultSet(path: string, options: ResultSetOptions): Promise<ResultSet>;
  openContext(options: BackendOptions): Promise<C>;
  openParser(options: {
    readonly workers: number | undefined;
    readonly pixelSize: number;
    readonly fill: FillRule;
    readonly countsLabels: boolean;
    readonly memoryBytes: number;
  }): Promise<TileParser>;
  /** Creates a parser for boundary text (polygons as text). The parser runs on the device of `context`. */
  openDeviceParser(context: C, pixelSize: number): Promise<TileParser['parse']>;
  crossCompare(context: C, job: CompareJob<C>): Promise<CrossCompareRun>;
}

/** The inputs of a comparison, with contexts of the type `C`. */
export type CompareJob<C> = Omit<CrossCompareJob<TileSource>, 'migrate' | 'reopen'> & {
  readonly reopen: (() => Promise<C>) | undefined;
  readonly migrate: (Omit<Migration<TileSource>, 'cpu'> & { readonly cpu: C }) | undefined;
};

/**
 * Runs `quadrille compare`: reads both sets, compares them, and writes the results. Rows of tables are written tile by
 * tile, to stdout or to temporary files. The temporary files become the output files only if the comparison succeeds.
 *
 * @throws Errors of `parts`; the reason of {@link Surroundings.signal} if it is aborted.
 */
export async function runCompare<C extends RunContext>(
  options: CompareOptions,
  parts: CompareParts<C>,
  surroundings: Surroundings,
): Promise<void> {
  const started = performance.now();
  if (options.plot !== undefined || options.report !== undefined) requirePlot();
  const files = filesAmong(outputsOf(options));
  await protectInputs([options.a, options.b], files);
  await protectFolders(options, files);
  await using outputs = await stageRun([], files, surroundings);
  const writer = writeBetween(outputs, surroundings);
  try {
    const { comparison, run } = await compare(options, parts, surroundings, writer.write);
    surroundings.signal.throwIfAborted();
    await outputs.commit();
    // With `--out`, the similarity is also in a file, so a closed stdout is not an error.
    const isWanted = options.out === undefined || !isClosed(surroundings.stdout);
    if (!outputsOf(options).includes('-') && isWanted) {
      await writeToStdout(surroundings.stdout, [`${comparison.similarity}\n`], surroundings.signal);
    }
    const seconds = (performance.now() - started) / 1000;
    surroundings.log.summary(compareSummaryLines(comparison, run, { seconds, outputs: files }));
  } catch (error) {
    throw writer.errorOf(error);
  }
}

function outputsOf({ out, tables, plot, report, trace, json }: CompareOptions): (string | undefined)[] {
  return [json ? '-' : undefined, out, ...tables.map(({ path }) => path), plot, report, trace];
}

/** Throws if an output file would be in a folder of tiles, because the next run would read the file as a tile. */
async function protectFolders({ a, b }: CompareOptions, outputs: readonly string[]): Promise<void> {
  const resolve = (path: string): Promise<string | undefined> => resolveTarget(path).catch(() => undefined);
  const folders = await Promise.all([a, b].map(resolve));
  for (const output of outputs) {
    const target = await resolve(output);
    const at = target === undefined ? -1 : folders.indexOf(dirname(target));
    if (at < 0) continue;
    throw new UsageError('usage/output-among-tiles', `${output} would be written among the tiles of ${[a, b][at]}.`, {
      remedy: 'Write to another folder.',
    });
  }
}

/** The result of a comparison, and facts about the run. */
interface Compared {
  readonly comparison: CrossComparison;
  readonly run: CompareRun;
}

async function compare<C extends RunContext>(
  options: CompareOptions,
  parts: CompareParts<C>,
  surroundings: Surroundings,
  write: WriteOutput,
): Promise<Compared> {
  const { signal } = surroundings;
  const sets = await openSets(options, parts, surroundings);
  await using context = closing(await openContext(options, parts.openContext));
  await using cpu = closing(await openOtherSide(options, parts, context.value));
  const { workers, pixelSize, fill } = options;
  const countsLabels = canCountLabels(sets, options);
  await using parser = closing(
    await parts.openParser({ workers, pixelSize, fill, countsLabels, memoryBytes: tileMemory(sets, options) }),
  );
  await using threads = replacing(cpu.value ?? context.value, () => openWorkers(options, parts), surroundings.log);
  const stop = (): void => {
    for (const each of [context.value, threads.current()]) each.abort(signal.reason);
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    signal.throwIfAborted();
    const migrate = cpu.value && (await migration(options, parts, sets, context.value, cpu.value));
    const { reopen } = threads;
    return await compareSets(options, parts, surroundings, write, sets, parser.value, context.value, {
      migrate,
      reopen,
    });
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/**
 * Returns a holder of the current context. If a thread of a worker context has died, `reopen` closes the current
 * context and opens another one. When the holder is disposed of, it closes the current context, unless this is the
 * original context, which the caller closes.
 */
function replacing<C extends RunContext>(context: C, open: () => Promise<C>, log: Log) {
  let current = context;
  const reopen = async (): Promise<C> => {
    log.note(WORKERS_DIED_NOTE);
    await current.close();
    current = await open();
    return current;
  };
  return {
    current: () => current,
    reopen: context.backend.name === 'workers' ? reopen : undefined,
    [Symbol.asyncDispose]: async () => {
      if (current !== context) await current.close();
    },
  };
}

const WORKERS_DIED_NOTE: Note = {
  code: 'compare/workers-died',
  message: 'A worker thread died. Its task is done again on new threads.',
};

interface Sets {
  readonly p: ResultSet;
  readonly q: ResultSet;
}

async function openSets<C extends RunContext>(
  { a, b, layerA, layerB, inputFormat: format, geometryColumn, idColumn, regions, memoryBytes }: CompareOptions,
  parts: CompareParts<C>,
  { log, signal }: Surroundings,
): Promise<Sets> {
  const open = async (path: string, layer: string | undefined): Promise<ResultSet> => {
    const set = await parts.openResultSet(path, {
      format,
      geometryColumn,
      idColumn,
      layer,
      regions,
      memoryBytes: sharesOf(memoryBytes).counters,
    });
    for (const note of set.notes) log.note(note);
    signal.throwIfAborted();
    return set;
  };
  const p = await open(a, layerA);
  return { p, q: await open(b, layerB) };
}

/**
 * Whether label images can be compared pixel by pixel, without tracing outlines. Both sets must be label images, and
 * their pixels must have the same size as the pixels of the comparison.
 */
function canCountLabels({ p, q }: Sets, { pixelSize }: CompareOptions): boolean {
  return pixelSize === 1 && isLabelFormat(p.format) && isLabelFormat(q.format);
}

/**
 * Maximum bytes for reading one tile. Half of the memory is divided among the tiles that are being read at the same
 * time. The other half is for tiles that have been read and wait for the comparison.
 */
function tileMemory({ p, q }: Sets, { memoryBytes, workers = availableParallelism() }: CompareOptions): number {
  return Math.floor(memoryBytes / (2 * Math.min(workers, p.tiles.length + q.tiles.length)));
}

/** If `context` runs on a GPU, also opens a worker context, which takes over tasks when the GPU falls behind. */
async function openOtherSide<C extends RunContext>(
  { migrate = 'on', workers }: CompareOptions,
  parts: CompareParts<C>,
  context: C,
): Promise<C | undefined> {
  if (migrate === 'off' || !context.backend.name.startsWith('webgpu')) return undefined;
  return openWorkers({ workers }, parts);
}

function openWorkers<C extends RunContext>(
  { workers }: Pick<CompareOptions, 'workers'>,
  parts: CompareParts<C>,
): Promise<C> {
  return parts.openContext({ backend: 'workers', adapter: 'auto', workers });
}

/**
 * Settings for moving tasks between the GPU and the workers. The workers can take over comparisons from the GPU. If
 * both sets are boundary text (polygons as text), the GPU can take over the parsing of tiles from the workers.
 */
async function migration<C extends RunContext>(
  { pixelSize }: CompareOptions,
  parts: CompareParts<C>,
  { p, q }: Sets,
  gpu: C,
  cpu: C,
): Promise<NonNullable<CompareJob<C>['migrate']>> {
  if (p.format !== 'boundaries' || q.format !== 'boundaries') return { cpu };
  return { cpu, parseOnGpu: await parts.openDeviceParser(gpu, pixelSize) };
}

async function compareSets<C extends RunContext>(
  options: CompareOptions,
  parts: CompareParts<C>,
  { log, signal }: Surroundings,
  write: WriteOutput,
  { p, q }: Sets,
  parser: TileParser,
  context: C,
  otherwise: Pick<CompareJob<C>, 'migrate' | 'reopen'>,
): Promise<Compared> {
  const { minIou, match: method, onError } = options;
  const run = { a: options.a, b: options.b, backend: context.backend.name, pixelSize: options.pixelSize };
  const sink = await openCompareOutputs(options, run, write);
  const running = await parts.crossCompare(context, {
    p,
    q,
    parse: (tile, stop) => parser.parse(tile, stop),
    parseLanes: parser.lanes,
    matching: { minIou, method },
    onTile: sink.add,
    onError,
    ...otherwise,
    signal,
    observer: sink.observer,
    progressEvery: log.progressEvery,
  });
  const comparison = await watchRun(running, log, 'tiles').catch((error: unknown) => {
    if (isFailedTile(error) && p.tiles.length > 1) log.note(SKIP_NOTE);
    throw causeOf(error);
  });
  for (const note of comparison.notes) log.note(note);
  for (const { tile, code, message } of comparison.skipped) {
    log.note({ code, message: `The tile ${JSON.stringify(tile)} is skipped: ${message}` });
  }
  if (comparison.tiles === 0 && comparison.skipped.length > 0) throw noTileCompared(comparison);
  await sink.end(comparison, running);
  return { comparison, run };
}

function noTileCompared({ skipped }: CrossComparison): FormatError {
  const [first] = skipped;
  return new FormatError('compare/no-tile-compared', 'No tile could be compared: all were skipped.', {
    expected: 'at least one tile that can be read on both sides',
    got: `${skipped.length} unreadable tiles, the first of them ${JSON.stringify(first!.tile)}`,
    remedy: 'The notes say what is wrong with each tile.',
  });
}

const SKIP_NOTE: Note = {
  code: 'compare/skip-tiles',
  message: '--on-error skip names and skips tiles that cannot be read, and compares the others.',
};

/** Classes of errors that concern a single tile, so that `--on-error skip` could skip it. */
const TILE_ERRORS = [FormatError, GeometryError, CapacityError];

function isFailedTile(error: unknown): boolean {
  return error instanceof ItemError && TILE_ERRORS.some((kind) => error.cause instanceof kind);
}
