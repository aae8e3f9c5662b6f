import { basename } from 'node:path';
import type { TableField } from '../formats/tables/table-file.ts';
import type { Screen } from '../formats/tables/write/text-writers.ts';
import type { GraphRun } from '../graph/index.ts';
import type { TraceRecorder } from '../graph/reports/trace.ts';
import { recorderFor, traced } from './run-records.ts';
import { headedWrite, type OutputWriter } from './run-support.ts';
import type { TableOptions } from './table-arguments.ts';
import { rowsWriterOf } from './table-files.ts';
import type { SomeRows } from './table-rows.ts';
import type { TableFigures } from './table-summary.ts';

/** Receives rows in order, and writes the outputs that the command line requests. */
export interface TableOutputs {
  /** Records the run for a trace; undefined if none is requested. */
  readonly recorder: TraceRecorder | undefined;
  /** Number of rows written so far. */
  readonly rows: number;
  add(rows: SomeRows): Promise<void>;
  /**
   * Whether more rows are wanted. False if the reader of stdout has closed the pipe, and neither `--out` nor `--plot`
   * names a file.
   */
  isWanted(): boolean;
  /** Writes the outputs that require all rows. */
  end(figures: TableFigures, running: GraphRun<unknown>): Promise<void>;
}

/** Number of rows to convert to text at once. The text of these rows must fit in one string. */
const ROWS_AT_ONCE: number = 2 ** 12;
/** Number of rows in an Arrow batch. Much larger than `ROWS_AT_ONCE`, because programs read large batches faster. */
const ROWS_IN_ARROW = 2 ** 16;

export function rowsAtOnce({ format }: TableOptions): number {
  return format === 'arrow' ? ROWS_IN_ARROW : ROWS_AT_ONCE;
}

/** Opens all requested outputs, for rows with the given fields. */
export async function openTableOutputs(
  options: TableOptions,
  fields: readonly TableField[],
  keys: readonly TableField[] | undefined,
  { write, isRead }: OutputWriter,
  screen?: Screen,
): Promise<TableOutputs> {
  const { out, plot, trace, json } = options;
  const writer = out === undefined ? undefined : await rowsWriterOf(options, fields, screen);
  const picture = plot === undefined ? undefined : await pictureOf(options, fields, keys);
  const recorder = await recorderFor([trace]);
  const append = out === undefined ? undefined : await headedWrite(write, out, () => writer!.begin());
  let rows = 0;

  return {
    recorder,
    get rows() {
      return rows;
    },
    async add(some) {
      rows += some.rows;
      picture?.add(some);
      await append?.(writer!.add(some));
    },
    isWanted: () => isRead() || [out, plot].some((path) => path !== undefined && path !== '-'),
    async end(figures, running) {
      await append?.(writer!.end());
      if (plot !== undefined) await write(plot, await picture!.draw());
      if (trace !== undefined) await write(trace, await traced(recorder!, running));
      if (json) await write('-', `${JSON.stringify(figures, null, 2)}\n`);
    },
  };
}

async function pictureOf(
  { file }: TableOptions,
  fields: readonly TableField[],
  keys: readonly TableField[] | undefined,
) {
  const { tablePicture } = await import('../formats/charts/table-plot.ts');
  return tablePicture(basename(file), fields, keys);
}
