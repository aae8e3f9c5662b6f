import { F32, type FunctionBody, I32, type I64, unsigned, type V128, type ValueType } from './wasm-encoder.ts';
import type { Value } from './wasm-expressions.ts';
import {
  type Float32Local,
  Int32Local,
  type Int64Local,
  type Local,
  localOf,
  type ScalarLocal,
  type VectorLocal,
} from './wasm-locals.ts';

/** An open block, loop or if, as the target of a branch. */
export interface Label {
  readonly depth: number;
}

const VOID = 0x40;

/**
 * Emits the body of one WebAssembly function. Values are expressions (`wasm-expressions.ts`). Statements
 * (`wasm-statements.ts`) close every block that they open, so blocks nest properly.
 */
export class Code {
  readonly bytes: number[] = [];
  readonly #parameters: readonly ValueType[];
  readonly #locals: ValueType[] = [];
  readonly #free: Local[] = [];
  #depth = 0;

  constructor(parameters: readonly ValueType[]) {
    this.#parameters = parameters;
  }

  finish(results: readonly ValueType[] = []): FunctionBody {
    return { parameters: this.#parameters, results, locals: this.#locals, bytes: this.bytes };
  }

  /** Allocates a local, or reuses a released one. Its contents are undefined. */
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

  /** A parameter as a local that can be assigned. */
  parameter(index: number): Int32Local {
    return new Int32Local(this.bytes, index);
  }

  /** Releases a local for reuse. */
  release(local: Local): void {
    this.#free.push(local);
  }

  /** Pushes a value onto the stack. */
  push(value: Value): void {
    value.emit(this.bytes);
  }
  /** Pops the stack into a local. */
  set(local: Local): void {
    this.bytes.push(0x21, ...unsigned(local.id));
  }
  /** Sets a local to the top of the stack, which stays there. */
  tee(local: Local): void {
    this.bytes.push(0x22, ...unsigned(local.id));
  }
  /** Appends instructions whose operands are on the stack. */
  write(...bytes: readonly number[]): void {
    this.bytes.push(...bytes);
  }

  block(): Label {
    return this.#open(0x02);
  }
  loop(): Label {
    return this.#open(0x03);
  }
  /** Pops the condition from the stack. */
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
  /** Pops a condition and branches to the label if it is not zero. */
  brIf(label: Label): void {
    this.bytes.push(0x0d, ...unsigned(this.#depth - label.depth));
  }

  #open(instruction: number): Label {
    this.bytes.push(instruction, VOID);
    this.#depth++;
    return { depth: this.#depth };
  }
}

/** The WebAssembly type of a scalar type. */
export function valueTypeOf(type: string): typeof I32 | typeof F32 {
  return type === 'f32' ? F32 : I32;
}
