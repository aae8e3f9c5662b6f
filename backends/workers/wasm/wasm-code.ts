import { F32, type FunctionBody, I32, type I64, unsigned, type V128, type ValueType } from './wasm-encoder.ts';
import type { Int32, Value } from './wasm-expressions.ts';
import {
  type Float32Local,
  Int32Local,
  type Int64Local,
  type Local,
  localOf,
  type ScalarLocal,
  type VectorLocal,
} from './wasm-locals.ts';

/** An open `block`, `loop` or `if` instruction, as the target of a branch. */
export interface Label {
  readonly depth: number;
}

const VOID = 0x40;

/**
 * Collects the bytes of one WebAssembly function. Use it through expressions (`wasm-expressions.ts`) and statements
 * (`wasm-statements.ts`); a statement closes every block that it opens, so blocks nest properly.
 */
export class Code {
  readonly bytes: number[] = [];
  readonly #parameters: readonly ValueType[];
  readonly #worker: Int32 | undefined;
  readonly #locals: ValueType[] = [];
  readonly #free: Local[] = [];
  #depth = 0;

  constructor(parameters: readonly ValueType[], worker?: Int32) {
    this.#parameters = parameters;
    this.#worker = worker;
  }

  /** The number of the worker that runs the function. A function that needs it must be created with it. */
  get worker(): Int32 {
    if (this.#worker === undefined) throw new Error('this function does not receive the number of its worker');
    return this.#worker;
  }

  finish(results: readonly ValueType[] = []): FunctionBody {
    return { parameters: this.#parameters, results, locals: this.#locals, bytes: this.bytes };
  }

  /** Allocates a local, or reuses a released one. The value of the local is arbitrary until it is set. */
  local(type: typeof I32): Int32Local;
  local(type: typeof I64): Int64Local;
  local(type: typeof F32): Float32Local;
  local(type: typeof V128): VectorLocal;
  local(type: typeof I32 | typeof F32): ScalarLocal;
  local(type: ValueType): Local {
    const reused = this.#free.findLastIndex((free) => free.type === type);
    if (reused >= 0) return this.#free.splice(reused, 1)[0]!;
    this.#locals.push(type);
    return localOf(this.bytes, type, this.#parameters.length + this.#locals.length - 1);
  }

  /** A parameter as a local, which may be assigned. The parameter must be an i32. */
  parameter(index: number): Int32Local {
    return new Int32Local(this.bytes, index);
  }

  /** Releases a local, so that `local` can return it again. */
  release(local: Local): void {
    this.#free.push(local);
  }

  /** Emits a value, which the code leaves on the stack. */
  push(value: Value): void {
    value.emit(this.bytes);
  }
  /** Emits `local.set`: pops a value from the stack into a local. */
  set(local: Local): void {
    this.bytes.push(0x21, ...unsigned(local.id));
  }
  /** Emits `local.tee`: sets a local to the value on top of the stack, and leaves the value there. */
  tee(local: Local): void {
    this.bytes.push(0x22, ...unsigned(local.id));
  }
  /** Appends the bytes of instructions. The operands of the instructions must be on the stack. */
  write(...bytes: readonly number[]): void {
    this.bytes.push(...bytes);
  }

  block(): Label {
    return this.#open(0x02);
  }
  loop(): Label {
    return this.#open(0x03);
  }
  /** Opens an `if`, which pops its condition from the stack. */
  if(): Label {
    return this.#open(0x04);
  }
  else(): void {
    this.bytes.push(0x05);
  }
  end(): void {
    this.#depth--;
    this.bytes.push(0x0b);
  }
  br(label: Label): void {
    this.bytes.push(0x0c, ...unsigned(this.#depth - label.depth));
  }
  /** Emits `br_if`: pops a condition from the stack, and branches to the label if the condition is not zero. */
  brIf(label: Label): void {
    this.bytes.push(0x0d, ...unsigned(this.#depth - label.depth));
  }

  #open(instruction: number): Label {
    this.bytes.push(instruction, VOID);
    this.#depth++;
    return { depth: this.#depth };
  }
}

/** The WebAssembly type of a scalar type of functors: bools and integers are i32. */
export function valueTypeOf(type: string): typeof I32 | typeof F32 {
  return type === 'f32' ? F32 : I32;
}
