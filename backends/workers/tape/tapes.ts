import { OutOfMemoryError, QuadrilleError } from '../../../primitives/checks/errors.ts';
import type { DeviceBuffer } from '../../../primitives/contract/backend.ts';
import type { Script, ScriptCall } from '../../../primitives/prepared/script.ts';
import type { Launcher } from '../commands/launch.ts';
import type { HeapBlock } from '../memory/allocator.ts';
import type { SharedBuffer, SharedMemory } from '../memory/shared-memory.ts';
import type { Pool } from '../threads/pool.ts';
import { capture } from './capture.ts';
import { createPlayed, type PlayedLaunches, type Tape, type TapedLength, type TapedTask } from './tape.ts';

/** Plays prepared pipelines from tapes, which are the recorded launches of these pipelines. */
export interface Tapes {
  /**
   * Plays a script (recorded commands). Returns false if there is no tape (recorded launches) or no memory for the
   * call; the caller must then issue the commands one by one. The gate of a script is a word that disables the commands
   * if it is not 0. If the gate is known not to be 0, does nothing and returns `'over'`.
   */
  play(script: Script, call: ScriptCall): boolean | 'over';
  bytesOf(script: Script): number;
  forget(script: Script): void;
}

export interface TapesHost {
  readonly pool: Pool;
  readonly memory: SharedMemory;
  readonly fusedRows: number;
  readonly compile: Launcher['compile'];
  /**
   * A command whose estimated time is below this number of nanoseconds runs on the calling thread while the workers are
   * idle.
   */
  readonly inlineNanoseconds: number;
  /** Moves to the queue all commands that wait to be fused. */
  flush(): void;
  /** Whether the function with number `run` was dropped from the cache of kernels. */
  isForgotten(run: number): boolean;
  /** How often functions have been dropped from the cache of kernels so far. */
  forgettings(): number;
  /**
   * Must be called before a buffer is overwritten. Copies the words that pending reads of the buffer have not copied
   * yet.
   */
  settleReads(buffer: SharedBuffer): void;
  withRoom(take: () => HeapBlock): HeapBlock;
  /** Counts phases that were run or added to the queue. */
  note(phases: number): void;
}

interface Playable {
  readonly tape: Tape;
  alone: PlayedLaunches;
  pooled: PlayedLaunches;
  /** The value of `forgettings()` at the latest check that all functions of the tape (recorded launches) exist. */
  checked: number;
}

/**
 * The tapes (recorded launches) of a script. Each key of the map lists the words of the call's block that hold lengths
 * known only to the device. The map contains undefined for a key if the script cannot become a tape.
 */
type ScriptTapes = Map<string, Playable | undefined>;

export function createTapes(host: TapesHost): Tapes {
  const { pool, memory } = host;
  const known = new WeakMap<Script, ScriptTapes>();

  const playableOf = (script: Script, counts: ScriptCall['counts']): Playable | undefined => {
    const key = counts.length === 0 ? '' : counts.map(({ word }) => word).join(' ');
    const tapes = known.get(script) ?? new Map<string, Playable | undefined>();
    known.set(script, tapes);
    const made = tapes.get(key);
    if (made === undefined ? tapes.has(key) : isWhole(made)) return made;
    const playable = make(script, counts);
    tapes.set(key, playable);
    return playable;
  };

  /** Whether all functions of the tape (recorded launches) are still in the cache of kernels. */
  const isWhole = (playable: Playable): boolean => {
    const now = host.forgettings();
    if (playable.checked === now) return true;
    if ([...playable.tape.functions].some(host.isForgotten)) return false;
    playable.checked = now;
    return true;
  };

  const make = (script: Script, counts: ScriptCall['counts']): Playable | undefined => {
    try {
      const { fusedRows, compile } = host;
      const words = counts.map(({ word }) => word);
      const tape = capture({ workers: pool.workers, fusedRows, compile }, script, words);
      if (tape === undefined) return undefined;
      const alone = createPlayed(tape, tape.alone);
      const pooled = createPlayed(tape, tape.pooled);
      const playable = { tape, alone, pooled, checked: -1 };
      // If the tape (recorded launches) has more functions than the cache holds, the first functions were dropped when
      // the last functions were compiled.
      return isWhole(playable) ? playable : undefined;
    } catch (error) {
      // The caller then issues the commands one by one, which throws the error again.
      if (error instanceof QuadrilleError) return undefined;
      throw error;
    }
  };

  /**
   * Allocates the memory for buffers that exist only during a call. Returns undefined if no free block is large enough.
   */
  const takeArena = ({ arenaBytes }: Tape): HeapBlock | undefined => {
    try {
      return host.withRoom(() => memory.allocator.allocate(arenaBytes));
    } catch (error) {
      if (error instanceof OutOfMemoryError) return undefined;
      throw error;
    }
  };

  const play: Tapes['play'] = (script, call) => {
    const playable = playableOf(script, call.counts);
    if (playable === undefined) return false;
    const { tape } = playable;
    host.flush();
    for (const buffer of call.results) host.settleReads(memory.resolve(buffer));
    const { gate } = script;
    const isShut =
      gate !== undefined && pool.idle && wordAt(memory, memory.resolve(call.inputs[gate]!.buffer).address) !== 0;
    if (isShut) return 'over';
    const arena = takeArena(tape);
    if (arena === undefined) return false;
    try {
      playTape(host, playable, call, arena.address);
    } finally {
      const { issued } = pool;
      memory.allocator.release(arena, issued);
      noteUse(memory, call, issued);
    }
    return true;
  };

  return {
    play,
    bytesOf: (script) =>
      [...(known.get(script)?.values() ?? [])].reduce((max, made) => Math.max(max, made?.tape.arenaBytes ?? 0), 0),
    forget: (script) => void known.delete(script),
  };
}

function wordAt(memory: SharedMemory, address: number): number {
  return memory.words()[address / 4]!;
}

/** Records, in each buffer of a call, that the buffer may be in use until `issued` phases are completed. */
function noteUse(memory: SharedMemory, { inputs, results, counts }: ScriptCall, issued: number): void {
  const note = (buffer: DeviceBuffer): void => {
    memory.resolve(buffer).fence = issued;
  };
  for (const { buffer } of inputs) note(buffer);
  for (const buffer of results) note(buffer);
  for (const { length } of counts) note(length.buffer);
}

/**
 * Runs the units (groups of launches) of a tape on the calling thread while the queue is idle and the next unit is
 * cheap. Adds the remaining units to the queue.
 */
function playTape(host: TapesHost, playable: Playable, call: ScriptCall, arena: number): void {
  const { pool, memory } = host;
  const { tape } = playable;
  const { units } = tape;
  const { alone, pooled } = playable;
  if (units.length === 0) return;
  let unit = 0;
  fill(memory, tape, alone, call, arena);
  if (pool.idle && isShort(host, playable, unit)) {
    const args = pool.placeHere(alone);
    do {
      const to = units[unit + 1]?.alone ?? alone.phases.length;
      pool.check();
      pool.runPlaced(alone, args, units[unit]!.alone, to);
      host.note(to - units[unit]!.alone);
      unit++;
    } while (unit < units.length && isShort(host, playable, unit));
    if (unit === units.length) return;
    pool.check();
    // The units (groups of launches) that have run may have written lengths into their argument block. The remaining
    // units have another argument block, so these lengths are copied to the values of the call.
    const first = args / 4;
    alone.values.set(memory.words().subarray(first, first + alone.values.length));
  }
  pooled.values.set(alone.values);
  pooled.sources.set(alone.sources);
  const from = units[unit]!.pooled;
  const isKept = !pool.submit(pooled, worstCase(playable, unit), from);
  host.note(pooled.phases.length - from);
  if (isKept) playable.pooled = createPlayed(tape, tape.pooled);
}

/** Stores a call's values in its tape: the addresses, lengths and uniforms to which the tape refers by number. */
function fill(
  memory: SharedMemory,
  tape: Tape,
  { sources, values }: PlayedLaunches,
  { inputs, results, block, counts }: ScriptCall,
  arena: number,
): void {
  // The address of the arguments is not known yet; `placed` sets it later.
  sources[0] = 0;
  values.set(block);
  let next = block.length;
  for (const { length } of counts) {
    values[next++] = length.minus;
    values[next++] = length.limit;
  }
  for (let i = 1; i < tape.sources.length; i++) {
    const source = tape.sources[i]!;
    switch (source.kind) {
      case 'input': {
        const { buffer, offset } = inputs[source.at]!;
        sources[i] = memory.resolve(buffer).address + offset * source.bytes;
        break;
      }
      case 'result':
        sources[i] = memory.resolve(results[source.at]!).address;
        break;
      case 'count': {
        const { buffer, word } = counts[source.number]!.length;
        sources[i] = memory.resolve(buffer).address + 4 * word;
        break;
      }
      case 'value':
        sources[i] = values[source.word]!;
        break;
      case 'arena':
        sources[i] = arena;
    }
  }
}

/** Whether each command of the unit is cheap enough for the calling thread. */
function isShort({ memory, inlineNanoseconds }: TapesHost, { tape, alone }: Playable, unit: number): boolean {
  return tape.units[unit]!.tasks.every(
    ({ cost, fixedCost, length }) => fixedCost + lengthNow(memory, alone, length) * cost < inlineNanoseconds,
  );
}

/**
 * The current value of a length. Must only be called while no command is running, because a command may change the word
 * from which the length is computed.
 */
function lengthNow(memory: SharedMemory, { sources, values }: PlayedLaunches, length: TapedLength): number {
  const { count, minus, limit } = length;
  if (count === undefined) return limit;
  // A count that is part of the arguments is in `values` until the arguments have an address.
  const word =
    count.source === 0 && sources[0] === 0
      ? values[count.bytes / 4]!
      : wordAt(memory, sources[count.source]! + count.bytes);
  return Math.min(limit, Math.max(0, word - minus));
}

/** Approximate upper bound, in nanoseconds, of the time of all units from `first` on. */
function worstCase({ tape, alone }: Playable, first: number): number {
  let sum = 0;
  for (let unit = first; unit < tape.units.length; unit++) {
    for (const task of tape.units[unit]!.tasks) sum += task.fixedCost + maxRows(tape, alone, task) * task.cost;
  }
  return sum;
}

/** The number of rows of a command if the host knows this number, otherwise `limit`, the upper bound. */
function maxRows(
  { counted }: Tape,
  { values }: PlayedLaunches,
  { length: { count, minus, limit } }: TapedTask,
): number {
  if (count?.source !== 0 || counted.includes(count.bytes / 4)) return limit;
  return Math.min(limit, Math.max(0, values[count.bytes / 4]! - minus));
}
