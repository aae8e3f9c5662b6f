import { basename } from 'node:path';
import { nameOfMetric } from '../algorithms/neighbours/metrics.ts';
import { requirePlot } from '../formats/charts/plot-packages.ts';
import { Interrupted } from './interrupt.ts';
import type { NeighboursOptions } from './neighbours-arguments.ts';
import type { NeighbourFigures } from './neighbours-outputs.ts';
import { type NeighboursParts, searchNeighbours } from './neighbours-run.ts';
import { figuresJson, type NeighboursRun, neighboursSummary, ofTotal } from './neighbours-summary.ts';
import { causeOf, filesAmong, finishing, type RunContext, type Surroundings, stageRun } from './run-support.ts';

/**
 * Runs `quadrille neighbours`: reads the points, searches, and writes rows batch by batch. A run that fails leaves no
 * output file. A run that is interrupted keeps the neighbours found so far.
 *
 * @throws Errors of the functions in `parts`; if {@link Surroundings.signal} is aborted, its abort reason.
 */
export async function runNeighbours<C extends RunContext>(
  options: NeighboursOptions,
  parts: NeighboursParts<C>,
  surroundings: Surroundings,
): Promise<void> {
  const started = performance.now();
  const { points, queries, out, plot } = options;
  if (plot !== undefined) requirePlot();
  const files = filesAmong([out, plot]);
  const inputs = [points.path, ...(queries === undefined ? [] : [queries.path])];
  await using outputs = await stageRun(inputs, files, surroundings);
  const writer = finishing(outputs, surroundings);
  try {
    const { run, figures } = await searchNeighbours(options, parts, surroundings, writer);
    const lastOnes = await contentsOf(options, run, figures);
    for (const [path, content] of lastOnes) if (path !== '-') await writer.write(path, content);
    await outputs.commit();
    // The statistics or the plot is written to stdout after the files have been committed, so that a failed write to
    // stdout does not discard the files.
    for (const [path, content] of lastOnes) if (path === '-') await writer.write(path, content);
    const seconds = (performance.now() - started) / 1000;
    surroundings.log.summary(neighboursSummary(run, figures, { seconds, outputs: files }));
    throwInterrupted(surroundings.signal, run, figures, files);
  } catch (error) {
    throw causeOf(error);
  }
}

/** The contents of the outputs that require the results of all queries. */
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
  const { distancePlot } = await import('../formats/charts/distance-plot.ts');
  return distancePlot({ title: basename(points), metric: nameOfMetric(metric), queries, ...distances });
}

/** If the run was interrupted, throws an error that says which results are kept. */
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
