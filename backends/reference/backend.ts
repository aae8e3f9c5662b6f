import { requireOptions } from '../../primitives/checks/arguments.ts';
import { DeviceLostError } from '../../primitives/checks/errors.ts';
import { type FieldKinds, someRecord } from '../../primitives/checks/kinds.ts';
import type {
  Backend,
  CommandOf,
  Determinism,
  KernelCommand,
  KernelKind,
  Limits,
} from '../../primitives/contract/backend.ts';
import { createCounters } from '../../primitives/contract/counters.ts';
import { turn } from '../../primitives/host/turn.ts';
import { requireLimits } from '../common/backend-options.ts';
import { fillMemory } from '../common/fill-memory.ts';
import { requireText } from './emit-javascript.ts';
import { forEach, histogram, reduce, scan, sort, walk, weightedHistogram } from './kernels.ts';
import { createHostMemory, type HostMemory } from './memory.ts';
import { relax } from './relax.ts';
import { strips } from './strips.ts';
import { unite } from './unite.ts';

export interface ReferenceOptions {
  readonly limits?: Partial<Limits> | undefined;
}

const OPTIONS: FieldKinds<ReferenceOptions> = { limits: someRecord };

const defaultLimits: Limits = {
  bindingBytes: 2 ** 31,
  workgroups: 65535,
  storageBuffers: 8,
  memoryBytes: 2 ** 34,
};

const determinism: Determinism = { level: 'exact', ulp: 0, reasons: ['JavaScript rounds after every operation.'] };

/** Runs a command: a loop over its rows. */
type Kernel<C> = (memory: HostMemory, command: C) => void;

/** Commands of other kernels are derived from these. */
const KERNELS: { readonly [K in KernelKind]?: Kernel<CommandOf<K>> } = {
  forEach,
  walk,
  strips,
  reduce,
  scan,
  sort,
  histogram,
  weightedHistogram,
  relax,
  unite,
};

/** After so much time, a read lets events run. */
const MS_BETWEEN_TURNS = 50;

/**
 * Creates the reference backend, which specifies the results of all other backends. Every kernel is a sequential loop
 * over plain arrays and therefore slow. Tests compare the results of the other backends byte for byte. Commands run
 * synchronously on the calling thread. An endless loop is never stopped: `hangLimit` has no effect.
 *
 * @throws `DeviceLostError` `reference/no-text` if the page's Content-Security-Policy forbids compiling functions from
 * text.
 * @example
 * await using context = new Context(createReferenceBackend());
 * await context.read(sort(context.column(Uint32Array.of(3, 1, 2)))); // Uint32Array [1, 2, 3]
 */
export function createReferenceBackend(options: ReferenceOptions = {}): Backend {
  requireOptions('createReferenceBackend', OPTIONS, options);
  requireLimits(options.limits);
  requireText();
  const limits = { ...defaultLimits, ...options.limits };
  const memory = createHostMemory(limits.memoryBytes);
  const counters = createCounters(() => memory.live);
  let ended: { readonly reason: unknown } | undefined;
  let lastTurn = Date.now();
  const guard = (): void => {
    if (ended !== undefined) throw ended.reason;
  };
  return {
    name: 'reference',
    limits,
    determinism,
    walkRows: 64,
    counters,
    allocate: (words) => {
      guard();
      counters.allocations++;
      return memory.allocate(words);
    },
    release: (buffer) => memory.release(buffer),
    write: (buffer, word, data) => {
      guard();
      memory.resolve(buffer).views.u32.set(data, word);
    },
    upload: (buffer, source) => {
      guard();
      const { buffer: bytes } = memory.resolve(buffer).views.u32;
      return fillMemory(source, {
        place(at, length) {
          guard();
          return new Uint8Array(bytes, at, length);
        },
      });
    },
    read: async (buffer, word, words, take) => {
      guard();
      counters.readbacks++;
      const { u32 } = memory.resolve(buffer).views;
      take?.(u32.subarray(word, word + words) as Uint32Array, 0);
      const found = take === undefined ? (u32.slice(word, word + words) as Uint32Array) : new Uint32Array();
      // Commands run at once, so that without this, a signal or a timer would wait for the end of the whole program.
      if (Date.now() - lastTurn > MS_BETWEEN_TURNS) {
        await turn();
        lastTurn = Date.now();
        guard();
      }
      return found;
    },
    sync: async () => guard(),
    run: (command) => {
      const kernel = KERNELS[command.kind] as Kernel<KernelCommand> | undefined;
      if (kernel === undefined) return false;
      guard();
      counters.submissions++;
      counters.dispatches++;
      kernel(memory, command);
      return true;
    },
    abort: (reason) => {
      ended ??= { reason };
    },
    close: async () => {
      ended ??= { reason: new DeviceLostError('device/closed', 'The backend was closed.') };
    },
  };
}
