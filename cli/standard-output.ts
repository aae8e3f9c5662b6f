import { fstatSync, readFileSync, statSync } from 'node:fs';
import type { FileChunks } from '../formats/text-chunks.ts';
import { QuadrilleError } from '../primitives/errors.ts';

/**
 * Writes text or bytes to stdout, as fast as its reader takes it. A reader that goes away (`quadrille … | head`) has had what it
 * wanted: the rest is not written, and that is no failure.
 *
 * @throws QuadrilleError `output/write-failed` where stdout is closed (`>&-`) or refuses for another reason; the signal's
 * reason when it is aborted.
 */
export async function writeToStdout(
  stdout: NodeJS.WritableStream,
  chunks: FileChunks,
  signal: AbortSignal,
): Promise<'written' | 'reader-gone'> {
  if (isClosed(stdout)) throw stdoutClosed();
  // A failed write reports to its callback, and as an event that would end the process if nobody listened.
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

function writeChunk(
  stdout: NodeJS.WritableStream,
  chunk: string | Uint8Array,
  signal: AbortSignal,
): Promise<'written' | 'reader-gone'> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    stdout.write(chunk, (error: NodeJS.ErrnoException | null | undefined) => {
      signal.removeEventListener('abort', stop);
      if (error == null) resolve('written');
      else if (error.code === 'EPIPE') resolve('reader-gone');
      else reject(writeFailed(error));
    });
  });
}

const ACCESS = 0o3;
const READ_WRITE = 0o2;

/**
 * Whether the process was started with stdout closed. Node opens the null device in its place, for reading and writing; a
 * shell's `> /dev/null` is for writing alone. Known on Linux only.
 *
 * Programs that start others open the null device for reading and writing too (`stdio: 'ignore'` of Node, daemons). Where stderr
 * is the same, nobody wants to hear anything, and stdout is not taken for closed.
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
      'Give it somewhere to go: a file, a pipe, or > /dev/null where nobody wants it. ' +
      '(/dev/null opened for reading and writing, as DEVNULL of Python is, looks like a closed stdout: open it for writing.)',
  });
}

function writeFailed(cause: Error): QuadrilleError {
  return new QuadrilleError('output/write-failed', `stdout could not be written: ${cause.message}.`, {
    remedy: 'Free some space, or write elsewhere.',
    cause,
  });
}
