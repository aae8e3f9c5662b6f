import type { GpuBuffer } from './gpu-types.ts';
import type {
  Cell,
  CrossReduceCommand,
  DeviceBuffer,
  Extent,
  HistogramCommand,
  MonoidProgram,
  Program,
  RelaxCommand,
  ScanCommand,
  SortCommand,
  Store,
  WalkCommand,
  WeightedHistogramCommand,
} from './kernel-commands.ts';
import type { Script, ScriptCall } from './prepared/script.ts';

export * from './kernel-commands.ts';

/**
 * The contract between the primitives and the place where they run.
 *
 * A backend owns memory and runs six kernels: `forEach`, `walk`, `reduce`, `scan`, `sort` and `histogram`. Every kernel
 * reads its input through a *program*: a functor of the index into which all views (transforms, gathers, slices …) have
 * been fused, so that a backend knows nothing of views. Kernels are commands: they return at once and take effect in the
 * order of their calls; only `read` and `sync` wait. All other primitives are written in these, once, in `primitives/`.
 */
export interface Backend {
  readonly name: 'reference' | 'workers' | 'webgpu';
  readonly limits: Limits;
  readonly determinism: Determinism;
  /** Rows of a walk where a primitive may cut its work as it likes: few where many indices run at once, many where few do. */
  readonly walkRows: number;
  readonly counters: Counters;

  /** Memory of the given number of 32-bit words, from a pool; contents undefined. Throws `OutOfMemoryError`. */
  allocate(words: number): DeviceBuffer;
  /** Gives memory back to the pool; commands already issued and reads under way still see it. */
  release(buffer: DeviceBuffer): void;
  /** Copies host words into a buffer, in command order; `data` may be reused at once. */
  write(buffer: DeviceBuffer, word: number, data: Uint32Array): void;
  /**
   * Fills a buffer of as many words as a source has, which nobody else uses before that is done. Settles only when no read of
   * the source is under way any more: where one fails, no other is begun. Backends that leave it out are written to.
   */
  upload?(buffer: DeviceBuffer, source: WordSource): Promise<void>;
  /**
   * Waits for all commands issued so far that touch the range and copies it to the host. Given `take`, a backend may hand it
   * the words piece by piece in place of an array, and returns an array of none then.
   */
  read(buffer: DeviceBuffer, word: number, words: number, take?: WordSink): Promise<Uint32Array>;
  /**
   * Waits for all commands issued so far that touch the range, and gives the memory itself that holds it, where the host can
   * look at it; nobody writes to it before the end. Undefined where it cannot.
   */
  lendWords?(buffer: DeviceBuffer, word: number, words: number): Promise<LentWords | undefined>;
  /** Waits until every command issued so far has taken effect. */
  sync(): Promise<void>;

  /** Evaluates `program(index)` for every index of the extent and stores its results. */
  forEach(extent: Extent, program: Program, stores: readonly Store[]): void;
  walk(command: WalkCommand): void;
  /** Folds `program(index)` over the extent, in order, into the words at `into`; the identity where it is empty. */
  reduce(extent: Extent, program: Program, monoid: MonoidProgram, into: Cell): void;
  scan(command: ScanCommand): void;
  sort(command: SortCommand): void;
  histogram(command: HistogramCommand): void;
  /**
   * Relaxes grids, each within one workgroup or on one thread. Says whether it did: where it did nothing, as the grids are too
   * large for it, the same is done by the six kernels (`relaxByRounds`). Missing where that is always so.
   */
  relax?(command: RelaxCommand): boolean;
  /**
   * Folds a functor of all pairs of rows, in tiles. Says whether it did: where it did nothing, the same is done by the six
   * kernels (`crossReduceByRows`). Missing where that is always so.
   */
  crossReduce?(command: CrossReduceCommand): boolean;
  /**
   * Adds weights by bin. Says whether it did: where it did nothing, the same is done by `forEach` (`weightedHistogramByDigits`).
   * Missing where that is always so.
   */
  weightedHistogram?(command: WeightedHistogramCommand): boolean;

  /**
   * Plays the commands of a prepared pipeline, and remembers by the script what it found out about them. Says whether it did:
   * where it did nothing, the caller issues the commands one by one. Missing where that is all that can be done. `over` where
   * the script has a gate that is already known to be shut: then nothing was done, nor is there anything to do.
   */
  play?(script: Script, call: ScriptCall): boolean | 'over';
  /** Makes ready for calls of a script whose lengths the host knows, so that the first is as quick as others. */
  prepareScript?(script: Script): void;
  /** Forgets what it remembers of a script. */
  forgetScript?(script: Script): void;
  /** Bytes that are held, or taken by each call, for what lives within a call of a script that was played. */
  scriptBytes?(script: Script): number;
  /**
   * Whether a buffer cannot be used any more, since the device had no memory for what was to be written to it. Missing where
   * that does not happen.
   */
  isLost?(buffer: DeviceBuffer): boolean;

  /**
   * Hands everything issued so far to the device, at once and without waiting; says whether that was possible. Backends that
   * keep nothing back leave it out.
   */
  submit?(): boolean;
  /** Missing where nobody else works with the device. */
  readonly shared?: SharedDevice | undefined;

  /** Drops what has not run yet; reads under way reject with the reason; the backend can only be closed after that. */
  abort(reason: unknown): void;
  /** Frees everything; idempotent. */
  close(): Promise<void>;
}

/** Words that are brought to a backend piece by piece, straight into memory of its own. */
export interface WordSource {
  readonly bytes: number;
  /** Whether it gives the same bytes again later, when it is read once more; of others a backend keeps copies, if it needs any. */
  readonly lasting: boolean;
  /** Whether it is to be read in as few pieces as there can be. */
  readonly whole: boolean;
  /**
   * Puts the bytes from `at` on into memory: as many as there is room for there. Several reads may be under way at once. The
   * memory is the source's until the promise settles, at once where there is none.
   */
  read(into: Uint8Array, at: number): Promise<void> | undefined;
}

/** Takes words, which are at number `at` of what was asked for; they are gone when it returns. Pieces come in any order. */
export type WordSink = (words: Uint32Array, at: number) => void;

/** What a backend does beside on a device of WebGPU that somebody else works with too. */
export interface SharedDevice {
  /**
   * Makes so many bytes of a buffer, from a place on, memory that commands may read; `byte` is where they begin in it. It is
   * never written, `release` leaves the buffer as it is, and commands read what it holds when they are handed over.
   */
  borrow(buffer: GpuBuffer, byte: number, bytes: number): { readonly buffer: DeviceBuffer; readonly byte: number };
  /**
   * The GPU buffer that holds the memory, from byte `byte` of it on, after everything issued so far was handed over. Until
   * `end` is called it stays where it is; `onLost` is called once where it is gone before that.
   */
  lend(buffer: DeviceBuffer, onLost: (reason: unknown) => void): LentMemory;
}

/** Memory of a backend that the host looks at. */
export interface LentWords {
  readonly words: Uint32Array;
  end(): void;
}

/** Memory that the owner of the device works with. */
export interface LentMemory {
  readonly buffer: GpuBuffer;
  readonly byte: number;
  end(): void;
}

/** What bounds a launch. Each can be lowered when a context is opened, so that tests reach the paths beyond it. */
export interface Limits {
  /** Bytes that one binding of a buffer may span; longer columns are split over several buffers. */
  readonly bindingBytes: number;
  /** Workgroups along one dimension of a dispatch. */
  readonly workgroups: number;
  /** Storage buffers a kernel may bind. */
  readonly storageBuffers: number;
  /** Bytes that may be allocated in all. */
  readonly memoryBytes: number;
}

/** Whether f32 results are the same bytes as on every other backend, as a probe found when the device was opened. */
export interface Determinism {
  readonly level: 'exact' | 'within-ulp';
  /** Largest difference seen, in units in the last place; 0 for exact. */
  readonly ulp: number;
  /** What the device does by itself and what the compiler does about it, one sentence each. */
  readonly reasons: readonly string[];
}

/** What a backend has done and holds; for tests, traces and `quadrille devices`. */
export interface Counters {
  /** Batches of commands handed to the device. */
  submissions: number;
  /** Kernel launches. */
  dispatches: number;
  /** Transfers from the device that the host waited for. */
  readbacks: number;
  /** Programs compiled. */
  compilations: number;
  /** Buffers made for good, or times that memory grew: what a pool hands out again is none. */
  allocations: number;
  /** Sets of buffers bound for the first time. */
  bindGroups: number;
  /** Buffers and bytes allocated and not yet released; bytes of released buffers too, as long as a read keeps them from others. */
  liveBuffers: number;
  liveBytes: number;
  /** What it cost to work on more than there was memory for, of a backend that spills. */
  readonly spilling?: SpillCounters;
}

/** Work that was done only because memory was too small. */
export interface SpillCounters {
  /** Bytes brought from the device to the host because there was no room for them. */
  spilledBytes: number;
  /** Bytes brought to the device again, or for the first time where they were written to the host. */
  restoredBytes: number;
  /** Windows in which commands ran whose buffers do not fit together. */
  windows: number;
  /** Rows that the host evaluated because what they read at random does not fit on the device. */
  rowsOnHost: number;
}
