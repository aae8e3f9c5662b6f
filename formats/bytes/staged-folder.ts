import { rmdirSync, rmSync } from 'node:fs';
import { mkdir, readdir, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { UsageError } from '../usage-error.ts';
import { unwritable, writeFailed } from './output-errors.ts';
import { sweepTemporaries, temporaryName } from './temporary-files.ts';

/** A folder of output files that appear together and complete, or not at all. */
export interface StagedFolder {
  /**
   * Writes a file with the given content.
   *
   * @throws QuadrilleError `output/write-failed` if the file system reports an error, such as a full disk.
   */
  write(name: string, content: string | Uint8Array): Promise<void>;
  /** Moves the files to their final names, in alphabetical order. */
  commit(): Promise<void>;
  /**
   * Removes all files that have not been committed, and the folder if this process created it. Has no effect after
   * `commit`.
   */
  discard(): Promise<void>;
  /** Same as `discard`, but synchronous, for a process that is about to exit. */
  discardNow(): void;
}

/**
 * Creates an output folder, or uses an existing empty folder. Files are collected in a hidden folder inside the output
 * folder until all files are complete. At the start, removes the hidden folders of processes that were killed on this
 * machine.
 *
 * @throws UsageError `output/unwritable` if the folder cannot be created, `output/not-empty` if it contains files.
 */
export async function stageFolder(path: string): Promise<StagedFolder> {
  const isNew = await makeFolder(path);
  const temporary = join(path, temporaryName());
  let isOver = false;
  try {
    await sweepTemporaries(path);
    if ((await readdir(path)).length > 0) throw notEmpty(path);
    await mkdir(temporary);
  } catch (cause) {
    if (isNew) await rmdir(path).catch(() => undefined);
    throw cause instanceof UsageError ? cause : unwritable(path, cause, NAME_ANOTHER);
  }
  return {
    async write(name, content) {
      await writeFile(join(temporary, name), content).catch((cause) => {
        throw writeFailed(join(path, name), cause);
      });
    },
    async commit() {
      const names = (await readdir(temporary)).sort();
      for (const name of names) {
        await rename(join(temporary, name), join(path, name)).catch((cause) => {
          throw writeFailed(join(path, name), cause);
        });
      }
      await rmdir(temporary);
      isOver = true;
    },
    async discard() {
      if (isOver) return;
      isOver = true;
      await rm(temporary, { recursive: true, force: true });
      if (isNew) await rmdir(path).catch(() => undefined);
    },
    discardNow() {
      if (isOver) return;
      isOver = true;
      rmSync(temporary, { recursive: true, force: true });
      try {
        if (isNew) rmdirSync(path);
      } catch {
        // Another process has put a file into the folder, so the folder stays.
      }
    },
  };
}

const NAME_ANOTHER = 'Name an empty folder, or a new one in an existing folder that you may write to.';

/** Creates a folder, unless it exists. Returns whether it was created. */
async function makeFolder(path: string): Promise<boolean> {
  try {
    await mkdir(path);
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw unwritable(path, cause, NAME_ANOTHER);
  }
}

function notEmpty(path: string): UsageError {
  return new UsageError(
    'output/not-empty',
    `The folder ${path} has files in it, which would mix with those of this run.`,
    {
      remedy: 'Name an empty folder or a new one, or remove the files.',
    },
  );
}
