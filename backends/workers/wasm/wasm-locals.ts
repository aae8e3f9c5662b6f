import { F32, I32, I64, unsigned, type ValueType } from './wasm-encoder.ts';
import { Float32, Int32, Int64, i64, operand, type Value, Vector } from './wasm-expressions.ts';

/**
 * A local of the function that is being emitted. Used as an expression, a local has the value that it holds at the
 * point of use.
 */
export type Local = Int32Local | Int64Local | Float32Local | VectorLocal;

/** A local with a scalar value of a functor. */
export type ScalarLocal = Int32Local | Float32Local;

export class Int32Local extends Int32 {
  readonly id: number;
  readonly #bytes: number[];

  constructor(bytes: number[], id: number) {
    super(getting(id));
    this.id = id;
    this.#bytes = bytes;
  }
  set(value: Int32 | number): void {
    write(this.#bytes, this.id, operand(value));
  }
  /** An expression that sets the local to a value and returns the value. */
  tee(value: Int32 | number): Int32 {
    return new Int32(teeing(this.id, operand(value)));
  }
}

export class Int64Local extends Int64 {
  readonly id: number;
  readonly #bytes: number[];

  constructor(bytes: number[], id: number) {
    super(getting(id));
    this.id = id;
    this.#bytes = bytes;
  }
  set(value: Int64 | number): void {
    write(this.#bytes, this.id, typeof value === 'number' ? i64(value) : value);
  }
  tee(value: Int64): Int64 {
    return new Int64(teeing(this.id, value));
  }
}

export class Float32Local extends Float32 {
  readonly id: number;
  readonly #bytes: number[];

  constructor(bytes: number[], id: number) {
    super(getting(id));
    this.id = id;
    this.#bytes = bytes;
  }
  set(value: Float32): void {
    write(this.#bytes, this.id, value);
  }
  tee(value: Float32): Float32 {
    return new Float32(teeing(this.id, value));
  }
}

export class VectorLocal extends Vector {
  readonly id: number;
  readonly #bytes: number[];

  constructor(bytes: number[], id: number) {
    super(getting(id));
    this.id = id;
    this.#bytes = bytes;
  }
  set(value: Vector): void {
    write(this.#bytes, this.id, value);
  }
  tee(value: Vector): Vector {
    return new Vector(teeing(this.id, value));
  }
}

/** The local with index `id` and the given type. */
export function localOf(bytes: number[], type: ValueType, id: number): Local {
  if (type === I32) return new Int32Local(bytes, id);
  if (type === I64) return new Int64Local(bytes, id);
  return type === F32 ? new Float32Local(bytes, id) : new VectorLocal(bytes, id);
}

/** Sets a local to a value, if the type of the local is not known statically. The types must agree. */
export function assign(local: Local, value: Value): void {
  if (local.type !== value.type) throw new RangeError(`a local of type ${local.type} was given one of ${value.type}`);
  (local as { set(value: Value): void }).set(value);
}

/** Narrows the static type of a local to i32. Throws if the local is an f32. */
export function asInt32(local: ScalarLocal): Int32Local {
  if (local.type !== I32) throw new RangeError('the scalar is an f32');
  return local;
}

function getting(id: number): (bytes: number[]) => void {
  const instruction = [0x20, ...unsigned(id)];
  return (bytes) => bytes.push(...instruction);
}

function write(bytes: number[], id: number, value: Value): void {
  value.emit(bytes);
  bytes.push(0x21, ...unsigned(id));
}

function teeing(id: number, value: Value): (bytes: number[]) => void {
  return (bytes) => {
    value.emit(bytes);
    bytes.push(0x22, ...unsigned(id));
  };
}
