import type { Program } from '../../../primitives/contract/backend.ts';
import type { Memory } from '../memory/memory.ts';
import type { BufferPart } from '../memory/part.ts';
import type { Engine, LaunchTrace, TracedDispatch } from './engine.ts';
import type { ParameterSlot } from './recorder.ts';
import { type Guard, TracedUniform, type UniformWord } from './traced-uniform.ts';

/**
 * A part of a memory of a command. The memories are the command's buffers, followed by temporary memory; or it is a
 * part of the spine.
 */
export interface PartPlace {
  readonly memory: number;
  readonly part: number;
}

/** Replaces the index of a memory if the part belongs to the spine. */
export const SPINE = -1;

/** What a command does, with all numbers except the values of uniforms and the epochs of the spine. */
export type TraceStep =
  | { readonly kind: 'allocate'; readonly words: number }
  | { readonly kind: 'release'; readonly memory: number }
  | { readonly kind: 'spine'; readonly words: number }
  | {
      readonly kind: 'copy';
      readonly from: PartPlace;
      readonly fromByte: number;
      readonly to: PartPlace;
      readonly toByte: number;
      readonly bytes: number;
    }
  | { readonly kind: 'clear'; readonly part: PartPlace; readonly byte: number; readonly bytes: number }
  | { readonly kind: 'parameters'; readonly words: Uint32Array; readonly uniforms: readonly UniformWord[] }
  /** Copies a word to the parameters that were placed last. */
  | { readonly kind: 'deviceWord'; readonly from: PartPlace; readonly fromByte: number; readonly toByte: number }
  | DispatchStep;

export interface DispatchStep extends TracedDispatch {
  readonly kind: 'dispatch';
  /** Index of the parameters among those placed by the command. */
  readonly parameters: number;
  readonly words: Uint32Array;
  readonly parts: readonly PartPlace[];
  /** The parts of its last use, and their bind group. */
  bound: readonly BufferPart[];
  group: GPUBindGroup | undefined;
}

export interface CommandPlan {
  readonly steps: readonly TraceStep[];
  readonly guards: readonly Guard[];
}

/** Records the steps of one command while it runs. */
export class CommandTrace implements CommandPlan, LaunchTrace {
  readonly steps: TraceStep[] = [];
  readonly guards: Guard[] = [];
  /** Whether the steps contain everything the command did. */
  complete = true;
  readonly #memories: Memory[];
  readonly #parts = new Map<BufferPart, PartPlace>();
  readonly #slots: ParameterSlot[] = [];
  #uniforms = 0;

  constructor(memories: readonly Memory[]) {
    this.#memories = [...memories];
    memories.forEach((memory, number) => void this.#know(memory, number));
  }

  /** A program with traced uniforms. The programs of the command must be passed in order. */
  traced<P extends Program | undefined>(program: P): P {
    if (program === undefined) return program;
    const uniforms = new Map<string, number | boolean>();
    for (const name of program.module.uniforms.keys()) {
      const traced = new TracedUniform(this.guards, program.uniforms.get(name)!, this.#uniforms++);
      uniforms.set(name, traced as never);
    }
    return { ...program, uniforms };
  }

  /** An engine that works like another one and records the steps here. */
  watch(engine: Engine): Engine {
    const { pool, recorder, spine } = engine;
    const { steps } = this;
    return {
      ...engine,
      trace: this,
      pool: {
        ...pool,
        allocate: (words) => {
          const memory = pool.allocate(words);
          this.#know(memory, this.#memories.push(memory) - 1);
          steps.push({ kind: 'allocate', words });
          return memory;
        },
        release: (buffer) => {
          steps.push({ kind: 'release', memory: this.#memories.indexOf(buffer as Memory) });
          pool.release(buffer);
        },
        attempt: (command) => {
          try {
            pool.attempt(command);
          } catch (error) {
            this.complete = false;
            throw error;
          }
        },
      },
      recorder: {
        ...recorder,
        copy: (from, fromByte, to, toByte, bytes) => {
          recorder.copy(from, fromByte, to, toByte, bytes);
          this.#noteCopy(from, fromByte, to, toByte, bytes);
        },
        clear: (part, byte, bytes) => {
          recorder.clear(part, byte, bytes);
          steps.push({ kind: 'clear', part: this.#placeOf(part), byte, bytes });
        },
      },
      spine: {
        ...spine,
        begin: (words) => {
          const run = spine.begin(words);
          this.#know(run.memory, SPINE);
          steps.push({ kind: 'spine', words });
          return run;
        },
      },
    };
  }

  placed(slot: ParameterSlot, uniforms: readonly UniformWord[]): void {
    this.#slots.push(slot);
    this.steps.push({ kind: 'parameters', words: slot.data.slice(), uniforms: [...uniforms] });
  }

  dispatched(
    dispatch: TracedDispatch,
    parameters: ParameterSlot,
    words: Uint32Array,
    parts: readonly BufferPart[],
  ): void {
    this.steps.push({
      kind: 'dispatch',
      ...dispatch,
      parameters: this.#slots.indexOf(parameters),
      words: words.slice(),
      parts: parts.map((part) => this.#placeOf(part)),
      bound: [],
      group: undefined,
    });
  }

  #noteCopy(from: BufferPart, fromByte: number, to: BufferPart, toByte: number, bytes: number): void {
    const slot = this.#slots.at(-1);
    if (slot?.chunk === to) {
      this.steps.push({ kind: 'deviceWord', from: this.#placeOf(from), fromByte, toByte: toByte - slot.byteOffset });
    } else {
      this.steps.push({ kind: 'copy', from: this.#placeOf(from), fromByte, to: this.#placeOf(to), toByte, bytes });
    }
  }

  #know({ parts }: Memory, memory: number): void {
    for (const [part, each] of parts.entries()) this.#parts.set(each, { memory, part });
  }

  #placeOf(part: BufferPart): PartPlace {
    const place = this.#parts.get(part);
    if (place === undefined) throw new RangeError('A command works on memory that is not its own.');
    return place;
  }
}
