import type { Backend, DeviceBuffer, KernelCommand } from '../backend.ts';
import { rebound } from '../command.ts';
import { createCounters } from '../counters.ts';
import { ArgumentError } from '../errors.ts';
import type { ScriptBuffer, ScriptStep } from './script.ts';

/** A backend that runs nothing: it writes commands down. */
export interface RecordingBackend extends Backend {
  readonly steps: ScriptStep[];
  /** Buffers of other commands that were read, and the inputs that stand for them. */
  readonly constants: ReadonlyMap<DeviceBuffer, ScriptBuffer>;
  /** A buffer that calls give. */
  input(words: number): ScriptBuffer;
  readonly inputs: readonly ScriptBuffer[];
  readonly block: ScriptBuffer;
}

/** Records the commands for a backend whose limits and habits they are made for. */
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
  const add = (command: KernelCommand): void => {
    steps.push(rebound(command, { reading, writing }));
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
    forEach: (extent, program, stores) => add({ kind: 'forEach', extent, program, stores }),
    reduce: (extent, program, monoid, into) => add({ kind: 'reduce', extent, program, monoid, into }),
    walk: (command) => add({ kind: 'walk', command }),
    scan: (command) => add({ kind: 'scan', command }),
    sort: (command) => add({ kind: 'sort', command }),
    histogram: (command) => add({ kind: 'histogram', command }),
    relax: (command) => {
      add({ kind: 'relax', command });
      return true;
    },
    weightedHistogram: (command) => {
      add({ kind: 'weightedHistogram', command });
      return true;
    },
    crossReduce: (command) => {
      add({ kind: 'crossReduce', command });
      return true;
    },
    abort() {},
    async close() {},
  };
}

/** A pipeline that waits for the device while it is prepared. */
export function waits(): ArgumentError {
  return new ArgumentError(
    'prepare/waits',
    'The function of a prepared pipeline reads, counts or waits, while its columns hold nothing.',
    {
      remedy:
        'Return the columns and read them after the call. Give expand() and unfold() a capacity, so that they do not wait.',
    },
  );
}

function writtenInput(): ArgumentError {
  return new ArgumentError('prepare/written', 'A prepared pipeline writes to a column that it did not make.', {
    remedy: 'Copy the column first, or write to a column that the pipeline makes.',
  });
}
