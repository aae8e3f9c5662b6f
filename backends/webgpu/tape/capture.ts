import { lengthOfCount } from '../../../primitives/columns/program.ts';
import { SymbolicUniform } from '../../../primitives/columns/symbolic.ts';
import type { DeviceBuffer, KernelCommand, Program } from '../../../primitives/contract/backend.ts';
import { array, fn, u32, uniform } from '../../../primitives/functors/functor.ts';
import type { U32 } from '../../../primitives/functors/value.ts';
import type { Module } from '../../../primitives/ir/ir.ts';
import { rebound } from '../../../primitives/prepared/command.ts';
import type { Script, ScriptBuffer } from '../../../primitives/prepared/script.ts';
import { kernelOf } from '../kernels/kernels.ts';
import { forEach } from '../kernels/rows/for-each.ts';
import type { Engine } from '../launches/engine.ts';
import { CHUNK_BYTES, type DispatchRecorder, type ParameterSlot } from '../launches/recorder.ts';
import type { Memory } from '../memory/memory.ts';
import type { BufferPart } from '../memory/part.ts';
import type { SpineRun } from '../memory/spine.ts';
import {
  blockOf,
  partNumbers,
  partOfBlock,
  type Tape,
  type TapeCommand,
  type TapeDispatch,
  type TapeLayout,
  type TapePlace,
  valueNumbers,
} from './tape.ts';

/**
 * Thrown if no tape (recorded launches) can be made for a script (recorded commands). The commands of the script are
 * then issued one by one.
 */
export class Unplayable extends Error {
  static {
    Unplayable.prototype.name = 'Unplayable';
  }
}

/**
 * Makes a tape: runs the commands of a script (recorded commands of a prepared pipeline) on an engine that records the
 * launches instead of executing them. Returns the tape and its reserved memory.
 */
export function capture(
  engine: Engine,
  script: Script,
  layout: TapeLayout,
): { readonly tape: Tape; readonly reserved: readonly Memory[] } {
  const arena = createArena(engine, script, layout);
  try {
    const log = createLog(engine, layout, script.gate !== undefined, arena.numberOf);
    const taping: Engine = {
      ...engine,
      pool: arena.pool,
      recorder: log.recorder,
      compiler: log.compiler,
      spine: log.spine,
    };
    if (layout.counted.length > 0) fillLengths(taping, layout, arena);
    const { gate } = script;
    const gated = gate === undefined ? taping : { ...taping, gate: arena.resolve(script.inputs[gate]!) };
    const last = script.steps.length - 1;
    for (const [at, step] of script.steps.entries()) {
      if (step.kind === 'allocate') arena.allocate(step.buffer);
      else if (step.kind === 'release') arena.release(step.buffer);
      // A tape (recorded launches) contains no uploads, because the data of a write may differ from call to call.
      else if (step.kind === 'write') throw new Unplayable();
      else run(at === last ? taping : gated, rebound(step, { reading: arena.resolve, writing: arena.resolve }));
    }
    const { reserved, readByFours } = arena;
    return { tape: log.finish({ reserved: reserved.map(({ words }) => words), readByFours }), reserved };
  } catch (error) {
    arena.giveUp();
    throw error;
  }
}

function run(engine: Engine, command: KernelCommand): void {
  const kernel = kernelOf(command);
  const layout = kernel.layout?.(engine, command);
  // Without a kernel for it, the command is derived from several, which need temporary memory.
  if (kernel.layout !== undefined && !layout) throw new Unplayable();
  kernel.launch(engine, command, layout);
}

/**
 * Creates the memory of a tape (recorded launches) for the time of its capture. Allocations by commands reserve memory
 * for the tape. Memory that a command releases is reused by later commands of the script (recorded commands).
 */
function createArena({ pool, limits }: Engine, { inputs, results, block }: Script, layout: TapeLayout) {
  const reserved: Memory[] = [];
  const numbers = new Map<BufferPart, number>();
  const free = new Map<number, Memory[]>();
  const known = new Map<DeviceBuffer, Memory>();
  const readByFours = new Set<number>();
  let nextId = -1;

  const standIn = (words: number, stand: number, more: Partial<Memory>): Memory => {
    if (words * 4 > limits.bindingBytes) throw new Unplayable();
    const part = { id: nextId--, bytes: Math.ceil(words / 4) * 16, lastUse: -1, stand } as BufferPart;
    return { id: part.id, words, parts: [part], shift: 31, ...more };
  };
  for (const { at, words } of inputs) {
    const offsetValue = valueNumbers.offset(layout, at);
    const more = { offsetValue, onFours: () => void readByFours.add(at) };
    known.set(inputs[at]!, standIn(words, partNumbers.input(layout, at), more));
  }
  for (const { at, words } of results) known.set(results[at]!, standIn(words, partNumbers.result(layout, at), {}));

  const allocate = (words: number): Memory => {
    const again = free.get(words)?.pop();
    if (again !== undefined) return again;
    const memory = pool.reserve(words);
    reserved.push(memory);
    for (const part of memory.parts) numbers.set(part, partNumbers.own(layout) + numbers.size);
    return memory;
  };
  const release = (memory: Memory): void => {
    const others = free.get(memory.words) ?? [];
    free.set(memory.words, others);
    others.push(memory);
  };
  const blockMemory =
    layout.counted.length === 0
      ? { id: nextId--, words: block.words, parts: [], shift: 31, valuesFrom: 0 }
      : allocate(Math.max(1, block.words));
  known.set(block, blockMemory);
  const resolve = (buffer: DeviceBuffer): Memory => known.get(buffer) ?? (buffer as Memory);
  const takeBack = new Set<Memory>();

  return {
    reserved,
    readByFours,
    /** The number that represents a part (GPU buffer) on the tape. */
    numberOf: (part: BufferPart): number => part.stand ?? numbers.get(part)!,
    resolve,
    block: blockMemory,
    count: (k: number): Memory =>
      standIn(1, partNumbers.count(layout, k), { offsetValue: valueNumbers.countWord(layout, k) }),
    allocate(buffer: ScriptBuffer): void {
      known.set(buffer, allocate(buffer.words));
    },
    release(buffer: ScriptBuffer): void {
      release(resolve(buffer));
      known.delete(buffer);
    },
    pool: {
      ...pool,
      resolve,
      allocate(words: number): Memory {
        const memory = allocate(words);
        takeBack.add(memory);
        return memory;
      },
      release(buffer: DeviceBuffer): void {
        takeBack.delete(buffer as Memory);
        release(buffer as Memory);
      },
      attempt(command: () => void): void {
        const before = new Set(takeBack);
        try {
          command();
        } catch (error) {
          for (const memory of [...takeBack].filter((each) => !before.has(each))) {
            takeBack.delete(memory);
            release(memory);
          }
          throw error;
        }
      },
    },
    giveUp: () => reserved.forEach(pool.giveUp),
  };
}

type Arena = ReturnType<typeof createArena>;

/**
 * Creates substitutes for the recorder, the compiler and the spine (memory in which workgroups communicate). The
 * substitutes record launches, copies and clears for the tape.
 */
function createLog(engine: Engine, layout: TapeLayout, isGated: boolean, numberOf: (part: BufferPart) => number) {
  const commands: TapeCommand[] = [];
  const dispatches: TapeDispatch[] = [];
  const blocks: { readonly part: BufferPart; readonly data: Uint32Array; readonly patches: Patch[]; used: number }[] =
    [];
  const alignment = engine.recorder.alignment;
  let runs = 0;
  let spineWords = 0;
  const spinePart = { id: 0, bytes: 16, lastUse: -1, stand: partNumbers.spine(layout) } as BufferPart;

  const placeOf = (part: BufferPart, byte: number): TapePlace => {
    const number = numberOf(part);
    const isBrought = number >= 0 && number < partNumbers.own(layout);
    const isResult = number >= layout.inputs && number < layout.inputs + layout.results;
    // Copies and clears of inputs are impossible, because the input of a call may be shorter or have another offset
    // than the input on the tape. In a loop, copies and clears of results are impossible too, because they would be
    // executed even after the loop has ended.
    if (isBrought && (isGated || !isResult)) throw new Unplayable();
    return { part: number, byte };
  };
  const newBlock = (): (typeof blocks)[number] => {
    const part = { id: 0, bytes: CHUNK_BYTES, lastUse: -1, stand: partOfBlock(blocks.length) } as BufferPart;
    const block = { part, data: new Uint32Array(CHUNK_BYTES / 4), patches: [], used: 0 };
    blocks.push(block);
    return block;
  };
  const slot = (words: number): ParameterSlot => {
    const bytes = Math.ceil((words * 4) / alignment) * alignment;
    let block = blocks.at(-1);
    if (block === undefined || block.used + bytes > CHUNK_BYTES) block = newBlock();
    const { part, data, patches, used } = block;
    block.used += bytes;
    return {
      chunk: part,
      byteOffset: used,
      bytes,
      data: data.subarray(used / 4, (used + bytes) / 4),
      patch: (at, value) => void patches.push({ at: used / 4 + at, value }),
    };
  };
  const slotOf = ({ chunk, byteOffset, bytes }: Pick<ParameterSlot, 'chunk' | 'byteOffset' | 'bytes'>) => ({
    block: blockOf(chunk.stand!),
    byteOffset,
    bytes,
  });
  let launched: Pick<TapeDispatch, 'kernel' | 'command' | 'dispatch'> | undefined;

  const recorder: DispatchRecorder = {
    ...engine.recorder,
    slot,
    copy(from, fromByte, to, toByte, bytes) {
      commands.push({ kind: 'copy', from: placeOf(from, fromByte), to: placeOf(to, toByte), bytes });
    },
    clear(part, byte, bytes) {
      commands.push({ kind: 'clear', at: placeOf(part, byte), bytes });
    },
    dispatch({ groups, parts }) {
      commands.push({ kind: 'dispatch', number: dispatches.length });
      const isOwn = parts.every(({ stand }) => stand === undefined);
      dispatches.push({ ...launched!, groups, parts: parts.map(numberOf), isOwn });
    },
  };
  const compiler: Engine['compiler'] = {
    ...engine.compiler,
    storageGroup(kernel) {
      launched = { ...launched!, kernel };
      return undefined as never;
    },
    parameterGroup(command, dispatch) {
      launched = { ...launched!, command: slotOf(command), dispatch: slotOf(dispatch) };
      return undefined as never;
    },
  };
  const beginMany = (words: number, more: number): SpineRun => {
    spineWords = Math.max(spineWords, words);
    const epoch = runs + 1;
    runs += more;
    const memory: Memory = { id: 0, words, parts: [spinePart], shift: 31 };
    return { memory, epoch, epochValue: valueNumbers.epoch(layout) };
  };
  const spine: Engine['spine'] = { ...engine.spine, begin: (words) => beginMany(words, 1), beginMany };

  return {
    recorder,
    compiler,
    spine,
    finish: (memory: Pick<Tape, 'reserved' | 'readByFours'>): Tape => ({
      ...memory,
      commands,
      dispatches,
      blocks: blocks.map(({ data, patches, used }) => ({ words: data.slice(0, used / 4), bytes: used, patches })),
      runs,
      spineWords,
    }),
  };
}

interface Patch {
  readonly at: number;
  readonly value: number;
}

/**
 * Records a launch that computes the table lengths that only the device knows. The launch processes one row and writes
 * the lengths to the script's block (buffer of the lengths and uniforms of a call).
 */
function fillLengths(engine: Engine, layout: TapeLayout, arena: Arena): void {
  const { counted } = layout;
  const numbers = counted.map((_, k) => k);
  const program: Program = {
    module: lengthsModule(counted.length),
    arrays: new Map(
      numbers.map((k) => [`count${k}`, { buffer: arena.count(k), storage: 'u32', offset: 0, length: 1 } as const]),
    ),
    uniforms: new Map(
      numbers.flatMap((k) => {
        const first = valueNumbers.countWord(layout, k);
        const value = (word: number): never => new SymbolicUniform('u32', word) as never;
        return [
          [`minus${k}`, value(first + 1)],
          [`limit${k}`, value(first + 2)],
        ] as const;
      }),
    ),
  };
  const stores = counted.map((offset, value) => ({ buffer: arena.block, offset, capacity: 1, value }));
  forEach(engine, 1, program, stores);
}

const lengthsModules = new Map<number, Module>();

function lengthsModule(tables: number): Module {
  const known = lengthsModules.get(tables);
  if (known !== undefined) return known;
  const numbers = Array.from({ length: tables }, (_, k) => k);
  const parameters = numbers.flatMap((k) => [
    [`count${k}`, array(u32)] as const,
    [`minus${k}`, uniform(u32)] as const,
    [`limit${k}`, uniform(u32)] as const,
  ]);
  const results = Object.fromEntries(numbers.map((k) => [`length${k}`, u32]));
  const body = (args: {
    readonly [name: string]: U32 & { at(index: number): U32 };
  }): { readonly [name: string]: U32 } =>
    Object.fromEntries(
      numbers.map((k) => {
        const { [`count${k}`]: count, [`minus${k}`]: minus, [`limit${k}`]: limit } = args;
        return [`length${k}`, lengthOfCount(count!.at(0), minus!, limit!)];
      }),
    );
  const { module } = fn('lengthsNow', { i: u32, ...Object.fromEntries(parameters) } as never, results, body as never);
  lengthsModules.set(tables, module);
  return module;
}
