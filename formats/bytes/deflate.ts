import { promisify } from 'node:util';
import { deflate } from 'node:zlib';

/** Compresses bytes on a thread of Node's pool. */
export const deflateBytes: (bytes: Uint8Array, options: { level: number }) => Promise<Buffer> = promisify<
  Uint8Array,
  { level: number },
  Buffer
>(deflate);
