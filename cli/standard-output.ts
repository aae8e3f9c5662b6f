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
 */
export function isClosed(stdout: NodeJS.WritableStream): boolean {
  if (stdout !== process.stdout) return false;
  try {
    const { rdev } = fstatSync(1);
    if (rdev === 0 || rdev !== statSync('/dev/null').rdev) return false;
    const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync('/proc/self/fdinfo/1', 'utf8'))?.[1] ?? '0';
    return (Number.parseInt(flags, 8) & ACCESS) === READ_WRITE;
  } catch {
    return false;
  }
}

function stdoutClosed(): QuadrilleError {
  return new QuadrilleError('output/write-failed', 'stdout could not be written: it is closed.', {
    remedy: 'Give it somewhere to go: a file, a pipe, or > /dev/null where nobody wants it.',
  });
}

function writeFailed(cause: Error): QuadrilleError {
  return new QuadrilleError('output/write-failed', `stdout could not be written: ${cause.message}.`, {
    remedy: 'Free some space, or write elsewhere.',
    cause,
  });
}
