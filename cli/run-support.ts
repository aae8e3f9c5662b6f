import { resolveTarget, type StagedOutputs } from '../formats/atomic-write.ts';
import { UsageError } from '../formats/usage-error.ts';
import type { GraphRun } from '../graph/index.ts';
import { DeviceLostError, GraphError } from '../primitives/errors.ts';
import type { BackendOptions } from './arguments.ts';
import type { Log, ProgressFigures, ProgressUnit } from './log.ts';
import { writeToStdout } from './standard-output.ts';

/** What a command needs to know of the context that it opens. */
export interface RunContext {
  readonly backend: { readonly name: string };
  /** Drops what is under way. */
  abort(reason: unknown): void;
  close(): Promise<void>;
}

/** Where a run may speak, and what may stop it. */
export interface Surroundings {
  readonly log: Log;
  readonly stdout: NodeJS.WritableStream;
  readonly signal: AbortSignal;
  /** Registers what a second Ctrl-C must still do. */
  beforeExit(cleanUp: () => void): void;
}

/** Waits for a run and shows its progress, with further figures if there are any. */
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
 * Checks that no output is an input: writing over what is about to be read would destroy it.
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
 * Opens a context. A device that is not there when the run begins was asked for wrongly; one that goes away later has
 * failed.
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

/** What failed in a node of a graph says more to the user than the node does. */
export function causeOf(error: unknown): unknown {
  const isCarrier = error instanceof GraphError && CARRIERS.has(error.code);
  return isCarrier && error.cause !== undefined ? causeOf(error.cause) : error;
}

const CARRIERS: ReadonlySet<string> = new Set(['graph/item-failed', 'graph/node-failed', 'graph/source-failed']);

/** Writes outputs as they come, by the paths that the command line gives them. */
export interface OutputWriter {
  write(path: string, chunk: string | Uint8Array): Promise<void>;
  /** Whether something went to stdout. */
  hasPrinted(): boolean;
  /** Whether somebody reads stdout still. */
  isRead(): boolean;
}

/** Appends to files; to stdout as long as somebody reads there. */
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
