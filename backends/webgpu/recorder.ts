import type { Counters } from '../../primitives/backend.ts';
import { deviceError, errorScopes, type Failure } from './failure.ts';
import type { Part } from './memory.ts';
import { usage } from './usage.ts';

/** Words that travel with a launch: `data` reaches the device before the launch does. */
export interface ParameterSlot {
  readonly chunk: Part;
  readonly byteOffset: number;
  readonly bytes: number;
  readonly data: Uint32Array;
}

export interface Dispatch {
  readonly pipeline: GPUComputePipeline;
  readonly groups: readonly [number, number, number];
  readonly parameters: GPUBindGroup;
  readonly offsets: readonly [number, number];
  readonly storage: GPUBindGroup;
  readonly parts: readonly Part[];
}

/** Records commands into one encoder until someone waits for them. */
export interface Recorder {
  /** Opens a submission if there is none: everything that the device may find fault with happens inside one. */
  begin(): void;
  /** A zeroed slot for the launches of this submission. */
  slot(words: number): ParameterSlot;
  dispatch(command: Dispatch): void;
  copy(from: Part, fromByte: number, to: Part, toByte: number, bytes: number): void;
  clear(part: Part, byte: number, bytes: number): void;
  /** Notes the device's time when all that was recorded so far is done. */
  stamp(set: GPUQuerySet, index: number): void;
  /** Writes the stamps of a set to a buffer. */
  resolve(set: GPUQuerySet, to: Part): void;
  /** Writes host words, after what has been recorded so far. */
  write(part: Part, byte: number, data: Uint32Array): void;
  /** Destroys a buffer once the commands recorded so far are handed over. */
  destroyLater(part: Part): void;
  /** Ends a command of the backend: hands over what was recorded if that is much. */
  endCommand(): void;
  /** Submits what was recorded. */
  flush(): void;
  /** Submits at the end of the current task, together with what else it records; resolves once that is submitted. */
  flushSoon(): Promise<void>;
  /** Resolves when the device has said whether it accepts the last submission. */
  accepted(): Promise<unknown>;
  /** Drops what was recorded. */
  drop(): void;
  destroy(): void;
}

export interface RecorderOptions {
  readonly device: GPUDevice;
  readonly failure: Failure;
  readonly counters: Counters;
  /** Commands after which a submission is handed over although nobody waits. */
  readonly commandsPerSubmission: number;
}

const CHUNK_BYTES = 65536;
/** Writes behind recorded commands that are longer than this hand those over first. */
const LARGEST_COPIED_WRITE = CHUNK_BYTES / 4;

export function createRecorder(options: RecorderOptions): Recorder {
  const { device, failure, counters, commandsPerSubmission } = options;
  const alignment = Math.max(256, device.limits.minUniformBufferOffsetAlignment);
  const chunks: { part: Part; data: Uint32Array; used: number }[] = [];
  let chunk = 0;
  let submission = 0;
  let commands = 0;
  let encoder: GPUCommandEncoder | undefined;
  let pass: GPUComputePassEncoder | undefined;
  let soon: Promise<void> | undefined;
  let outcome: Promise<unknown> = Promise.resolve();
  let doomed: Part[] = [];

  const begin = (): void => {
    failure.guard();
    if (encoder !== undefined) return;
    for (const scope of errorScopes) device.pushErrorScope(scope);
    encoder = device.createCommandEncoder();
  };

  const outsidePass = (): GPUCommandEncoder => {
    begin();
    pass?.end();
    pass = undefined;
    return encoder!;
  };

  const count = (...parts: readonly Part[]): void => {
    for (const part of parts) part.lastUse = submission;
    commands++;
  };

  const flush = (): void => {
    if (encoder === undefined) return;
    const buffer = outsidePass().finish();
    for (const { part, data, used } of chunks.slice(0, chunk + 1)) {
      if (used > 0) device.queue.writeBuffer(part.gpu, 0, data, 0, used / 4);
    }
    device.queue.submit([buffer]);
    counters.submissions++;
    reset();
  };

  const reset = (): void => {
    encoder = undefined;
    pass = undefined;
    for (const filled of chunks) filled.used = 0;
    chunk = 0;
    commands = 0;
    submission++;
    for (const part of doomed) part.gpu.destroy();
    doomed = [];
    const popped = [...errorScopes].reverse().map((scope) =>
      device.popErrorScope().then(
        (error) => error !== null && failure.fail(deviceError(scope, error)),
        (reason: unknown) => failure.fail(reason),
      ),
    );
    outcome = Promise.all(popped);
  };

  const newChunk = (): (typeof chunks)[number] => {
    counters.allocations++;
    const gpu = device.createBuffer({
      size: CHUNK_BYTES,
      usage: usage.uniform | usage.copyDestination | usage.copySource,
    });
    const part = { id: -1 - chunks.length, gpu, bytes: CHUNK_BYTES, lastUse: -1 };
    return { part, data: new Uint32Array(CHUNK_BYTES / 4), used: 0 };
  };

  const slot = (words: number): ParameterSlot => {
    begin();
    const bytes = Math.ceil((words * 4) / alignment) * alignment;
    if ((chunks[chunk]?.used ?? 0) + bytes > CHUNK_BYTES) chunk++;
    const current = chunks[chunk] ?? newChunk();
    chunks[chunk] = current;
    const { part, data, used } = current;
    current.used += bytes;
    const view = data.subarray(used / 4, (used + bytes) / 4).fill(0);
    return { chunk: part, byteOffset: used, bytes, data: view };
  };

  const copy = (from: Part, fromByte: number, to: Part, toByte: number, bytes: number): void => {
    outsidePass().copyBufferToBuffer(from.gpu, fromByte, to.gpu, toByte, bytes);
    count(from, to);
  };

  return {
    begin,
    slot,
    copy,
    flush,
    dispatch({ pipeline, groups, parameters, offsets, storage, parts }) {
      begin();
      pass ??= encoder!.beginComputePass();
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, parameters, offsets);
      pass.setBindGroup(1, storage);
      pass.dispatchWorkgroups(...groups);
      counters.dispatches++;
      count(...parts);
    },
    clear(part, byte, bytes) {
      outsidePass().clearBuffer(part.gpu, byte, bytes);
      count(part);
    },
    stamp(querySet, endOfPassWriteIndex) {
      outsidePass().beginComputePass({ timestampWrites: { querySet, endOfPassWriteIndex } }).end();
    },
    resolve(set, to) {
      outsidePass().resolveQuerySet(set, 0, set.count, to.gpu, 0);
      count(to);
    },
    write(part, byte, data) {
      failure.guard();
      if (part.lastUse !== submission) device.queue.writeBuffer(part.gpu, byte, data);
      else if (data.byteLength > LARGEST_COPIED_WRITE) {
        flush();
        device.queue.writeBuffer(part.gpu, byte, data);
      } else {
        const staged = slot(data.length);
        staged.data.set(data);
        copy(staged.chunk, staged.byteOffset, part, byte, data.byteLength);
      }
    },
    flushSoon() {
      soon ??= Promise.resolve().then(() => {
        soon = undefined;
        flush();
      });
      return soon;
    },
    accepted: () => outcome,
    destroyLater(part) {
      if (part.lastUse === submission) doomed.push(part);
      else part.gpu.destroy();
    },
    endCommand() {
      if (commands >= commandsPerSubmission) flush();
    },
    drop() {
      if (encoder !== undefined) reset();
    },
    destroy() {
      for (const { part } of chunks) part.gpu.destroy();
      chunks.length = 0;
    },
  };
}
