import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { fileError } from '../bytes/file-error.ts';
import { overMemory } from '../memory.ts';
import { gunzipPrefix } from './gunzip.ts';
import {
  labelTypeOf,
  NIFTI_HEADER_BYTES,
  type NiftiHeader,
  niftiLabels,
  readNiftiHeader,
  sliceBytes,
} from './nifti.ts';
import { readExactly, truncatedFile } from './read-exactly.ts';
import type { TileParameters, TileSource } from './result-set.ts';

/**
 * Lists the slices of a NIfTI volume as tiles; only the header is read. `load()` reads one slice of an uncompressed
 * volume. If the volume is gzipped, the first `load()` decompresses the whole volume, and its memory is released once
 * all its slices have been loaded.
 *
 * @throws FormatError if the header is damaged or the file is too short for its voxels.
 */
export async function openNifti(file: string, prefix: string, parameters: TileParameters): Promise<TileSource[]> {
  const packed = await isGzip(file);
  const header = readNiftiHeader(packed ? await unpack(file, 0, NIFTI_HEADER_BYTES) : await headOf(file), file);
  await checkLength(header, file, packed, parameters.memoryBytes);
  const load = packed ? packedSlices(header, file) : (slice: number) => readSlice(header, file, slice);
  return Array.from({ length: header.slices }, (_, slice) => {
    const name = `slice-${String(slice).padStart(SLICE_DIGITS, '0')}`;
    return sliceTile(header, `${prefix}${name}`, `${file} (${name})`, parameters, () => load(slice));
  });
}

/**
 * Number of digits in the name of a slice. The number is fixed, so that slices of two volumes can be paired by name
 * even if the volumes have different numbers of slices.
 */
const SLICE_DIGITS = 6;

function sliceTile(
  header: NiftiHeader,
  name: string,
  place: string,
  parameters: TileParameters,
  read: () => Promise<Uint8Array>,
): TileSource {
  const { width, height, grid } = header;
  const labels = { width, height, type: labelTypeOf(header), ...(grid !== undefined && { grid }) };
  const load = async (signal?: AbortSignal): Promise<Uint8Array> => {
    signal?.throwIfAborted();
    const slice = await read();
    signal?.throwIfAborted();
    return niftiLabels(header, slice, place);
  };
  return { name, place, format: 'nifti', load, parameters: { ...parameters, place, labels } };
}

async function withFile<T>(file: string, use: (handle: FileHandle) => Promise<T>): Promise<T> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file, 'r');
    return await use(handle);
  } catch (error) {
    throw fileError(file, error);
  } finally {
    await handle?.close();
  }
}

/** Maximum compression ratio of deflate. A gzipped file cannot contain more bytes than its size times this ratio. */
const BEST_RATIO = 1032;
/** Maximum bytes of a gzipped volume after decompression, because a typed array cannot be longer. */
const MAX_UNPACKED = 2 ** 33;

/** Throws if the file is too short for its voxels, or if the voxels do not fit in memory. Reads no voxels. */
async function checkLength(
  header: NiftiHeader,
  file: string,
  packed: boolean,
  memoryBytes: number = Number.POSITIVE_INFINITY,
): Promise<void> {
  const length = volumeBytes(header);
  const size = await withFile(file, async (handle) => (await handle.stat()).size);
  if (length > (packed ? size * BEST_RATIO : size)) throw truncatedFile(file, length, size);
  const { width, height, slices } = header;
  const slice = SLICE_FACTOR * sliceBytes(header);
  const unpacked = packed ? UNPACK_FACTOR * length : 0;
  const allowed = packed ? Math.min(memoryBytes, MAX_UNPACKED) : memoryBytes;
  if (slice + unpacked <= allowed) return;
  throw overMemory(`The ${packed ? 'gzipped volume' : 'slices of the volume'} cannot be held in memory.`, {
    needed: slice + unpacked,
    what: `${packed ? `${width} × ${height} × ${slices}` : `slices of ${width} × ${height}`} voxels`,
    allowed,
    instead: packed ? 'unpack the file, as slices of a plain volume are read one at a time' : undefined,
    place: { file },
  });
}

/** A slice is in memory twice: as bytes of the file, and as labels. */
const SLICE_FACTOR = 2;
/** A decompressed volume is in memory twice: as blocks, and concatenated. */
const UNPACK_FACTOR = 2;

function volumeBytes(header: NiftiHeader): number {
  return header.offset + header.slices * sliceBytes(header);
}

async function isGzip(file: string): Promise<boolean> {
  const [first, second] = await headOf(file);
  return first === 0x1f && second === 0x8b;
}

function headOf(file: string): Promise<Uint8Array> {
  return withFile(file, async (handle) => {
    const bytes = new Uint8Array(NIFTI_HEADER_BYTES);
    const { bytesRead } = await handle.read(bytes, 0, bytes.length, 0);
    return bytes.subarray(0, bytesRead);
  });
}

function readSlice(header: NiftiHeader, file: string, slice: number): Promise<Uint8Array> {
  return withFile(file, async (handle) => {
    const bytes = new Uint8Array(sliceBytes(header));
    await readExactly(handle, bytes, header.offset + slice * bytes.length, file);
    return bytes;
  });
}

async function unpack(file: string, min: number, max: number): Promise<Uint8Array> {
  try {
    return await gunzipPrefix(createReadStream(file), min, max, file);
  } catch (error) {
    throw fileError(file, error);
  }
}

/**
 * Returns a function that reads slices of a gzipped volume. The first call of this function decompresses the whole
 * volume. The decompressed volume is released after as many calls as there are slices.
 */
function packedSlices(header: NiftiHeader, file: string): (slice: number) => Promise<Uint8Array> {
  const size = sliceBytes(header);
  let volume: Promise<Uint8Array> | undefined;
  let left = 0;
  return async (slice) => {
    if (volume === undefined) {
      volume = unpack(file, volumeBytes(header), volumeBytes(header));
      left = header.slices;
    }
    const unpacking = volume;
    if (--left === 0) volume = undefined;
    const bytes = await unpacking;
    return bytes.slice(header.offset + slice * size, header.offset + (slice + 1) * size);
  };
}
