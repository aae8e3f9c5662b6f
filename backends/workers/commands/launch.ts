import type { SymbolicUniform } from '../../../primitives/columns/symbolic.ts';
import type { ArrayBinding, Cell } from '../../../primitives/contract/backend.ts';
import type { FunctionBody } from '../wasm/wasm-encoder.ts';

/** How the host turns what a launch refers to into addresses. */
export interface Addresses {
  /** The address of a word of a buffer that has at least `words` words from there on. */
  of(cell: Cell, words: number): number;
  /** The address of the first element of an array whose elements have so many bytes. */
  ofArray(binding: ArrayBinding, bytes: number): number;
  /** The word that stands for a uniform which is another in every call; left out where there are none. */
  ofUniform?(uniform: SymbolicUniform): number;
}

/** An extent in words: address of a count or 0, what is taken off it, limit. */
export type LengthWords = readonly [number, number, number];

/** A parallel loop over chunks; the next phase begins when all of them are done. */
export interface Phase {
  /** Number of the function that is called for every chunk. */
  readonly run: number;
  readonly length: LengthWords;
  /** There are ⌈length ÷ chunkSize⌉ chunks … */
  readonly chunkSize: number;
  /** … and at least so many. */
  readonly minimum: number;
  /** Bytes from the beginning of the block of arguments on where its own lie; none where it is left out. */
  readonly offset?: number;
  /** The address of a word: where that is not 0, there are no chunks. Left out or 0, there always are. */
  readonly gate?: number;
}

/** What the queue takes: phases that share one block of argument words. */
export interface Submission {
  readonly words: ArrayLike<number>;
  readonly phases: readonly Phase[];
  /** Is told where the words are about to be written, which may change them and the phases. */
  placed?(address: number): void;
}

/** A command as the queue takes it. */
export interface Launch extends Submission {
  readonly words: readonly number[];
  readonly phases: readonly Phase[];
  /** Where its last phase may run tile by tile with those of other commands. */
  readonly tiles?: Tiles;
}

/** What fusing launches takes to know of each. */
export interface Tiles {
  /** Of its kernel, which has a function for every phase. */
  readonly key: string;
  build(): readonly FunctionBody[];
  /** Whether its tiles may have any size. */
  readonly anySize: boolean;
  /** The memory that it reads and writes, but for what is its own. */
  uses(): readonly Use[];
}

/** Addresses of memory that a launch uses. */
export interface Use {
  readonly from: number;
  readonly to: number;
  readonly writes: boolean;
  /** Whether index i uses the word at `from + 4 · i` and no other. */
  readonly inPlace: boolean;
  /** Whether every index writes its word, whatever stood there. */
  readonly whole: boolean;
  /** The word of the arguments that holds `from`, where one does. */
  readonly word: number | undefined;
}

/** Compiled functions, numbered for the queue. */
export interface Kernel {
  readonly functions: readonly number[];
}

/** What kernels are made with. */
export interface Launcher {
  readonly addresses: Addresses;
  /** Workers that may take part, 1 where the launch runs on the calling thread. */
  readonly workers: number;
  /** The kernel of that key, compiled when it is first asked for. */
  compile(key: string, build: () => readonly FunctionBody[]): Kernel;
  /** Memory that belongs to this launch alone; its address. */
  scratch(bytes: number): number;
}

const LARGEST_CHUNK = 65536;
const SMALLEST_CHUNK = 1024;
const CHUNKS_PER_WORKER = 8;

/**
 * Elements a chunk: at most 64K, so that V8 tiers kernels up between two calls and an abort is seen soon; fewer where the
 * workers would not get several chunks each.
 */
export function chunkSizeOf(elements: number, workers: number, largest: number = LARGEST_CHUNK): number {
  const even = Math.ceil(elements / (workers * CHUNKS_PER_WORKER) / SMALLEST_CHUNK) * SMALLEST_CHUNK;
  return Math.max(SMALLEST_CHUNK, Math.min(largest, even));
}

/** A phase of a fixed number of chunks. */
export function fixedPhase(run: number, chunks: number): Phase {
  return { run, length: [0, 0, chunks], chunkSize: 1, minimum: 0 };
}
