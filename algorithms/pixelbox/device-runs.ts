import type { Column, Context } from '../../primitives/index.ts';
import type { Regions } from './regions.ts';

/** Runs of regions on a device, one a row, each with the number of its region. */
export interface DeviceRuns {
  /** Those of narrow regions: row · 2¹² + from · 2⁶ + to, counted from the corner of the region's box. */
  readonly narrow: { readonly run: Column<'u32'>; readonly region: Column<'u32'> };
  readonly wide: {
    readonly from: Column<'i32'>;
    readonly to: Column<'i32'>;
    readonly row: Column<'i32'>;
    readonly region: Column<'u32'>;
  };
}

const TALLEST_NARROW = 2 ** 20 - 1;

/** Whether the mask of a region has one word a row, and its runs fit a word each. */
export function isNarrow({ left, right, top, bottom }: Regions, region: number): boolean {
  return right[region]! - left[region]! <= 32 && bottom[region]! - top[region]! <= TALLEST_NARROW;
}

/** Puts the runs of regions on the device. */
export function uploadRuns(context: Context, regions: Regions): DeviceRuns {
  const { run, region } = packNarrow(regions);
  const wide = listWide(regions, regions.runRow.length - run.length);
  return {
    narrow: { run: context.column(run), region: context.column(region) },
    wide: {
      from: context.column(wide.from),
      to: context.column(wide.to),
      row: context.column(wide.row),
      region: context.column(wide.region),
    },
  };
}

function packNarrow(regions: Regions): { readonly run: Uint32Array; readonly region: Uint32Array } {
  const { runStart, runFrom, runTo, runRow, left, top } = regions;
  const packed = new Uint32Array(runRow.length);
  const owner = new Uint32Array(runRow.length);
  let at = 0;
  for (let region = 0; region < left.length; region++) {
    if (!isNarrow(regions, region)) continue;
    const column = left[region]!;
    const firstRow = top[region]!;
    for (let run = runStart[region]!; run < runStart[region + 1]!; run++) {
      packed[at] = ((runRow[run]! - firstRow) << 12) | ((runFrom[run]! - column) << 6) | (runTo[run]! - column);
      owner[at++] = region;
    }
  }
  return { run: packed.subarray(0, at), region: owner.subarray(0, at) };
}

function listWide(
  regions: Regions,
  count: number,
): Record<'from' | 'to' | 'row', Int32Array> & { region: Uint32Array } {
  const column = (): Int32Array => new Int32Array(count);
  const wide = { from: column(), to: column(), row: column(), region: new Uint32Array(count) };
  for (let region = 0, at = 0; at < count; region++) {
    if (isNarrow(regions, region)) continue;
    const [from, to] = [regions.runStart[region]!, regions.runStart[region + 1]!];
    wide.from.set(regions.runFrom.subarray(from, to), at);
    wide.to.set(regions.runTo.subarray(from, to), at);
    wide.row.set(regions.runRow.subarray(from, to), at);
    wide.region.fill(region, at, at + to - from);
    at += to - from;
  }
  return wide;
}
