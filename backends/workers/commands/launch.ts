import type { SymbolicUniform } from '../../../primitives/columns/symbolic.ts';
import type { ArrayBinding, Cell } from '../../../primitives/contract/backend.ts';
import type { FunctionBody } from '../wasm/wasm-encoder.ts';

/** Turns the buffers of a launch into addresses. */
export interface Addresses {
  /** The address of a word of a buffer. Throws if the buffer has fewer than `words` words from this word on. */
  of(cell: Cell, words: number): number;
  /** The address of the first element of an array whose elements have `bytes` bytes each. */
  ofArray(binding: ArrayBinding, bytes: number): number;
  /**
   * The argument word for a symbolic uniform, whose value differs from call to call. Only present while a prepared
   * pipeline is captured (recorded for later calls).
   */
  ofUniform?(uniform: SymbolicUniform): number;
}

/**
 * A length as three argument words: the address of a count, the number to subtract from the count, and the limit. If
 * the address is 0, the length is the limit.
 */
export type LengthWords = readonly [number, number, number];

/**
 * A parallel loop over chunks. The phases of a launch run one after the other: a phase starts when all chunks of the
 * preceding phase are done.
 */
export interface Phase {
  /** The function to call for every chunk, given by the number under which the function is installed. */
  readonly run: number;
  readonly length: LengthWords;
  /** Elements per chunk. A phase has ⌈length ÷ chunkSize⌉ chunks, but at least `minimum`. */
  readonly chunkSize: number;
  /** Minimum number of chunks. */
  readonly minimum: number;
  /** Byte offset of the phase's arguments in the argument block. Default 0. */
  readonly offset?: number;
  /**
   * Address of the gate, a word that disables the phase: if the word is not 0, the phase has no chunks. If the address
   * is missing or 0, the phase always runs.
   */
  readonly gate?: number;
}

/** A unit of work for the queue: phases that share one block of argument words. */
export interface Submission {
  readonly words: ArrayLike<number>;
  readonly phases: readonly Phase[];
  /**
   * Called with the address of the argument block before the argument words are copied to this address. The function
   * may change the words and the phases.
   */
  placed?(address: number): void;
}

/** A command as argument words and phases, ready for the queue. */
export interface Launch extends Submission {
  readonly words: readonly number[];
  readonly phases: readonly Phase[];
  /** Present if the last phase may be fused with the last phases of other commands and run tile by tile. */
  readonly tiles?: Tiles;
}

/** The data needed to fuse a launch with others. */
export interface Tiles {
  /** Cache key of the launch's kernel, which has one function per phase. */
  readonly key: string;
  build(): readonly FunctionBody[];
  /** Whether the launch allows tiles of any size. */
  readonly anySize: boolean;
  /** The ranges of memory that the launch reads and writes, without its scratch memory. */
  uses(): readonly Use[];
}

/** A range of addresses, `to` exclusive, that a launch reads or writes. */
export interface Use {
  readonly from: number;
  readonly to: number;
  readonly writes: boolean;
  /** Whether, at every index i, the launch accesses only one word of the range: the word at `from + 4 · i`. */
  readonly inPlace: boolean;
  /** Whether the launch overwrites the word at `from + 4 · i` unconditionally, for every index i. */
  readonly whole: boolean;
  /** Index of the argument word that contains the address `from`; undefined if no argument word contains it. */
  readonly word: number | undefined;
}

/** A compiled kernel: the numbers of its installed functions, one per phase. */
export interface Kernel {
  readonly functions: readonly number[];
}

/** The services that a kernel needs to build its launch: addresses, compilation and scratch memory. */
export interface Launcher {
  readonly addresses: Addresses;
  /** Number of workers that may run the launch; 1 if it runs on the calling thread. */
  readonly workers: number;
  /** The kernel for a cache key. `build` is called to compile the kernel if it is not in the cache. */
  compile(key: string, build: () => readonly FunctionBody[]): Kernel;
  /** Allocates scratch memory for this launch only, and returns its address. */
  scratch(bytes: number): number;
}

const LARGEST_CHUNK = 65536;
const SMALLEST_CHUNK = 1024;
const CHUNKS_PER_WORKER = 8;
const SMALLEST_UNEVEN_CHUNK = 64;
const UNEVEN_CHUNKS_PER_WORKER = 64;

/**
 * Number of elements per chunk, chosen so that each worker gets several chunks. Chunks have at most `largest` elements
 * (64K by default), because a worker can switch to V8's optimized code or notice an abort only between two chunks.
 */
export function chunkSizeOf(elements: number, workers: number, largest: number = LARGEST_CHUNK): number {
  const even = Math.ceil(elements / (workers * CHUNKS_PER_WORKER) / SMALLEST_CHUNK) * SMALLEST_CHUNK;
  return Math.max(SMALLEST_CHUNK, Math.min(largest, even));
}

/**
 * The same for elements that may take very different time, or that may be far fewer than `elements`, because the device
 * alone knows how many there are: smaller chunks, so that no worker waits long for the last one.
 */
export function unevenChunkSizeOf(elements: number, workers: number): number {
  const even = Math.ceil(elements / (workers * UNEVEN_CHUNKS_PER_WORKER) / SMALLEST_UNEVEN_CHUNK);
  return Math.max(1, Math.min(LARGEST_CHUNK / SMALLEST_UNEVEN_CHUNK, even)) * SMALLEST_UNEVEN_CHUNK;
}

/** A phase with a fixed number of chunks of one element. */
export function fixedPhase(run: number, chunks: number): Phase {
  return { run, length: [0, 0, chunks], chunkSize: 1, minimum: 0 };
}
