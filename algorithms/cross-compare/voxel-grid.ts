import { aNumber, anArrayOf, aRecord, type Kind, optional } from '../../primitives/checks/kinds.ts';
import { smallestOf } from '../../primitives/host/extremes.ts';

/** Where the voxels of a volume are in space. */
export interface VoxelGrid {
  /** Numbers of columns, rows and slices. */
  readonly size: readonly number[];
  /** Distances of voxels along columns, rows and slices. */
  readonly spacing: readonly number[];
  /**
   * Three rows of four numbers, which map a voxel (column, row, slice, 1) to a position in space. Undefined if the file
   * states distances alone.
   */
  readonly affine?: readonly number[] | undefined;
}

export const aVoxelGrid: Kind = aRecord<VoxelGrid>({
  size: anArrayOf(aNumber),
  spacing: anArrayOf(aNumber),
  affine: optional(anArrayOf(aNumber)),
});

/** Maximum distance, in the smallest distance of two voxels, of a corner of one volume from that of the other. */
const TOLERANCE = 0.1;

/**
 * Whether two volumes have their voxels at the same places. Corners may be apart by a tenth of a voxel, because affines
 * are stored in f32, and those that come from a quaternion are rounded. If one of the volumes states no affine, only
 * the distances of voxels are compared.
 */
export function isSameGrid(a: VoxelGrid, b: VoxelGrid): boolean {
  const hasAffines = a.affine !== undefined && b.affine !== undefined;
  const [first, second] = hasAffines ? [a.affine, b.affine] : [scaling(a.spacing), scaling(b.spacing)];
  const size = a.size.map((length, axis) => Math.max(length, b.size[axis]!));
  const steps = [...a.spacing, ...b.spacing].filter((step) => step > 0);
  const allowed = TOLERANCE * smallestOf(steps);
  for (let row = 0; row < 12; row += 4) {
    // The farthest corner in this coordinate: where differences of the axes add up.
    const along = [0, 1, 2].map((axis) => size[axis]! * (first[row + axis]! - second[row + axis]!));
    const origin = first[row + 3]! - second[row + 3]!;
    const up = along.reduce((sum, length) => sum + Math.max(0, length), origin);
    const down = along.reduce((sum, length) => sum + Math.min(0, length), origin);
    if (!(Math.max(up, -down) <= allowed)) return false;
  }
  return true;
}

function scaling([x = 0, y = 0, z = 0]: readonly number[]): readonly number[] {
  return [x, 0, 0, 0, 0, y, 0, 0, 0, 0, z, 0];
}

/** Describes a grid in a note: its affine row by row, or the distances of its voxels. */
export function gridText({ affine, spacing }: VoxelGrid, other: VoxelGrid): string {
  const short = (numbers: readonly number[]): string => numbers.map((each) => +each.toPrecision(6)).join(' ');
  if (affine === undefined || other.affine === undefined)
    return `voxels of ${spacing.map((each) => short([each])).join(' × ')}`;
  return `[${[0, 4, 8].map((row) => short(affine.slice(row, row + 4))).join('; ')}]`;
}
