import type { VoxelGrid } from '../../algorithms/cross-compare/voxel-grid.ts';
import { FormatError } from '../../primitives/checks/errors.ts';
import { quoted } from '../video/quoted.ts';
import { GRID_1, GRID_2, readGrid } from './nifti-grid.ts';
import type { LabelType } from './result-set.ts';

/** Data from the header of a NIfTI volume: its size, and how its voxels are stored. */
export interface NiftiHeader {
  /**
   * Number of columns, which is the first dimension of the volume. Rows and slices are the second and third dimension.
   * Voxels are stored row by row.
   */
  readonly width: number;
  readonly height: number;
  readonly slices: number;
  /** Type of the voxels in the file. */
  readonly stored: StoredType;
  readonly littleEndian: boolean;
  /** Byte offset of the first voxel in the file. */
  readonly offset: number;
  /** Where the voxels are in space, if the header states it. */
  readonly grid: VoxelGrid | undefined;
}

type StoredType = LabelType | 'f32' | 'i64' | 'u64';

/** Bytes to read for the header of either version. A NIfTI-2 header has this length; a NIfTI-1 header is shorter. */
export const NIFTI_HEADER_BYTES = 540;

const TYPES: ReadonlyMap<number, StoredType> = new Map([
  [2, 'u8'],
  [256, 'i8'],
  [512, 'u16'],
  [4, 'i16'],
  [768, 'u32'],
  [8, 'i32'],
  [16, 'f32'],
  [64, 'f64'],
  [1024, 'i64'],
  [1280, 'u64'],
]);

const SIZES: Readonly<Record<StoredType, number>> = {
  ...{ u8: 1, i8: 1, u16: 2, i16: 2, u32: 4, i32: 4, f32: 4, f64: 8, i64: 8, u64: 8 },
};

/**
 * Reads the header of a single-file NIfTI-1 or NIfTI-2 volume (`n+1`, `n+2`), in either byte order.
 *
 * @throws FormatError if the bytes are not a valid NIfTI header, or the volume cannot be read as labels. A volume
 * cannot be read if it is stored as a pair of files, has more than three dimensions, is too large, has voxels of an
 * unsupported type, or has scaled voxels. Voxels are unscaled if `scl_slope` is 0 or not finite, or if `scl_slope` is 1
 * and `scl_inter` is 0.
 */
export function readNiftiHeader(bytes: Uint8Array, file: string): NiftiHeader {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (const littleEndian of [true, false]) {
    const size = bytes.length < 4 ? 0 : view.getInt32(0, littleEndian);
    if (size === 348 && bytes.length >= 352) return readVersion(view, VERSION_1, littleEndian, file);
    if (size === 540 && bytes.length >= 540) return readVersion(view, VERSION_2, littleEndian, file);
  }
  throw malformed('The file is no NIfTI volume.', 'a header of 348 or 540 bytes', 'something else', file);
}

/** For one version of the format, the byte offsets of the members of a header, and functions that read members. */
interface Layout {
  readonly magic: number;
  readonly pairMagic: string;
  readonly grid: typeof GRID_1;
  readonly datatype: number;
  readonly integer: (view: DataView, member: 'dim' | 'offset', index: number, littleEndian: boolean) => number;
  readonly scale: (view: DataView, member: 'slope' | 'intercept', littleEndian: boolean) => number;
}

const VERSION_1: Layout = {
  magic: 344,
  pairMagic: 'ni1',
  grid: GRID_1,
  datatype: 70,
  integer: (view, member, index, littleEndian) =>
    member === 'dim' ? view.getInt16(40 + 2 * index, littleEndian) : view.getFloat32(108, littleEndian),
  scale: (view, member, littleEndian) => view.getFloat32(member === 'slope' ? 112 : 116, littleEndian),
};

const VERSION_2: Layout = {
  magic: 4,
  pairMagic: 'ni2',
  grid: GRID_2,
  datatype: 12,
  integer: (view, member, index, littleEndian) =>
    Number(view.getBigInt64(member === 'dim' ? 16 + 8 * index : 168, littleEndian)),
  scale: (view, member, littleEndian) => view.getFloat64(member === 'slope' ? 176 : 184, littleEndian),
};

function readVersion(view: DataView, layout: Layout, littleEndian: boolean, file: string): NiftiHeader {
  const magic = String.fromCharCode(...[0, 1, 2].map((index) => view.getUint8(layout.magic + index)));
  if (magic === layout.pairMagic) throw malformed('The voxels are in another file.', 'n+1 or n+2', magic, file);
  if (magic !== layout.pairMagic.replace('i', '+'))
    throw malformed('The magic is wrong.', 'n+1 or n+2', quoted(magic), file);
  const stored = TYPES.get(view.getInt16(layout.datatype, littleEndian));
  if (stored === undefined) {
    const got = `data type ${view.getInt16(layout.datatype, littleEndian)}`;
    throw malformed('The voxels cannot be labels.', 'whole numbers of 8, 16, 32 or 64 bits, or floats', got, file);
  }
  checkScale(view, layout, littleEndian, file);
  const offset = layout.integer(view, 'offset', 0, littleEndian);
  const [width, height, slices] = readDimensions(view, layout, littleEndian, file);
  if (!(Number.isSafeInteger(offset) && offset >= (layout === VERSION_1 ? 348 : 540))) {
    throw malformed('The offset of the voxels is invalid.', 'an offset after the header', String(offset), file);
  }
  const grid = readGrid(view, layout.grid, [width, height, slices], littleEndian);
  return { width, height, slices, stored, littleEndian, offset, grid };
}

function checkScale(view: DataView, layout: Layout, littleEndian: boolean, file: string): void {
  const slope = layout.scale(view, 'slope', littleEndian);
  const intercept = layout.scale(view, 'intercept', littleEndian);
  if (slope === 0 || !Number.isFinite(slope) || (slope === 1 && intercept === 0)) return;
  const got = `scl_slope ${slope}, scl_inter ${intercept}`;
  throw malformed('The voxels are scaled, so they are no labels.', 'scl_slope 1 or 0, scl_inter 0', got, file);
}

function readDimensions(
  view: DataView,
  layout: Layout,
  littleEndian: boolean,
  file: string,
): readonly [number, number, number] {
  const count = layout.integer(view, 'dim', 0, littleEndian);
  const dim = (index: number): number => (index <= count ? layout.integer(view, 'dim', index, littleEndian) : 1);
  const got = `${count} dimensions, ${[1, 2, 3, 4, 5, 6, 7].map(dim).join(' × ')}`;
  const [width, height, slices] = [dim(1), dim(2), dim(3)];
  const voxels = width * height * slices;
  const positive = [width, height, slices].every((size) => Number.isSafeInteger(size) && size > 0);
  if (count < 1 || count > 7 || !positive || voxels > MAX_VOXELS || slices > MAX_SLICES) {
    throw malformed(
      'The dimensions are invalid.',
      `1 to 7 dimensions, at most ${MAX_SLICES} slices and ${MAX_VOXELS} voxels`,
      got,
      file,
    );
  }
  if ([4, 5, 6, 7].some((index) => dim(index) > 1)) {
    throw malformed('The volume has more than three dimensions.', 'one volume per file', got, file);
  }
  return [width, height, slices];
}

/** Maximum number of voxels, about 1,600³. */
const MAX_VOXELS = 2 ** 32;
const MAX_SLICES = 2 ** 16;

/** Size of one slice in the file, in bytes. */
export function sliceBytes({ width, height, stored }: NiftiHeader): number {
  return width * height * SIZES[stored];
}

/**
 * Type of the labels of a volume in memory. It is the type of the voxels in the file, except that floats become i32,
 * and integers of 64 bits become f64.
 */
export function labelTypeOf({ stored }: NiftiHeader): LabelType {
  if (stored === 'i64' || stored === 'u64') return 'f64';
  return stored === 'f32' || stored === 'f64' ? 'i32' : stored;
}

/**
 * Converts the bytes of a slice in the file to little-endian labels of the type {@link labelTypeOf}.
 *
 * @throws FormatError if a voxel stored as a float is not a 32-bit integer, or one of 64 bits is not below 2⁵³.
 */
export function niftiLabels(header: NiftiHeader, slice: Uint8Array, place: string): Uint8Array {
  const { stored, littleEndian } = header;
  if (stored === 'f32' || stored === 'f64') return wholeLabels(header, slice, place);
  if (stored === 'i64' || stored === 'u64') return wideLabels(header, slice, place);
  if (littleEndian || SIZES[stored] === 1) return slice;
  const size = SIZES[stored];
  const swapped = new Uint8Array(slice.length);
  for (let at = 0; at < slice.length; at++) swapped[at] = slice[at - (at % size) + size - 1 - (at % size)]!;
  return swapped;
}

function wholeLabels({ stored, littleEndian }: NiftiHeader, slice: Uint8Array, place: string): Uint8Array {
  const view = new DataView(slice.buffer, slice.byteOffset, slice.byteLength);
  const size = SIZES[stored];
  const labels = new Uint8Array((slice.length / size) * 4);
  const out = new DataView(labels.buffer);
  for (let voxel = 0; voxel < slice.length / size; voxel++) {
    const value =
      stored === 'f32' ? view.getFloat32(voxel * size, littleEndian) : view.getFloat64(voxel * size, littleEndian);
    if ((value | 0) !== value) {
      const got = `${value} at voxel ${voxel} of the slice`;
      throw malformed('A voxel is not a label.', 'whole numbers of 32 bits', got, place);
    }
    out.setInt32(voxel * 4, value, true);
  }
  return labels;
}

/** Labels of 64 bits as f64. Of a larger number, the product below is not safe either, however it is rounded. */
function wideLabels({ width, stored, littleEndian }: NiftiHeader, slice: Uint8Array, place: string): Uint8Array {
  const view = new DataView(slice.buffer, slice.byteOffset, slice.byteLength);
  const labels = new Uint8Array(slice.length);
  const out = new DataView(labels.buffer);
  const [high, low] = littleEndian ? [4, 0] : [0, 4];
  for (let at = 0; at < slice.length; at += 8) {
    const upper = stored === 'i64' ? view.getInt32(at + high, littleEndian) : view.getUint32(at + high, littleEndian);
    const value = upper * 2 ** 32 + view.getUint32(at + low, littleEndian);
    if (!Number.isSafeInteger(value)) {
      const exact = stored === 'i64' ? view.getBigInt64(at, littleEndian) : view.getBigUint64(at, littleEndian);
      const voxel = at / 8;
      const got = `${exact} at voxel ${voxel} of the slice (column ${voxel % width}, row ${Math.floor(voxel / width)})`;
      throw malformed('A label is too large.', `whole numbers between -${MAX_LABEL} and ${MAX_LABEL}`, got, place);
    }
    out.setFloat64(at, value, true);
  }
  return labels;
}

const MAX_LABEL = Number.MAX_SAFE_INTEGER;

function malformed(sentence: string, expected: string, got: string, file: string): FormatError {
  return new FormatError('format/bad-nifti', sentence, {
    expected,
    got,
    remedy: 'Labels are read from single-file NIfTI volumes (.nii, .nii.gz) of unscaled whole numbers.',
    place: { file },
  });
}
