import {
  atomic,
  extended,
  F32,
  type FunctionBody,
  I32,
  type I64,
  op,
  signed,
  simd,
  unsigned,
  type V128,
  type ValueType,
} from './wasm-encoder.ts';
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

/** An open block, loop or if; the target of `br`. */
export interface Label {
  readonly depth: number;
}

const VOID = 0x40;

/**
 * Writes the body of one WebAssembly function, instruction by instruction. Operands are pushed before the instruction
 * that takes them; blocks are closed in the reverse order of opening.
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

  /** A local whose contents are undefined. */
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

  /** A parameter, to be set too. */
  parameter(index: number): Int32Local {
    return new Int32Local(this.bytes, index);
  }

  /** Releases a local for reuse. */
  release(local: Local): void {
    this.#free.push(local);
  }

  get(value: Value): void {
    value.emit(this.bytes);
  }
  set(local: Local): void {
    this.bytes.push(0x21, ...unsigned(local.id));
  }
  tee(local: Local): void {
    this.bytes.push(0x22, ...unsigned(local.id));
  }

  i32(value: number): void {
    this.bytes.push(0x41, ...signed(value));
  }
  /** A 32-bit number as 64-bit constant. */
  i64(value: number): void {
    this.bytes.push(0x42, ...signed(value));
  }
  f32(value: number): void {
    this.bytes.push(0x43, ...new Uint8Array(Float32Array.of(value).buffer));
  }
  /** A vector of four 32-bit lanes. */
  v128(lanes: readonly [number, number, number, number]): void {
    this.bytes.push(0xfd, ...unsigned(simd.const), ...new Uint8Array(Uint32Array.from(lanes).buffer));
  }

  op(...instructions: readonly number[]): void {
    this.bytes.push(...instructions);
  }
  simd(instruction: number, ...immediates: readonly number[]): void {
    this.bytes.push(0xfd, ...unsigned(instruction), ...immediates);
  }
  /** A permutation of the eight 32-bit lanes of two vectors. */
  shuffle(lanes: readonly [number, number, number, number]): void {
    this.simd(simd.shuffle, ...lanes.flatMap((lane) => [0, 1, 2, 3].map((byte) => 4 * lane + byte)));
  }
  truncSat(isSigned: boolean): void {
    this.bytes.push(0xfc, isSigned ? extended.truncSatS : extended.truncSatU);
  }
  memoryCopy(): void {
    this.bytes.push(0xfc, extended.memoryCopy, 0, 0);
  }
  memoryFill(): void {
    this.bytes.push(0xfc, extended.memoryFill, 0);
  }

  /** A load or store; nothing is promised about the alignment of the address. */
  memory(instruction: number, offset = 0): void {
    this.bytes.push(instruction, 0, ...unsigned(offset));
  }
  simdMemory(instruction: number, offset = 0): void {
    this.bytes.push(0xfd, ...unsigned(instruction), 0, ...unsigned(offset));
  }
  /** An atomic instruction on an aligned word. */
  atomic(instruction: number, offset = 0): void {
    this.bytes.push(0xfe, instruction, 2, ...unsigned(offset));
  }
  /** The same on an aligned pair of words. */
  atomic64(instruction: number, offset = 0): void {
    this.bytes.push(0xfe, instruction, 3, ...unsigned(offset));
  }
  /** Wakes all threads that wait on the address on the stack. */
  notifyAll(): void {
    this.i32(-1);
    this.atomic(atomic.notify);
    this.op(op.drop);
  }

  block(): Label {
    return this.#open(0x02, VOID);
  }
  loop(): Label {
    return this.#open(0x03, VOID);
  }
  /** Takes the condition from the stack; with a result type, both branches leave a value. */
  if(result?: ValueType): Label {
    return this.#open(0x04, result ?? VOID);
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
  /** Branches to the label if the condition on the stack holds. */
  brIf(label: Label): void {
    this.bytes.push(0x0d, ...unsigned(this.#depth - label.depth));
  }

  /** Calls a function of the same module. */
  call(index: number): void {
    this.bytes.push(0x10, ...unsigned(index));
  }

  /** Repeats the body while the condition, which is evaluated first, holds. */
  while(condition: () => void, body: () => void): void {
    const done = this.block();
    const again = this.loop();
    condition();
    this.op(op.i32Eqz);
    this.brIf(done);
    body();
    this.br(again);
    this.end();
    this.end();
  }

  /** Runs the body if the condition on the stack holds. */
  when(body: () => void, otherwise?: () => void): void {
    this.if();
    body();
    if (otherwise !== undefined) {
      this.else();
      otherwise();
    }
    this.end();
  }

  #open(instruction: number, type: number): Label {
    this.bytes.push(instruction, type);
    this.#depth++;
    return { depth: this.#depth };
  }
}

/** The value type that holds a scalar. */
export function valueTypeOf(type: string): typeof I32 | typeof F32 {
  return type === 'f32' ? F32 : I32;
}
