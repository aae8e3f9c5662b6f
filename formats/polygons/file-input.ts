import { type FileHandle, open, readdir, stat } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { FormatError } from '../../primitives/checks/errors.ts';
import type { AbortSignal } from '../../primitives/host/platform-types.ts';
import { fileError } from '../bytes/file-error.ts';
import { unpacked } from '../bytes/gzip.ts';
import { readBounded } from '../bytes/read-bounded.ts';
import { bytesInput, type LayerInput, storedInput } from './layer-input.ts';
import { nodeLayers } from './node-layers.ts';

/** Opens a regular file. A gzipped file is decompressed while it is read. */
export async function fileInput(file: string, memoryBytes?: number): Promise<LayerInput> {
  return storedInput(
    {
      ...{ file, path: file, size: await sizeOf(file) },
      read: (offset, length) => readPart(file, offset, length),
      blocks: (length, signal, from) => blocksOf(file, length, signal, from),
      beside: (ending) => fileBeside(file, ending, memoryBytes),
    },
    nodeLayers,
    memoryBytes,
  );
}

/** Opens a file. One that can be read only once, such as a pipe, is held in memory. */
export async function anyInput(file: string, memoryBytes?: number): Promise<LayerInput> {
  const found = await stat(file).catch(() => undefined);
  if (found === undefined || found.isFile() || found.isDirectory()) return fileInput(file, memoryBytes);
  return bytesInput(await readPiped(file, memoryBytes), file, memoryBytes);
}

/** The bytes of a pipe, unpacked if they are gzipped. */
async function readPiped(file: string, max: number = Number.POSITIVE_INFINITY): Promise<Uint8Array> {
  try {
    return await unpacked(await readBounded(file, max), file, max);
  } catch (error) {
    throw fileError(file, error);
  }
}

async function readPart(file: string, offset: number, length: number): Promise<Uint8Array> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file, 'r');
    const { buffer, bytesRead } = await handle.read(new Uint8Array(length), 0, length, offset);
    return buffer.subarray(0, bytesRead);
  } catch (error) {
    throw fileError(file, error);
  } finally {
    await handle?.close();
  }
}

async function sizeOf(file: string): Promise<number> {
  const found = await stat(file).catch((error: unknown) => {
    throw fileError(file, error);
  });
  if (found.isFile()) return found.size;
  const [sentence, remedy] = found.isDirectory()
    ? ['This is a directory.', 'Name a file inside it.']
    : ['This is no regular file, so it cannot be read twice.', 'Name a file on disk.'];
  throw new FormatError('format/not-a-file', sentence, { place: { file }, remedy });
}

async function* blocksOf(
  file: string,
  length: number,
  signal?: AbortSignal,
  from = 0,
): AsyncGenerator<Uint8Array, void, undefined> {
  let handle: FileHandle | undefined;
  try {
    signal?.throwIfAborted();
    handle = await open(file, 'r');
    let [block, other] = [new Uint8Array(length), new Uint8Array(length)];
    let reading = readInto(handle, block, from);
    let next = from;
    for (;;) {
      const { bytesRead } = await reading;
      signal?.throwIfAborted();
      if (bytesRead === 0) return;
      // Start to read the next block, while the consumer processes this one.
      next += bytesRead;
      reading = readInto(handle, other, next);
      yield block.subarray(0, bytesRead);
      [block, other] = [other, block];
    }
  } catch (error) {
    throw fileError(file, error);
  } finally {
    await handle?.close();
  }
}

function readInto(handle: FileHandle, block: Uint8Array, from: number): Promise<{ bytesRead: number }> {
  const reading = handle.read(block, 0, block.length, from);
  // `blocksOf` awaits `reading` and handles its error. If the consumer stops early, nothing awaits `reading`, and this
  // handler prevents an unhandled rejection.
  reading.catch(() => {});
  return reading;
}

/**
 * Finds a companion file by its extension. If no file has exactly the wanted name, lower and upper case are not
 * distinguished, as on some file systems.
 */
async function fileBeside(file: string, ending: string, memoryBytes?: number): Promise<LayerInput | undefined> {
  const wanted = basename(file, extname(file)) + ending;
  const names = await readdir(dirname(file));
  const name = names.includes(wanted) ? wanted : names.find((other) => other.toLowerCase() === wanted.toLowerCase());
  return name === undefined ? undefined : fileInput(join(dirname(file), name), memoryBytes);
}
