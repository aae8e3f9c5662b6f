import { open } from 'node:fs/promises';
import { fileError } from '../formats/bytes/file-error.ts';
import { overMemory } from '../formats/memory.ts';
import { openMaq } from '../formats/results/maq-file.ts';
import { FormatError } from '../primitives/checks/errors.ts';
import type { OpenedTree } from './index-info.ts';

const HEAD_BYTES = 80;
const BLOCK_BYTES = 2 ** 26;

/**
 * Reads a tree from a file. Checks the first bytes of the file before reading all bytes, so that a file without a tree
 * is rejected early.
 *
 * @throws FormatError if the file cannot be read, or if `openMaq` rejects it; OutOfMemoryError `memory/limit` if the
 * tree needs more than `memoryBytes`.
 */
export async function openTreeFile(path: string, signal: AbortSignal, memoryBytes: number): Promise<OpenedTree> {
  const bytes = await readFile(path, signal, memoryBytes).catch((error: unknown) => {
    throw fileError(path, error);
  });
  return { file: openMaq(bytes, { file: path }), bytes: bytes.length };
}

/**
 * Memory that a tree needs, divided by the size of its file. The tree is held on the host and on the device, and parts
 * of the tree are repeated in the answers.
 */
const TREE_FACTOR = 3;

async function readFile(path: string, signal: AbortSignal, memoryBytes: number): Promise<Uint8Array> {
  await using handle = await open(path, 'r');
  const { size } = await handle.stat();
  const head = new Uint8Array(Math.min(size, HEAD_BYTES));
  refuseOthers(head.subarray(0, (await handle.read(head, 0, head.length, 0)).bytesRead), path);
  if (TREE_FACTOR * size > memoryBytes) {
    throw overMemory('The tree is too large to be read.', {
      needed: TREE_FACTOR * size,
      what: `a tree of ${size} bytes`,
      allowed: memoryBytes,
      instead: 'build it again with fewer levels or with --no-edges',
      place: { file: path },
    });
  }
  const bytes = new Uint8Array(size);
  let read = 0;
  while (read < size) {
    signal.throwIfAborted();
    const { bytesRead } = await handle.read(bytes, read, Math.min(BLOCK_BYTES, size - read), read);
    if (bytesRead === 0) break;
    read += bytesRead;
  }
  return bytes.subarray(0, read);
}

/**
 * Throws if the first bytes of a file are not those of a tree. `head` contains only these bytes, so the error
 * `maq/truncated` is ignored.
 */
function refuseOthers(head: Uint8Array, path: string): void {
  try {
    openMaq(head, { file: path });
  } catch (error) {
    if (!(error instanceof FormatError) || error.code !== 'maq/truncated') throw error;
  }
}
