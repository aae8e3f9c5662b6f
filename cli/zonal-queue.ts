import { basename, resolve } from 'node:path';
import type { TotalsOptions } from '../algorithms/zonal/totals.ts';
import type { Binning } from '../algorithms/zonal/types.ts';
import { graph, type WorkQueue } from '../graph/index.ts';
import { QuadrilleError } from '../primitives/checks/errors.ts';
import { messageOf } from '../primitives/checks/message-of.ts';
import { counted } from './grouped.ts';
import type { News } from './log.ts';
import type { QueuePlace } from './queue-options.ts';
import { causeOf, type Surroundings } from './run-support.ts';
import { showProgress } from './shown-progress.ts';
import type { ZonalOptions, ZonalQueueOptions } from './zonal-arguments.ts';
import { type Counting, cellsOf, type Receive, statisticsOf } from './zonal-count.ts';
import {
  type CountedPartition,
  type PartitionParts,
  ZONAL_MODULE,
  type ZonalPartition,
  zonalModule,
} from './zonal-partition.ts';
import {
  countedOf,
  type InputFacts,
  inputFacts,
  type PlannedPartition,
  partCellsOf,
  partitionsOf,
  planOf,
} from './zonal-partitions.ts';
import { type Manifest, RunRecord } from './zonal-record.ts';
import { type Checkpoints, SurfaceSums } from './zonal-sums.ts';
import { endsRun, isOutage, WatchedRun, type WorkerFigures } from './zonal-workers.ts';

/** The functions of other floors that the parent of a run uses. */
export interface QueueParts extends PartitionParts {
  openQueue(place: QueuePlace & { readonly folder: string }): Promise<WorkQueue>;
  /** About how many cells a partition has. Default: as suits the rasters. */
  readonly partCells?: number;
  readonly checkpoints?: Checkpoints;
}

/** Maximum number of partitions that are handed out at the same time. */
const LANES = 512;
/** How often a partition that failed is tried again. */
const RETRIES = 2;

/** A run on a queue, from before its inputs are read until its outputs are written. */
export interface QueueRun extends AsyncDisposable {
  /**
   * Counts all surfaces with the workers of the queue: hands out partitions, and adds up what comes back.
   *
   * @throws The error of a partition that failed three times, unless such partitions are left out.
   */
  count(counting: Counting, receive: Receive): Promise<void>;
  /** What each worker has done, by name. */
  workers(): ReadonlyMap<string, WorkerFigures>;
}

/**
 * Opens a run on a queue, and says how it is called.
 *
 * @throws Errors of the queue; UsageError `zonal/no-run` for a run to go on with that left nothing behind,
 * `zonal/other-options` or `zonal/other-inputs` for one that was another.
 */
export async function openQueueRun(
  zonal: ZonalOptions,
  options: ZonalQueueOptions,
  paths: readonly string[],
  parts: QueueParts,
  { log, beforeExit }: Pick<Surroundings, 'log' | 'beforeExit'>,
): Promise<QueueRun> {
  const { resume, folder } = options;
  // Before the run is opened, so that it can be gone on with after a refusal.
  const partCells = resume === undefined ? undefined : await checkResumed(zonal, new RunRecord(folder, resume), paths);
  const queue = await parts.openQueue(options);
  const title = `zonal ${basename(zonal.zones)}`;
  try {
    const run = await queue.openRun({ title, ...(resume !== undefined && { id: resume }) });
    const record = new RunRecord(folder, run.id);
    beforeExit(() => record.removeNow());
    const line = `This is run ${run.id}. If it is killed, --resume ${run.id} goes on.`;
    log.news({ line, fields: { kind: 'run', run: run.id } });
    const open = new Map<string, PlannedPartition>();
    const watched = new WatchedRun(run, {
      seconds: options.partitionSeconds,
      cellsOf: (job) => open.get(job)?.cells ?? 0,
      onNoWorkers: () => log.news(noWorkers(options)),
      onAway: () => log.news({ line: 'The queue does not answer. Waiting for it.', fields: { kind: 'away' } }),
      onBack: () => log.news({ line: 'The queue is back.', fields: { kind: 'back' } }),
    });
    return {
      async count(counting, receive) {
        try {
          await count(counting, parts, { options, queue, record, open, run: watched, partCells }, receive);
        } catch (error) {
          if (isOutage(error)) {
            record.keep();
            log.news({
              line: `What was counted is kept: --resume ${run.id} goes on.`,
              fields: { kind: 'kept', run: run.id },
            });
          }
          throw error;
        }
      },
      workers: () => watched.done(),
      async [Symbol.asyncDispose]() {
        await watched.close();
        try {
          await run.close();
        } finally {
          await record.remove();
          await queue.close();
        }
      },
    };
  } catch (error) {
    await queue.close();
    throw error;
  }
}

interface OpenedRun {
  readonly options: ZonalQueueOptions;
  readonly queue: WorkQueue;
  readonly run: WatchedRun;
  readonly record: RunRecord;
  /** The partitions that are handed out, by id. */
  readonly open: Map<string, PlannedPartition>;
  /** About how many cells partitions of the run that is gone on with have. Undefined for a new run. */
  readonly partCells: number | undefined;
}

/** Checks that a run to go on with was the same. Returns about how many cells its partitions have. */
async function checkResumed(zonal: ZonalOptions, record: RunRecord, paths: readonly string[]): Promise<number> {
  await record.require();
  return record.resume(manifestOf(zonal, await inputFacts(zonal.zones, paths)));
}

function noWorkers({ queue, folder }: ZonalQueueOptions): News {
  const named = queue === undefined ? '' : ` --queue-name ${queue}`;
  const line = `0 workers on this queue. Start some: quadrille worker --queue-folder ${folder}${named}`;
  return { line, fields: { kind: 'no-workers', workers: 0 } };
}

async function count(
  counting: Counting,
  parts: QueueParts,
  { options: queueOptions, queue, run, record, open, partCells: resumedCells }: OpenedRun,
  receive: Receive,
): Promise<void> {
  const { surfaces, options, log, signal } = counting;
  const paths = surfaces.flatMap((rasters) => rasters.map(({ path }) => path));
  const facts = await inputFacts(options.zones, paths);
  const partCells = resumedCells ?? parts.partCells ?? partCellsOf(counting);
  if (resumedCells === undefined) await record.begin({ ...manifestOf(options, facts), partCells });
  let hasMissed = false;
  const onMissed = (error: unknown): void => {
    if (!hasMissed) log.news(missedCheckpoint(error));
    hasMissed = true;
  };
  const counts = (surface: number): TotalsOptions => countedOf(counting, surface);
  const sums = new SurfaceSums(surfaces.length, counts, record, onMissed, parts.checkpoints);
  if (resumedCells !== undefined) await sums.resume();
  const shown = showProgress(log, 'cells', { waits: true, figures: () => run.figures() });
  shown.expect(surfaces.reduce((sum, rasters) => sum + cellsOf(rasters), 0));
  const left: string[] = [];
  try {
    await handOut();
  } finally {
    shown.end();
  }
  if (left.length > 0) counting.take([leftOutNote(left)]);
  for (const surface of surfaces.keys()) {
    signal.throwIfAborted();
    const histogram = (await sums.sumsOf(surface)).finish(planOf(counting, surface));
    // Cells of these zones may lie in what was left out.
    const notes = histogram.notes.filter(({ code }) => left.length === 0 || code !== 'zonal/zones-without-cells');
    await receive(surface, { ...histogram, notes }, [...sums.backends].sort().join(', '));
  }

  async function* partitions(): AsyncGenerator<ZonalPartition> {
    const planned = async (surface: number, cells: number, isLast: boolean): Promise<void> => {
      shown.advance(cells);
      if (isLast) await sums.planned(surface);
    };
    for await (const each of partitionsOf(counting, facts, partCells, planned)) {
      if (sums.isDone(each.partition.id)) shown.advance(each.cells);
      else {
        open.set(each.partition.id, each);
        sums.expect(each);
        yield each.partition;
      }
    }
  }

  async function take(result: CountedPartition): Promise<void> {
    const planned = open.get(result.id);
    if (planned === undefined) throw strange(result.id);
    open.delete(result.id);
    await sums.take(planned, result);
    shown.advance(planned.cells);
  }

  async function handOut(): Promise<void> {
    const { countPartition } = zonalModule(parts, options.memoryBytes);
    const shared: WorkQueue = { ...queue, openRun: async () => run };
    const { result, errors$ } = graph('zonal', (g) => {
      const handed = g.source('partitions', partitions);
      const done = g.stage('count', handed, countPartition, {
        lanes: LANES,
        remote: { queue: shared, module: ZONAL_MODULE, name: 'countPartition', id: ({ id }) => id },
        onError: { retry: RETRIES, orElse: (cause) => (endsRun(cause) ? 'stop' : queueOptions.onError) },
        describe: ({ id }) => id,
      });
      return g.sink('add', done, take);
    }).run(undefined, { signal });
    errors$.subscribe(({ item, attempts, cause }) => {
      const planned = open.get(item ?? '');
      if (planned === undefined || endsRun(cause)) return;
      const reason = `${capital(planned.name)} could not be counted, ${counted(attempts, 'time')}: ${messageOf(cause)}`;
      if (queueOptions.onError === 'stop')
        log.news({ line: reason, fields: { kind: 'failed', partition: item, message: reason } });
      left.push(reason);
      open.delete(item!);
      shown.advance(planned.cells);
    });
    await result.catch((error: unknown) => {
      throw causeOf(error);
    });
  }
}

/** What makes this run what it is. */
function manifestOf(options: ZonalOptions, { zones, rasters }: InputFacts): Omit<Manifest, 'partCells'> {
  return { options: optionsOf(options, rasters.size), files: [zones, ...[...rasters.values()].flat()] };
}

/** The options that change what is counted, as texts. */
function optionsOf(options: ZonalOptions, rasters: number): Manifest['options'] {
  const { merge, binning, zoneOptions, assumedCrs, rasterCrs, bands, rasterOptions, fill, pixels } = options;
  const { layer, id, crs, antimeridian, onBadRecord } = zoneOptions;
  const { nodata, mask, raw, approximate } = rasterOptions;
  const chosen = statisticsOf(options);
  return {
    '--zones': resolve(options.zones),
    '--raster': counted(rasters, 'raster'),
    '--merge': `${merge}`,
    '--bins, --edges or --unique': nameOfBinning(binning),
    '--layer': `${layer}`,
    '--id': `${id}`,
    '--band': `${bands}`,
    '--nodata': `${nodata}`,
    '--mask': mask,
    '--raw': `${raw}`,
    '--approximate': `${approximate}`,
    '--assume-crs': `${assumedCrs}`,
    '--zones-crs': `${assumedCrs === undefined ? crs : undefined}`,
    '--raster-crs': `${rasterCrs}`,
    '--antimeridian': `${antimeridian}`,
    '--on-bad-record': `${onBadRecord}`,
    '--fill': fill,
    '--pixels': pixels,
    'whether there are --stats, --plot or JSON': `${chosen !== false}`,
    '--stat': typeof chosen === 'boolean' ? 'nothing' : chosen.join(),
  };
}

/** A binning as it is given on the command line. */
function nameOfBinning(binning: Binning): string {
  switch (binning.kind) {
    case 'even':
      return `--bins ${binning.low}:${binning.high}:${binning.width}`;
    case 'edges':
      return `--edges ${binning.edges.join(',')}`;
    case 'unique':
      return '--unique';
    case 'none':
      return 'none';
  }
}

function missedCheckpoint(error: unknown): News {
  const message = messageOf(error);
  const line = `What was counted so far cannot be kept for --resume: ${message}`;
  return { line, fields: { kind: 'checkpoint-failed', message } };
}

const SHOWN = 3;

function leftOutNote(left: readonly string[]) {
  const what = left.length === 1 ? '1 partition was' : `${left.length} partitions were`;
  const others = left.length > SHOWN ? ` And ${left.length - SHOWN} more.` : '';
  const message = `${what} left out. ${left.slice(0, SHOWN).join(' ')}${others}`;
  return { code: 'zonal/partitions-left-out', message, count: left.length };
}

function strange(id: string): QuadrilleError {
  return new QuadrilleError('zonal/strange-partition', 'A worker counted a partition that was not handed out.', {
    got: id,
    remedy: 'Run the same version of the package in all processes.',
  });
}

const capital = (text: string): string => `${text[0]!.toUpperCase()}${text.slice(1)}`;
