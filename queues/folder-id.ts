import { randomUUID } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GraphError } from '../primitives/checks/errors.ts';
import { messageOf } from '../primitives/checks/message-of.ts';

/** Holds a random id, by which processes find out whether they see the same folder. */
const ID_FILE = '.quadrille-queue';

/**
 * Returns the id of a folder for files between processes, which must be there. The first process makes the id. Writes and
 * removes a file, so that a folder that cannot be written to is found at once.
 *
 * @throws `GraphError` `graph/remote-folder`.
 */
export async function folderId(folder: string): Promise<string> {
  const file = join(folder, ID_FILE);
  const probe = join(folder, `.${randomUUID()}`);
  try {
    await writeFile(probe, '', { flag: 'wx' });
    await rm(probe);
    // A file that is complete before it has its name would need a link. The id is short, and is written at once.
    await writeFile(file, randomUUID(), { flag: 'wx' }).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    });
    return await readId(file);
  } catch (cause) {
    throw new GraphError('graph/remote-folder', `The folder ${folder} cannot be used for a queue.`, {
      expected: 'a folder that all processes see and may write to',
      got: messageOf(cause),
      cause,
    });
  }
}

/** Reads the id. Another process may just be writing it. */
async function readId(file: string): Promise<string> {
  for (let attempt = 0; attempt < 50; attempt++) {
    const id = await readFile(file, 'utf8');
    if (/^[0-9a-f-]{36}$/.test(id)) return id;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`The file ${file} does not hold an id.`);
}
