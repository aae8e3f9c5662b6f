import { beginKernel, CHUNK, emitOwnWord, shapeOf } from '../../commands/kernel-arguments.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { type FunctionBody, I32 } from '../../wasm/wasm-encoder.ts';
import { type Int32, i32, load } from '../../wasm/wasm-expressions.ts';
import type { Int32Local } from '../../wasm/wasm-locals.ts';
import {
  copyMemory,
  doWhile,
  fillMemory,
  forRange,
  leave,
  lower,
  store,
  swap,
  when,
} from '../../wasm/wasm-statements.ts';
import { ceilDiv } from '../reduce/reduce.ts';

/**
 * The kernels of the radix sort that do not depend on the program. They sort by digits of `DIGIT_BITS` bits, from the
 * least significant digit on. The rows are divided into regions. Each region has its own target positions for each
 * digit, so that rows with equal keys keep their order. (Knuth, vol. 3, 5.2.5; Zagha and Blelloch 1991.)
 */

/** Indices of the kernel-specific argument words. */
export const sortWord = {
  /** Addresses of the buffers that the first phase fills with the rows of the program. */
  firstKeys: 0,
  firstPayload: 1,
  /**
   * Addresses of the buffers to which the first pass moves the rows. In each further pass, the two pairs of buffers
   * swap their roles.
   */
  otherKeys: 2,
  otherPayload: 3,
  /** Addresses of the result buffers, which are one of the two pairs of buffers above. */
  outKeys: 4,
  outPayload: 5,
  /** Address of two words per region: the bitwise AND of its keys, and the bitwise OR of its keys. */
  extremes: 6,
  /**
   * Address of the tables: one per region, with one entry per digit. The entry is first the count of the digit, later
   * the target position of the next row with this digit.
   */
  counts: 7,
  /** Address of the plan: an entry per pass, then an entry with the final addresses of the rows. */
  plan: 8,
  regions: 9,
  beginBit: 10,
  endBit: 11,
} as const;
export const SORT_WORDS = 12;

export const DIGIT_BITS = 8;
const DIGITS = 2 ** DIGIT_BITS;
export const COUNT_BYTES: number = 4 * DIGITS;
export const EXTREME_BYTES = 8;

/**
 * Byte offsets of the words in an entry of the plan. A mask of 0 means that the pass is skipped. In the entry after the
 * last pass, only `keys` and `payload` are set.
 */
const planned = { keys: 0, payload: 4, toKeys: 8, toPayload: 12, shift: 16, mask: 20, bytes: 24 } as const;

export function planBytes(passes: number): number {
  return planned.bytes * (passes + 1);
}

/**
 * The functions of the kernel, in order: one that makes the plan; for each pass, three that count digits, compute
 * target positions and move rows; and one that copies the rows to the result buffers.
 */
export function emitRadix(passes: number, hasPayload: boolean): readonly FunctionBody[] {
  const each = Array.from({ length: passes }, (_, pass) => [
    emitDigitCounts(pass),
    emitPlaces(pass),
    emitMoves(pass, hasPayload),
  ]);
  return [emitPlan(passes), ...each.flat(), emitCopyOut(passes, hasPayload)];
}

/** Begins the code of one of the kernel's functions. `extent` is the number of rows. */
function begin(): { readonly code: Code; readonly extent: Int32Local } {
  const { code, inputs } = beginKernel(shapeOf([], SORT_WORDS));
  return { code, extent: inputs.extent };
}

/** The range of rows in the region that the current chunk processes, as locals. `to` is exclusive. */
export function emitRegion(code: Code, extent: Int32): { readonly from: Int32Local; readonly to: Int32Local } {
  const size = code.local(I32);
  const from = code.local(I32);
  const to = code.local(I32);
  const regions = emitOwnWord(code, sortWord.regions);
  from.set(size.tee(ceilDiv(extent, regions)).mul(CHUNK));
  lower(code, from, extent);
  to.set(from.add(size));
  lower(code, to, extent);
  code.release(size);
  code.release(regions);
  return { from, to };
}

/**
 * Plans the passes. A pass is skipped if all keys have the same digit. In each other pass, the two pairs of buffers
 * swap their roles.
 */
function emitPlan(passes: number): FunctionBody {
  const { code, extent } = begin();
  const differing = emitDifferingBits(code, extent);
  const plan = emitOwnWord(code, sortWord.plan);
  const end = emitOwnWord(code, sortWord.endBit);
  const shift = emitOwnWord(code, sortWord.beginBit);
  const mask = code.local(I32);
  const here = { keys: emitOwnWord(code, sortWord.firstKeys), payload: emitOwnWord(code, sortWord.firstPayload) };
  const there = { keys: emitOwnWord(code, sortWord.otherKeys), payload: emitOwnWord(code, sortWord.otherPayload) };
  for (let pass = 0; pass < passes; pass++) {
    // The highest digit may have fewer bits than the others.
    mask.set(pass < passes - 1 ? DIGITS - 1 : i32(1).shl(end.sub(shift)).sub(1));
    when(code, differing.shrU(shift).and(mask).isZero(), () => mask.set(0));
    const base = planned.bytes * pass;
    store(code, plan, here.keys, base + planned.keys);
    store(code, plan, here.payload, base + planned.payload);
    store(code, plan, there.keys, base + planned.toKeys);
    store(code, plan, there.payload, base + planned.toPayload);
    store(code, plan, shift, base + planned.shift);
    store(code, plan, mask, base + planned.mask);
    when(code, mask, () => {
      swap(code, here.keys, there.keys);
      swap(code, here.payload, there.payload);
    });
    shift.set(shift.add(DIGIT_BITS));
  }
  store(code, plan, here.keys, planned.bytes * passes + planned.keys);
  store(code, plan, here.payload, planned.bytes * passes + planned.payload);
  return code.finish();
}

/** A word in which a bit is set if at least two keys differ in this bit; 0 if there are no rows. */
function emitDifferingBits(code: Code, extent: Int32): Int32 {
  const all = code.local(I32);
  const any = code.local(I32);
  const extremes = emitOwnWord(code, sortWord.extremes);
  const regions = emitOwnWord(code, sortWord.regions);
  all.set(-1);
  any.set(0);
  forRange(code, regions, () => {
    all.set(all.and(load(extremes)));
    any.set(any.or(load(extremes, 4)));
    extremes.set(extremes.add(EXTREME_BYTES));
  });
  any.set(extent.select(all.xor(any), 0));
  return any;
}

type Pass = { readonly [K in Exclude<keyof typeof planned, 'bytes'>]: Int32 };

/** Loads the entry of the plan for a pass into locals. */
function emitPass(code: Code, pass: number): Pass {
  const plan = emitOwnWord(code, sortWord.plan);
  const word = (offset: number): Int32 => {
    const local = code.local(I32);
    local.set(load(plan, planned.bytes * pass + offset));
    return local;
  };
  return {
    keys: word(planned.keys),
    payload: word(planned.payload),
    toKeys: word(planned.toKeys),
    toPayload: word(planned.toPayload),
    shift: word(planned.shift),
    mask: word(planned.mask),
  };
}

/** Returns from the function if the plan skips the pass. */
function leaveUnlessNeeded(code: Code, { mask }: Pass): void {
  when(code, mask.isZero(), () => leave(code));
}

/** The address of the table of the chunk's region. */
function emitTable(code: Code): Int32 {
  const table = emitOwnWord(code, sortWord.counts);
  table.set(table.add(CHUNK.mul(COUNT_BYTES)));
  return table;
}

/**
 * Loops over the rows of the chunk's region. The body gets the byte offset of the row, which is four times its index.
 */
function forRows(code: Code, extent: Int32, body: (row: Int32) => void): void {
  const { from, to } = emitRegion(code, extent);
  for (const bound of [from, to]) bound.set(bound.shl(2));
  when(code, from.ltU(to), () => doWhile(code, () => body(from), from.tee(from.add(4)).ltU(to)));
}

/** The address of the table entry for the digit of a key. */
function entryOf(table: Int32, key: Int32, { shift, mask }: Pass): Int32 {
  return table.add(key.shrU(shift).and(mask).shl(2));
}

function emitDigitCounts(pass: number): FunctionBody {
  const { code, extent } = begin();
  const plan = emitPass(code, pass);
  leaveUnlessNeeded(code, plan);
  const table = emitTable(code);
  fillMemory(code, table, 0, COUNT_BYTES);
  const entry = code.local(I32);
  forRows(code, extent, (row) => {
    store(code, entry.tee(entryOf(table, load(plan.keys.add(row)), plan)), load(entry).add(1));
  });
  return code.finish();
}

/**
 * Computes the target positions: replaces the counts by their exclusive prefix sums, where the counts are ordered by
 * digit first and then by region.
 */
function emitPlaces(pass: number): FunctionBody {
  const { code } = begin();
  const plan = emitPass(code, pass);
  leaveUnlessNeeded(code, plan);
  const regions = emitOwnWord(code, sortWord.regions);
  const counts = emitOwnWord(code, sortWord.counts);
  const digits = code.local(I32);
  const entry = code.local(I32);
  const count = code.local(I32);
  const place = code.local(I32);
  digits.set(plan.mask.add(1));
  place.set(0);
  forRange(code, digits, (digit) => {
    entry.set(counts.add(digit.shl(2)));
    forRange(code, regions, () => {
      count.set(load(entry));
      store(code, entry, place);
      place.set(place.add(count));
      entry.set(entry.add(COUNT_BYTES));
    });
  });
  return code.finish();
}

function emitMoves(pass: number, hasPayload: boolean): FunctionBody {
  const { code, extent } = begin();
  const plan = emitPass(code, pass);
  leaveUnlessNeeded(code, plan);
  const table = emitTable(code);
  const key = code.local(I32);
  const entry = code.local(I32);
  const place = code.local(I32);
  forRows(code, extent, (row) => {
    key.set(load(plan.keys.add(row)));
    store(code, entry.tee(entryOf(table, key, plan)), place.tee(load(entry)).add(1));
    store(code, plan.toKeys.add(place.shl(2)), key);
    if (hasPayload) store(code, plan.toPayload.add(place.shl(2)), load(plan.payload.add(row)));
  });
  return code.finish();
}

/**
 * Copies the sorted rows to the result buffers, unless the rows are already there. Skipped passes can leave the rows in
 * the other buffers.
 */
function emitCopyOut(passes: number, hasPayload: boolean): FunctionBody {
  const { code, extent } = begin();
  const { keys, payload } = emitPass(code, passes);
  const { from, to } = emitRegion(code, extent);
  const copyOut = (source: Int32, target: Int32): void =>
    when(code, source.ne(target), () =>
      copyMemory(code, target.add(from.shl(2)), source.add(from.shl(2)), to.sub(from).shl(2)),
    );
  copyOut(keys, emitOwnWord(code, sortWord.outKeys));
  if (hasPayload) copyOut(payload, emitOwnWord(code, sortWord.outPayload));
  return code.finish();
}
