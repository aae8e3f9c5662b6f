import { basename } from 'node:path';
import { type StagedOutputs, stageOutputs } from '../formats/atomic-write.ts';
import { requirePlot } from '../formats/plot-packages.ts';
import { Interrupted } from './interrupt.ts';
import { type NeighboursOptions, nameOfMetric } from './neighbours-arguments.ts';
import type { NeighbourFigures } from './neighbours-outputs.ts';
import { type NeighboursParts, searchNeighbours } from './neighbours-run.ts';
import { figuresJson, type NeighboursRun, neighboursSummary, ofTotal } from './neighbours-summary.ts';
import {
  causeOf,
  type OutputWriter,
  protectInputs,
  type RunContext,
  type Surroundings,
  writeBetween,
} from './run-support.ts';

/**
 * Runs `quadrille neighbours`: reads the points, searches, and writes rows as queries are done. A run that fails leaves no file; one
 * that is interrupted leaves what came of the queries that were done.
 *
 * @throws what its parts throw; {@link Surroundings.signal}'s reason when it is aborted.
 */
export async function runNeighbours<C extends RunContext>(
  options: NeighboursOptions,
  parts: NeighboursParts<C>,
  surroundings: Surroundings,
): Promise<void> {
  const started = performance.now();
  const { points, queries, out, plot } = options;
  if (plot !== undefined) requirePlot();
  const files = [out, plot].filter((path): path is string => path !== undefined && path !== '-');
  await protectInputs([points.path, ...(queries === undefined ? [] : [queries.path])], files);
  const outputs = await stageOutputs(files);
  surroundings.beforeExit(() => outputs.discardNow());
  const writer = finishing(outputs, surroundings);
  try {
    const { run, figures } = await searchNeighbours(options, parts, surroundings, writer);
    const lastOnes = await contentsOf(options, run, figures);
    for (const [path, content] of lastOnes) if (path !== '-') await writer.write(path, content);
    await outputs.commit();
    // Files are safe, whoever reads stdout or does not.
    for (const [path, content] of lastOnes) if (path === '-') await writer.write(path, content);
    const seconds = (performance.now() - started) / 1000;
    surroundings.log.summary(neighboursSummary(run, figures, { seconds, outputs: files }));
    throwInterrupted(surroundings.signal, run, figures, files);
  } catch (error) {
    throw causeOf(error);
  } finally {
    await outputs.discard();
  }
}

/** What is written when all queries are done. */
async function contentsOf(
  { plot, json }: NeighboursOptions,
  run: NeighboursRun,
  figures: NeighbourFigures,
): Promise<(readonly [path: string, content: string])[]> {
  return [
    ...(json ? [['-', figuresJson(run, figures)] as const] : []),
    ...(plot === undefined ? [] : [[plot, await drawn(run, figures)] as const]),
  ];
}

async function drawn({ points, metric }: NeighboursRun, { queries, distances }: NeighbourFigures): Promise<string> {
  const { distancePlot } = await import('../formats/distance-plot.ts');
  return distancePlot({ title: basename(points), metric: nameOfMetric(metric), queries, ...distances });
}

/** Tells what is left of a run that was interrupted. */
function throwInterrupted(
  { aborted, reason }: AbortSignal,
  run: NeighboursRun,
  { queries }: NeighbourFigures,
  files: readonly string[],
): void {
  if (!aborted) return;
  const where = files.length === 0 ? '' : ` in ${files.join(', ')}`;
  throw reason instanceof Interrupted
    ? reason.with(`the neighbours of the first ${ofTotal(run, queries)} are kept${where}`)
    : reason;
}

/** Writes on when the run is interrupted: what is begun is brought to an end. */
function finishing(files: StagedOutputs, { log, stdout, beforeExit }: Surroundings): OutputWriter {
  return writeBetween(files, { log, stdout, beforeExit, signal: new AbortController().signal });
}
