import { ArgumentError } from '../checks/errors.ts';
import type { Backend, DeviceBuffer } from '../contract/backend.ts';
import { createCounters } from '../contract/counters.ts';
import { rebound } from './command.ts';
import type { ScriptBuffer, ScriptStep } from './script.ts';

/** A backend that only records commands and runs none of them. */
export interface RecordingBackend extends Backend {
  readonly steps: ScriptStep[];
  /**
   * Buffers outside the pipeline that the pipeline's commands read, each with the script input that replaces the
   * buffer.
   */
  readonly constants: ReadonlyMap<DeviceBuffer, ScriptBuffer>;
  /**
   * Makes a placeholder buffer for an argument column. Every call of the script replaces the placeholder by an actual
   * buffer.
   */
  input(words: number): ScriptBuffer;
  readonly inputs: readonly ScriptBuffer[];
  readonly block: ScriptBuffer;
}

/**
 * Creates a backend that records commands. `model` is the backend that will run the commands; the limits are those of
 * `model`.
 */
export function createRecordingBackend(model: Backend, blockWords: number): RecordingBackend {
  const steps: ScriptStep[] = [];
  const inputs: ScriptBuffer[] = [];
  const own = new Set<DeviceBuffer>();
  const constants = new Map<DeviceBuffer, ScriptBuffer>();
  let nextId = 1;
  const create = (words: number, role: ScriptBuffer['role'], at: number): ScriptBuffer => {
    const buffer: ScriptBuffer = { id: nextId++, words, role, at };
    own.add(buffer);
    return buffer;
  };
  const input = (words: number): ScriptBuffer => {
    const buffer = create(words, 'input', inputs.length);
    inputs.push(buffer);
    return buffer;
  };
  const reading = (buffer: DeviceBuffer): DeviceBuffer => {
    if (own.has(buffer)) return buffer;
    const known = constants.get(buffer) ?? input(buffer.words);
    constants.set(buffer, known);
    return known;
  };
  const writing = (buffer: DeviceBuffer): DeviceBuffer => {
    if (own.has(buffer) && (buffer as ScriptBuffer).role === 'temporary') return buffer;
    throw writtenInput();
  };
  const live = { buffers: 0, bytes: 0 };
  const block = create(blockWords, 'block', 0);

  return {
    name: model.name,
    limits: model.limits,
    determinism: model.determinism,
    walkRows: model.walkRows,
    counters: createCounters(() => live),
    steps,
    constants,
    input,
    inputs,
    block,
    allocate(words) {
      const buffer = create(words, 'temporary', 0);
      live.buffers++;
      live.bytes += 4 * words;
      steps.push({ kind: 'allocate', buffer });
      return buffer;
    },
    release(buffer) {
      if ((buffer as ScriptBuffer).role !== 'temporary') return;
      live.buffers--;
      live.bytes -= 4 * buffer.words;
      steps.push({ kind: 'release', buffer: buffer as ScriptBuffer });
    },
    write(buffer, word, data) {
      steps.push({ kind: 'write', buffer: writing(buffer) as ScriptBuffer, word, data: data.slice() });
    },
    upload: async () => {
      throw waits();
    },
    lendWords: async () => {
      throw waits();
    },
    read: async () => {
      throw waits();
    },
    sync: async () => {
      throw waits();
    },
    run(command) {
      steps.push(rebound(command, { reading, writing }));
      return true;
    },
    abort() {},
    async close() {},
  };
}

/** The error for a pipeline whose function waits for the device while it is being prepared. */
export function waits(): ArgumentError {
  return new ArgumentError(
    'prepare/waits',
    'The function of a prepared pipeline must not read, count or wait: its columns have no contents yet.',
    {
      remedy:
        'Return the columns and read them after the call. Give expand() and unfold() a capacity, so that they do not wait.',
    },
  );
}

function writtenInput(): ArgumentError {
  return new ArgumentError('prepare/written', 'A prepared pipeline must not write to a column that it did not make.', {
    remedy: 'Copy the column first, or write to a column that the pipeline makes.',
  });
}
