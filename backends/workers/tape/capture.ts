import { SymbolicUniform } from '../../../primitives/columns/symbolic.ts';
import {
  capacityOf,
  type DeviceBuffer,
  type KernelCommand,
  type Program,
} from '../../../primitives/contract/backend.ts';
import { countProgram } from '../../../primitives/prepared/play.ts';
import type { Script, ScriptBuffer } from '../../../primitives/prepared/script.ts';
import { createHeldCommands, isTiled } from '../commands/held-commands.ts';
import { lengthWords } from '../commands/kernel-arguments.ts';
import type { Addresses, Launch, Launcher, LengthWords } from '../commands/launch.ts';
import { taskOf } from '../commands/task.ts';
import { createAllocator } from '../memory/allocator.ts';
import type { SharedBuffer } from '../memory/shared-memory.ts';
import { COPY_CHUNK, emitCopyKernel } from '../wasm/runtime.ts';
import {
  partsOfSymbol,
  symbolOf,
  type Tape,
  type TapedLaunches,
  type TapedLength,
  type TapedPhase,
  type TapedTask,
  type TapeSource,
  type Unit,
} from './tape.ts';

export interface CaptureHost extends Pick<Launcher, 'workers' | 'compile'> {
  /** A command with at least this number of rows waits to be fused with the commands that follow. */
  readonly fusedRows: number;
}

/**
 * Maximum number of words in one write of a script (recorded commands of a prepared pipeline). If a write has more
 * words, the script has no tape (recorded launches), and its commands are issued one by one.
 */
const MAX_WRITTEN = 2 ** 12;
/**
 * Maximum number of argument words of a tape (recorded launches). With this limit, the ring buffer for the arguments of
 * queued phases has room for several calls. A script that needs more words has no tape.
 */
const MAX_WORDS = 2 ** 16;

/**
 * Records the launches of a script (recorded commands) as a tape, without running the launches. Addresses, lengths and
 * uniforms that differ from call to call become symbols. Returns undefined if the script cannot become a tape.
 * `counted` lists the words of the script's block that hold lengths of tables known only to the device.
 */
export function capture(host: CaptureHost, script: Script, counted: readonly number[]): Tape | undefined {
  const sources = createSources();
  const arena = createArena(sources.numberOf({ kind: 'arena' }));
  const buffers = createStandIns(sources, arena, script.block, counted);
  const valueWords = script.block.words + 2 * counted.length;
  const alone = createLog(valueWords);
  const pooled = createLog(valueWords);
  const units: (Unit & { readonly tasks: TapedTask[] })[] = [];
  let isOpen = false;
  /** Whether the script's gate (a word that disables launches) applies to the launches being captured. */
  let gated = false;

  const openUnit = (): void => {
    if (!isOpen) units.push({ tasks: [], alone: alone.phases, pooled: pooled.phases });
    isOpen = true;
  };
  const launcher = (workers: number, addresses: Addresses, scratch: Launcher['scratch']): Launcher => ({
    workers,
    addresses,
    scratch,
    compile: host.compile,
  });
  const held = createHeldCommands({
    run(launch) {
      pooled.add(launch, gated);
      isOpen = false;
    },
    fusion() {
      const scratch = arena.scratch();
      return { workers: host.workers, compile: host.compile, scratch: scratch.take, finish: scratch.free };
    },
    free: ({ block }) => arena.release(block),
    fail(reason) {
      throw reason;
    },
  });

  const add = (command: KernelCommand, mayWait: boolean): void => {
    const { extent, cost, fixedCost, launch } = taskOf(command);
    const touched = new Set<SharedBuffer>();
    const addresses = buffers.addressesIn(touched);
    const own = arena.scratch();
    const made = launch(launcher(host.workers, addresses, own.take));
    const waits = mayWait && capacityOf(extent) >= host.fusedRows && isTiled(made);
    if (waits) held.add({ launch: made, uses: made.tiles.uses(), touched, finish: own.free });
    else held.flush();
    openUnit();
    const here = arena.scratch();
    alone.add(launch(launcher(1, addresses, here.take)), gated);
    here.free();
    units.at(-1)!.tasks.push({ cost, fixedCost, length: tapedLength(lengthWords(extent, addresses)) });
    if (waits) return;
    pooled.add(made, gated);
    own.free();
    isOpen = false;
  };

  /** Captures a write. The data becomes part of the arguments, and a launch copies it to the buffer. */
  const write = (buffer: ScriptBuffer, word: number, data: Uint32Array): void => {
    held.flush();
    openUnit();
    const kernel = host.compile('copy', () => [emitCopyKernel()]);
    const to = buffers.addressesIn(new Set()).of({ buffer, word }, data.length);
    for (const log of [alone, pooled]) {
      const from = log.data(data);
      const bytes = 4 * data.length;
      const phase = { run: kernel.functions[0]!, length: [0, 0, bytes], chunkSize: COPY_CHUNK, minimum: 0 } as const;
      log.add({ words: [0, 0, bytes, COPY_CHUNK, to, from, bytes], phases: [phase] }, gated);
    }
    isOpen = false;
  };

  for (const [number, word] of counted.entries()) add(buffers.countCommand(number, word), false);
  const last = script.steps.length - 1;
  for (const [at, step] of script.steps.entries()) {
    const tellsNews = script.gate !== undefined && at === last;
    if (tellsNews) held.flush();
    gated = script.gate !== undefined && !tellsNews;
    if (step.kind === 'allocate') buffers.allocate(step.buffer);
    else if (step.kind === 'release') {
      const released = buffers.release(step.buffer);
      if (!held.keeps(released)) arena.release(released.block);
    } else if (step.kind === 'write') {
      if (step.data.length > MAX_WRITTEN) return undefined;
      if (step.data.length > 0) write(step.buffer, step.word, step.data);
    } else add(step, !tellsNews);
  }
  held.flush();
  const launches = [alone.finish(), pooled.finish()] as const;
  if (launches.some(({ words }) => words.length > MAX_WORDS)) return undefined;
  return {
    sources: sources.all,
    arenaBytes: arena.bytes,
    units,
    alone: launches[0],
    pooled: launches[1],
    gate: script.gate === undefined ? undefined : sources.numberOf({ kind: 'input', at: script.gate, bytes: 0 }),
    counted,
    valueWords,
    functions: new Set(launches.flatMap(({ phases }) => phases.map(({ run }) => run))),
  };
}

/**
 * Gives numbers to the sources of a tape (addresses, lengths and uniforms of a call) when they are first used. Source 0
 * is always the argument block.
 */
function createSources() {
  const all: TapeSource[] = [];
  const numbers = new Map<string, number>();
  const numberOf = (source: TapeSource): number => {
    const key = Object.values(source).join(' ');
    const number = numbers.get(key) ?? all.push(source) - 1;
    numbers.set(key, number);
    return number;
  };
  numberOf({ kind: 'arguments' });
  return { all, numberOf, symbol: (source: TapeSource, bytes = 0): number => symbolOf(numberOf(source), bytes) };
}

type Sources = ReturnType<typeof createSources>;

/**
 * Lays out the memory for buffers that exist only during a call. The addresses are relative to the start of this
 * memory: the layout comes from an allocator that starts at address 0.
 */
function createArena(source: number) {
  let bytes = 0;
  const allocator = createAllocator({ start: 0, limit: 2 ** 32, grow: () => {} }, Number.POSITIVE_INFINITY);
  const allocate = (wanted: number) => {
    const block = allocator.allocate(wanted);
    bytes = Math.max(bytes, block.address + block.size);
    return block;
  };
  const release = (block: SharedBuffer['block']): void => allocator.release(block, 0);
  const addressOf = ({ address }: SharedBuffer['block']): number => symbolOf(source, address);
  return {
    get bytes() {
      return bytes;
    },
    allocate,
    release,
    addressOf,
    /** Collects the scratch memory of one launch; `free` releases all of it. */
    scratch() {
      const blocks: SharedBuffer['block'][] = [];
      return {
        take(wanted: number): number {
          const block = allocate(wanted);
          blocks.push(block);
          return addressOf(block);
        },
        free(): void {
          for (let block = blocks.pop(); block !== undefined; block = blocks.pop()) release(block);
        },
      };
    },
  };
}

type Arena = ReturnType<typeof createArena>;

/** Replaces the buffers of a script (recorded commands) by addresses that are relative to sources of the tape. */
function createStandIns(sources: Sources, arena: Arena, block: ScriptBuffer, counted: readonly number[]) {
  const temporaries = new Map<DeviceBuffer, SharedBuffer>();
  /** Placeholders for the buffers with the counts. A count is a word on the device from which a length is computed. */
  const counts = counted.map((_, number) => ({ id: -1 - number, words: 1, number }));

  const addressOf = (buffer: DeviceBuffer, bytes: number, touched: Set<SharedBuffer>): number => {
    const temporary = temporaries.get(buffer);
    if (temporary !== undefined) {
      touched.add(temporary);
      return temporary.address;
    }
    const count = counts.find((each) => each === buffer);
    if (count !== undefined) return sources.symbol({ kind: 'count', number: count.number });
    if (buffer === block) return sources.symbol({ kind: 'arguments' });
    const { role, at } = buffer as ScriptBuffer;
    if (role === 'result') return sources.symbol({ kind: 'result', at });
    return sources.symbol({ kind: 'input', at, bytes });
  };

  return {
    addressesIn: (touched: Set<SharedBuffer>): Addresses => ({
      of: ({ buffer, word }) => addressOf(buffer, 0, touched) + 4 * word,
      ofArray: ({ buffer, offset }, bytes) => addressOf(buffer, bytes, touched) + offset * bytes,
      ofUniform: ({ word }) => sources.symbol({ kind: 'value', word }),
    }),
    allocate(buffer: ScriptBuffer): void {
      const taken = arena.allocate(4 * buffer.words);
      const { id, words } = buffer;
      temporaries.set(buffer, { id, words, block: taken, address: arena.addressOf(taken), fence: 0, reads: new Set() });
    },
    release(buffer: ScriptBuffer): SharedBuffer {
      const released = temporaries.get(buffer)!;
      temporaries.delete(buffer);
      return released;
    },
    /**
     * Returns the command that computes the length with index `number` in `counted`, from a word on the device. The
     * command writes the length into word `word` of the block.
     */
    countCommand(number: number, word: number): KernelCommand {
      const { module, arrays } = countProgram({ buffer: counts[number]!, word: 0, minus: 0, limit: 0 });
      const first = block.words + 2 * number;
      const uniforms = new Map([
        ['minus', new SymbolicUniform('u32', first)],
        ['limit', new SymbolicUniform('u32', first + 1)],
      ]);
      const program = { module, arrays, uniforms } as unknown as Program;
      return {
        kind: 'forEach',
        extent: 1,
        program,
        stores: [{ buffer: block, offset: word, capacity: 1, value: 0 }],
      };
    },
  };
}

/** Collects the argument words and phases of launches, one launch after another. */
function createLog(valueWords: number) {
  const words: number[] = new Array<number>(valueWords).fill(0);
  const phases: TapedPhase[] = [];
  return {
    get phases() {
      return phases.length;
    },
    /** Appends words to the arguments and returns their symbolic address. */
    data(data: Uint32Array): number {
      const at = words.length;
      for (const word of data) words.push(word);
      return symbolOf(0, 4 * at);
    },
    add({ words: own, phases: launched }: Launch, gated: boolean): void {
      const first = 4 * words.length;
      for (const word of own) words.push(word);
      for (const { run, offset = 0, length, chunkSize, minimum } of launched) {
        phases.push({ run, offset: first + offset, length: tapedLength(length), chunkSize, minimum, gated });
      }
    },
    finish(): TapedLaunches {
      const patches = words.flatMap((word, at) => {
        const parts = partsOfSymbol(word);
        return parts === undefined ? [] : [at, parts.source];
      });
      const known = Uint32Array.from(words, (word) => partsOfSymbol(word)?.bytes ?? word);
      return { words: known, patches: Uint32Array.from(patches), phases };
    },
  };
}

function tapedLength([count, minus, limit]: LengthWords): TapedLength {
  return { count: partsOfSymbol(count), minus, limit };
}
