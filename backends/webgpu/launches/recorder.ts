import { OutOfMemoryError, type QuadrilleError } from '../../../primitives/checks/errors.ts';
import type { Counters } from '../../../primitives/contract/backend.ts';
import { closeErrorScopes, errorScopes, type Failure, refusedError } from '../device/failure.ts';
import { usage } from '../device/usage.ts';
import type { BufferPart } from '../memory/part.ts';

/** A range of a parameter buffer (chunk) whose words are passed to launches. */
export interface SlotPlace {
  readonly chunk: BufferPart;
  readonly byteOffset: number;
  readonly bytes: number;
}

/** A slot whose words the host writes to `data`. The words are uploaded before the launches of the submission run. */
export interface ParameterSlot extends SlotPlace {
  readonly data: Uint32Array;
  /**
   * Only on a tape (recorded launches of a prepared pipeline): each call will add element `value` of its values to word
   * `at`.
   */
  readonly patch?: (at: number, value: number) => void;
}

export interface Dispatch {
  readonly pipeline: GPUComputePipeline;
  readonly groups: readonly [number, number, number];
  readonly parameters: GPUBindGroup;
  readonly offsets: readonly [number, number];
  readonly storage: GPUBindGroup;
  readonly parts: readonly BufferPart[];
  /** The access to each part (GPU buffer), one letter per part: r (read only) or w (read and write). */
  readonly access: string;
}

/** A batch of commands that are submitted to the device together. */
export interface Submission {
  /**
   * Settles when the device has validated the commands. Rejects with an `OutOfMemoryError` if the device lacked memory
   * for the commands or for their buffers. Any other error fails the whole backend.
   */
  readonly accepted: Promise<void>;
}

/** A staging buffer that recorded commands copy from or to. It must not be mapped when these commands are submitted. */
export interface Staged {
  /** Called before the commands are submitted. If the buffer is mapped, this method must unmap it. */
  handOver(): void;
  /** Called after the commands were submitted (`handedOver`) or dropped. */
  ended(handedOver: boolean): void;
}

/** Records commands into one encoder until a caller waits for a result. */
export interface DispatchRecorder {
  /** The number of the current submission, or of the next one if none is open. */
  readonly submission: number;
  /**
   * Opens a submission if none is open. Every call that may raise a device error must be made while a submission is
   * open.
   */
  begin(): Submission;
  /**
   * Makes a call that may raise a device error immediately, not only at submission. On a shared device, the call is
   * enclosed in error scopes of its own, so that this backend and other code do not receive each other's errors.
   */
  watched<T>(call: () => T): T;
  /**
   * Records that a GPU buffer was created for the open submission. If the device lacks memory, the buffer is marked as
   * lost.
   */
  made(part: BufferPart): void;
  /** Slots start at multiples of this number of bytes. */
  readonly alignment: number;
  /** Reserves a zeroed slot for launches of the open submission. */
  slot(words: number): ParameterSlot;
  /**
   * Reserves a slot (range of a parameter buffer) and copies `words` into it. The size of `words` in bytes must be a
   * multiple of `alignment`.
   */
  place(words: Uint32Array): SlotPlace;
  dispatch(command: Dispatch): void;
  /** Calls a function before each dispatch, while commands are profiled. */
  watch(beforeDispatch: (() => void) | undefined): void;
  copy(from: BufferPart, fromByte: number, to: BufferPart, toByte: number, bytes: number): void;
  clear(part: BufferPart, byte: number, bytes: number): void;
  /**
   * Returns the open compute pass, or opens one, for dispatches that bypass {@link dispatch}. The pass is valid until
   * the next copy or clear.
   */
  pass(): GPUComputePassEncoder;
  /**
   * Reports dispatches that were made directly in {@link pass}: their number, the parts (GPU buffers) that they use,
   * and the parts that they write.
   */
  note(dispatches: number, parts: readonly BufferPart[], written: readonly BufferPart[]): void;
  /**
   * Records a timestamp query. Once the device has executed everything recorded so far, it writes the current time to
   * query `index` of `set`.
   */
  stamp(set: GPUQuerySet, index: number): void;
  /** Writes the timestamps of a query set to a GPU buffer. */
  resolve(set: GPUQuerySet, to: BufferPart): void;
  /** Registers a staging buffer for the open submission, which will call the methods of `staged`. */
  stage(staged: Staged): void;
  /** Writes host words to a part (GPU buffer). The write takes effect after everything recorded so far. */
  write(part: BufferPart, byte: number, data: Uint32Array): void;
  /** Destroys a GPU buffer once the commands recorded so far are submitted. */
  destroyLater(part: BufferPart): void;
  /**
   * Submits the recorded commands if there are enough of them. Must be called at the end of every backend command. The
   * first submissions after a wait are small, so that the device works while more commands are recorded.
   */
  endCommand(): void;
  /** Avoids submissions while `record` runs, so that the device executes the recorded commands without pauses. */
  together<T>(record: () => T): T;
  /** Submits everything that is recorded. */
  flush(): void;
  /** Submits in a microtask everything that is recorded by then. Resolves after the submission. */
  flushSoon(): Promise<void>;
  /** Resolves when the device has accepted all submissions; see {@link Submission.accepted}. */
  accepted(): Promise<unknown>;
  /** Drops everything that is recorded and not submitted. */
  drop(): void;
  destroy(): void;
}

export interface RecorderOptions {
  readonly device: GPUDevice;
  /** Whether other code uses the device too. */
  readonly shared: boolean;
  readonly failure: Failure;
  readonly counters: Counters;
  /** When this number of commands are recorded, they are submitted even if nobody waits for a result. */
  readonly commandsPerSubmission: number;
  /**
   * Called when the device lacked memory for some commands. The contents of the buffers that these commands write are
   * then lost.
   */
  readonly onShortage: () => void;
  /** Finds out why a call to the device failed, given the error of that call. */
  readonly explain: (cause: unknown) => Promise<unknown>;
}

/** A submission that is open or that the device has not validated yet. */
interface Flight extends Submission {
  /** The parts (GPU buffers) that the commands write, and the parts created for the submission. */
  readonly parts: Set<BufferPart>;
  /** The staging buffers that the commands use. */
  readonly staged: Set<Staged>;
  /** Whether the commands read borrowed buffers. */
  borrows: boolean;
  /** The errors that error scopes caught in calls for this submission. */
  readonly answers: Promise<QuadrilleError | undefined>[];
  /** The reason why the results of the submission are lost: the device lacked memory, or refused a borrowed buffer. */
  shortage: QuadrilleError | undefined;
  accept(outcome: Promise<void>): void;
}

function createFlight(): Flight {
  let accept: Flight['accept'] | undefined;
  const accepted = new Promise<void>((resolve) => {
    accept = resolve;
  });
  // It is possible that nobody awaits this promise, so its rejection must not count as unhandled. The error is not
  // lost, because later uses of the written parts (GPU buffers) report it too.
  accepted.catch(() => {});
  return {
    accepted,
    parts: new Set(),
    staged: new Set(),
    borrows: false,
    answers: [],
    shortage: undefined,
    accept: accept!,
  };
}

/** Size of a chunk (a buffer for kernel parameters) in bytes. */
export const CHUNK_BYTES = 65536;
/** Number of commands in the first submission after a wait. The number doubles with every further submission. */
const FIRST_COMMANDS = 64;
/**
 * Maximum bytes of a write that is recorded as a copy from a chunk (parameter buffer). Before a longer write to a
 * buffer that recorded commands use, these commands are submitted.
 */
const LARGEST_COPIED_WRITE = CHUNK_BYTES / 4;

export function createRecorder(options: RecorderOptions): DispatchRecorder {
  const { device, shared, failure, counters, commandsPerSubmission, onShortage, explain } = options;
  const alignment = Math.max(256, device.limits.minUniformBufferOffsetAlignment);
  const chunks: { part: BufferPart; data: Uint32Array; used: number }[] = [];
  let chunk = 0;
  let submission = 0;
  let commands = 0;
  let beforeDispatch: (() => void) | undefined;
  let encoder: GPUCommandEncoder | undefined;
  let pass: GPUComputePassEncoder | undefined;
  let soon: Promise<void> | undefined;
  const few = Math.min(FIRST_COMMANDS, commandsPerSubmission);
  let enough = few;
  let isTogether = false;
  let open: Flight | undefined;
  const underWay = new Set<Flight>();
  let doomed: BufferPart[] = [];

  const begin = (): Flight => {
    failure.guard();
    if (open !== undefined) return open;
    if (!shared) openScopes();
    encoder = device.createCommandEncoder();
    open = createFlight();
    return open;
  };

  const openScopes = (): void => {
    for (const scope of errorScopes) device.pushErrorScope(scope);
  };

  const watched = <T>(call: () => T): T => {
    const { answers } = begin();
    if (!shared) return call();
    openScopes();
    try {
      return call();
    } finally {
      answers.push(...closeErrorScopes(device));
    }
  };

  const outsidePass = (): GPUCommandEncoder => {
    begin();
    pass?.end();
    pass = undefined;
    return encoder!;
  };

  const use = (part: BufferPart, isWritten: boolean): void => {
    part.lastUse = submission;
    if (part.borrowedAt !== undefined) open!.borrows = true;
    if (isWritten) open!.parts.add(part);
  };
  const countWrite = (part: BufferPart): void => {
    use(part, true);
    commands++;
  };
  const openPass = (): GPUComputePassEncoder => {
    begin();
    pass ??= encoder!.beginComputePass();
    return pass;
  };

  const flush = (): void => {
    if (open === undefined) return;
    for (const staged of open.staged) staged.handOver();
    watched(() => {
      const buffer = outsidePass().finish();
      for (const { part, data, used } of chunks.slice(0, chunk + 1)) {
        if (used > 0) device.queue.writeBuffer(part.gpu, 0, data, 0, used / 4);
      }
      device.queue.submit([buffer]);
    });
    counters.submissions++;
    reset(true);
  };

  const reset = (handedOver: boolean): void => {
    const flight = open!;
    open = undefined;
    encoder = undefined;
    pass = undefined;
    for (const filled of chunks) filled.used = 0;
    chunk = 0;
    commands = 0;
    submission++;
    for (const part of doomed) part.gpu.destroy();
    doomed = [];
    const before = [...underWay].at(-1)?.accepted;
    underWay.add(flight);
    if (!shared) flight.answers.push(...closeErrorScopes(device));
    flight.accept(judge(flight, Promise.all(flight.answers), before));
    for (const staged of flight.staged) staged.ended(handedOver);
  };

  /** Decides, from the errors that the device reported for a submission, whether the submission was accepted. */
  const judge = async (
    flight: Flight,
    answer: Promise<(QuadrilleError | undefined)[]>,
    before: Promise<void> | undefined,
  ): Promise<void> => {
    // An earlier submission's error may be the cause of an error of the current submission, so the earlier submission
    // is judged first. The error of the earlier submission is reported elsewhere.
    await before?.catch(() => {});
    try {
      const errors = (await answer).filter((error) => error !== undefined);
      const shortage = errors.find((error) => error instanceof OutOfMemoryError);
      if (shortage !== undefined) spoil(flight, shortage);
      // After a shortage, the device also refuses commands that use the missing buffers. Such errors are consequences
      // and are ignored.
      else if (flight.shortage === undefined && errors.length > 0) {
        if (flight.borrows) spoil(flight, refusedError(errors[0]!));
        else failure.fail(errors[0]);
      }
    } catch (cause) {
      failure.fail(await explain(cause));
    }
    underWay.delete(flight);
    if (flight.shortage !== undefined) throw flight.shortage;
    failure.guard();
  };

  /** Marks as lost all parts (GPU buffers) that the given submission or a later one writes. */
  const spoil = (flight: Flight, shortage: QuadrilleError): void => {
    if (open !== undefined) reset(false);
    const flights = [...underWay];
    for (const later of flights.slice(flights.indexOf(flight))) {
      later.shortage ??= shortage;
      for (const part of later.parts) part.spoiled ??= shortage;
    }
    if (chunks.some(({ part }) => part.spoiled !== undefined)) destroyChunks();
    onShortage();
  };

  const destroyChunks = (): void => {
    for (const { part } of chunks) part.gpu.destroy();
    chunks.length = 0;
  };

  const newChunk = (): (typeof chunks)[number] => {
    counters.allocations++;
    const size = CHUNK_BYTES;
    const uses = usage.uniform | usage.copyDestination | usage.copySource;
    const gpu = watched(() => device.createBuffer({ size, usage: uses }));
    const part: BufferPart = { id: -1 - chunks.length, gpu, bytes: CHUNK_BYTES, lastUse: -1 };
    open!.parts.add(part);
    return { part, data: new Uint32Array(CHUNK_BYTES / 4), used: 0 };
  };

  /**
   * Returns the current chunk (parameter buffer), or the next chunk if the current one has no room for `bytes` bytes.
   */
  const chunkFor = (bytes: number): (typeof chunks)[number] => {
    begin();
    if ((chunks[chunk]?.used ?? 0) + bytes > CHUNK_BYTES) chunk++;
    const current = chunks[chunk] ?? newChunk();
    chunks[chunk] = current;
    return current;
  };

  const slot = (words: number): ParameterSlot => {
    const bytes = Math.ceil((words * 4) / alignment) * alignment;
    const current = chunkFor(bytes);
    const { part, data, used } = current;
    current.used += bytes;
    const view = data.subarray(used / 4, (used + bytes) / 4).fill(0);
    return { chunk: part, byteOffset: used, bytes, data: view };
  };

  const place = (words: Uint32Array): SlotPlace => {
    const bytes = words.byteLength;
    const current = chunkFor(bytes);
    const { part, data, used } = current;
    current.used += bytes;
    data.set(words, used / 4);
    return { chunk: part, byteOffset: used, bytes };
  };

  const copy = (from: BufferPart, fromByte: number, to: BufferPart, toByte: number, bytes: number): void => {
    to.beforeWrite?.();
    outsidePass().copyBufferToBuffer(from.gpu, (from.borrowedAt ?? 0) + fromByte, to.gpu, toByte, bytes);
    use(from, false);
    countWrite(to);
  };

  return {
    begin,
    watched,
    alignment,
    get submission() {
      return submission;
    },
    slot,
    place,
    copy,
    flush,
    made(part) {
      begin().parts.add(part);
    },
    stage(staged) {
      begin().staged.add(staged);
    },
    watch(listener) {
      beforeDispatch = listener;
    },
    dispatch({ pipeline, groups, parameters, offsets, storage, parts, access }) {
      beforeDispatch?.();
      for (const [i, part] of parts.entries()) if (access[i] !== 'r') part.beforeWrite?.();
      const into = openPass();
      into.setPipeline(pipeline);
      into.setBindGroup(0, parameters, offsets);
      into.setBindGroup(1, storage);
      into.dispatchWorkgroups(...groups);
      counters.dispatches++;
      for (let i = 0; i < parts.length; i++) use(parts[i]!, access[i] !== 'r');
      commands++;
    },
    pass: openPass,
    note(dispatches, parts, written) {
      for (const part of parts) {
        part.lastUse = submission;
        if (part.borrowedAt !== undefined) open!.borrows = true;
      }
      for (const part of written) open!.parts.add(part);
      counters.dispatches += dispatches;
      commands += dispatches;
    },
    clear(part, byte, bytes) {
      part.beforeWrite?.();
      outsidePass().clearBuffer(part.gpu, byte, bytes);
      countWrite(part);
    },
    stamp(querySet, endOfPassWriteIndex) {
      outsidePass().beginComputePass({ timestampWrites: { querySet, endOfPassWriteIndex } }).end();
    },
    resolve(set, to) {
      outsidePass().resolveQuerySet(set, 0, set.count, to.gpu, 0);
      countWrite(to);
    },
    write(part, byte, data) {
      part.beforeWrite?.();
      begin().parts.add(part);
      const writeNow = (): void => watched(() => device.queue.writeBuffer(part.gpu, byte, data));
      if (part.lastUse !== submission) writeNow();
      else if (data.byteLength > LARGEST_COPIED_WRITE) {
        flush();
        begin().parts.add(part);
        writeNow();
      } else {
        const staged = slot(data.length);
        staged.data.set(data);
        copy(staged.chunk, staged.byteOffset, part, byte, data.byteLength);
      }
    },
    flushSoon() {
      enough = few;
      soon ??= Promise.resolve().then(() => {
        soon = undefined;
        flush();
      });
      return soon;
    },
    accepted: () => Promise.all([...underWay].map(({ accepted }) => accepted)),
    destroyLater(part) {
      part.beforeWrite?.();
      if (part.lastUse === submission) doomed.push(part);
      else part.gpu.destroy();
    },
    endCommand() {
      if (commands < (isTogether ? commandsPerSubmission : enough)) return;
      flush();
      enough = Math.min(2 * enough, commandsPerSubmission);
    },
    together(record) {
      isTogether = true;
      try {
        return record();
      } finally {
        isTogether = false;
      }
    },
    drop() {
      if (open !== undefined) reset(false);
    },
    destroy: destroyChunks,
  };
}
