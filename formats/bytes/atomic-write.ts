import { rmSync } from 'node:fs';
import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { anArrayOf, aText } from '../../primitives/checks/kinds.ts';
import type { FileChunks } from '../text/text-chunks.ts';
import { UsageError } from '../usage-error.ts';
import { unwritable, writeFailed } from './output-errors.ts';
import { sweepTemporaries, temporaryName } from './temporary-files.ts';

/**
 * Output files that appear together and complete, or not at all.
 *
 * `stageOutputs` opens a hidden temporary file next to each target. So an unwritable target is reported before any work
 * is done, and the final rename stays within one file system. A target that exists but is not a regular file
 * (`/dev/null`, a named pipe) is written in place, because it has no content that a rename could protect. A path that
 * names an open descriptor (`/dev/stdout`) is opened for appending, because the shell may write to the same file.
 *
 * `stageOutputs` also removes temporary files that killed processes of this machine left in the targets' folders.
 */
export interface StagedOutputs {
  /**
   * Appends bytes, or text as UTF-8, to a staged path.
   *
   * @throws QuadrilleError `output/write-failed` if the file system reports an error, such as a full disk; the reason
   * of `signal` if it is aborted.
   */
  write(path: string, chunks: FileChunks, signal?: AbortSignal): Promise<void>;
  /** Flushes all temporary files to disk, then renames each temporary file to its target. */
  commit(): Promise<void>;
  /** Removes all temporary files that have not been renamed. Has no effect after `commit` or a previous `discard`. */
  discard(): Promise<void>;
  /** Removes the same files as `discard`, but synchronously, for a process that is about to exit. */
  discardNow(): void;
}

/**
 * Opens a temporary file next to every path.
 *
 * @throws UsageError `output/unwritable` if the folder of a path is missing or read-only, or if the path is a folder or
 * a read-only file; `output/same-file` if two paths lead to one file. No temporary file remains in these cases.
 * @example
 * const path = join(await mkdtemp(join(tmpdir(), 'example-')), 'counts.csv');
 * const outputs = await stageOutputs([path]);
 * try {
 *   await outputs.write(path, ['zone,count\n', '7,1\n']);
 *   await outputs.commit();
 * } finally {
 *   await outputs.discard();
 * }
 * await readFile(path, 'utf8'); // 'zone,count\n7,1\n'
 */
export async function stageOutputs(paths: readonly string[]): Promise<StagedOutputs> {
  requireArguments('stageOutputs', { paths }, { paths: anArrayOf(aText) });
  const staged = new Map<string, StagedFile>();
  try {
    for (const path of paths) {
      const file = await stageFile(path);
      const twin = [...staged.values()].find((other) => other.target === file.target);
      if (twin !== undefined) {
        await discardAll([file]);
        throw sameFile(twin.path, path);
      }
      staged.set(path, file);
    }
  } catch (error) {
    await discardAll(staged.values());
    throw error;
  }
  return {
    write: (path, chunks, signal) => writeChunks(staged.get(path)!, chunks, signal),
    commit: () => commitAll(staged.values()),
    discard: () => discardAll(staged.values()),
    discardNow: () => discardAllNow(staged.values()),
  };
}

/**
 * The real path of a file, with all symbolic links resolved. The file need not exist, but its folder must exist. Two
 * paths lead to the same file if `resolveTarget` returns the same path for both.
 */
export async function resolveTarget(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return join(await realpath(dirname(path)), basename(path));
  }
}

/** Paths that name open file descriptors of this process. */
const DESCRIPTOR = /^\/(dev\/(stdout|stderr|fd\/\d+)|proc\/self\/fd\/\d+)$/;

interface StagedFile extends OpenedOutput {
  readonly path: string;
  open: boolean;
  committed: boolean;
}

/** An open file for what shall appear at a path when it is complete. */
export interface OpenedOutput {
  /** The real path, to which the temporary file is to be renamed. */
  readonly target: string;
  /** Path of the temporary file; undefined if the target is no regular file, and is written in place. */
  readonly temporary: string | undefined;
  readonly handle: FileHandle;
}

/** Opens a temporary file beside a path, or the path itself if there is something that is no regular file. */
export async function openOutput(path: string): Promise<OpenedOutput> {
  const target = await resolveTarget(path);
  const existing = await stat(target).catch(() => undefined);
  const isDescriptor = DESCRIPTOR.test(path);
  const inPlace = isDescriptor || (existing !== undefined && !existing.isFile());
  // Opening an existing file for appending leaves its content unchanged, but fails if the user may not write to the
  // file.
  if (existing?.isFile()) await (await open(target, 'a')).close();
  const temporary = inPlace ? undefined : join(dirname(target), temporaryName());
  const handle = await open(
    temporary ?? target,
    isDescriptor ? 'a' : temporary === undefined ? 'w' : 'wx',
    existing?.mode,
  );
  if (temporary !== undefined) await sweepTemporaries(dirname(target));
  return { target, temporary, handle };
}

async function stageFile(path: string): Promise<StagedFile> {
  try {
    return { path, ...(await openOutput(path)), open: true, committed: false };
  } catch (cause) {
    throw unwritable(path, cause, 'Name a file in an existing folder that you may write to.');
  }
}

function sameFile(first: string, second: string): UsageError {
  return new UsageError('output/same-file', `Two outputs lead to the same file, ${first} and ${second}.`, {
    remedy: 'Give each output a file of its own.',
  });
}

async function writeChunks(file: StagedFile, chunks: FileChunks, signal: AbortSignal | undefined): Promise<void> {
  for await (const chunk of chunks) {
    signal?.throwIfAborted();
    await file.handle.appendFile(chunk).catch((cause) => {
      throw writeFailed(file.path, cause);
    });
  }
}

async function commitAll(files: Iterable<StagedFile>): Promise<void> {
  const pending = [...files].filter((file) => !file.committed);
  for (const file of pending) await flush(file);
  for (const file of pending) {
    try {
      if (file.temporary !== undefined) await rename(file.temporary, file.target);
      file.committed = true;
    } catch (cause) {
      throw writeFailed(file.path, cause);
    }
  }
}

async function flush(file: StagedFile): Promise<void> {
  try {
    if (file.temporary !== undefined) await file.handle.sync();
    await close(file);
  } catch (cause) {
    throw writeFailed(file.path, cause);
  }
}

async function close(file: StagedFile): Promise<void> {
  if (!file.open) return;
  file.open = false;
  await file.handle.close();
}

async function discardAll(files: Iterable<StagedFile>): Promise<void> {
  for (const file of files) {
    // Closing a discarded file may fail, because a full disk may be reported only now. This error is irrelevant.
    await close(file).catch(() => undefined);
    if (!file.committed && file.temporary !== undefined) await rm(file.temporary, { force: true });
  }
}

function discardAllNow(files: Iterable<StagedFile>): void {
  for (const file of files) {
    if (!file.committed && file.temporary !== undefined) rmSync(file.temporary, { force: true });
  }
}
