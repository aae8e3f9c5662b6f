import { type HostMetric, nameOfMetric } from '../algorithms/neighbours/metrics.ts';
import type { Note } from '../algorithms/notes.ts';
import { counted, grouped } from './grouped.ts';
import type { RunEnd, RunSummary } from './log.ts';
import type { Asked } from './neighbours-arguments.ts';
import type { NeighbourFigures } from './neighbours-outputs.ts';

/** Facts about a run, besides its statistics. */
export interface NeighboursRun {
  /** Path of the table of points, as given by the user. */
  readonly points: string;
  /** Path of the table of queries; undefined if the points themselves are the queries. */
  readonly queries: string | undefined;
  readonly asked: Asked;
  readonly metric: HostMetric;
  readonly columns: readonly string[];
  /** Number of points. */
  readonly count: number;
  /** Total number of queries; undefined if it is unknown. */
  readonly total: number | undefined;
  /** Numbers of rows that were skipped because of invalid coordinates. */
  readonly leftOut: { readonly points: number; readonly queries: number };
  readonly way: 'tree' | 'all points';
  readonly backend: string;
  /** Whether the run was interrupted before all queries were answered. */
  readonly partial: boolean;
  readonly notes: readonly Note[];
}

/** Returns the summary that `quadrille neighbours` logs at the end of a run. */
export function neighboursSummary(
  run: NeighboursRun,
  figures: NeighbourFigures,
  { seconds, outputs }: RunEnd,
): RunSummary {
  const { queries } = figures;
  const rate = queries / seconds;
  return {
    lines: [
      askedLine(run, figures),
      ...distanceLines(run, figures),
      `${seconds.toFixed(1)} s on ${run.backend}, ${countedQueries(Math.round(rate))} per second.`,
      ...(run.partial ? [`Partial: the run ended after ${ofTotal(run, queries)}.`] : []),
      ...(outputs.length === 0 ? [] : [`Wrote ${outputs.join(', ')}.`]),
    ],
    fields: { ...fieldsOf(run, figures), seconds, queriesPerSecond: rate, outputs },
  };
}

/** The statistics of a run as JSON. They do not contain the duration, so equal runs give equal text. */
export function figuresJson(run: NeighboursRun, figures: NeighbourFigures): string {
  const all = { ...fieldsOf(run, figures), notes: run.notes };
  const lines = Object.entries(all).map(([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  return `{\n${lines.join(',\n')}\n}\n`;
}

/** Formats a number of queries, and the total number of queries if known: `8 queries`, or `8 of 10 queries`. */
export function ofTotal({ total }: Pick<NeighboursRun, 'total'>, queries: number): string {
  return total === undefined ? countedQueries(queries) : `${grouped(queries)} of ${countedQueries(total)}`;
}

function countedQueries(queries: number): string {
  return counted(queries, 'query', 'queries');
}

function askedLine({ points, queries, asked, count }: NeighboursRun, figures: NeighbourFigures): string {
  const among = `${counted(count, 'point')} of ${points}`;
  const asking = queries === undefined ? `${among}` : `${countedQueries(figures.queries)} of ${queries} to ${among}`;
  const alone = figures.alone === 0 ? '' : `, ${countedQueries(figures.alone)} without any`;
  const what = asked.kind === 'nearest' ? `${grouped(asked.k)} nearest` : `within ${asked.radius}`;
  return `${asking}, ${what}: ${counted(figures.rows, 'row')}${alone}.`;
}

function distanceLines({ metric }: NeighboursRun, { distances }: NeighbourFigures): string[] {
  const { min, mean, max, infinite } = distances;
  const beyond = infinite === 0 ? '' : `, ${grouped(infinite)} of them infinite`;
  if (min === null) return infinite === 0 ? [] : [`All distances (${nameOfMetric(metric)}) are infinite.`];
  const [from, middle, to] = [min, mean!, max!].map((distance) => Number(distance.toPrecision(3)));
  return [`Distances (${nameOfMetric(metric)}): ${from} to ${to}, mean ${middle}${beyond}.`];
}

function fieldsOf(run: NeighboursRun, { queries, alone, rows, distances }: NeighbourFigures): object {
  const { points, asked, metric, columns, count, total, leftOut, way, backend, partial } = run;
  return {
    file: points,
    queriesFile: run.queries ?? null,
    columns,
    points: count,
    queries,
    totalQueries: total ?? null,
    partial,
    ...(asked.kind === 'nearest' ? { k: asked.k } : { radius: asked.radius }),
    metric: nameOfMetric(metric),
    rows,
    queriesWithoutNeighbours: alone,
    leftOut,
    way,
    backend,
    distances,
  };
}
