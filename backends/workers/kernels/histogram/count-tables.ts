import { CHUNK, emitOwnWord, kernelCode, ownWord, WORKER } from '../../commands/kernel-arguments.ts';
import type { Phase } from '../../commands/launch.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { type FunctionBody, I32 } from '../../wasm/wasm-encoder.ts';
import { type Int32, load } from '../../wasm/wasm-expressions.ts';
import type { Int32Local } from '../../wasm/wasm-locals.ts';
import { fillMemory, forRange, lower, store } from '../../wasm/wasm-statements.ts';

/**
 * Index of the kernel-specific argument word that holds the address of the result. The next constants are the indices
 * of further words.
 */
export const INTO = 0;
export const BINS = 1;
/**
 * Index of the word with the number of histograms in the result. In a segmented command, every segment (range of
 * elements) has one histogram.
 */
export const RUNS = 2;
export const SEGMENT = 3;
export const RANKS = 4;
/**
 * Index of the first of three words that describe the tables to count into: the address of the first table, the number
 * of bytes from one worker's first table to the next worker's first table, and the total number of tables.
 */
export const TABLES = 5;
export const STRIDE = 6;
const TABLE_COUNT = 7;
/**
 * Index of the first of two words that describe the workers' private memory for counting rows: the address of worker
 * 0's memory, and the number of bytes per worker.
 */
export const ROWS = 8;
export const ROW_STRIDE = 9;
/** Index of the word with the number of bytes per table. A worker may have several tables, one after another. */
export const TURN = 10;
export const WORDS = 11;

/** Number of table words per chunk in the phases that clear tables or add them up. */
const TABLE_CHUNK = 16384;

/**
 * Estimated factor by which a shared table becomes cheaper if each worker first counts rows in private tables that it
 * uses in turn (see `turn-tables.ts`).
 */
export const ROW_SHARING = 64;

/** Maximum total size of the private tables of all workers, in bytes. */
const PRIVATE_BYTES = 2 ** 26;

export function worthTables(words: number, workers: number, elements: number): boolean {
  return 4 * words * workers <= PRIVATE_BYTES && words * workers <= Math.max(TABLE_CHUNK, elements);
}

/** A phase that clears words of tables or adds them up. */
export function overTables(run: number, words: number): Phase {
  return { run, length: [0, 0, words], chunkSize: TABLE_CHUNK, minimum: 0 };
}

/** The address of the worker's table or private memory, as a local. With a stride of 0, all workers share one table. */
export function emitTableOf(code: Code, first: number, stride: number): Int32 {
  const address = emitOwnWord(code, first);
  address.set(address.add(WORKER.mul(ownWord(stride))));
  return address;
}

/**
 * The part of an array of `words` words that the current chunk processes: its offset in bytes and its number of words,
 * as locals.
 */
function emitPart(code: Code, words: Int32): { readonly offset: Int32Local; readonly count: Int32 } {
  const offset = code.local(I32);
  const count = code.local(I32);
  offset.set(CHUNK.mul(TABLE_CHUNK));
  count.set(words.sub(offset));
  lower(code, count, TABLE_CHUNK);
  offset.set(offset.shl(2));
  return { offset, count };
}

const TABLE_WORDS = ownWord(BINS).mul(ownWord(RUNS));

export function emitClear(): FunctionBody {
  const code = kernelCode();
  const { offset, count } = emitPart(code, TABLE_WORDS.mul(ownWord(TABLE_COUNT)));
  fillMemory(code, ownWord(TABLES).add(offset), 0, count.shl(2));
  return code.finish();
}

/** Emits the function that clears the private memory for counting rows, one worker's memory per chunk. */
export function emitClearRows(): FunctionBody {
  const code = kernelCode();
  fillMemory(code, ownWord(ROWS).add(CHUNK.mul(ownWord(ROW_STRIDE))), 0, ownWord(ROW_STRIDE));
  return code.finish();
}

/** Emits the function that adds up all tables, bin by bin, and writes the sums to the result. */
export function emitMerge(): FunctionBody {
  const code = kernelCode();
  const { offset, count } = emitPart(code, TABLE_WORDS);
  const into = emitOwnWord(code, INTO);
  const first = emitOwnWord(code, TABLES);
  const stride = emitOwnWord(code, TURN);
  const tables = emitOwnWord(code, TABLE_COUNT);
  const table = code.local(I32);
  const sum = code.local(I32);
  forRange(code, count, () => {
    table.set(first.add(offset));
    sum.set(0);
    forRange(code, tables, () => {
      sum.set(sum.add(load(table)));
      table.set(table.add(stride));
    });
    store(code, into.add(offset), sum);
    offset.set(offset.add(4));
  });
  return code.finish();
}
