import type { VoxelGrid } from '../../algorithms/cross-compare/voxel-grid.ts';

/** For one version of NIfTI, the byte offsets of what places voxels in space, and functions that read numbers. */
interface GridLayout {
  readonly pixdim: number;
  readonly units: number;
  readonly qformCode: number;
  readonly sformCode: number;
  /** Three numbers of the quaternion, then three of the offset, then three rows of four numbers, without gaps. */
  readonly forms: number;
  readonly floatBytes: 4 | 8;
  readonly code: (view: DataView, at: number, littleEndian: boolean) => number;
}

export const GRID_1: GridLayout = {
  ...{ pixdim: 76, units: 123, qformCode: 252, sformCode: 254, forms: 256, floatBytes: 4 },
  code: (view, at, littleEndian) => view.getInt16(at, littleEndian),
};

export const GRID_2: GridLayout = {
  ...{ pixdim: 104, units: 500, qformCode: 344, sformCode: 348, forms: 352, floatBytes: 8 },
  code: (view, at, littleEndian) => view.getInt32(at, littleEndian),
};

/**
 * Where the voxels of a NIfTI volume are, in millimetres. As in nibabel, the matrix of `sform` goes before the
 * quaternion of `qform`. Undefined if the header states nothing that can be used. Units that are not stated count as
 * millimetres.
 */
export function readGrid(
  view: DataView,
  layout: GridLayout,
  size: readonly [number, number, number],
  littleEndian: boolean,
): VoxelGrid | undefined {
  const { floatBytes, forms, code } = layout;
  const float = (at: number): number =>
    floatBytes === 4 ? view.getFloat32(at, littleEndian) : view.getFloat64(at, littleEndian);
  const floats = (at: number, count: number): number[] =>
    Array.from({ length: count }, (_, index) => float(at + index * floatBytes));
  const unit =
    UNITS[(layout.floatBytes === 4 ? view.getUint8(layout.units) : view.getInt32(layout.units, littleEndian)) & 7];
  const inMillimetres = (numbers: readonly number[]): number[] => numbers.map((each) => each * (unit ?? 1));
  const [handed, ...steps] = floats(layout.pixdim, 4);
  const pixdim = inMillimetres(steps.map(Math.abs));
  const ofForms = [
    code(view, layout.sformCode, littleEndian) > 0 ? floats(forms + 6 * floatBytes, 12) : undefined,
    code(view, layout.qformCode, littleEndian) > 0 ? turned(floats(forms, 6), steps, handed! < 0 ? -1 : 1) : undefined,
  ];
  for (const form of ofForms) {
    const affine = form && inMillimetres(form);
    const spacing = affine && [0, 1, 2].map((axis) => Math.hypot(affine[axis]!, affine[4 + axis]!, affine[8 + axis]!));
    if (affine?.every(Number.isFinite) && spacing!.every((step) => step > 0))
      return { size, spacing: spacing!, affine };
  }
  return pixdim.every((step) => step > 0 && Number.isFinite(step)) ? { size, spacing: pixdim } : undefined;
}

/** Millimetres in the units of `xyzt_units`: metre, millimetre, micrometre. */
const UNITS: Readonly<Record<number, number>> = { 1: 1000, 2: 1, 3: 1e-3 };

/** The affine of a quaternion, whose first number follows from the others, with an offset and steps of voxels. */
function turned(
  [b = 0, c = 0, d = 0, x = 0, y = 0, z = 0]: readonly number[],
  steps: readonly number[],
  handed: 1 | -1,
): number[] {
  const a = Math.sqrt(Math.max(0, 1 - b * b - c * c - d * d));
  const [i, j, k] = [steps[0]!, steps[1]!, steps[2]! * handed];
  return [
    ...[(a * a + b * b - c * c - d * d) * i, 2 * (b * c - a * d) * j, 2 * (b * d + a * c) * k, x],
    ...[2 * (b * c + a * d) * i, (a * a + c * c - b * b - d * d) * j, 2 * (c * d - a * b) * k, y],
    ...[2 * (b * d - a * c) * i, 2 * (c * d + a * b) * j, (a * a + d * d - b * b - c * c) * k, z],
  ];
}
