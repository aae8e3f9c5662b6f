import { DeviceLostError } from '../../primitives/checks/errors.ts';
import type {
  ArrayBinding,
  ForEachCommand,
  HistogramCommand,
  ReduceCommand,
  ScanCommand,
  SortCommand,
  Store,
} from '../../primitives/contract/backend.ts';
import { wordOfValue } from '../../primitives/ir/evaluate.ts';
import { entryOf, type Module, type ScalarType, type Statement } from '../../primitives/ir/ir.ts';
import { withBlocks } from '../../primitives/ir/rewrite.ts';
import { f32OfBits } from '../../primitives/ir/semantics.ts';
import { worstCase } from '../analyses/worst-case.ts';
import { combinations } from '../common/atomic-combinations.ts';
import { type ArrayReader, compileJavaScript, compilePausing, type PlainValue } from '../reference/emit-javascript.ts';
import type { HostWords } from './host-words.ts';
import { columnsProgram } from './leaves.ts';
import { perWord, wordReaderOf } from './lengths.ts';
import type { BufferPlaces, Spillable } from './places.ts';
import type { WindowMachine } from './windows.ts';

/** Approximate time in milliseconds that the thread works before it yields to the event loop. */
const TURN = 8;

/** Approximate number of statements (a few milliseconds of work) that run between two looks at the clock. */
export const STATEMENTS_BETWEEN_LOOKS: number = 2 ** 18;

/** Maximum number of rows between two looks at the clock, even if a row has few statements. */
const MAX_ROWS_BETWEEN_LOOKS = 2 ** 12;

/**
 * Evaluates a program on the host, index by index. This is for programs that gather from arrays too large for the
 * device. The program is compiled to JavaScript, whose results equal the results of a device with exact arithmetic.
 *
 * The thread yields every few milliseconds, even inside the loops of a row. The command fails if a row takes more than
 * `hangLimit` milliseconds.
 *
 * @throws DeviceLostError `device/hang`
 */
export async function forEachOnHost(
  { inner, places, hangLimit }: WindowMachine,
  { extent, program, stores }: Omit<ForEachCommand, 'kind'>,
): Promise<void> {
  const reader = wordReaderOf(inner, places);
  const length = await reader.length(extent);
  const { module, arrays, uniforms } = await reader.program(program);
  const targets = await bringToHost(places, [...arrays.values()], stores);
  const readers = readersOf(places, module, arrays);
  const put = writerOf(entryOf(module).results, stores, targets);
  const evaluation = evaluationOf(module, readers, uniforms, length, put);
  const clock = createClock(hangLimit, () => inner.sync());
  let reached = 0;
  for (const row of evaluation) {
    places.report.rowsOnHost += row - reached;
    await clock.look(row > reached);
    reached = row;
  }
  places.report.rowsOnHost += length - reached;
  for (const [buffer, words] of targets) places.keepOnHost(buffer, words);
}

type KnownArray = ArrayBinding & { readonly length: number };

/** Downloads the buffers that a command reads or stores to. Returns the host memory to store to, by buffer. */
export async function bringToHost(
  places: BufferPlaces,
  arrays: readonly KnownArray[],
  stores: readonly Pick<Store, 'buffer'>[],
): Promise<Map<Spillable, HostWords>> {
  const read = new Set(arrays.map(({ buffer }) => buffer as Spillable));
  const written = new Set(stores.map(({ buffer }) => buffer as Spillable));
  for (const buffer of new Set([...read, ...written])) await places.copyToHost(buffer);
  return new Map(
    [...written].map((buffer) => [buffer, read.has(buffer) ? places.hostOf(buffer).clone() : places.hostOf(buffer)]),
  );
}

export function readersOf(
  places: BufferPlaces,
  module: Module,
  arrays: ReadonlyMap<string, KnownArray>,
): ReadonlyMap<string, ArrayReader> {
  return new Map(
    [...arrays].map(([name, binding]) => {
      const words = places.hostOf(binding.buffer as Spillable);
      return [name, readerOf(words, binding, module.arrays.get(name)!)];
    }),
  );
}

/**
 * Evaluates a module for the indices 0 … `length` − 1. Whenever it is time to look at the clock, yields the number of
 * finished rows.
 */
function* evaluationOf(
  module: Module,
  readers: ReadonlyMap<string, ArrayReader>,
  uniforms: ReadonlyMap<string, PlainValue>,
  length: number,
  put: (index: number, results: readonly PlainValue[]) => void,
): Generator<number, void, undefined> {
  const statements = worstCase(module, () => 1);
  if (statements <= STATEMENTS_BETWEEN_LOOKS) {
    const entry = compileJavaScript(module)(readers, uniforms);
    const rows = Math.min(MAX_ROWS_BETWEEN_LOOKS, Math.floor(STATEMENTS_BETWEEN_LOOKS / Math.max(1, statements)));
    for (let from = 0; from < length; from += rows) {
      const to = Math.min(length, from + rows);
      for (let i = from; i < to; i++) put(i, entry(i));
      yield to;
    }
    return;
  }
  // From one loop round to the next, each statement of the module, inlined calls included, runs at most once. So about
  // `STATEMENTS_BETWEEN_LOOKS` statements run in this number of rounds.
  const roundsBetweenLooks = Math.ceil(STATEMENTS_BETWEEN_LOOKS / worstCase(withoutLoops(module), () => 1));
  const pause = { roundsLeft: roundsBetweenLooks };
  const entry = compilePausing(module)(readers, uniforms, pause);
  for (let i = 0; i < length; i++) {
    const row = entry(i);
    let step = row.next();
    for (; step.done !== true; step = row.next()) {
      yield i;
      pause.roundsLeft = roundsBetweenLooks;
    }
    put(i, step.value);
    if (--pause.roundsLeft < 0) {
      yield i + 1;
      pause.roundsLeft = roundsBetweenLooks;
    }
  }
}

/** A copy of a module in which loops are written as blocks that run once. */
export function withoutLoops(module: Module): Module {
  const once = (block: readonly Statement[]): Statement[] =>
    block.flatMap((statement) =>
      statement.kind === 'loop' ? [...once(statement.body), ...once(statement.step)] : [withBlocks(statement, once)],
    );
  return { ...module, functions: module.functions.map((fn) => ({ ...fn, body: once(fn.body) })) };
}

export interface Clock {
  /**
   * Yields to the event loop if enough time has passed. `further` says whether a row was finished since the last call.
   */
  look(further: boolean): Promise<void>;
}

export function createClock(hangLimit: number | undefined, sync: () => Promise<void>): Clock {
  let turnBegan = performance.now();
  let spentOnRow = 0;
  return {
    async look(further) {
      const spent = performance.now() - turnBegan;
      if (further) spentOnRow = 0;
      if (spent < TURN) return;
      if (!further) spentOnRow += spent;
      if (hangLimit !== undefined && spentOnRow >= hangLimit) throw hangError(hangLimit);
      await new Promise((resolve) => setTimeout(resolve));
      // `sync` rejects if the backend was aborted meanwhile.
      await sync();
      turnBegan = performance.now();
    },
  };
}

function hangError(limit: number): DeviceLostError {
  return new DeviceLostError('device/hang', `A row that the host evaluates took more than ${limit} ms.`, {
    remedy: 'Make sure that every loop of the functor ends, or raise hangLimit.',
  });
}

/** An array whose buffer is on the host, in the form that compiled code reads. */
export function readerOf(words: HostWords, { storage, offset, length }: KnownArray, type: ScalarType): ArrayReader {
  const each = perWord(storage);
  const bits = 32 / each;
  const signed = storage.startsWith('i');
  const element = (index: number): number => {
    const at = offset + index;
    const word = words.get(Math.floor(at / each));
    if (storage === 'f32') return f32OfBits(word);
    const left = word << (32 - bits * ((at % each) + 1));
    return signed ? left >> (32 - bits) : left >>> (32 - bits);
  };
  return { at: type === 'bool' ? (index) => element(index) !== 0 : element, length: () => length };
}

export function writerOf(
  types: readonly ScalarType[],
  stores: readonly Store[],
  targets: ReadonlyMap<Spillable, HostWords>,
): (index: number, results: readonly PlainValue[]) => void {
  const word = (results: readonly PlainValue[], result: number): number =>
    wordOfValue(types[result]!, results[result]!);
  return (index, results) => {
    for (const { buffer, offset, capacity, value, index: at, guard, combine } of stores) {
      const place = at === undefined ? index : (results[at] as number);
      if ((guard !== undefined && results[guard] !== true) || place >= capacity) continue;
      const target = targets.get(buffer as Spillable)!;
      const stored = word(results, value);
      const old = combine === undefined ? 0 : target.get(offset + place);
      target.set(offset + place, combine === undefined ? stored : combinations[combine](old, stored));
    }
  };
}

/**
 * The ways of a kernel whose commands run in windows. With the help of the host, the results of the program are computed
 * there first. A program with inner ranks has too many results for that.
 */
export function withResultsOnHost<C extends ReduceCommand | ScanCommand | SortCommand | HistogramCommand>(
  inWindows: (machine: WindowMachine, command: C) => Promise<void>,
): Record<'inWindows' | 'onHost', typeof inWindows> {
  const onHost: typeof inWindows = async (machine, command) => {
    if ('inner' in command && command.inner !== undefined) return inWindows(machine, command);
    const { places, inner } = machine;
    const { extent, program } = command;
    const length = await wordReaderOf(inner, places).length(extent);
    const { results } = entryOf(program.module);
    const buffers: Spillable[] = [];
    try {
      for (const _ of results) buffers.push(places.allocate(Math.max(1, length), false));
      const stores = buffers.map((buffer, value): Store => ({ buffer, offset: 0, capacity: length, value }));
      await forEachOnHost(machine, { extent, program, stores });
      await inWindows(machine, { ...command, program: columnsProgram(results, buffers, length) });
    } finally {
      for (const buffer of buffers) places.release(buffer);
    }
  };
  return { inWindows, onHost };
}
