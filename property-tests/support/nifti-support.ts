/** Codes of the types of voxels. */
export const STORED = {
  u8: 2,
  i8: 256,
  u16: 512,
  i16: 4,
  u32: 768,
  i32: 8,
  f32: 16,
  f64: 64,
  i64: 1024,
  u64: 1280,
} as const;
export type Stored = keyof typeof STORED;
const WRITE: Readonly<
  Record<Stored, [number, (view: DataView, at: number, value: number | bigint, little: boolean) => void]>
> = {
  u8: [1, (view, at, value) => view.setUint8(at, Number(value))],
  i8: [1, (view, at, value) => view.setInt8(at, Number(value))],
  u16: [2, (view, at, value, little) => view.setUint16(at, Number(value), little)],
  i16: [2, (view, at, value, little) => view.setInt16(at, Number(value), little)],
  u32: [4, (view, at, value, little) => view.setUint32(at, Number(value), little)],
  i32: [4, (view, at, value, little) => view.setInt32(at, Number(value), little)],
  f32: [4, (view, at, value, little) => view.setFloat32(at, Number(value), little)],
  f64: [8, (view, at, value, little) => view.setFloat64(at, Number(value), little)],
  i64: [8, (view, at, value, little) => view.setBigInt64(at, BigInt(value), little)],
  u64: [8, (view, at, value, little) => view.setBigUint64(at, BigInt(value), little)],
};

export interface Volume {
  readonly size: readonly number[];
  readonly voxels: readonly (number | bigint)[];
}

/** A single-file NIfTI volume. */
export function nifti({ size, voxels }: Volume, stored: Stored, little = true, version = 1, slope = 0): Uint8Array {
  const [bytes, write] = WRITE[stored];
  const offset = version === 1 ? 352 : 544;
  const file = new Uint8Array(offset + voxels.length * bytes);
  const view = new DataView(file.buffer);
  const dims = [size.length, ...size];
  if (version === 1) {
    view.setInt32(0, 348, little);
    for (const [index, dim] of dims.entries()) view.setInt16(40 + 2 * index, dim, little);
    view.setInt16(70, STORED[stored], little);
    view.setFloat32(108, offset, little);
    view.setFloat32(112, slope, little);
    file.set(new TextEncoder().encode('n+1\0'), 344);
  } else {
    view.setInt32(0, 540, little);
    file.set(new TextEncoder().encode('n+2\0\r\n\x1a\n'), 4);
    view.setInt16(12, STORED[stored], little);
    for (const [index, dim] of dims.entries()) view.setBigInt64(16 + 8 * index, BigInt(dim), little);
    view.setBigInt64(168, BigInt(offset), little);
    view.setFloat64(176, slope, little);
  }
  for (const [voxel, value] of voxels.entries()) write(view, offset + voxel * bytes, value, little);
  return file;
}
