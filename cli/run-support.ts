import { resolveTarget, type StagedOutputs } from '../formats/atomic-write.ts';
import { UsageError } from '../formats/usage-error.ts';
import type { GraphRun } from '../graph/index.ts';
import { DeviceLostError, GraphError } from '../primitives/errors.ts';
import type { BackendOptions } from './arguments.ts';
import type { Log, ProgressFigures, ProgressUnit } from './log.ts';
import { writeToStdout } from './standard-output.ts';

/** The parts of a context that commands use. */
export interface RunContext {
  readonly backend: { readonly name: string };
  /** Drops pending work. */
  abort(reason: unknown): void;
  close(): Promise<void>;
}

/** The log and the abort signal of a run. */
export interface Surroundings {
  readonly log: Log;
  readonly stdout: NodeJS.WritableStream;
  readonly signal: AbortSignal;
  /** Registers a function that even a second Ctrl-C must call. */
  beforeExit(cleanUp: () => void): void;
}

/** Waits for a run and shows its progress, with further counts if given. */
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
 * Checks that no output is an input, which would be destroyed before it is read.
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
 * Opens a context. A device that is missing at the start is a usage error; one that is lost later is a failure.
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

/** Unwraps the cause of an error of a graph, which tells the user more than the node that failed. */
export function causeOf(error: unknown): unknown {
  const isCarrier = error instanceof GraphError && CARRIERS.has(error.code);
  return isCarrier && error.cause !== undefined ? causeOf(error.cause) : error;
}

const CARRIERS: ReadonlySet<string> = new Set(['graph/item-failed', 'graph/node-failed', 'graph/source-failed']);

/** Appends to outputs, by their paths on the command line. */
export interface OutputWriter {
  write(path: string, chunk: string | Uint8Array): Promise<void>;
  /** Whether anything was written to stdout. */
  hasPrinted(): boolean;
  /** Whether stdout still has a reader. */
  isRead(): boolean;
}

/** Appends to files, and to stdout while it has a reader. */
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

/** Output that is completed once it was begun, even if the run is interrupted: its signal never aborts. */
export function finishing(files: StagedOutputs, { log, stdout, beforeExit }: Surroundings): OutputWriter {
  return writeBetween(files, { log, stdout, beforeExit, signal: new AbortController().signal });
}

/** A value that is closed at the end of the scope that uses it. */
export function closing<T extends { close(): Promise<void> }>(value: T): AsyncDisposable & { readonly value: T } {
  return { value, [Symbol.asyncDispose]: () => value.close() };
}
