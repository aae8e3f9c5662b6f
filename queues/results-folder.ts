import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isRemoteId } from '../graph/remote/remote-options.ts';
import { GraphError } from '../primitives/checks/errors.ts';

/** Payloads of up to this many bytes travel in Redis. Larger ones are files in the folder of the run. */
const MAX_INLINE = 65536;

/** The code of the error for a full disk. */
export const NO_ROOM = 'graph/remote-disk';

/** Where the bytes of a payload are: here as Base64, or in a file that is named by their hash. */
export type Parcel =
  | { readonly inline: string }
  | { readonly file: string; readonly hash: string; readonly length: number };

/**
 * Makes the folder for the files of a run, if it is not there. Only the parent does, so a late worker cannot bring it
 * back.
 */
export async function makeRunFolder(folder: string, run: string): Promise<string> {
  const path = join(folder, run);
  try {
    await mkdir(path).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    });
    return path;
  } catch (cause) {
    throw new GraphError('graph/remote-folder', `No files can be made in the folder ${folder}.`, {
      remedy: 'Name an existing folder that all processes see and may write to.',
      cause,
    });
  }
}

/** Removes the folder of a run with all of its files. */
export async function removeRunFolder(path: string): Promise<void> {
  // A worker may just be writing a file. Then the folder is not empty, and is tried again.
  await rm(path, { recursive: true, force: true, maxRetries: 5 });
}

/** What the system says if a disk, a quota, or what a process may write is full. */
const FULL: readonly string[] = ['ENOSPC', 'EDQUOT', 'EFBIG'];

/**
 * Stores bytes: small ones in the parcel itself, others in a file of the run's folder, whose name begins with `name` and
 * ends with the hash of the bytes. The file appears complete or not at all, and is on disk before its parcel is known.
 * Two writers of the same bytes under the same name make the same file.
 *
 * @throws `GraphError` `graph/remote-disk` if the disk is full, `graph/remote-write` if the file cannot be written for
 * another reason.
 */
export async function pack(bytes: Uint8Array, runFolder: string, name: string): Promise<Parcel> {
  if (bytes.length <= MAX_INLINE) return { inline: Buffer.from(bytes).toString('base64') };
  const hash = hashOf(bytes);
  const file = `${name}.${hash}`;
  const path = join(runFolder, file);
  const temporary = `${path}.${randomUUID()}.tmp`;
  try {
    const handle = await open(temporary, 'wx');
    try {
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, path);
  } catch (cause) {
    await rm(temporary, { force: true }).catch(() => undefined);
    const details = { place: { file: path }, cause };
    if (FULL.includes((cause as NodeJS.ErrnoException).code ?? '')) {
      const remedy = 'Make room in the folder of the queue.';
      throw new GraphError(NO_ROOM, 'There is no room for a payload between processes.', { remedy, ...details });
    }
    throw new GraphError('graph/remote-write', 'A payload between processes cannot be written.', {
      remedy: 'Check that all processes see the folder of the queue and may write to it.',
      ...details,
    });
  }
  return { file, hash, length: bytes.length };
}

/**
 * Returns the bytes of a parcel, which comes from another process and is checked.
 *
 * @throws `GraphError` `graph/remote-parcel` for what is no parcel, `graph/remote-file` for a file that is missing or
 * does not have the bytes that were written.
 */
export async function unpack(parcel: unknown, runFolder: string): Promise<Uint8Array> {
  if (!isParcel(parcel)) {
    throw new GraphError('graph/remote-parcel', 'A message between processes is damaged.', {
      remedy: 'Run the same version of the package in all processes.',
    });
  }
  if ('inline' in parcel) return Uint8Array.from(Buffer.from(parcel.inline, 'base64'));
  const path = join(runFolder, parcel.file);
  const bytes = await readFile(path).catch((cause: unknown) => {
    throw damaged(path, { cause });
  });
  if (bytes.length !== parcel.length)
    throw damaged(path, { expected: `${parcel.length} bytes`, got: `${bytes.length} bytes` });
  if (hashOf(bytes) !== parcel.hash) throw damaged(path, { expected: 'the bytes that were written', got: 'others' });
  return bytes;
}

/** Removes the file of a parcel, if it has one. */
export async function discardParcel(parcel: Parcel, runFolder: string): Promise<void> {
  if ('file' in parcel) await rm(join(runFolder, parcel.file), { force: true });
}

function damaged(path: string, details: object): GraphError {
  return new GraphError('graph/remote-file', 'A file between processes is missing or damaged.', {
    ...details,
    remedy: 'Check that all processes see the same folder.',
    place: { file: path },
  });
}

function isParcel(value: unknown): value is Parcel {
  if (typeof value !== 'object' || value === null) return false;
  const { inline, file, hash, length } = value as Readonly<Record<string, unknown>>;
  if (inline !== undefined) return typeof inline === 'string' && inline.length <= 4 * Math.ceil(MAX_INLINE / 3);
  return (
    typeof hash === 'string' &&
    /^[0-9a-f]{64}$/.test(hash) &&
    isRemoteId(file) &&
    file.endsWith(`.${hash}`) &&
    Number.isSafeInteger(length)
  );
}

const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
