import { resolveTarget, type StagedOutputs, stageOutputs } from '../formats/bytes/atomic-write.ts';
import { UsageError } from '../formats/usage-error.ts';
import type { GraphRun } from '../graph/index.ts';
import { DeviceLostError, GraphError } from '../primitives/checks/errors.ts';
import type { BackendOptions } from './arguments.ts';
import { Interrupted } from './interrupt.ts';
import type { Log, ProgressFigures, ProgressUnit, RunSummary } from './log.ts';
import { writeToStdout } from './standard-output.ts';

/** The members of a context that commands use. */
export interface RunContext {
  readonly backend: { readonly name: string };
  /** Cancels pending work. */
  abort(reason: unknown): void;
  close(): Promise<void>;
}

/** The log, the output and the abort signal of a run. */
export interface Surroundings {
  readonly log: Log;
  readonly stdout: NodeJS.WritableStream;
  readonly signal: AbortSignal;
  /** Registers a function that is called before the process ends, even after a second Ctrl-C. */
  beforeExit(cleanUp: () => void): void;
}

/** Waits for the result of a run, and shows its progress in the log. `figures` returns additional counts to show. */
export async function watchRun<R>(
  { progress$, result }: Pick<GraphRun<R>, 'progress$' | 'result'>,
  log: Log,
  unit: ProgressUnit,
  figures?: () => ProgressFigures,
): Promise<R> {
  const shown = progress$.subscribe((report) => log.progress(report, unit, figures?.()));
  try {
    return await result;
  } finally {
    shown.unsubscribe();
    log.clearProgress();
  }
}

/**
 * Throws if an output file is also an input file, because the input file would be overwritten.
 *
 * @throws UsageError `usage/overwrites-input`.
 */
export async function protectInputs(inputs: readonly string[], outputs: readonly string[]): Promise<void> {
  const resolve = (path: string): Promise<string | undefined> => resolveTarget(path).catch(() => undefined);
  const targets = await Promise.all(inputs.map(resolve));
  for (const output of outputs) {
    const target = await resolve(output);
    if (target === undefined || !targets.includes(target)) continue;
    throw new UsageError('usage/overwrites-input', `${output} is both read and written.`, {
      remedy: 'Write to another file.',
    });
  }
}

/** Those of the given paths of outputs that name files. `-` is stdout. */
export function filesAmong(paths: readonly (string | undefined)[]): string[] {
  return paths.filter((path) => path !== undefined && path !== '-') as string[];
}

/**
 * Opens a temporary file for every output, none of which may be an input. At the end of the scope, those that were not
 * committed are removed.
 *
 * @throws UsageError `usage/overwrites-input`; errors of {@link stageOutputs}.
 */
export async function stageRun(
  inputs: readonly string[],
  files: readonly string[],
  { beforeExit }: Pick<Surroundings, 'beforeExit'>,
): Promise<StagedOutputs & AsyncDisposable> {
  await protectInputs(inputs, files);
  const outputs = await stageOutputs(files);
  beforeExit(() => outputs.discardNow());
  return { ...outputs, [Symbol.asyncDispose]: () => outputs.discard() };
}

/**
 * Opens a context. Throws a usage error if the device is not available. (If the device is lost after the context has
 * been opened, the error is a `DeviceLostError` instead.)
 */
export async function openContext<C>(
  { backend, adapter, workers }: BackendOptions,
  open: (options: BackendOptions) => Promise<C>,
): Promise<C> {
  try {
    return await open({ backend, adapter, workers });
  } catch (error) {
    if (error instanceof DeviceLostError) throw new UsageError(error.code, error.message, { cause: error });
    throw error;
  }
}

/** A context that is aborted if `signal` is, and closed at the end of the scope. */
export function inScope<C extends RunContext>(
  context: C,
  signal: AbortSignal,
): AsyncDisposable & { readonly value: C } {
  const stop = (): void => context.abort(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  return {
    value: context,
    async [Symbol.asyncDispose]() {
      signal.removeEventListener('abort', stop);
      await context.close();
    },
  };
}

/**
 * Returns the cause of a graph's error, because the cause is more useful to the user than the name of the node that
 * failed. Returns other errors unchanged.
 */
export function causeOf(error: unknown): unknown {
  const isCarrier = error instanceof GraphError && CARRIERS.has(error.code);
  return isCarrier && error.cause !== undefined ? causeOf(error.cause) : error;
}

const CARRIERS: ReadonlySet<string> = new Set(['graph/item-failed', 'graph/node-failed', 'graph/source-failed']);

/** Appends a chunk to the output with the given path; `-` is stdout. */
export type WriteOutput = (path: string, chunk: string | Uint8Array) => Promise<void>;

/** Appends chunks to outputs, which are identified by their paths on the command line; `-` is stdout. */
export interface OutputWriter {
  readonly write: WriteOutput;
  /**
   * The error of a run that ended with the given error: the cause of a graph's error. An interruption says whether a part
   * of the output is on stdout.
   */
  errorOf(error: unknown): unknown;
  /** Whether stdout still has a reader. False after the reader has closed the pipe. */
  isRead(): boolean;
}

/** Creates a writer to staged files and to stdout. Output to stdout is dropped after its reader has closed the pipe. */
export function writeBetween(outputs: StagedOutputs, { stdout, signal }: Surroundings): OutputWriter {
  let [isRead, hasPrinted] = [true, false];
  const write: WriteOutput = async (path, chunk) => {
    if (path !== '-') return outputs.write(path, [chunk], signal);
    if (!isRead) return;
    hasPrinted ||= chunk.length > 0 && !signal.aborted;
    isRead = (await writeToStdout(stdout, [chunk], signal)) === 'written';
  };
  const errorOf = (error: unknown): unknown =>
    signal.reason instanceof Interrupted && hasPrinted ? signal.reason.withinOutput() : causeOf(error);
  return { write, errorOf, isRead: () => isRead };
}

/**
 * Creates a writer that is not stopped by an interruption, so that results obtained so far can be written completely.
 */
export function finishing(files: StagedOutputs, { log, stdout, beforeExit }: Surroundings): OutputWriter {
  return writeBetween(files, { log, stdout, beforeExit, signal: new AbortController().signal });
}

/** Yields items until `areWanted` returns false, because no output needs further results. */
export async function* whileWanted<T>(items: AsyncIterable<T>, areWanted: () => boolean): AsyncGenerator<T> {
  for await (const item of items) {
    if (!areWanted()) return;
    yield item;
  }
}

/** Wraps a value so that `await using` closes it at the end of the scope. */
export function closing<T extends { close(): Promise<void> } | undefined>(
  value: T,
): AsyncDisposable & { readonly value: T } {
  return { value, [Symbol.asyncDispose]: async () => value?.close() };
}

/**
 * Returns a function that appends to the output at a path, whose header comes before the first chunk. The header is not written
 * earlier, so that a run that is refused prints nothing. An empty text is written at once, which reports an output that
 * cannot be written before any work is done.
 */
export async function headedWrite(
  write: WriteOutput,
  path: string,
  begin: () => string | Uint8Array,
): Promise<(chunk: string | Uint8Array) => Promise<void>> {
  await write(path, '');
  let hasBegun = false;
  return async (chunk) => {
    if (!hasBegun) await write(path, begin());
    hasBegun = true;
    await write(path, chunk);
  };
}

/** Writes the figures of a run to stdout, as the option `--json` asks. */
export async function printFigures({ fields }: RunSummary, { stdout, signal }: Surroundings): Promise<void> {
  await writeToStdout(stdout, [`${JSON.stringify(fields, null, 2)}\n`], signal);
}
