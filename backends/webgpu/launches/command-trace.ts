import type { Program } from '../../../primitives/contract/backend.ts';
import type { Memory } from '../memory/memory.ts';
import type { BufferPart } from '../memory/part.ts';
import type { Engine, LaunchTrace, TracedDispatch } from './engine.ts';
import type { ParameterSlot } from './recorder.ts';
import { type Guard, TracedUniform, type UniformWord } from './traced-uniform.ts';

/**
 * A part (GPU buffer) that a command uses. `memory` is an index into a list. The list contains the buffers of the
 * command, and then the command's temporary memory in the order of allocation. For the spine (the memory in which
 * workgroups communicate), `memory` is {@link SPINE}.
 */
export interface PartPlace {
  readonly memory: number;
  readonly part: number;
}

/** The value of `memory` in a {@link PartPlace} that denotes the spine (the memory in which workgroups communicate). */
export const SPINE = -1;

/**
 * A step of a plan. The step contains all numbers that are needed to repeat it, except the values of uniforms and the
 * epochs (dispatch numbers) of the spine (the memory in which workgroups communicate).
 */
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
  /** Copies a word of device memory into the parameters of the most recent `parameters` step. */
  | { readonly kind: 'deviceWord'; readonly from: PartPlace; readonly fromByte: number; readonly toByte: number }
  | DispatchStep;

export interface DispatchStep extends TracedDispatch {
  readonly kind: 'dispatch';
  /** Index of the step with the dispatch's parameters, counted among the plan's `parameters` steps only. */
  readonly parameters: number;
  readonly words: Uint32Array;
  readonly parts: readonly PartPlace[];
  /**
   * The parts (GPU buffers) of the most recent repetition, and the bind group for these parts, which is reused while
   * the parts stay the same.
   */
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
  /** Whether the steps are complete. After a failed attempt the steps are incomplete, and no plan is made. */
  complete = true;
  readonly #memories: Memory[];
  readonly #parts = new Map<BufferPart, PartPlace>();
  readonly #slots: ParameterSlot[] = [];
  #uniforms = 0;

  constructor(memories: readonly Memory[]) {
    this.#memories = [...memories];
    memories.forEach((memory, number) => void this.#know(memory, number));
  }

  /**
   * Returns the program with its uniforms replaced by {@link TracedUniform}s. Must be called for all programs of the
   * command, in the order in which the command's signature lists the programs.
   */
  traced<P extends Program | undefined>(program: P): P {
    if (program === undefined) return program;
    const uniforms = new Map<string, number | boolean>();
    for (const name of program.module.uniforms.keys()) {
      const traced = new TracedUniform(this.guards, program.uniforms.get(name)!, this.#uniforms++);
      uniforms.set(name, traced as never);
    }
    return { ...program, uniforms };
  }

  /** Returns an engine that executes commands on `engine` and records their steps in this trace. */
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
