import type { CrossCompareRun } from '../algorithms/cross-compare/cross-compare.ts';
import type { CrossComparison } from '../algorithms/cross-compare/cross-comparison.ts';
import type { TileComparison } from '../algorithms/cross-compare/tile-comparison.ts';
import type { WorstTiles } from '../formats/results/compare-report.ts';
import { type CompareRun, compareSummary } from '../formats/results/compare-summary.ts';
import { COMPARE_TABLES, type CompareRows, emptyTable, type TableWriter } from '../formats/results/compare-tables.ts';
import { csvWriter, jsonWriter } from '../formats/results/compare-text.ts';
import type { GraphObserver, ReportSection } from '../graph/index.ts';
import type { CompareOptions, TableOutput } from './compare-arguments.ts';
import { recorderFor, reported, traced } from './run-records.ts';
import { headedWrite, type WriteOutput } from './run-support.ts';
import type { TableFormat } from './table-files.ts';

/** Receives the results of a comparison, and writes the outputs that the command line requests. */
export interface CompareOutputs {
  /** Records the run for a trace or a report; undefined if neither is requested. */
  readonly observer: GraphObserver | undefined;
  add(tile: TileComparison): Promise<void>;
  /** Writes the outputs that require the results of all tiles. */
  end(comparison: CrossComparison, run: CrossCompareRun): Promise<void>;
}

const WORST_TILES = 50;

/** Opens all outputs that the command line requests. */
export async function openCompareOutputs(
  options: CompareOptions,
  run: CompareRun,
  write: WriteOutput,
): Promise<CompareOutputs> {
  const tables = await Promise.all(options.tables.map((output) => openTable(output, options, write)));
  const recorder = await recorderFor([options.trace, options.report]);
  const worst =
    options.report === undefined
      ? undefined
      : (await import('../formats/results/compare-report.ts')).worstTiles(WORST_TILES);
  return {
    observer: recorder,
    async add(tile) {
      worst?.add(tile);
      for (const table of tables) await table.add(tile);
    },
    async end(comparison, running) {
      for (const table of tables) await table.end();
      const { out, json, plot, report, trace } = options;
      for (const path of [out, json ? '-' : undefined])
        if (path !== undefined) await write(path, compareSummary(comparison, run));
      if (plot !== undefined) await write(plot, await drawn(comparison, run));
      if (trace !== undefined) await write(trace, await traced(recorder!, running));
      if (report === undefined) return;
      const sections = await sectionsOf(comparison, run, worst!);
      await write(report, await reported(recorder!, running, titleOf(run.a, run.b), sections));
    },
  };
}

interface TableSink {
  add(tile: TileComparison): Promise<void>;
  end(): Promise<void>;
}

async function openTable(
  { table, path, format }: TableOutput,
  { quoteFormulas }: CompareOptions,
  write: WriteOutput,
): Promise<TableSink> {
  const writer = await compareWriter(format, emptyTable(table), { quoteFormulas });
  const append = await headedWrite(write, path, () => writer.begin());
  return {
    add: (tile) => append(writer.add(COMPARE_TABLES[table](tile))),
    end: () => append(writer.end()),
  };
}

/** Opens a writer of a table in one of the formats of comparisons and of queries to trees. */
export async function compareWriter(
  format: TableFormat,
  empty: CompareRows,
  options: { readonly quoteFormulas: boolean },
): Promise<TableWriter> {
  if (format === 'csv') return csvWriter(empty, options);
  if (format === 'json') return jsonWriter(empty);
  const { arrowWriter } = await import('../formats/results/compare-arrow.ts');
  return arrowWriter(empty);
}

async function drawn(comparison: CrossComparison, { a, b }: CompareRun): Promise<string> {
  // Importing the code for charts takes a quarter of a second, so it is imported only when needed.
  const { comparePlot } = await import('../formats/charts/compare-plot.ts');
  return comparePlot({ comparison, title: titleOf(a, b) });
}

function titleOf(a: string, b: string): string {
  return `${a} and ${b}`;
}

async function sectionsOf(comparison: CrossComparison, run: CompareRun, worst: WorstTiles): Promise<ReportSection[]> {
  const { compareSections } = await import('../formats/results/compare-report.ts');
  return compareSections(comparison, run, worst.list());
}
