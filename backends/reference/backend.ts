import { requireOptions } from '../../primitives/checks/arguments.ts';
import { DeviceLostError } from '../../primitives/checks/errors.ts';
import { type FieldKinds, someRecord } from '../../primitives/checks/kinds.ts';
import {
  type Backend,
  type CommandOf,
  capacityOf,
  type Determinism,
  type Extent,
  type ForEachCommand,
  type HistogramCommand,
  type KernelCommand,
  type KernelKind,
  type Limits,
  type Program,
  type ReduceCommand,
  type ScanCommand,
  type SortCommand,
  type Store,
  type WalkCommand,
  type WeightedHistogramCommand,
} from '../../primitives/contract/backend.ts';
import { combineAll, prefixes } from '../../primitives/contract/combination-tree.ts';
import { createCounters } from '../../primitives/contract/counters.ts';
import { weightsOf } from '../../primitives/derived/weighted-histogram-by-digits.ts';
import { wordOfValue } from '../../primitives/ir/evaluate.ts';
import { entryOf, type ScalarType } from '../../primitives/ir/ir.ts';
import { combinations } from '../common/atomic-combinations.ts';
import { requireLimits } from '../common/backend-options.ts';
import { fillMemory } from '../common/fill-memory.ts';
import { type PlainValue, requireText } from './emit-javascript.ts';
import { createHostMemory, type HostMemory } from './memory.ts';
import { bind, combinerOf, type State } from './programs.ts';
import { relax } from './relax.ts';

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
  reduce,
  scan,
  sort,
  histogram,
  weightedHistogram,
  relax,
};

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
      if (take !== undefined) {
        take(memory.resolve(buffer).views.u32.subarray(word, word + words) as Uint32Array, 0);
        return new Uint32Array();
      }
      return memory.resolve(buffer).views.u32.slice(word, word + words) as Uint32Array;
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

function forEach(memory: HostMemory, { extent, program, stores }: ForEachCommand): void {
  const entry = bind(memory, program);
  const write = writer(memory, program, stores);
  const length = memory.lengthOf(extent);
  for (let i = 0; i < length; i++) write(i, entry(i));
}

function walk(memory: HostMemory, { extent, start, step, steps, changing, stores }: WalkCommand): void {
  const begin = bind(memory, start);
  const advance = bind(memory, step);
  const write = writer(memory, step, stores);
  const length = memory.lengthOf(extent);
  for (let i = 0; i < length; i++) {
    let [more, ...leaves] = begin(i);
    for (let done = 0; more === true; done++) {
      if (done === steps) throw new RangeError('A walk took more steps than its proved bound.');
      const results = advance(i, ...leaves);
      write(i, results);
      more = results[0];
      leaves = [...results.slice(1, 1 + changing), ...leaves.slice(changing)];
    }
  }
}

function reduce(memory: HostMemory, { extent, program, monoid, into }: ReduceCommand): void {
  const states = evaluateAll(memory, extent, program);
  const combine = combinerOf(monoid);
  const total = monoid.exact
    ? states.reduce(combine, monoid.identity)
    : (combineAll(states, combine) ?? monoid.identity);
  memory.resolve(into.buffer).views.u32.set(total.map(wordOf(monoid.types)), into.word);
}

function scan(memory: HostMemory, { extent, program, monoid, emit, stores, total }: ScanCommand): void {
  const states = evaluateAll(memory, extent, program);
  const combine = combinerOf(monoid);
  const consume = bind(memory, emit);
  const write = writer(memory, emit, stores);
  let last: State = monoid.identity;
  const visit = (i: number, exclusive: State, inclusive: State): void => {
    write(i, consume(i, ...exclusive, ...inclusive));
    last = inclusive;
  };
  if (monoid.exact) {
    for (const [i, state] of states.entries()) visit(i, last, combine(last, state));
  } else {
    for (const [i, prefix] of prefixes(states, combine).entries()) {
      visit(i, prefix.exclusive ?? monoid.identity, prefix.inclusive);
    }
  }
  if (total === undefined) return;
  const sum = monoid.exact ? last : (combineAll(states, combine) ?? monoid.identity);
  memory.resolve(total.buffer).views.u32.set(sum.map(wordOf(monoid.types)), total.word);
}

function sort(memory: HostMemory, { extent, program, beginBit, endBit, keys, payload }: SortCommand): void {
  const rows = evaluateAll(memory, extent, program) as readonly (readonly number[])[];
  const bits = endBit - beginBit;
  const mask = bits >= 32 ? 0xffffffff : (1 << bits) - 1;
  const digit = (row: readonly number[]): number => (bits === 0 ? 0 : ((row[0]! >>> beginBit) & mask) >>> 0);
  // The sort must be stable, as Array.prototype.sort is.
  const sorted = [...rows].sort((a, b) => digit(a) - digit(b));
  const put = (cell: SortCommand['keys'], column: number): void => {
    if (cell === undefined) return;
    const { u32 } = memory.resolve(cell.buffer).views;
    for (const [i, row] of sorted.entries()) u32[cell.word + i] = row[column]!;
  };
  put(keys, 0);
  put(payload, 1);
}

function histogram(memory: HostMemory, command: HistogramCommand): void {
  const { extent, bins, segment, histograms, into } = command;
  const { u32 } = memory.resolve(into.buffer).views;
  const runs = histograms ?? (segment === undefined ? 1 : Math.ceil(capacityOf(extent) / segment));
  u32.fill(0, into.word, into.word + bins * runs);
  const count = (i: number, [bin, histogram]: PlainValue[]): void => {
    const run = histograms !== undefined ? (histogram as number) : segment === undefined ? 0 : Math.floor(i / segment);
    if ((bin as number) < bins && run < runs) u32[into.word + run * bins + (bin as number)]!++;
  };
  visitElements(memory, command, count);
}

function weightedHistogram(memory: HostMemory, { extent, program, bins, into }: WeightedHistogramCommand): void {
  const entry = bind(memory, program);
  const sums = new BigUint64Array(weightsOf({ program }) * bins);
  const length = memory.lengthOf(extent);
  for (let i = 0; i < length; i++) {
    const [bin, ...weights] = entry(i) as number[];
    if (bin! >= bins) continue;
    for (const [w, weight] of weights.entries()) sums[w * bins + bin!]! += BigInt(weight);
  }
  const { u32 } = memory.resolve(into.buffer).views;
  for (const [i, sum] of sums.entries()) {
    const first = into.word + 2 * Math.floor(i / bins) * bins + (i % bins);
    u32[first] = Number(sum & 0xffffffffn);
    u32[first + bins] = Number(sum >> 32n);
  }
}

function visitElements(
  memory: HostMemory,
  { extent, program, inner }: HistogramCommand,
  visit: (index: number, results: PlainValue[]) => void,
): void {
  const entry = bind(memory, program);
  const row = inner === undefined ? undefined : bind(memory, inner.row);
  const length = memory.lengthOf(extent);
  for (let i = 0; i < length; i++) {
    if (row === undefined) {
      visit(i, entry(i));
      continue;
    }
    const [active, ...leaves] = row(i);
    for (let rank = 0; active === true && rank < inner!.ranks; rank++) visit(i, entry(i, rank, ...leaves));
  }
}

function evaluateAll(memory: HostMemory, extent: Extent, program: Program): PlainValue[][] {
  const entry = bind(memory, program);
  return Array.from({ length: memory.lengthOf(extent) }, (_, i) => entry(i));
}

function writer(
  memory: HostMemory,
  program: Program,
  stores: readonly Store[],
): (index: number, results: State) => void {
  const word = wordOf(entryOf(program.module).results);
  const targets = stores.map((store) => ({ ...store, memory: memory.resolve(store.buffer).views.u32 }));
  return (index, results) => {
    for (const { memory: u32, offset, capacity, value, index: at, guard, combine } of targets) {
      if (guard !== undefined && results[guard] !== true) continue;
      const i = at === undefined ? index : (results[at] as number);
      if (i >= capacity) continue;
      const stored = word(results[value]!, value);
      u32[offset + i] = combine === undefined ? stored : combinations[combine](u32[offset + i]!, stored);
    }
  };
}

function wordOf(types: readonly ScalarType[]): (value: PlainValue, leaf: number) => number {
  return (value, leaf) => wordOfValue(types[leaf]!, value);
}
