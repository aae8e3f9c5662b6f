import { FormatError } from '../../primitives/checks/errors.ts';
import type { BlobLike } from '../../primitives/host/platform-types.ts';
import { type ByteSource, bytesInMemory } from '../rasters/tiff/byte-source.ts';
import type { OpenFile } from './beside.ts';
import { blobBytes } from './blob-bytes.ts';
import { isWebAddress } from './file-error.ts';

/** How the bytes of an address are read. Files need none of it. */
export interface FromAfar {
  readonly downloadBytes?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Opens a file, or a file of the web by its address, for reading at any position.
 *
 * @param openFile - Opens files by their paths; undefined on pages, which have none.
 */
export async function openBytes(
  name: string,
  openFile: OpenFile | undefined,
  { downloadBytes, signal }: FromAfar = {},
): Promise<ByteSource> {
  if (isWebAddress(name)) {
    const { openAddressBytes } = await import('./addresses/address-bytes.ts');
    return openAddressBytes(name, { maxBytes: downloadBytes, signal });
  }
  return openFile === undefined ? noPaths(name) : openFile(name);
}

/** Opens a file by its path or address, bytes in memory, or a blob. */
export async function openInput(
  input: string | Uint8Array | BlobLike,
  openFile: OpenFile | undefined,
  options: FromAfar,
): Promise<ByteSource> {
  if (typeof input === 'string') return openBytes(input, openFile, options);
  return input instanceof Uint8Array ? bytesInMemory(input) : blobBytes(input);
}

/** Throws the error of a path on a page. */
export function noPaths(file: string): never {
  throw new FormatError('format/needs-node', 'A page cannot open files by their paths.', {
    expected: 'a File or a Blob',
    got: 'a path',
    remedy: 'Let the user choose or drop the file, or name an address that begins with https://.',
    place: { file },
  });
}
