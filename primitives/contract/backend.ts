import type { Script, ScriptCall } from '../prepared/script.ts';
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

export * from './kernel-commands.ts';

/**
 * The contract between the primitives and the place where they run.
 *
 * A backend owns memory and runs six kernels: `forEach`, `walk`, `reduce`, `scan`, `sort` and `histogram`. Every kernel
 * reads its input through a *program*: a functor of the index into which all views (transforms, gathers, slices …) have
 * been fused, so backends never see views. Kernels are commands: they return immediately and take effect in the order
 * of their calls; only `read` and `sync` wait. All other primitives are written in terms of these kernels, once, in
 * `primitives/`.
 */
export interface Backend {
  readonly name: 'reference' | 'workers' | 'webgpu';
  readonly limits: Limits;
  readonly determinism: Determinism;
  /**
   * Rows per index of a walk, for primitives that are free to choose: few if many indices run in parallel, many if few
   * do.
   */
  readonly walkRows: number;
  readonly counters: Counters;

  /** Memory of the given number of 32-bit words, from a pool; contents undefined. Throws `OutOfMemoryError`. */
  allocate(words: number): DeviceBuffer;
  /** Returns memory to the pool. Commands already issued and pending reads still see it. */
  release(buffer: DeviceBuffer): void;
  /** Copies host words into a buffer, in command order. `data` may be reused as soon as this returns. */
  write(buffer: DeviceBuffer, word: number, data: Uint32Array): void;
  /**
   * Fills a buffer from a source with the same number of words. Nobody else may use the buffer until the promise
   * settles. It settles only when no read of the source is pending; after a read fails, no other read is started. For
   * backends without this method, callers use `write`.
   */
  upload?(buffer: DeviceBuffer, source: WordSource): Promise<void>;
  /**
   * Waits for all commands issued so far that touch the range and copies it to the host. Given `take`, a backend may
   * pass the words to it piece by piece; it then returns an empty array.
   */
  read(buffer: DeviceBuffer, word: number, words: number, take?: WordSink): Promise<Uint32Array>;
  /**
   * Waits for all commands issued so far that touch the range and returns the memory of the range itself, if the host
   * can see it; otherwise undefined. Nobody writes to the range until `end` is called.
   */
  lendWords?(buffer: DeviceBuffer, word: number, words: number): Promise<LentWords | undefined>;
  /** Waits until every command issued so far has taken effect. */
  sync(): Promise<void>;

  /** Evaluates `program(index)` for every index of the extent and stores its results. */
  forEach(extent: Extent, program: Program, stores: readonly Store[]): void;
  walk(command: WalkCommand): void;
  /**
   * Folds `program(index)` over the extent, in order, and stores the result at `into`: the identity if the extent is
   * empty.
   */
  reduce(extent: Extent, program: Program, monoid: MonoidProgram, into: Cell): void;
  scan(command: ScanCommand): void;
  sort(command: SortCommand): void;
  histogram(command: HistogramCommand): void;
  /**
   * Relaxes grids, each within one workgroup or on one thread. Returns whether it did. If it did not, because the grids
   * are too large, the caller uses the six kernels instead (`relaxByRounds`). Missing in backends that never can.
   */
  relax?(command: RelaxCommand): boolean;
  /**
   * Folds a functor of all pairs of rows, in tiles. Returns whether it did. If it did not, the caller uses the six
   * kernels instead (`crossReduceByRows`). Missing in backends that never can.
   */
  crossReduce?(command: CrossReduceCommand): boolean;
  /**
   * Adds weights by bin. Returns whether it did. If it did not, the caller uses `forEach` instead
   * (`weightedHistogramByDigits`). Missing in backends that never can.
   */
  weightedHistogram?(command: WeightedHistogramCommand): boolean;

  /**
   * Plays the commands of a prepared pipeline, and caches by script what it learns about them. Returns whether it did.
   * If it did not, the caller issues the commands one by one. Returns `over` if a gate of the script is already known
   * to be shut: nothing was done, and nothing remains to be done. Missing in backends that cannot play scripts.
   */
  play?(script: Script, call: ScriptCall): boolean | 'over';
  /** Prepares for calls of a script whose lengths the host knows, so that the first call is as fast as later ones. */
  prepareScript?(script: Script): void;
  /** Drops everything cached for a script. */
  forgetScript?(script: Script): void;
  /**
   * Bytes of the memory that lives within a call of a script that was played: held between calls, or taken by each
   * call.
   */
  scriptBytes?(script: Script): number;
  /**
   * Whether a buffer has become unusable because the device ran out of memory while writing to it. Missing in backends
   * where this cannot happen.
   */
  isLost?(buffer: DeviceBuffer): boolean;

  /**
   * Hands everything issued so far to the device immediately, without waiting. Returns whether that was possible.
   * Missing in backends that never delay commands.
   */
  submit?(): boolean;
  /** Missing unless others work with the device too. */
  readonly shared?: SharedDevice | undefined;

  /**
   * Drops all commands that have not run yet. Pending reads reject with the reason. After this, the backend can only be
   * closed.
   */
  abort(reason: unknown): void;
  /** Frees everything; idempotent. */
  close(): Promise<void>;
}

/** Words that are brought to a backend piece by piece, straight into its memory. */
export interface WordSource {
  readonly bytes: number;
  /** Whether a second read gives the same bytes again. If not, a backend that may need them again keeps a copy. */
  readonly lasting: boolean;
  /** Whether it should be read in as few pieces as possible. */
  readonly whole: boolean;
  /**
   * Copies bytes, starting at byte `at` of the source, into `into` until it is full. Several reads may be pending at a
   * time. `into` belongs to the source until the promise settles; undefined means that the read is already complete.
   */
  read(into: Uint8Array, at: number): Promise<void> | undefined;
}

/**
 * Takes a piece of the words that were read; its first word is word `at` of the range. The words are invalid after it
 * returns. Pieces come in any order.
 */
export type WordSink = (words: Uint32Array, at: number) => void;

/** The additional operations of a backend on a WebGPU device that others work with too. */
export interface SharedDevice {
  /**
   * Makes `bytes` bytes of a GPU buffer, starting at its byte `byte`, readable by commands. The range starts at byte
   * `byte` of the returned buffer. It is never written, and `release` leaves the GPU buffer as it is. Commands read the
   * contents at the time they are handed to the device.
   */
  borrow(buffer: GpuBuffer, byte: number, bytes: number): { readonly buffer: DeviceBuffer; readonly byte: number };
  /**
   * Hands everything issued so far to the device and returns the GPU buffer that holds the memory, from its byte `byte`
   * on. The memory stays there until `end` is called. If it is lost before that, `onLost` is called once.
   */
  lend(buffer: DeviceBuffer, onLost: (reason: unknown) => void): LentMemory;
}

/** Memory of a backend that the host can see. */
export interface LentWords {
  readonly words: Uint32Array;
  end(): void;
}

/** Memory that is lent to the owner of the device. */
export interface LentMemory {
  readonly buffer: GpuBuffer;
  readonly byte: number;
  end(): void;
}

/**
 * Limits of launches and memory. Each can be lowered when a context is opened, so that tests reach the paths beyond it.
 */
export interface Limits {
  /** Bytes that one binding of a buffer may span; longer columns are split over several buffers. */
  readonly bindingBytes: number;
  /** Workgroups in one dimension of a dispatch. */
  readonly workgroups: number;
  /** Storage buffers a kernel may bind. */
  readonly storageBuffers: number;
  /** Bytes that may be allocated in total. */
  readonly memoryBytes: number;
}

/** Whether f32 results are byte-identical to those of every other backend, as probed when the device was opened. */
export interface Determinism {
  readonly level: 'exact' | 'within-ulp';
  /** Largest difference that the probe saw, in units in the last place; 0 if exact. */
  readonly ulp: number;
  /** How the device deviates and how the compiler compensates, one sentence each. */
  readonly reasons: readonly string[];
}

/** Counts what a backend has done and holds; for tests, traces and `quadrille devices`. */
export interface Counters {
  /** Batches of commands handed to the device. */
  submissions: number;
  /** Kernel launches. */
  dispatches: number;
  /** Transfers from the device that the host waited for. */
  readbacks: number;
  /** Programs compiled. */
  compilations: number;
  /** Buffers created, or times that memory grew. Buffers reused from a pool do not count. */
  allocations: number;
  /** Sets of buffers bound for the first time. */
  bindGroups: number;
  /**
   * Buffers and bytes allocated and not yet released. Released buffers count as long as a pending read keeps them from
   * being reused.
   */
  liveBuffers: number;
  liveBytes: number;
  /** What spilling cost; only of a backend that spills. */
  readonly spilling?: SpillCounters;
}

/** Work that was done only because memory was too small. */
export interface SpillCounters {
  /** Bytes moved from the device to the host for lack of device memory. */
  spilledBytes: number;
  /** Bytes moved from the host to the device: spilled before, or first written on the host. */
  restoredBytes: number;
  /** Windows in which commands ran because their buffers do not fit on the device together. */
  windows: number;
  /** Rows that the host evaluated because the data they read at random does not fit on the device. */
  rowsOnHost: number;
}
