import { resolveTarget, type StagedOutputs } from '../formats/atomic-write.ts';
import { UsageError } from '../formats/usage-error.ts';
import type { GraphRun } from '../graph/index.ts';
import { DeviceLostError, GraphError } from '../primitives/checks/errors.ts';
import type { BackendOptions } from './arguments.ts';
import type { Log, ProgressFigures, ProgressUnit } from './log.ts';
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

/**
 * Returns the cause of a graph's error, because the cause is more useful to the user than the name of the node that
 * failed. Returns other errors unchanged.
 */
export function causeOf(error: unknown): unknown {
  const isCarrier = error instanceof GraphError && CARRIERS.has(error.code);
  return isCarrier && error.cause !== undefined ? causeOf(error.cause) : error;
}

const CARRIERS: ReadonlySet<string> = new Set(['graph/item-failed', 'graph/node-failed', 'graph/source-failed']);

/** Appends chunks to outputs, which are identified by their paths on the command line; `-` is stdout. */
export interface OutputWriter {
  write(path: string, chunk: string | Uint8Array): Promise<void>;
  /** Whether anything has been written to stdout. */
  hasPrinted(): boolean;
  /** Whether stdout still has a reader. False after the reader has closed the pipe. */
  isRead(): boolean;
}

/** Creates a writer to staged files and to stdout. Output to stdout is dropped after its reader has closed the pipe. */
export function writeBetween(outputs: StagedOutputs, { stdout, signal }: Surroundings): OutputWriter {
  let [isRead, hasPrinted] = [true, false];
  const write: OutputWriter['write'] = async (path, chunk) => {
    if (path !== '-') return outputs.write(path, [chunk], signal);
    if (!isRead) return;
    hasPrinted ||= chunk.length > 0 && !signal.aborted;
    isRead = (await writeToStdout(stdout, [chunk], signal)) === 'written';
  };
  return { write, hasPrinted: () => hasPrinted, isRead: () => isRead };
}

/**
 * Creates a writer that is not stopped by an interruption, so that results obtained so far can be written completely.
 */
export function finishing(files: StagedOutputs, { log, stdout, beforeExit }: Surroundings): OutputWriter {
  return writeBetween(files, { log, stdout, beforeExit, signal: new AbortController().signal });
}

/** Wraps a value so that `await using` closes it at the end of the scope. */
export function closing<T extends { close(): Promise<void> }>(value: T): AsyncDisposable & { readonly value: T } {
  return { value, [Symbol.asyncDispose]: () => value.close() };
}

/**
 * Returns a function that appends to an output whose header comes before the first chunk. The header is not written
 * earlier, so that a run that is refused prints nothing. An empty text is written at once, which reports an output that
 * cannot be written before any work is done.
 */
export async function headedWrite(
  write: (chunk: string | Uint8Array) => Promise<void>,
  begin: () => string | Uint8Array,
): Promise<(chunk: string | Uint8Array) => Promise<void>> {
  await write('');
  let hasBegun = false;
  return async (chunk) => {
    if (!hasBegun) await write(begin());
    hasBegun = true;
    await write(chunk);
  };
}
