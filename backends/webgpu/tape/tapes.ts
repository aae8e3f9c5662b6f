import { ArgumentError, OutOfMemoryError } from '../../../primitives/checks/errors.ts';
import { cached } from '../../../primitives/host/cache.ts';
import { createStructures } from '../../../primitives/host/structures.ts';
import type { Script, ScriptCall } from '../../../primitives/prepared/script.ts';
import type { Engine } from '../launches/engine.ts';
import type { ParameterSlot } from '../launches/recorder.ts';
import type { Memory, MemoryPool } from '../memory/memory.ts';
import type { BufferPart } from '../memory/part.ts';
import { capture, Unplayable } from './capture.ts';
import { createScriptSignature } from './script-signature.ts';
import { blockOf, partNumbers, type Tape, type TapeLayout, type TapePlace, valueNumbers } from './tape.ts';

/** Makes, keeps and plays the tapes (recorded launches) of prepared pipelines. */
export interface Tapes {
  /**
   * Executes a call of a script (recorded commands) by playing the script's tape. Returns false if there is no suitable
   * tape, so that the caller must issue the commands one by one.
   */
  play(script: Script, call: ScriptCall): boolean;
  /** Makes the tape (recorded launches) for calls whose lengths the host knows, if there is enough memory. */
  prepare(script: Script): void;
  bytesOf(script: Script): number;
  forget(script: Script): void;
  /** Frees the memory of all tapes (recorded launches). A tape is made again when it is next played. */
  giveUp(): void;
  /** Drops all bind groups that refer to a GPU buffer. Called before the buffer is destroyed. */
  forgetPart(part: BufferPart): void;
  /** Frees all tapes (recorded launches) and empties the cache of tapes. */
  clear(): void;
}

/**
 * The tapes (recorded launches) of one script: one for calls whose lengths the host knows (key false), and one for
 * calls with counts on the device (key true).
 */
interface ScriptTapes {
  readonly tapes: Map<boolean, Playable>;
  /** Whether no tape (recorded launches) can be made for the script. */
  unplayable: boolean;
}

/** A tape (recorded launches) with the memory and bind groups that are needed to play the tape. */
interface Playable {
  readonly tape: Tape;
  readonly layout: TapeLayout;
  readonly reserved: readonly Memory[];
  /** The parts (GPU buffers) of the reserved memory, in the order of their numbers on the tape (recorded launches). */
  readonly own: readonly BufferPart[];
  readonly bytes: number;
  /** Bind groups of the dispatches that use only reserved memory. */
  readonly ownGroups: (GPUBindGroup | undefined)[];
  /** Cached bind groups, by the ids of the parts (GPU buffers) that a call provides. */
  readonly bound: Map<string, Bound>;
  /** Cached bind groups of parameters, by the ids of the chunks (parameter buffers). */
  readonly parameters: Map<string, readonly GPUBindGroup[]>;
  /**
   * A word with the value 2³² − 1. The device computes a length as a count, limited to a maximum. For a table whose
   * length the host knows, this word is the count, and the known length is the maximum.
   */
  readonly max: Memory | undefined;
}

interface Bound {
  readonly parts: readonly BufferPart[];
  readonly storage: readonly GPUBindGroup[];
}

/** Maximum number of entries in each of the caches `bound` and `parameters` of a tape (recorded launches). */
const MAX_BOUND = 64;
/** Maximum size of all cached tapes (recorded launches), in words: about 4 MB. */
const MAX_WORDS = 2 ** 20;
/** Estimated size of a dispatch without its parameters, in words. */
const DISPATCH_WORDS = 64;

export function createTapes(engine: Engine): Tapes {
  const { pool, recorder } = engine;
  const known = new Map<Script, ScriptTapes>();
  const repeated = new WeakMap<ScriptCall, Brought>();
  /**
   * Cached tapes (recorded launches), by the structure of their scripts (recorded commands). Tapes stay in the cache
   * even if no script uses them any more.
   */
  const structures = createStructures<Tape>(MAX_WORDS, weightOf);
  const signatureOf = createScriptSignature();

  const giveUpTape = ({ reserved, max }: Playable): void => {
    reserved.forEach(pool.giveUp);
    if (max !== undefined) pool.giveUp(max);
  };
  const forget = (script: Script): void => {
    const tapes = known.get(script)?.tapes;
    known.delete(script);
    for (const playable of tapes?.values() ?? []) giveUpTape(playable);
    // If `playableOf` is making a tape (recorded launches) for this script now, it will put this map back into `known`.
    // The map must therefore not contain the freed tapes.
    tapes?.clear();
  };

  const giveUp = (): void => {
    for (const script of [...known.keys()]) forget(script);
  };

  const playableOf = (script: Script, isCounted: boolean): Playable | undefined => {
    const tapes = known.get(script) ?? { tapes: new Map<boolean, Playable>(), unplayable: false };
    known.set(script, tapes);
    if (tapes.unplayable) return undefined;
    const made = tapes.tapes.get(isCounted) ?? make(script, isCounted, tapes);
    if (made === undefined) return undefined;
    tapes.tapes.set(isCounted, made);
    // If memory ran out while the tape (recorded launches) was made, all tapes were freed and this entry was removed.
    // Add the entry again.
    known.set(script, tapes);
    return made;
  };

  /** Captures a script (recorded commands), unless a script with the same structure was captured before. */
  const captureOnce = (script: Script, layout: TapeLayout): Pick<Playable, 'tape' | 'reserved'> => {
    const structure = signatureOf(script, layout);
    const tape = structures.get(structure);
    if (tape !== undefined) return { tape, reserved: reserveAll(pool, tape.reserved) };
    const captured = capture(engine, script, layout);
    structures.set(structure, captured.tape);
    return captured;
  };

  const make = (script: Script, isCounted: boolean, tapes: ScriptTapes): Playable | undefined => {
    const layout: TapeLayout = {
      inputs: script.inputs.length,
      results: script.results.length,
      words: script.block.words,
      counted: isCounted ? script.tables : [],
    };
    let max: Memory | undefined;
    try {
      max = isCounted ? pool.reserve(1) : undefined;
      if (max !== undefined) recorder.write(max.parts[0]!, 0, Uint32Array.of(2 ** 32 - 1));
      const { tape, reserved } = captureOnce(script, layout);
      const own = reserved.flatMap(({ parts }) => parts);
      const bytes = own.reduce((sum, part) => sum + part.bytes, 0);
      const groups = { ownGroups: [], bound: new Map(), parameters: new Map() };
      return { tape, layout, reserved, own, bytes, max, ...groups };
    } catch (error) {
      if (max !== undefined) pool.giveUp(max);
      if (error instanceof OutOfMemoryError) return undefined;
      const isUnplayable =
        error instanceof Unplayable || (error instanceof ArgumentError && error.code === 'device/bindings');
      if (!isUnplayable) throw error;
      tapes.unplayable = true;
      return undefined;
    }
  };

  return {
    play(script, call) {
      const playable = playableOf(script, call.counts.length > 0);
      if (playable === undefined) return false;
      const before = call.isRepeated ? repeated.get(call) : undefined;
      const brought = before?.playable === playable ? before : broughtBy(engine, playable, call);
      if (brought === undefined) return false;
      if (call.isRepeated) repeated.set(call, brought);
      playTape(engine, playable, brought);
      return true;
    },
    prepare: (script) => void playableOf(script, false),
    bytesOf: (script) => [...(known.get(script)?.tapes.values() ?? [])].reduce((sum, { bytes }) => sum + bytes, 0),
    forget,
    giveUp,
    clear() {
      giveUp();
      structures.clear();
    },
    forgetPart({ id }) {
      for (const { tapes } of known.values()) {
        for (const { bound } of tapes.values()) {
          for (const [key, { parts }] of bound) if (parts.some((part) => part.id === id)) bound.delete(key);
        }
      }
    },
  };
}

function weightOf({ blocks, dispatches }: Tape): number {
  return blocks.reduce((sum, { words }) => sum + words.length, DISPATCH_WORDS * dispatches.length);
}

function reserveAll(pool: MemoryPool, words: readonly number[]): Memory[] {
  const reserved: Memory[] = [];
  try {
    for (const each of words) reserved.push(pool.reserve(each));
    return reserved;
  } catch (error) {
    reserved.forEach(pool.giveUp);
    throw error;
  }
}

/**
 * The parts (GPU buffers) and values that a call provides. Both are in the order of their numbers on the tape (recorded
 * launches).
 */
interface Brought {
  readonly playable: Playable;
  readonly parts: BufferPart[];
  readonly values: Uint32Array;
  /** The uploaded parameters and the bind groups of the call, valid within one submission. */
  placed?: {
    readonly submission: number;
    readonly slots: readonly ParameterSlot[];
    readonly parameters: readonly GPUBindGroup[];
    readonly storage: readonly GPUBindGroup[];
    readonly used: readonly BufferPart[];
    readonly written: readonly BufferPart[];
  };
}

/**
 * Collects the parts (GPU buffers) and values that a call provides. Undefined if the tape (recorded launches) does not
 * fit the call.
 */
function broughtBy(
  { pool }: Engine,
  playable: Playable,
  { inputs, results, block, counts }: ScriptCall,
): Brought | undefined {
  const { tape, layout, max } = playable;
  const parts: BufferPart[] = [];
  const values = new Uint32Array(valueNumbers.epoch(layout) + 1);
  values.set(block);
  for (const [at, { buffer, offset }] of inputs.entries()) {
    const part = solePart(pool.resolve(buffer));
    if (part === undefined) return undefined;
    if (tape.readByFours.has(at) && (offset % 4 !== 0 || part.bytes % 16 !== 0)) return undefined;
    parts.push(part);
    values[valueNumbers.offset(layout, at)] = offset;
  }
  for (const buffer of results) {
    const part = solePart(pool.resolve(buffer));
    if (part === undefined) return undefined;
    parts.push(part);
  }
  for (const [k, word] of layout.counted.entries()) {
    const length = counts.find((count) => count.word === word)?.length;
    const part = length === undefined ? max!.parts[0] : solePart(pool.resolve(length.buffer));
    if (part === undefined) return undefined;
    parts.push(part);
    const words = length === undefined ? [0, 0, block[word]!] : [length.word, length.minus, length.limit];
    values.set(words, valueNumbers.countWord(layout, k));
  }
  return { playable, parts, values };
}

function solePart({ parts }: Memory): BufferPart | undefined {
  return parts.length === 1 ? parts[0] : undefined;
}

function playTape(engine: Engine, playable: Playable, brought: Brought): void {
  const { recorder } = engine;
  const { tape } = playable;
  recorder.begin();
  const { slots, parameters, storage, used, written } = place(engine, playable, brought);
  const { parts } = brought;
  let pass: GPUComputePassEncoder | undefined;
  for (const command of tape.commands) {
    if (command.kind === 'dispatch') {
      const i = command.number;
      const { kernel, groups, command: own, dispatch } = tape.dispatches[i]!;
      pass ??= recorder.pass();
      pass.setPipeline(kernel.pipeline);
      pass.setBindGroup(0, parameters[i]!, [
        slots[own.block]!.byteOffset + own.byteOffset,
        slots[dispatch.block]!.byteOffset + dispatch.byteOffset,
      ]);
      pass.setBindGroup(1, storage[i]!);
      pass.dispatchWorkgroups(groups[0], groups[1], groups[2]);
    } else {
      pass = undefined;
      if (command.kind === 'clear') {
        const { part, byte } = placed(command.at, playable, parts, slots);
        recorder.clear(part, byte, command.bytes);
      } else {
        const from = placed(command.from, playable, parts, slots);
        const to = placed(command.to, playable, parts, slots);
        recorder.copy(from.part, from.byte, to.part, to.byte, command.bytes);
      }
    }
  }
  recorder.note(tape.dispatches.length, used, written);
}

/**
 * Uploads the parameters of a call and gets the bind groups. If the call is repeated within a submission and no kernel
 * needs an epoch (dispatch number), returns the parameters and bind groups of the previous time.
 */
function place(engine: Engine, playable: Playable, brought: Brought): NonNullable<Brought['placed']> {
  const { recorder, spine } = engine;
  const { tape, layout, own } = playable;
  const { parts, values } = brought;
  const written = brought.placed?.written ?? [...writtenBy(layout, parts), ...own];
  // Pending reads must copy the old contents before the tape (recorded launches) overwrites them.
  for (const part of written) part.beforeWrite?.();
  if (tape.runs === 0 && brought.placed?.submission === recorder.submission) return brought.placed;
  recorder.begin();
  if (tape.runs > 0) {
    const { memory, epoch } = spine.beginMany(tape.spineWords, tape.runs);
    values[valueNumbers.epoch(layout)] = epoch - 1;
    parts[partNumbers.spine(layout)] = memory.parts[0]!;
  }
  const slots = tape.blocks.map((block) => placeBlock(engine, block, values));
  brought.placed = {
    submission: recorder.submission,
    slots,
    parameters: parameterGroups(engine, playable, slots),
    storage: storageGroups(engine, playable, parts),
    used: [...parts, ...own],
    written: [...writtenBy(layout, parts), ...own],
  };
  return brought.placed;
}

/**
 * Returns those of a call's parts (GPU buffers) to which the tape writes: the results and the spine (memory in which
 * workgroups communicate).
 */
function writtenBy({ inputs, results, counted }: TapeLayout, parts: readonly BufferPart[]): BufferPart[] {
  return [...parts.slice(inputs, inputs + results), ...parts.slice(inputs + results + counted.length)];
}

/**
 * Writes a block of parameters to a slot (range of a parameter buffer). The words at the positions in `patches` are
 * increased by values of the call.
 */
function placeBlock(
  { recorder }: Engine,
  { words, patches }: Tape['blocks'][number],
  values: Uint32Array,
): ParameterSlot {
  const slot = recorder.slot(words.length);
  const { data } = slot;
  data.set(words);
  for (const { at, value } of patches) data[at] = words[at]! + values[value]!;
  return slot;
}

function storageGroups({ compiler }: Engine, playable: Playable, parts: readonly BufferPart[]): Bound['storage'] {
  const { tape, bound, ownGroups } = playable;
  let key = '';
  for (const { id } of parts) key += `${id},`;
  const known = bound.get(key);
  if (known !== undefined) return known.storage;
  if (bound.size >= MAX_BOUND) bound.clear();
  const storage = tape.dispatches.map(({ kernel, parts: numbers, isOwn }, i) => {
    const group =
      ownGroups[i] ??
      compiler.storageGroup(
        kernel,
        numbers.map((number) => partAt(playable, parts, number)),
      );
    if (isOwn) ownGroups[i] = group;
    return group;
  });
  bound.set(key, { parts: [...parts], storage });
  return storage;
}

function parameterGroups(
  { compiler }: Engine,
  { tape, parameters }: Playable,
  slots: readonly ParameterSlot[],
): readonly GPUBindGroup[] {
  let key = '';
  for (const { chunk } of slots) key += `${chunk.id},`;
  return cached(parameters, key, () => {
    if (parameters.size >= MAX_BOUND) parameters.clear();
    return tape.dispatches.map(({ command, dispatch }) =>
      compiler.parameterGroup(
        { ...slots[command.block]!, bytes: command.bytes },
        { ...slots[dispatch.block]!, bytes: dispatch.bytes },
      ),
    );
  });
}

function placed(
  { part, byte }: TapePlace,
  playable: Playable,
  brought: readonly BufferPart[],
  slots: readonly ParameterSlot[],
): { readonly part: BufferPart; readonly byte: number } {
  if (part >= 0) return { part: partAt(playable, brought, part), byte };
  const { chunk, byteOffset } = slots[blockOf(part)]!;
  return { part: chunk, byte: byteOffset + byte };
}

function partAt({ layout, own }: Playable, brought: readonly BufferPart[], number: number): BufferPart {
  const first = partNumbers.own(layout);
  return number < first ? brought[number]! : own[number - first]!;
}
