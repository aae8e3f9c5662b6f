import {
  CHUNK,
  emitInputs,
  emitMinimum,
  emitOwnWord,
  kernelParameters,
  layoutOf,
} from '../../commands/kernel-arguments.ts';
import { Code } from '../../wasm/wasm-code.ts';
import { type FunctionBody, I32, op } from '../../wasm/wasm-encoder.ts';
import { emitCeilDiv } from '../reduce/reduce.ts';
import { emitCount } from '../shared/tree-code.ts';

/**
 * The kernels of the radix sort that do not depend on what is sorted: 8-bit digits, least significant first, every
 * region of the rows with places of its own, so that equal keys keep their order. (Knuth, vol. 3, 5.2.5; Zagha and
 * Blelloch 1991.)
 */

/** Words of the kernels' own. */
export const sortWord = {
  /** Where the program's rows are written first, and the other place that they move to and fro. */
  firstKeys: 0,
  firstPayload: 1,
  otherKeys: 2,
  otherPayload: 3,
  /** Where the result belongs: one of the two. */
  outKeys: 4,
  outPayload: 5,
  /** For every region, the bits that all its keys have, and those that any has. */
  extremes: 6,
  /** For every region, the counts of its digits; then, for every digit, where its next row goes. */
  counts: 7,
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

/** What the plan says of a pass; one that is not needed has no mask. Behind the last pass: where the rows end up. */
const planned = { keys: 0, payload: 4, toKeys: 8, toPayload: 12, shift: 16, mask: 20, bytes: 24 } as const;

export function planBytes(passes: number): number {
  return planned.bytes * (passes + 1);
}

/** The plan; for every pass a count, the places and a move; at last a copy to where the result belongs. */
export function emitRadix(passes: number, hasPayload: boolean): readonly FunctionBody[] {
  const each = Array.from({ length: passes }, (_, pass) => [
    emitDigitCounts(pass),
    emitPlaces(pass),
    emitMoves(pass, hasPayload),
  ]);
  return [emitPlan(passes), ...each.flat(), emitCopyOut(passes, hasPayload)];
}

/** Code of a kernel, with the number of rows in a local. */
function begin(): { readonly code: Code; readonly extent: number } {
  const code = new Code(kernelParameters);
  const { extent } = emitInputs(code, { programs: [], stores: [], words: SORT_WORDS }, layoutOf([]), []);
  return { code, extent };
}

/** The rows of the region that is the chunk: locals of the first one and of the one behind the last. */
export function emitRegion(code: Code, extent: number): { readonly from: number; readonly to: number } {
  const size = code.local(I32);
  const from = code.local(I32);
  const to = code.local(I32);
  const regions = emitOwnWord(code, sortWord.regions);
  emitCeilDiv(
    code,
    () => code.get(extent),
    () => code.get(regions),
  );
  code.tee(size);
  code.get(CHUNK);
  code.op(op.i32Mul);
  code.set(from);
  emitMinimum(code, from, () => code.get(extent));
  code.get(from);
  code.get(size);
  code.op(op.i32Add);
  code.set(to);
  emitMinimum(code, to, () => code.get(extent));
  code.release(size);
  code.release(regions);
  return { from, to };
}

/** Which digits differ at all: only those are passes. The rows go to and fro between the two places. */
function emitPlan(passes: number): FunctionBody {
  const { code, extent } = begin();
  const differing = emitDifferingBits(code, extent);
  const plan = emitOwnWord(code, sortWord.plan);
  const end = emitOwnWord(code, sortWord.endBit);
  const shift = emitOwnWord(code, sortWord.beginBit);
  const mask = code.local(I32);
  const here = [emitOwnWord(code, sortWord.firstKeys), emitOwnWord(code, sortWord.firstPayload)];
  const there = [emitOwnWord(code, sortWord.otherKeys), emitOwnWord(code, sortWord.otherPayload)];
  const store = (local: number, offset: number): void => {
    code.get(plan);
    code.get(local);
    code.memory(op.i32Store, offset);
  };
  for (let pass = 0; pass < passes; pass++) {
    const base = planned.bytes * pass;
    emitMask(code, mask, shift, end, pass === passes - 1);
    code.get(differing);
    code.get(shift);
    code.op(op.i32ShrU);
    code.get(mask);
    code.op(op.i32And, op.i32Eqz);
    code.when(() => {
      code.i32(0);
      code.set(mask);
    });
    store(here[0]!, base + planned.keys);
    store(here[1]!, base + planned.payload);
    store(there[0]!, base + planned.toKeys);
    store(there[1]!, base + planned.toPayload);
    store(shift, base + planned.shift);
    store(mask, base + planned.mask);
    code.get(mask);
    code.when(() => {
      emitSwap(code, here[0]!, there[0]!);
      emitSwap(code, here[1]!, there[1]!);
    });
    code.get(shift);
    code.i32(DIGIT_BITS);
    code.op(op.i32Add);
    code.set(shift);
  }
  store(here[0]!, planned.bytes * passes + planned.keys);
  store(here[1]!, planned.bytes * passes + planned.payload);
  return code.finish();
}

/** Bits in which any two keys differ. */
function emitDifferingBits(code: Code, extent: number): number {
  const all = code.local(I32);
  const any = code.local(I32);
  const extremes = emitOwnWord(code, sortWord.extremes);
  const regions = emitOwnWord(code, sortWord.regions);
  code.i32(-1);
  code.set(all);
  code.i32(0);
  code.set(any);
  emitCount(code, regions, () => {
    code.get(all);
    code.get(extremes);
    code.memory(op.i32Load);
    code.op(op.i32And);
    code.set(all);
    code.get(any);
    code.get(extremes);
    code.memory(op.i32Load, 4);
    code.op(op.i32Or);
    code.set(any);
    code.get(extremes);
    code.i32(EXTREME_BYTES);
    code.op(op.i32Add);
    code.set(extremes);
  });
  code.get(all);
  code.get(any);
  code.op(op.i32Xor);
  code.i32(0);
  code.get(extent);
  code.op(op.select);
  code.set(any);
  return any;
}

/** The last digit may be narrower than the others. */
function emitMask(code: Code, mask: number, shift: number, end: number, last: boolean): void {
  if (last) {
    code.i32(1);
    code.get(end);
    code.get(shift);
    code.op(op.i32Sub, op.i32Shl);
    code.i32(1);
    code.op(op.i32Sub);
  } else {
    code.i32(DIGITS - 1);
  }
  code.set(mask);
}

function emitSwap(code: Code, a: number, b: number): void {
  code.get(a);
  code.get(b);
  code.set(a);
  code.set(b);
}

/** What the plan says of a pass, in locals. */
function emitPass(code: Code, pass: number): { readonly [K in Exclude<keyof typeof planned, 'bytes'>]: number } {
  const plan = emitOwnWord(code, sortWord.plan);
  const word = (offset: number): number => {
    const local = code.local(I32);
    code.get(plan);
    code.memory(op.i32Load, planned.bytes * pass + offset);
    code.set(local);
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

/** Leaves the kernel where the condition on the stack is zero. */
function emitUnless(code: Code): void {
  code.op(op.i32Eqz);
  code.when(() => code.op(op.return));
}

/** The address of the region's table of digits. */
function emitTable(code: Code): number {
  const table = emitOwnWord(code, sortWord.counts);
  code.get(table);
  code.get(CHUNK);
  code.i32(COUNT_BYTES);
  code.op(op.i32Mul, op.i32Add);
  code.set(table);
  return table;
}

/** Goes through the rows of the region; `row` holds four times the row. */
function emitRows(code: Code, extent: number, body: (row: number) => void): void {
  const { from, to } = emitRegion(code, extent);
  for (const bound of [from, to]) {
    code.get(bound);
    code.i32(2);
    code.op(op.i32Shl);
    code.set(bound);
  }
  code.get(from);
  code.get(to);
  code.op(op.i32LtU);
  code.when(() => {
    const again = code.loop();
    body(from);
    code.get(from);
    code.i32(4);
    code.op(op.i32Add);
    code.tee(from);
    code.get(to);
    code.op(op.i32LtU);
    code.brIf(again);
    code.end();
  });
}

/** Pushes the address of the table's entry for the digit of a key. */
function pushEntry(code: Code, table: number, key: () => void, shift: number, mask: number): void {
  code.get(table);
  key();
  code.get(shift);
  code.op(op.i32ShrU);
  code.get(mask);
  code.op(op.i32And);
  code.i32(2);
  code.op(op.i32Shl, op.i32Add);
}

function emitDigitCounts(pass: number): FunctionBody {
  const { code, extent } = begin();
  const { keys, shift, mask } = emitPass(code, pass);
  code.get(mask);
  emitUnless(code);
  const table = emitTable(code);
  code.get(table);
  code.i32(0);
  code.i32(COUNT_BYTES);
  code.memoryFill();
  const entry = code.local(I32);
  emitRows(code, extent, (row) => {
    pushEntry(code, table, () => pushWord(code, keys, row), shift, mask);
    code.tee(entry);
    code.get(entry);
    code.memory(op.i32Load);
    code.i32(1);
    code.op(op.i32Add);
    code.memory(op.i32Store);
  });
  return code.finish();
}

function pushWord(code: Code, base: number, row: number): void {
  code.get(base);
  code.get(row);
  code.op(op.i32Add);
  code.memory(op.i32Load);
}

/** Counts become places: digit by digit, and region by region for each. */
function emitPlaces(pass: number): FunctionBody {
  const { code } = begin();
  const { mask } = emitPass(code, pass);
  code.get(mask);
  emitUnless(code);
  const regions = emitOwnWord(code, sortWord.regions);
  const counts = emitOwnWord(code, sortWord.counts);
  const digits = code.local(I32);
  const entry = code.local(I32);
  const count = code.local(I32);
  const place = code.local(I32);
  code.get(mask);
  code.i32(1);
  code.op(op.i32Add);
  code.set(digits);
  code.i32(0);
  code.set(place);
  emitCount(code, digits, (digit) => {
    code.get(counts);
    code.get(digit);
    code.i32(2);
    code.op(op.i32Shl, op.i32Add);
    code.set(entry);
    emitCount(code, regions, () => {
      code.get(entry);
      code.memory(op.i32Load);
      code.set(count);
      code.get(entry);
      code.get(place);
      code.memory(op.i32Store);
      code.get(place);
      code.get(count);
      code.op(op.i32Add);
      code.set(place);
      code.get(entry);
      code.i32(COUNT_BYTES);
      code.op(op.i32Add);
      code.set(entry);
    });
  });
  return code.finish();
}

function emitMoves(pass: number, hasPayload: boolean): FunctionBody {
  const { code, extent } = begin();
  const { keys, payload, toKeys, toPayload, shift, mask } = emitPass(code, pass);
  code.get(mask);
  emitUnless(code);
  const table = emitTable(code);
  const key = code.local(I32);
  const entry = code.local(I32);
  const place = code.local(I32);
  const pushPlace = (base: number): void => {
    code.get(base);
    code.get(place);
    code.i32(2);
    code.op(op.i32Shl, op.i32Add);
  };
  emitRows(code, extent, (row) => {
    pushWord(code, keys, row);
    code.set(key);
    pushEntry(code, table, () => code.get(key), shift, mask);
    code.tee(entry);
    code.get(entry);
    code.memory(op.i32Load);
    code.tee(place);
    code.i32(1);
    code.op(op.i32Add);
    code.memory(op.i32Store);
    pushPlace(toKeys);
    code.get(key);
    code.memory(op.i32Store);
    if (!hasPayload) return;
    pushPlace(toPayload);
    pushWord(code, payload, row);
    code.memory(op.i32Store);
  });
  return code.finish();
}

/** Where passes were left out, the rows may have ended up in the other place. */
function emitCopyOut(passes: number, hasPayload: boolean): FunctionBody {
  const { code, extent } = begin();
  const { keys, payload } = emitPass(code, passes);
  const { from, to } = emitRegion(code, extent);
  const copy = (source: number, target: number): void => {
    code.get(source);
    code.get(target);
    code.op(op.i32Ne);
    code.when(() => {
      for (const base of [target, source]) {
        code.get(base);
        code.get(from);
        code.i32(2);
        code.op(op.i32Shl, op.i32Add);
      }
      code.get(to);
      code.get(from);
      code.op(op.i32Sub);
      code.i32(2);
      code.op(op.i32Shl);
      code.memoryCopy();
    });
  };
  copy(keys, emitOwnWord(code, sortWord.outKeys));
  if (hasPayload) copy(payload, emitOwnWord(code, sortWord.outPayload));
  return code.finish();
}
