import { open } from 'node:fs/promises';
import { fileError } from '../formats/file-error.ts';
import { openMaq } from '../formats/maq-file.ts';
import { FormatError } from '../primitives/errors.ts';
import type { OpenedTree } from './index-info.ts';

const HEAD_BYTES = 80;
const BLOCK_BYTES = 2 ** 26;

/**
 * Reads a tree; a file that is none is refused by its first bytes, before the rest is read.
 *
 * @throws FormatError where there is no such file, and as `openMaq` does.
 */
export async function openTreeFile(path: string, signal: AbortSignal): Promise<OpenedTree> {
  const bytes = await readFile(path, signal).catch((error: unknown) => {
    throw fileError(path, error);
  });
  return { file: openMaq(bytes, { file: path }), bytes: bytes.length };
}

async function readFile(path: string, signal: AbortSignal): Promise<Uint8Array> {
  await using handle = await open(path, 'r');
  const { size } = await handle.stat();
  const bytes = new Uint8Array(size);
  let read = 0;
  while (read < size) {
    signal.throwIfAborted();
    const wanted = read === 0 ? HEAD_BYTES : BLOCK_BYTES;
    const { bytesRead } = await handle.read(bytes, read, Math.min(wanted, size - read), read);
    if (bytesRead === 0) break;
    if (read === 0) refuseOthers(bytes.subarray(0, bytesRead), path);
    read += bytesRead;
  }
  return bytes.subarray(0, read);
}

/** A head alone is too short for a tree; whatever else is wrong with it is wrong with the file. */
function refuseOthers(head: Uint8Array, path: string): void {
  try {
    openMaq(head, { file: path });
  } catch (error) {
    if (!(error instanceof FormatError) || error.code !== 'maq/truncated') throw error;
  }
}
