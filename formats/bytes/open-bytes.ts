import { fileURLToPath } from 'node:url';
import type { ByteSource } from '../rasters/tiff/byte-source.ts';
import { openFileBytes } from './file-bytes.ts';
import { isWebAddress } from './file-error.ts';

/** How the bytes of an address are read. Files need none of it. */
export interface FromAfar {
  readonly downloadBytes?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The path or the address that a URL stands for. */
export function nameOfUrl(url: URL): string {
  return url.protocol === 'file:' ? fileURLToPath(url) : url.href;
}

/** Opens a file, or a file of the web by its address, for reading at any position. */
export async function openBytes(name: string, { downloadBytes, signal }: FromAfar = {}): Promise<ByteSource> {
  if (!isWebAddress(name)) return openFileBytes(name);
  const { openAddressBytes } = await import('./addresses/address-bytes.ts');
  return openAddressBytes(name, { maxBytes: downloadBytes, signal });
}
