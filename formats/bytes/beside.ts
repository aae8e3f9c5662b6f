import type { BlobLike } from '../../primitives/host/platform-types.ts';
import type { ByteSource } from '../rasters/tiff/byte-source.ts';
import { blobBytes, blobNamed, nameOfBlob } from './blob-bytes.ts';

/** The files beside a file. */
export interface Beside {
  /** Where the file is, as messages say it. */
  readonly path: string;
  /** The path or address, by which the file is told from all others. Undefined for a blob. */
  readonly only?: string;
  /**
   * Opens another file, by its path. Undefined if there is no such file.
   *
   * @throws FormatError if it cannot be read.
   */
  open(path: string): Promise<ByteSource | undefined>;
}

/** Opens a file on disk. */
export type OpenFile = (path: string) => Promise<ByteSource>;

/** The files in the folder of a file. */
export function besideFile(path: string, openFile: OpenFile): Beside {
  return {
    path,
    only: path,
    open: (other) =>
      openFile(other).catch((error) => {
        if (error.code === 'format/missing-file') return undefined;
        throw error;
      }),
  };
}

/** The files beside an input: those in the folder of a path, or those that were given with a blob. */
export function besideOf(
  input: string | Uint8Array | BlobLike,
  openFile: OpenFile | undefined,
  given: readonly BlobLike[] = [],
): Beside | undefined {
  if (typeof input === 'string') return openFile && besideFile(input, openFile);
  if (input instanceof Uint8Array) return undefined;
  return {
    path: nameOfBlob(input),
    async open(name) {
      const blob = blobNamed(given, name);
      return blob && blobBytes(blob);
    },
  };
}
