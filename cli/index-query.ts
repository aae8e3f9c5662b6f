import type { MaqFile } from '../formats/results/maq-file.ts';
import { UsageError } from '../formats/usage-error.ts';
import type { BackendOptions } from './arguments.ts';
import { counted, grouped } from './grouped.ts';
import { type AnswerTotals, answerSink } from './index-answers.ts';
import type { QueryJob, QueryRun } from './index-ask.ts';
import type { InfoParts } from './index-info.ts';
import { openQueries, type QueryReaders } from './index-queries.ts';
import type { QueryOptions } from './index-query-arguments.ts';
import type { RunEnd, RunSummary } from './log.ts';
import {
  filesAmong,
  inScope,
  type OutputWriter,
  openContext,
  printFigures,
  type RunContext,
  type Surroundings,
  stageRun,
  watchRun,
  whileWanted,
  writeBetween,
} from './run-support.ts';

/** The functions of other layers that the command uses. Tests pass replacements. */
export interface QueryParts<C extends RunContext> extends QueryReaders, Pick<InfoParts, 'openTree'> {
  openContext(options: BackendOptions): Promise<C>;
  askTree(context: C, job: QueryJob): Promise<QueryRun>;
}

/**
 * Runs `quadrille index query`: reads queries, answers them, and writes the answers, batch by batch. An output file
 * appears complete or not at all.
 *
 * @throws Errors of the functions in `parts`; if {@link Surroundings.signal} is aborted, its abort reason.
 */
export async function runIndexQuery<C extends RunContext>(
  options: QueryOptions,
  parts: QueryParts<C>,
  surroundings: Surroundings,
): Promise<void> {
  const started = performance.now();
  const files = filesAmong([options.out]);
  await using outputs = await stageRun([options.tree, options.queries], files, surroundings);
  const writer = writeBetween(outputs, surroundings);
  try {
    const { totals, backend } = await ask(options, parts, surroundings, writer);
    surroundings.signal.throwIfAborted();
    await outputs.commit();
    const seconds = (performance.now() - started) / 1000;
    const summary = querySummary(options, totals, { backend, seconds, outputs: files });
    if (options.json) await printFigures(summary, surroundings);
    surroundings.log.summary(summary);
  } catch (error) {
    throw writer.errorOf(error);
  }
}

interface Asked {
  readonly totals: AnswerTotals;
  readonly backend: string;
}

async function ask<C extends RunContext>(
  options: QueryOptions,
  parts: QueryParts<C>,
  { log, signal }: Surroundings,
  writer: OutputWriter,
): Promise<Asked> {
  const { file } = await parts.openTree(options.tree, signal, options.memoryBytes);
  requireEdges(options, file);
  const source = await openQueries(options, file, parts, signal);
  const sink = answerSink(options, file, async (chunk) => {
    if (options.out !== undefined) await writer.write(options.out, chunk);
  });
  await using opened = inScope(await openContext(options, parts.openContext), signal);
  const context = opened.value;
  signal.throwIfAborted();
  const running = await parts.askTree(context, {
    file,
    batches: (own) => whileWanted(source.batches(own), writer.isRead),
    totalBytes: source.totalBytes,
    above: options.above ?? 0,
    filterOnly: options.filterOnly,
    memoryBytes: options.memoryBytes,
    onBadRecord: options.reading.onBadRecord ?? 'stop',
    fill: options.fill,
    comesRound: options.reading.antimeridian === 'unwrap',
    tally: source.tally,
    async take(answers) {
      source.learn(answers);
      await sink.add(answers);
    },
    signal,
    progressEvery: log.progressEvery,
  });
  await watchRun(running, log, 'bytes', () => {
    const { queries, pairs } = sink.totals;
    return { queries, pairs };
  });
  await sink.end();
  source.tellNotes(log);
  return { totals: sink.totals, backend: context.backend.name };
}

/**
 * Throws if exact answers are requested but the tree was built without the edges that exact answers need. Queries by
 * windows never need edges, because their answers contain only bounds of areas.
 */
function requireEdges({ kind, filterOnly, tree }: QueryOptions, { tree: { entries }, tree: built }: MaqFile): void {
  if (kind === 'windows' || filterOnly || 'edges' in built || entries.polygon.length === 0) return;
  throw new UsageError('index/no-edges', `${tree} was built without edges, which exact answers need.`, {
    remedy:
      kind === 'points'
        ? 'Build it again without --no-edges.'
        : 'Build it again without --no-edges, or use --filter-only.',
  });
}

const SAYS: Readonly<Record<QueryOptions['kind'], readonly [thing: string, met: string]>> = {
  points: ['point', 'in polygons'],
  windows: ['window', 'with polygons in them'],
  polygons: ['query polygon', 'sharing area with polygons'],
};

function querySummary(
  { kind, filterOnly }: QueryOptions,
  totals: AnswerTotals,
  end: RunEnd & { readonly backend: string },
): RunSummary {
  const { queries, met, pairs } = totals;
  const [thing, surely] = SAYS[kind];
  const what = filterOnly ? 'perhaps sharing area with polygons' : surely;
  const { backend, seconds, outputs } = end;
  return {
    lines: [
      `${counted(queries, thing)}, ${grouped(met)} of them ${what}: ${counted(pairs, 'pair')}, ` +
        `${seconds.toFixed(1)} s on ${backend}.`,
      ...(outputs.length === 0 ? [] : [`Wrote ${outputs.join(', ')}.`]),
    ],
    fields: { kind, ...totals, ...end },
  };
}
