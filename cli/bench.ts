import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { builtInExperiments } from '../bench/experiments/index.ts';
import { backendCandidate } from '../bench/harness/backend-candidate.ts';
import type { Candidate } from '../bench/harness/candidate.ts';
import { type Experiment, typesOf } from '../bench/harness/experiment.ts';
import { machineFacts } from '../bench/harness/machine.ts';
import { casesOf, type MeasurementPlan, measure, type Omission } from '../bench/harness/measure.ts';
import type { Row } from '../bench/harness/row.ts';
import { type Results, resultsCsv, resultsJson, resultsTable, sizeText, timeText } from '../bench/harness/tables.ts';
import { findPeers } from '../bench/peers/index.ts';
import type { StagedOutputs } from '../formats/bytes/atomic-write.ts';
import { requirePlot } from '../formats/charts/plot-packages.ts';
import { UsageError } from '../formats/usage-error.ts';
import { open } from '../on-node.ts';
import { DeviceLostError, QuadrilleError } from '../primitives/checks/errors.ts';
import type { Context } from '../primitives/context/context.ts';
import { largestOf } from '../primitives/host/extremes.ts';
import type { BenchBackend, BenchOptions } from './bench-arguments.ts';
import { chooseExperiments, loadExperiments } from './bench-experiments.ts';
import { counted } from './grouped.ts';
import { Interrupted } from './interrupt.ts';
import type { News } from './log.ts';
import { requireRoomForElements } from './memory.ts';
import { openContext, type Surroundings, stageRun } from './run-support.ts';
import { showProgress } from './shown-progress.ts';
import { writeToStdout } from './standard-output.ts';
import { readTuning } from './tuning-file.ts';

/**
 * Runs `quadrille bench`: measures the experiments, and writes the results. After Ctrl-C, it writes the results
 * obtained so far.
 *
 * @throws QuadrilleError `bench/wrong-answer` if a candidate (a backend or a peer) gave a wrong answer, after all
 * results have been written; {@link Interrupted} after Ctrl-C; any other error while loading, measuring or writing.
 */
export async function runBench(options: BenchOptions, surroundings: Surroundings): Promise<void> {
  const started = performance.now();
  const { log, signal } = surroundings;
  const own = (await Promise.all(options.experiments.map(loadExperiments))).flat();
  const experiments = chooseExperiments([...builtInExperiments, ...own], options.only);
  if (options.list) return list(experiments, surroundings);
  const plan: MeasurementPlan = { ...options, experiments };
  requireCases(plan);
  requireRoomForElements(largestOf(plan.sizes), options.memoryBytes);
  if (drawsCharts(options)) requirePlot();
  const paths = await outputPaths(options);
  await using outputs = await stageRun([], [...paths.values()], surroundings);
  const results = await find(plan, options, surroundings);
  await write(results, options, paths, outputs, surroundings);
  log.summary(summaryOf(results, [...paths.values()], (performance.now() - started) / 1000));
  if (signal.aborted) throw interruptedAfter(results, signal.reason);
  requireRight(results.omissions);
}

async function list(experiments: readonly Experiment[], { stdout, signal }: Surroundings): Promise<void> {
  const width = largestOf(experiments.map(({ name }) => name.length));
  const lines = experiments.map((one) => `${one.name.padEnd(width)}  ${typesOf(one).join(', ')}\n`);
  await writeToStdout(stdout, lines, signal);
}

function requireCases(plan: MeasurementPlan): void {
  if (casesOf(plan).length > 0) return;
  throw new UsageError('bench/no-case', 'None of the chosen experiments supports these element types.', {
    expected: [...new Set(plan.experiments.flatMap(typesOf))].join(' or '),
    got: plan.types?.join(' and '),
  });
}

/**
 * Creates the output folder. Returns a map from the name of each output (such as a table or a chart) to the path of its
 * file.
 */
async function outputPaths(options: BenchOptions): Promise<ReadonlyMap<string, string>> {
  const { out } = options;
  if (out === undefined) return new Map();
  await mkdir(out, { recursive: true }).catch((cause: unknown) => {
    throw new UsageError('output/unwritable', `${out} is not a writable folder.`, { cause });
  });
  return new Map([
    ...(['csv', 'json', 'html'] as const)
      .filter((name) => isWanted(options, name))
      .map((name) => [name, join(out, `bench.${name}`)] as const),
    ...(isWanted(options, 'svg') ? DRAWINGS : []).map((name) => [name, join(out, `bench-${name}.svg`)] as const),
  ]);
}

const DRAWINGS = ['time', 'rate', 'ratios'] as const;

function isWanted({ outputs }: BenchOptions, name: BenchOptions['outputs'][number]): boolean {
  return outputs.length === 0 || outputs.includes(name);
}

/** Whether charts must be drawn, which requires optional packages. The HTML report also contains charts. */
function drawsCharts(options: BenchOptions): boolean {
  return options.out !== undefined && (isWanted(options, 'svg') || isWanted(options, 'html'));
}

async function find(plan: MeasurementPlan, options: BenchOptions, surroundings: Surroundings): Promise<Results> {
  const { log, signal } = surroundings;
  const candidates: Candidate[] = [];
  const [rows, omissions]: [Row[], Omission[]] = [[], []];
  try {
    await openCandidates(options, candidates, surroundings);
    const { advance, expect, end } = showProgress(log, 'rounds');
    expect(casesOf(plan).length * candidates.length * plan.rounds);
    try {
      await measure(plan, candidates, {
        signal,
        advance,
        rows: (found) => {
          for (const row of found) rows.push(row);
          if (found.length > 0) log.news(measured(found));
        },
        omitted(omission) {
          omissions.push(omission);
          log.note({ code: omission.wrong ? 'bench/wrong' : 'bench/left-out', message: sentenceOf(omission) });
        },
      });
    } finally {
      end();
    }
    return {
      machine: await machineFacts(),
      candidates: candidates.map(({ name, kind, description }) => ({ name, kind, description })),
      rows,
      omissions,
      complete: !signal.aborted,
    };
  } finally {
    for (const candidate of candidates) await candidate.close();
  }
}

/** A line for the candidates of a case, as soon as they are measured. */
function measured(rows: readonly Row[]): News {
  const { experiment, type, n } = rows[0]!;
  const times = rows.map(({ candidate, time }) => `${candidate} ${timeText(time.median)}`);
  const medians = Object.fromEntries(rows.map(({ candidate, time }) => [candidate, time.median]));
  return {
    line: `${experiment} ${type} ${sizeText(n)}: ${times.join(', ')}`,
    fields: { kind: 'measured', experiment, type, n, nanoseconds: medians },
  };
}

function sentenceOf({ experiment, type, n, candidate, reason }: Omission): string {
  return `${candidate} skips ${experiment} ${type} ${sizeText(n)}: ${reason}`;
}

/**
 * Opens backends and peers one after another. Each of them is added to `candidates` as soon as it is open, so that the
 * caller can close the open ones if a later one fails.
 */
async function openCandidates(
  options: BenchOptions,
  candidates: Candidate[],
  { log, signal }: Surroundings,
): Promise<void> {
  for (const name of options.backends ?? (['workers', 'webgpu'] as const)) {
    signal.throwIfAborted();
    const context = await openBackend(name, options);
    if (context !== undefined) candidates.push(backendCandidate(name, context, await describe(context, options)));
  }
  for (const name of options.peers) {
    signal.throwIfAborted();
    try {
      const found = await findPeers(name, options);
      if (found.length === 0 && options.peersAsked) {
        log.note({ code: 'bench/no-peer', message: `The peer ${name} is not installed.` });
      }
      for (const candidate of found) candidates.push(candidate);
    } catch (error) {
      if (!(error instanceof QuadrilleError)) throw error;
      log.note({ code: 'bench/no-peer', message: error.message });
    }
  }
}

/** Opens a backend. Returns undefined if it is not available and the user did not request it. */
async function openBackend(backend: BenchBackend, options: BenchOptions): Promise<Context | undefined> {
  const { workers } = options;
  const isAsked = options.backends !== undefined || options.adapter !== 'auto';
  const tuning = options.tuning === undefined ? undefined : await readTuning(options.tuning);
  if (backend !== 'webgpu') return open({ backend, workers });
  const adapter = isAsked ? options.adapter : 'hardware';
  try {
    return await openContext({ backend, adapter, workers }, (where) => open({ ...where, tuning }));
  } catch (error) {
    if (!isAsked && error instanceof UsageError && error.cause instanceof DeviceLostError) return undefined;
    throw error;
  }
}

async function describe({ backend }: Context, { workers }: BenchOptions): Promise<string> {
  if (backend.name === 'reference') return 'plain JavaScript, one element after the other';
  if (backend.name === 'workers') {
    const { availableParallelism } = await import('node:os');
    return `WebAssembly on ${counted(workers ?? availableParallelism(), 'thread')}`;
  }
  const { info } = backend as typeof backend & { readonly info: GPUAdapterInfo };
  return [info.vendor, info.architecture, info.device, info.description].filter((part) => part !== '').join(' ');
}

/** A signal that is never aborted, because results are written even after Ctrl-C. */
const UNSTOPPED = new AbortController().signal;

async function write(
  results: Results,
  options: BenchOptions,
  paths: ReadonlyMap<string, string>,
  outputs: StagedOutputs,
  { stdout }: Surroundings,
): Promise<void> {
  if (options.out === undefined) {
    const [form] = options.outputs;
    const told =
      form === 'csv' ? resultsCsv(results) : form === 'json' ? resultsJson(results) : resultsTable(results.rows);
    await writeToStdout(stdout, [told], UNSTOPPED);
    return;
  }
  for (const [name, content] of await contents(results, options, paths))
    await outputs.write(paths.get(name)!, [content]);
  await outputs.commit();
}

async function contents(
  results: Results,
  options: BenchOptions,
  paths: ReadonlyMap<string, string>,
): Promise<(readonly [name: string, content: string])[]> {
  // The code for charts is imported only when needed.
  const { drawResults, resultsReport } = await import('../bench/harness/report.ts');
  const drawings = drawsCharts(options) ? await drawResults(results) : undefined;
  const makers: Readonly<Record<string, () => string>> = {
    csv: () => resultsCsv(results),
    json: () => resultsJson(results),
    html: () => resultsReport(results, drawings!),
    time: () => drawings!.time,
    rate: () => drawings!.rate,
    ratios: () => drawings!.ratios,
  };
  return [...paths.keys()].map((name) => [name, makers[name]!()]);
}

function summaryOf({ rows, omissions, candidates, complete }: Results, outputs: readonly string[], seconds: number) {
  const names = candidates.map(({ name }) => name).join(', ');
  return {
    lines: [
      `${counted(rows.length, 'row')}, ${seconds.toFixed(1)} s on ${names}.`,
      ...(outputs.length === 0 ? [] : [`Wrote ${outputs.join(', ')}.`]),
    ],
    fields: { rows: rows.length, omissions, seconds, candidates, complete, outputs },
  };
}

function interruptedAfter({ rows }: Results, reason: unknown): unknown {
  if (!(reason instanceof Interrupted)) return reason;
  return reason.with(rows.length === 0 ? 'nothing had been measured' : 'the results so far were written');
}

function requireRight(omissions: readonly Omission[]): void {
  const wrong = omissions.filter((omission) => omission.wrong);
  if (wrong.length === 0) return;
  const more = wrong.length === 1 ? '' : ` And ${wrong.length - 1} more.`;
  throw new QuadrilleError('bench/wrong-answer', `${sentenceOf(wrong[0]!).replace(/\.?$/, '.')}${more}`);
}
