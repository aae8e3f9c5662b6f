import { fstatSync, readFileSync, statSync } from 'node:fs';
import { escapeControls } from '../algorithms/quoted-names.ts';
import type { Screen } from '../formats/tables/write/text-writers.ts';
import type { FileChunks } from '../formats/text/text-chunks.ts';
import { QuadrilleError } from '../primitives/checks/errors.ts';

/**
 * Writes text or bytes to stdout, waiting for the reader if necessary. If the reader closes the pipe (`quadrille … |
 * head`), the rest of the output is dropped without an error.
 *
 * @throws QuadrilleError `output/write-failed` if stdout is closed (`>&-`) or a write fails for another reason; the
 * reason of `signal` if it is aborted.
 */
export async function writeToStdout(
  stdout: NodeJS.WritableStream,
  chunks: FileChunks,
  signal: AbortSignal,
): Promise<'written' | 'reader-gone'> {
  if (isClosed(stdout)) throw stdoutClosed();
  // A failed write calls its callback and also emits `error`. Without a listener, this event would end the process.
  const ignore = (): void => undefined;
  stdout.on('error', ignore);
  try {
    for await (const chunk of chunks) {
      signal.throwIfAborted();
      if ((await writeChunk(stdout, chunk, signal)) === 'reader-gone') return 'reader-gone';
    }
    return 'written';
  } finally {
    stdout.off('error', ignore);
  }
}

/** What clears the last line of a terminal before something is written there. */
const clearing = new WeakMap<NodeJS.WritableStream, () => void>();

/** Clears the progress of a command, which stands on the same terminal, before each text on stdout. */
export function clearBefore(stdout: NodeJS.WritableStream, clear: () => void): void {
  if ((stdout as { readonly isTTY?: boolean }).isTTY === true) clearing.set(stdout, clear);
}

function writeChunk(
  stdout: NodeJS.WritableStream,
  chunk: string | Uint8Array,
  signal: AbortSignal,
): Promise<'written' | 'reader-gone'> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    if (chunk.length > 0) clearing.get(stdout)?.();
    stdout.write(shown(stdout, chunk), (error: NodeJS.ErrnoException | null | undefined) => {
      signal.removeEventListener('abort', stop);
      if (error == null) resolve('written');
      else if (error.code === 'EPIPE') resolve('reader-gone');
      else reject(writeFailed(error));
    });
  });
}

/**
 * Replaces control characters except line feeds and tabs by escapes such as `\u001b`, if the chunk is text for a terminal.
 * Otherwise a cell or a name in a file could change the terminal's state.
 */
function shown(stdout: NodeJS.WritableStream, chunk: string | Uint8Array): string | Uint8Array {
  if (typeof chunk !== 'string' || (stdout as { readonly isTTY?: boolean }).isTTY !== true) return chunk;
  return chunk.replaceAll(/[^\P{Cc}\n\t]+/gu, escapeControls);
}

/** The size of the terminal to which a stream writes; undefined if it is none. */
export function screenOf(stream: NodeJS.WritableStream): Screen | undefined {
  const { isTTY, columns = 80, rows = 24 } = stream as Partial<NodeJS.WriteStream>;
  return isTTY === true ? { columns, rows } : undefined;
}

const ACCESS = 0o3;
const READ_WRITE = 0o2;

/**
 * Whether the process was started with stdout closed. In this case, Node replaces stdout by the null device, opened for
 * reading and writing. By contrast, `> /dev/null` in a shell opens the null device only for writing. This difference
 * can be detected only on Linux.
 *
 * Some parent processes also open the null device for reading and writing (`stdio: 'ignore'` of Node, daemons), usually
 * for both stdout and stderr. So stdout does not count as closed if stderr is also the null device, opened for reading
 * and writing.
 */
export function isClosed(stdout: NodeJS.WritableStream): boolean {
  return stdout === process.stdout && isNullForBoth(1) && !isNullForBoth(2);
}

/** Whether a descriptor is the null device, opened for reading and writing. */
function isNullForBoth(descriptor: 1 | 2): boolean {
  try {
    const { rdev } = fstatSync(descriptor);
    if (rdev === 0 || rdev !== statSync('/dev/null').rdev) return false;
    const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8'))?.[1] ?? '0';
    return (Number.parseInt(flags, 8) & ACCESS) === READ_WRITE;
  } catch {
    return false;
  }
}

function stdoutClosed(): QuadrilleError {
  return new QuadrilleError('output/write-failed', 'stdout could not be written: it is closed.', {
    remedy:
      'Send it to a file, a pipe, or > /dev/null. If it already is /dev/null, open that for writing only: ' +
      "opened for reading and writing, as Python's subprocess.DEVNULL is, it looks closed.",
  });
}

function writeFailed(cause: Error): QuadrilleError {
  return new QuadrilleError('output/write-failed', `stdout could not be written: ${cause.message}.`, {
    remedy: 'Free some space, or write elsewhere.',
    cause,
  });
}
