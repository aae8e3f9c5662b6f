import { createHash } from 'node:crypto';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { fileError } from '../formats/bytes/file-error.ts';
import { UsageError } from '../formats/usage-error.ts';
import { UnfitWorkerError } from '../graph/index.ts';
import { FormatError } from '../primitives/checks/errors.ts';
import { aRecord, aText, aWhole, type Kind } from '../primitives/checks/kinds.ts';

/** By what a file is known again, in another process or later. */
export interface FileFacts {
  /** The absolute path. */
  readonly path: string;
  readonly bytes: number;
  /** Time of the last change, in whole milliseconds since 1970. */
  readonly modified: number;
  /** SHA-256 of the first and the last {@link ENDS} bytes. */
  readonly hash: string;
}

export const someFileFacts: Kind = aRecord<FileFacts>({
  path: aText,
  bytes: aWhole(0, Number.MAX_SAFE_INTEGER),
  modified: aWhole(0, Number.MAX_SAFE_INTEGER),
  hash: aText,
});

const ENDS = 65536;

/**
 * The facts of a file. Cost: reading two pieces of it, however large it is.
 *
 * @throws UsageError `zonal/no-file` for what is no regular file, which no other process could read again; FormatError
 * for a file that is missing or cannot be read.
 */
export async function factsOfFile(path: string): Promise<FileFacts> {
  const absolute = resolve(path);
  const found = await stat(absolute).catch((cause: unknown) => {
    throw fileError(path, cause);
  });
  if (!found.isFile()) {
    throw new UsageError('zonal/no-file', `${path} is no regular file, so workers of a queue cannot read it.`, {
      remedy: 'Write the data to a file that all workers see.',
    });
  }
  const handle = await open(absolute);
  try {
    return { path: absolute, ...(await hashOfEnds(handle, found.size)), modified: Math.floor(found.mtimeMs) };
  } catch (cause) {
    throw fileError(path, cause);
  } finally {
    await handle.close();
  }
}

async function hashOfEnds(handle: FileHandle, bytes: number): Promise<Pick<FileFacts, 'bytes' | 'hash'>> {
  const hash = createHash('sha256');
  const length = Math.min(bytes, ENDS);
  for (const position of [0, bytes - length]) {
    const piece = Buffer.alloc(length);
    const { bytesRead } = await handle.read(piece, 0, length, position);
    hash.update(piece.subarray(0, bytesRead));
  }
  return { bytes, hash: hash.digest('hex') };
}

/** In which fact two files differ; undefined if they are the same. */
export function differenceOf(expected: FileFacts, got: FileFacts): Difference | undefined {
  if (got.bytes !== expected.bytes) return { expected: `${expected.bytes} bytes`, got: `${got.bytes} bytes` };
  if (got.modified !== expected.modified) {
    const [changed, other] = [expected, got].map(({ modified }) => new Date(modified).toISOString());
    return { expected: `a file that was last changed at ${changed}`, got: `${other}` };
  }
  return got.hash === expected.hash ? undefined : { expected: 'the same first and last bytes', got: 'others' };
}

interface Difference {
  readonly expected: string;
  readonly got: string;
}

/** The facts of a raster's file, and of the file with its mask, if there is one beside it. */
export async function factsOfRaster(path: string): Promise<readonly FileFacts[]> {
  const isFile = (name: string): Promise<boolean> =>
    stat(name).then(
      (found) => found.isFile(),
      () => false,
    );
  const files = [path];
  for (const beside of [`${path}.msk`, `${path}.ovr`]) if (await isFile(beside)) files.push(beside);
  return Promise.all(files.map(factsOfFile));
}

/**
 * Throws unless the files that a worker finds are those that the parent has.
 *
 * @throws UnfitWorkerError for a FormatError `zonal/other-file`, also if there is no file.
 */
export async function requireSameFiles(
  expected: readonly FileFacts[],
  find: () => Promise<readonly FileFacts[]>,
): Promise<void> {
  const got = await find().catch((error: unknown): readonly FileFacts[] => {
    if (error instanceof FormatError && error.code === 'format/missing-file') return [];
    throw error;
  });
  for (const [at, facts] of expected.entries()) {
    const found = got[at];
    const difference = found === undefined ? { expected: 'a file', got: 'none' } : differenceOf(facts, found);
    if (difference !== undefined) throw otherFile(facts.path, difference);
  }
  const further = got[expected.length];
  if (further !== undefined) throw otherFile(further.path, { expected: 'no file', got: 'a file' });
}

export function otherFile(path: string, difference: Difference): UnfitWorkerError {
  return new UnfitWorkerError(
    new FormatError('zonal/other-file', 'A worker sees another file under this path than the parent.', {
      ...difference,
      remedy: 'Mount the same folder under the same path on all machines, and change no input while a run is on.',
      place: { file: path },
    }),
  );
}
