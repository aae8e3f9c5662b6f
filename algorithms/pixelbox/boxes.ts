import { type ArrayValue, bitsToU32, type I32, i32, select, type U32, u32 } from '../../primitives/index.ts';
import { type Regions, vertexCount } from './regions.ts';

/** Some of the regions of a set, given by their indices. */
export interface Selection {
  readonly regions: Regions;
  readonly members: Uint32Array;
}

/** Number of vertices of all selected regions. */
export function vertexTotal(selections: readonly Selection[]): number {
  let total = 0;
  for (const { regions, members } of selections) {
    for (let i = 0; i < members.length; i++) total += vertexCount(regions, members[i]!);
  }
  return total;
}

/** Fields of a region's record on the device: its box in pixels, and the index of the first word of its mask. */
const FIELDS = ['left', 'top', 'right', 'bottom', 'words'] as const;
/** Fields of the record of a region whose mask is in bands. */
const BANDED_FIELDS = [...FIELDS, 'slots', 'rows'] as const;

/** A region's record, as read in a functor. */
export interface Box {
  readonly left: I32;
  readonly top: I32;
  readonly right: I32;
  readonly bottom: I32;
  /** Index of the first word of the region's mask. */
  readonly words: U32;
}

/** The record of a region whose mask is in bands. */
export interface BandedBox extends Box {
  /** Number of bands, which is also the number of words per strip of the mask. */
  readonly slots: U32;
  /** Index of the region's first entry in the table of the first rows of all bands. */
  readonly rows: U32;
}

/**
 * Fields of the records besides the boxes. Each array has one entry per selected region, in the order of the
 * selections.
 */
export interface BoxPlaces {
  readonly words: Uint32Array;
  readonly slots?: Uint32Array;
  readonly rows?: Uint32Array;
}

/** Packs the records of all selected regions into one array, so that functors bind only one. */
export function boxRecords(selections: readonly Selection[], { words, slots, rows }: BoxPlaces): Int32Array {
  const stride = slots === undefined ? FIELDS.length : BANDED_FIELDS.length;
  const records = new Int32Array(Math.max(1, words.length) * stride);
  let [local, at] = [0, 0];
  for (const { regions, members } of selections) {
    const { left, top, right, bottom } = regions;
    for (let i = 0; i < members.length; i++, local++, at += stride) {
      const region = members[i]!;
      records[at] = left[region]!;
      records[at + 1] = top[region]!;
      records[at + 2] = right[region]!;
      records[at + 3] = bottom[region]!;
      records[at + 4] = words[local]!;
      if (slots === undefined || rows === undefined) continue;
      records[at + 5] = slots[local]!;
      records[at + 6] = rows[local]!;
    }
  }
  return records;
}

/** Reads the record of a region with a narrow mask. */
export function boxOf(boxes: ArrayValue<'i32'>, region: U32): Box {
  const { left, top, right, bottom, words } = fieldsOf(boxes, region, FIELDS);
  return { left, top, right, bottom, words: bitsToU32(words) };
}

/** Reads the record of a region whose mask is in bands. */
export function bandedBoxOf(boxes: ArrayValue<'i32'>, region: U32): BandedBox {
  const { words, slots, rows, ...box } = fieldsOf(boxes, region, BANDED_FIELDS);
  return { ...box, words: bitsToU32(words), slots: bitsToU32(slots), rows: bitsToU32(rows) };
}

function fieldsOf<F extends string>(boxes: ArrayValue<'i32'>, region: U32, names: readonly F[]): Record<F, I32> {
  const at = region.mul(names.length);
  return Object.fromEntries(names.map((name, i) => [name, boxes.at(at.add(i))])) as Record<F, I32>;
}

/**
 * The intersection of two regions' boxes: its left and top sides, and its numbers of rows and columns. If the boxes
 * share no columns, the number of rows is 0 too.
 */
export function sharedBox(
  a: Box,
  b: Box,
): { readonly left: I32; readonly top: I32; readonly rows: U32; readonly columns: U32 } {
  const left = a.left.max(b.left);
  const top = a.top.max(b.top);
  const rows = bitsToU32(a.bottom.min(b.bottom).sub(top).max(i32(0)));
  const columns = bitsToU32(a.right.min(b.right).sub(left).max(i32(0)));
  return { left, top, rows: select(rows, u32(0), columns.eq(0)), columns };
}
