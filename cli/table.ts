import { lastValueFrom } from 'rxjs';
import { requirePlot } from '../formats/charts/plot-packages.ts';
import type { TableBatch, TableFile } from '../formats/tables/table-file.ts';
import type { GraphRun } from '../graph/index.ts';
import type { BackendOptions } from './arguments.ts';
import {
  closing,
  filesAmong,
  inScope,
  type OutputWriter,
  openContext,
  type RunContext,
  type Surroundings,
  stageRun,
  watchRun,
  whileWanted,
  writeBetween,
} from './run-support.ts';
import { screenOf } from './standard-output.ts';
import type { TableOptions } from './table-arguments.ts';
import type { CsvReading } from './table-files.ts';
import { rowsWriterOf } from './table-files.ts';
import type { TableJob } from './table-graph.ts';
import { openTableOutputs, type TableOutputs } from './table-outputs.ts';
import { type Question, questionOf } from './table-question.ts';
import { SCHEMA_FIELDS, schemaRows } from './table-schema.ts';
import { skippedColumns, skippedNotes, type TableFigures, tableSummary } from './table-summary.ts';

/** A query of the command line whose types have been checked, so that it can run on a context. */
export interface TableSession {
  /** The fields of the answer. */
  readonly fields: Parameters<typeof openTableOutputs>[1];
  run(outputs: TableOutputs, job: Omit<TableJob, 'ask' | 'take' | 'batches'>, source: TableBatches): TableRun;
}

/** Reads the parts of a file, until no more rows are wanted. */
export type TableBatches = (options: {
  readonly columns: readonly string[];
  readonly rowsPerBatch: number;
  readonly signal: AbortSignal;
  readonly narrow: boolean;
}) => AsyncIterable<TableBatch>;

export interface TableRun {
  readonly running: GraphRun<number>;
  /** Writes the rows that depend on all parts of the file. */
  end(): Promise<void>;
  /** Number of groups so far; undefined if the answer consists of rows. */
  groups(): number | undefined;
  /** Whether the answer has all rows that it may have, so that no more need be read. */
  isDone(): boolean;
}

/**
 * A function that checks the query of the command line against the types of the columns, and returns a session that can
 * answer the query.
 */
export type OpenSession<C> = (context: C, question: Question, options: TableOptions) => Promise<TableSession>;

/** The functions of other layers that the command uses. Tests pass replacements. */
export interface TableParts<C extends RunContext> {
  openTable(path: string, signal: AbortSignal, csv: CsvReading): Promise<TableFile>;
  openContext(options: BackendOptions): Promise<C>;
  /** Imports the code that answers queries. The import runs while a context is being opened. */
  loadSession(): Promise<OpenSession<C>>;
}

/**
 * Runs `quadrille table`: reads a file, queries it, and writes the answer. Rows are written part by part. An output
 * file appears complete or not at all.
 *
 * @throws Errors of `parts`; the reason of {@link Surroundings.signal} if it is aborted.
 */
export async function runTable<C extends RunContext>(
  options: TableOptions,
  parts: TableParts<C>,
  surroundings: Surroundings,
): Promise<void> {
  const started = performance.now();
  const { file, out, plot, trace } = options;
  if (plot !== undefined) requirePlot();
  const files = filesAmong([out, plot, trace]);
  await using outputs = await stageRun([file], files, surroundings);
  const writer = writeBetween(outputs, surroundings);
  try {
    if (options.schema) {
      await tellSchema(options, parts, surroundings, writer);
      return await outputs.commit();
    }
    const figures = await askFile(options, parts, surroundings, writer);
    surroundings.signal.throwIfAborted();
    await outputs.commit();
    surroundings.log.summary(tableSummary(figures, (performance.now() - started) / 1000, files));
  } catch (error) {
    throw writer.errorOf(error);
  }
}

async function askFile<C extends RunContext>(
  options: TableOptions,
  parts: TableParts<C>,
  { log, stdout, signal }: Surroundings,
  writer: OutputWriter,
): Promise<TableFigures> {
  await using input = closing(await parts.openTable(options.file, signal, options.csv));
  const file = input.value;
  const question = questionOf(options, file);
  const notes = [...file.notes, ...skippedNotes(file, question)];
  for (const note of notes) log.note(note);
  const [opened, openSession] = await openAll(options, parts);
  await using used = inScope(opened, signal);
  const context = used.value;
  signal.throwIfAborted();
  const session = await openSession(context, question, options);
  const screen = options.isShown ? screenOf(stdout) : undefined;
  const outputs = await openTableOutputs(options, session.fields, question.groups?.keys, writer, screen);
  const wanted = (): boolean => !isDone() && (outputs.isWanted() || question.groups !== undefined);
  const { running, end, groups, isDone } = session.run(
    outputs,
    {
      rows: file.rows,
      isOnGpu: context.backend.name.startsWith('webgpu'),
      signal,
      observer: outputs.recorder,
      progressEvery: log.progressEvery,
    },
    (own) => whileWanted(file.batches(own), wanted),
  );
  await watchRun(running, log, 'rows');
  const { done: rows } = await lastValueFrom(running.progress$);
  await end();
  const figures: TableFigures = {
    file: options.file,
    format: file.format,
    rows,
    written: outputs.rows,
    grouped: question.groups !== undefined,
    groups: groups(),
    complete: !isDone(),
    backend: context.backend.name,
    skippedColumns: skippedColumns(file),
    notes,
  };
  await outputs.end(figures, running);
  return figures;
}

/** Opens a context and, at the same time, imports the code that answers queries. */
async function openAll<C extends RunContext>(
  options: TableOptions,
  parts: TableParts<C>,
): Promise<readonly [C, OpenSession<C>]> {
  const opening = openContext(options, parts.openContext);
  const [context, loaded] = await Promise.allSettled([opening, parts.loadSession()]);
  if (context.status === 'rejected') throw context.reason;
  if (loaded.status === 'fulfilled') return [context.value, loaded.value];
  await context.value.close();
  throw loaded.reason;
}

/** Writes the columns of a file, as a table. */
async function tellSchema<C extends RunContext>(
  options: TableOptions,
  parts: TableParts<C>,
  { log, stdout, signal }: Surroundings,
  { write }: OutputWriter,
): Promise<void> {
  await using input = closing(await parts.openTable(options.file, signal, options.csv));
  const file = input.value;
  for (const note of file.notes) log.note(note);
  const screen = options.isShown ? screenOf(stdout) : undefined;
  const writer = await rowsWriterOf(options, SCHEMA_FIELDS, screen);
  for (const chunk of [writer.begin(), writer.add(schemaRows(file)), writer.end()]) await write(options.out!, chunk);
}
