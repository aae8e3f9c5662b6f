import { CHUNK, emitInputs, emitOwnWord, kernelParameters, layoutOf } from '../../commands/kernel-arguments.ts';
import { Code } from '../../wasm/wasm-code.ts';
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
 * The kernels of the radix sort that do not depend on the program. They sort by digits of `DIGIT_BITS` bits, least
 * significant first. Each region of the rows has separate target positions for every digit, so that equal keys keep
 * their order. (Knuth, vol. 3, 5.2.5; Zagha and Blelloch 1991.)
 */

/** Indices of the kernels' own words, behind the header of their arguments. */
export const sortWord = {
  /** Addresses of the buffers that first receive the program's rows, … */
  firstKeys: 0,
  firstPayload: 1,
  /** … and of the buffers that the passes alternate with. */
  otherKeys: 2,
  otherPayload: 3,
  /** Addresses of the buffers for the result: either the first ones or the others. */
  outKeys: 4,
  outPayload: 5,
  /** Address of a pair of words per region: the bitwise AND of its keys, and their bitwise OR. */
  extremes: 6,
  /** Address of a table per region: the count of every digit, later the target position of the digit's next row. */
  counts: 7,
  /** Address of the plan: an entry per pass, and one for the final position of the rows. */
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
 * Byte offsets within an entry of the plan. The mask of a skipped pass is 0. The entry after the last pass has only the
 * addresses of the sorted rows.
 */
const planned = { keys: 0, payload: 4, toKeys: 8, toPayload: 12, shift: 16, mask: 20, bytes: 24 } as const;

export function planBytes(passes: number): number {
  return planned.bytes * (passes + 1);
}

/**
 * The kernels in order: the plan, then three for every pass (digit counts, target positions, moves), and a copy to the
 * result buffers.
 */
export function emitRadix(passes: number, hasPayload: boolean): readonly FunctionBody[] {
  const each = Array.from({ length: passes }, (_, pass) => [
    emitDigitCounts(pass),
    emitPlaces(pass),
    emitMoves(pass, hasPayload),
  ]);
  return [emitPlan(passes), ...each.flat(), emitCopyOut(passes, hasPayload)];
}

/** Begins a kernel. `extent` is the number of rows. */
function begin(): { readonly code: Code; readonly extent: Int32Local } {
  const code = new Code(kernelParameters);
  const { extent } = emitInputs(code, { programs: [], stores: [], words: SORT_WORDS }, layoutOf([]), []);
  return { code, extent };
}

/** The first row and the end, exclusive, of the region that the chunk processes. */
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

/** Plans the passes. Digits that are equal in all keys are skipped; every other pass swaps the two buffers. */
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
    // The last digit may be narrower than the others.
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

/** The bits that are not the same in all keys; 0 if there are no rows. */
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

/** Loads the plan's entry for a pass into locals. */
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

/** Returns from the kernel if the plan skips the pass. */
function leaveUnlessNeeded(code: Code, { mask }: Pass): void {
  when(code, mask.isZero(), () => leave(code));
}

/** The address of the region's table in `counts`. */
function emitTable(code: Code): Int32 {
  const table = emitOwnWord(code, sortWord.counts);
  table.set(table.add(CHUNK.mul(COUNT_BYTES)));
  return table;
}

/** Loops over the rows of the region. The body receives the byte offset of the row: four times its index. */
function forRows(code: Code, extent: Int32, body: (row: Int32) => void): void {
  const { from, to } = emitRegion(code, extent);
  for (const bound of [from, to]) bound.set(bound.shl(2));
  when(code, from.ltU(to), () => doWhile(code, () => body(from), from.tee(from.add(4)).ltU(to)));
}

/** The address of the table's entry for the digit of a key. */
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

/** Replaces the counts by their exclusive prefix sums, in order of digits and then regions: the target positions. */
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

/** Copies the rows to the result buffers, unless they are there already. Skipped passes can leave them elsewhere. */
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
