import type { Script, ScriptCall } from '../prepared/script.ts';
import type { GpuBuffer } from './gpu-types.ts';
import type { DeviceBuffer, KernelCommand } from './kernel-commands.ts';

export * from './kernel-commands.ts';

/**
 * The interface through which the primitives use a backend (WebGPU, worker threads or plain JavaScript).
 *
 * A backend owns memory and runs commands of seven kernels: `forEach`, `walk`, `strips`, `reduce`, `scan`, `sort` and
 * `histogram`. It may have more kernels, for commands that are otherwise derived from these seven. Every kernel reads
 * its input through a *program*: a functor (a recorded function) that computes the element at an index. All views
 * (transforms, gathers, slices …) are already fused into the program, so backends never handle views. Commands return
 * immediately and take effect in the order in which they were issued. The host waits for commands only in `upload`,
 * `read`, `lendWords` and `sync`. The primitives are written in terms of these commands, once for all backends, in
 * `primitives/`.
 */
export interface Backend {
  readonly name: 'reference' | 'workers' | 'webgpu';
  readonly limits: Limits;
  readonly determinism: Determinism;
  /**
   * Preferred number of rows that one index of a walk (a loop that runs for each index) produces. The number is small
   * on backends that run many indices in parallel, and large on backends that run few. Only primitives whose results do
   * not depend on this number may use it.
   */
  readonly walkRows: number;
  readonly counters: Counters;

  /**
   * Takes memory of the given number of 32-bit words from a pool; its contents are undefined. Throws
   * `OutOfMemoryError`.
   */
  allocate(words: number): DeviceBuffer;
  /** Returns a buffer to the pool. Pending reads, and commands issued before, can still use the buffer. */
  release(buffer: DeviceBuffer): void;
  /**
   * Copies host words into a buffer, after the commands issued before. The caller may change `data` once `write` has
   * returned.
   */
  write(buffer: DeviceBuffer, word: number, data: Uint32Array): void;
  /**
   * Fills a buffer from a source of the same size. No command may use the buffer until the promise settles. The promise
   * settles only when no read of the source is pending; after a read has failed, no further read is started. If a
   * backend lacks this method, callers use `write`.
   */
  upload?(buffer: DeviceBuffer, source: WordSource): Promise<void>;
  /**
   * Waits for all commands issued so far that touch the given range of words, and copies the range to the host. If
   * `take` is given, a backend may pass the words to `take` in pieces; the backend then returns an empty array.
   */
  read(buffer: DeviceBuffer, word: number, words: number, take?: WordSink): Promise<Uint32Array>;
  /**
   * Waits for all commands issued so far that touch the range of words, and returns the memory itself, without a copy.
   * Returns undefined if the host cannot access the memory. No command may write to the range before the caller calls
   * `end` of the result.
   */
  lendWords?(buffer: DeviceBuffer, word: number, words: number): Promise<LentWords | undefined>;
  /** Waits until every command issued so far has taken effect. */
  sync(): Promise<void>;

  /**
   * Issues a command. Returns false, without doing anything, if the backend has no kernel for this command; the caller
   * then computes the same by other commands (`issue` of `primitives/derived`). Every backend runs all commands of
   * `forEach`, `walk`, `strips`, `reduce`, `scan`, `sort` and `histogram`; for these it returns true.
   */
  run(command: KernelCommand): boolean;

  /**
   * Runs a script (the recorded commands of a prepared pipeline), and caches what the backend has prepared for this
   * script. Returns false if the backend cannot run this script; the caller then issues the commands one by one.
   * Returns `over` if the script is a round of a loop, and the script's gate (a word in memory) already shows that the
   * loop has ended. Backends that cannot run scripts lack the method.
   */
  play?(script: Script, call: ScriptCall): boolean | 'over';
  /**
   * Prepares a script for calls in which the host knows all lengths, so that the first such call is as fast as later
   * calls.
   */
  prepareScript?(script: Script): void;
  /** Drops everything cached for a script. */
  forgetScript?(script: Script): void;
  /**
   * Bytes of memory for a script's intermediate results, whether that memory is kept between calls or allocated for
   * each call.
   */
  scriptBytes?(script: Script): number;
  /**
   * Whether a buffer has become unusable because the device ran out of memory while a command wrote to it. Backends
   * where this cannot happen lack the method.
   */
  isLost?(buffer: DeviceBuffer): boolean;

  /**
   * Submits all commands issued so far to the device immediately, without waiting. Returns whether that was possible.
   * Backends that never delay commands lack the method.
   */
  submit?(): boolean;
  /**
   * Operations for a device that the caller of `open` provided and may also submit work to. Undefined for other
   * backends.
   */
  readonly shared?: SharedDevice | undefined;

  /**
   * Discards all commands that have not run yet. Pending reads reject with `reason`. After this, the backend can only
   * be closed.
   */
  abort(reason: unknown): void;
  /** Frees all memory, threads and devices of the backend; closing twice has no effect. */
  close(): Promise<void>;
}

/** A source of data that a backend reads in pieces, directly into its own memory. */
export interface WordSource {
  readonly bytes: number;
  /**
   * Whether the source can be read again, with the same bytes. If not, a backend that may need the bytes again keeps a
   * copy.
   */
  readonly lasting: boolean;
  /**
   * Whether a backend should read the source in as few pieces as possible. True if the user gave a `fill` callback,
   * which writes the elements.
   */
  readonly whole: boolean;
  /**
   * Fills `into` with the bytes of the source from byte `at` on. Several reads may be pending at the same time. Only
   * the source may use `into` until the promise settles. If the read is already complete, returns undefined.
   */
  read(into: Uint8Array, at: number): Promise<void> | undefined;
}

/**
 * A callback that receives a piece of the range that is being read. `at` is the position of the first word of the
 * piece in that range. The callback must copy the words, because they are invalid after it returns. Pieces may come
 * in any order.
 */
export type WordSink = (words: Uint32Array, at: number) => void;

/** Additional operations of a backend whose WebGPU device belongs to the user. */
export interface SharedDevice {
  /**
   * Lets commands read `bytes` bytes of a GPU buffer, from the argument `byte` on. The result is a buffer that contains
   * these bytes, and the position `byte` of the first of them in that buffer. The backend never writes to these bytes,
   * and `release` does not destroy the GPU buffer. Commands read the contents that the GPU buffer has when the commands
   * are submitted.
   */
  borrow(buffer: GpuBuffer, byte: number, bytes: number): { readonly buffer: DeviceBuffer; readonly byte: number };
  /**
   * Submits all commands issued so far. Returns the GPU buffer that contains the memory of `buffer`, and the byte of
   * the GPU buffer at which this memory starts. The memory stays at that place until `end` is called. If the memory
   * is lost before `end` is called, `onLost` is called once.
   */
  lend(buffer: DeviceBuffer, onLost: (reason: unknown) => void): LentMemory;
}

/** Memory of a backend that the host can access directly, until `end` is called. */
export interface LentWords {
  readonly words: Uint32Array;
  end(): void;
}

/** GPU memory that the owner of the device may read, until `end` is called. */
export interface LentMemory {
  readonly buffer: GpuBuffer;
  readonly byte: number;
  end(): void;
}

/**
 * Limits of launches and memory. Each can be lowered when a context is opened, so that tests with small data can
 * exercise the code for data that exceeds a limit.
 */
export interface Limits {
  /** Bytes of a buffer that one binding can cover. Longer columns are split over several buffers. */
  readonly bindingBytes: number;
  /** Maximum number of workgroups in one dimension of a dispatch. */
  readonly workgroups: number;
  /** Maximum number of storage buffers that a kernel can bind. */
  readonly storageBuffers: number;
  /** Maximum number of bytes allocated at the same time. */
  readonly memoryBytes: number;
}

/**
 * How far f32 results of a backend agree with those of all other backends. `level` is `exact` if they are
 * byte-identical. Test kernels measure this when the device is opened.
 */
export interface Determinism {
  readonly level: 'exact' | 'within-ulp';
  /** Largest difference that the test kernels found, in units in the last place (ulp); 0 if the results were exact. */
  readonly ulp: number;
  /** How the device's arithmetic deviates, and how the generated code compensates for it. One sentence each. */
  readonly reasons: readonly string[];
}

/** Counters of the work and the memory of a backend, for tests, traces and `quadrille devices`. */
export interface Counters {
  /** Number of times that commands were submitted to the device. */
  submissions: number;
  /** Kernel launches. */
  dispatches: number;
  /** Number of transfers from the device for which the host waited. */
  readbacks: number;
  /** Number of programs compiled. */
  compilations: number;
  /** Number of times that a buffer was created or memory grew. Buffers reused from a pool do not count. */
  allocations: number;
  /** Number of bind groups created. A set of buffers that was bound before reuses its bind group. */
  bindGroups: number;
  /**
   * Number of buffers allocated and not yet released. A released buffer still counts while a pending read keeps it from
   * being reused.
   */
  liveBuffers: number;
  liveBytes: number;
  /** The cost of spilling (moving data to the host). Undefined if the backend does not spill. */
  readonly spilling?: SpillCounters;
}

/** Counters of the additional work that was done because device memory was too small. */
export interface SpillCounters {
  /** Bytes moved from the device to the host to free device memory. */
  spilledBytes: number;
  /** Bytes moved from the host to the device: data that had been spilled, or that was first written on the host. */
  restoredBytes: number;
  /**
   * Number of windows in which commands ran. A window is a part of a command's rows. Windows are used when the buffers
   * of a command do not fit on the device together.
   */
  windows: number;
  /**
   * Number of rows that were evaluated on the host, because the data that these rows read at random positions did not
   * fit on the device.
   */
  rowsOnHost: number;
}
