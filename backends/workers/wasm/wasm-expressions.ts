import { atomic, extended, F32, I32, I64, op, signed, simd, unsigned, V128, type ValueType } from './wasm-encoder.ts';

/**
 * WebAssembly values as expressions. Each use of an expression emits its code again, operands first, left to right.
 * A costly value therefore belongs in a local. Operands that are numbers are constants.
 */
export abstract class Value {
  abstract readonly type: ValueType;
  /** Appends instructions that leave the value on the stack. */
  readonly emit: (bytes: number[]) => void;

  constructor(emit: (bytes: number[]) => void) {
    this.emit = emit;
  }
}

/** Four lanes. In a shuffle, 0 to 3 are the lanes of the first vector, and 4 to 7 are the lanes of the second. */
export type Lanes = readonly [number, number, number, number];

type Operand32 = Int32 | number;

export class Int32 extends Value {
  readonly type: typeof I32 = I32;

  add(other: Operand32): Int32 {
    return this.#with(op.i32Add, other);
  }
  sub(other: Operand32): Int32 {
    return this.#with(op.i32Sub, other);
  }
  mul(other: Operand32): Int32 {
    return this.#with(op.i32Mul, other);
  }
  divU(other: Operand32): Int32 {
    return this.#with(op.i32DivU, other);
  }
  remS(other: Operand32): Int32 {
    return this.#with(op.i32RemS, other);
  }
  remU(other: Operand32): Int32 {
    return this.#with(op.i32RemU, other);
  }
  and(other: Operand32): Int32 {
    return this.#with(op.i32And, other);
  }
  or(other: Operand32): Int32 {
    return this.#with(op.i32Or, other);
  }
  xor(other: Operand32): Int32 {
    return this.#with(op.i32Xor, other);
  }
  shl(bits: Operand32): Int32 {
    return this.#with(op.i32Shl, bits);
  }
  shrS(bits: Operand32): Int32 {
    return this.#with(op.i32ShrS, bits);
  }
  shrU(bits: Operand32): Int32 {
    return this.#with(op.i32ShrU, bits);
  }
  ctz(): Int32 {
    return int32(op.i32Ctz, this);
  }
  popcount(): Int32 {
    return int32(op.i32Popcnt, this);
  }

  /** Comparisons return 1 or 0. */
  eq(other: Operand32): Int32 {
    return this.#with(op.i32Eq, other);
  }
  ne(other: Operand32): Int32 {
    return this.#with(op.i32Ne, other);
  }
  ltS(other: Operand32): Int32 {
    return this.#with(op.i32LtS, other);
  }
  ltU(other: Operand32): Int32 {
    return this.#with(op.i32LtU, other);
  }
  gtS(other: Operand32): Int32 {
    return this.#with(op.i32GtS, other);
  }
  gtU(other: Operand32): Int32 {
    return this.#with(op.i32GtU, other);
  }
  leU(other: Operand32): Int32 {
    return this.#with(op.i32LeU, other);
  }
  geU(other: Operand32): Int32 {
    return this.#with(op.i32GeU, other);
  }
  isZero(): Int32 {
    return int32(op.i32Eqz, this);
  }

  /** `yes` if this is not zero, else `no`. Both are computed before the condition. */
  select(yes: Operand32, no: Operand32): Int32;
  select<V extends Value>(yes: V, no: V): V;
  select(yes: Value | number, no: Value | number): Value {
    const [first, second] = [operand(yes), operand(no)];
    return fresh(first.type, sequence([first, second, this], [op.select]));
  }

  extendS(): Int64 {
    return new Int64(sequence([this], [op.i64ExtendI32S]));
  }
  extendU(): Int64 {
    return new Int64(sequence([this], [op.i64ExtendI32U]));
  }
  /** The float with the same bits. */
  reinterpret(): Float32 {
    return float32(op.f32ReinterpretI32, this);
  }
  /** Four equal lanes. */
  splat(): Vector {
    return vector(simd.i32x4Splat, this);
  }

  #with(instruction: number, other: Operand32): Int32 {
    return int32(instruction, this, operand(other));
  }
}

export class Int64 extends Value {
  readonly type: typeof I64 = I64;

  add(other: Int64 | number): Int64 {
    return this.#with(op.i64Add, other);
  }
  sub(other: Int64 | number): Int64 {
    return this.#with(op.i64Sub, other);
  }
  mul(other: Int64 | number): Int64 {
    return this.#with(op.i64Mul, other);
  }
  shl(bits: Int64 | number): Int64 {
    return this.#with(op.i64Shl, bits);
  }
  shrU(bits: Int64 | number): Int64 {
    return this.#with(op.i64ShrU, bits);
  }
  ltS(other: Int64 | number): Int32 {
    return int32(op.i64LtS, this, operand64(other));
  }
  gtS(other: Int64 | number): Int32 {
    return int32(op.i64GtS, this, operand64(other));
  }
  /** The low 32 bits. */
  wrap(): Int32 {
    return int32(op.i32WrapI64, this);
  }
  /** Two equal lanes. */
  splat(): Vector {
    return vector(simd.i64x2Splat, this);
  }

  #with(instruction: number, other: Int64 | number): Int64 {
    return new Int64(sequence([this, operand64(other)], [instruction]));
  }
}

export class Float32 extends Value {
  readonly type: typeof F32 = F32;

  ne(other: Float32): Int32 {
    return int32(op.f32Ne, this, other);
  }
  /** The bits of the float. */
  reinterpret(): Int32 {
    return int32(op.i32ReinterpretF32, this);
  }
  splat(): Vector {
    return vector(simd.f32x4Splat, this);
  }
}

/** 128 bits: four lanes of 32-bit integers, unless a method says otherwise. */
export class Vector extends Value {
  readonly type: typeof V128 = V128;

  add(other: Vector): Vector {
    return vector(simd.i32x4Add, this, other);
  }
  sub(other: Vector): Vector {
    return vector(simd.i32x4Sub, this, other);
  }
  mul(other: Vector): Vector {
    return vector(simd.i32x4Mul, this, other);
  }
  minU(other: Vector): Vector {
    return vector(simd.i32x4MinU, this, other);
  }
  neg(): Vector {
    return vector(simd.i32x4Neg, this);
  }
  shl(bits: Operand32): Vector {
    return vector(simd.i32x4Shl, this, operand(bits));
  }
  shrU(bits: Operand32): Vector {
    return vector(simd.i32x4ShrU, this, operand(bits));
  }

  /** Comparisons set each lane to all ones or all zeros. */
  ne(other: Vector): Vector {
    return vector(simd.i32x4Ne, this, other);
  }
  ltU(other: Vector): Vector {
    return vector(simd.i32x4LtU, this, other);
  }
  geU(other: Vector): Vector {
    return vector(simd.i32x4GeU, this, other);
  }

  and(other: Vector): Vector {
    return vector(simd.and, this, other);
  }
  or(other: Vector): Vector {
    return vector(simd.or, this, other);
  }
  xor(other: Vector): Vector {
    return vector(simd.xor, this, other);
  }
  /** The bits of this vector that are not set in the other one. */
  andNot(other: Vector): Vector {
    return vector(simd.andNot, this, other);
  }
  not(): Vector {
    return vector(simd.not, this);
  }
  /** Takes the bits of this vector where the mask is 1, and the bits of the other vector where it is 0. */
  bitselect(other: Vector, mask: Vector): Vector {
    return vector(simd.bitselect, this, other, mask);
  }
  anyTrue(): Int32 {
    return new Int32(sequence([this], vectorInstruction(simd.anyTrue)));
  }
  /** A mask of the highest bit of each lane. Its lowest bit is for lane 0. */
  bitmask(): Int32 {
    return new Int32(sequence([this], vectorInstruction(simd.i32x4Bitmask)));
  }

  extract(lane: number): Int32 {
    return new Int32(sequence([this], vectorInstruction(simd.i32x4Extract, lane)));
  }
  extractF32(lane: number): Float32 {
    return new Float32(sequence([this], vectorInstruction(simd.f32x4Extract, lane)));
  }
  replace(lane: number, by: Int32): Vector {
    return new Vector(sequence([this, by], vectorInstruction(simd.i32x4Replace, lane)));
  }
  shuffle(other: Vector, lanes: Lanes): Vector {
    const bytes = lanes.flatMap((lane) => [0, 1, 2, 3].map((byte) => 4 * lane + byte));
    return new Vector(sequence([this, other], vectorInstruction(simd.shuffle, ...bytes)));
  }
  /** Byte k of the result is byte `bytes[k]` of this vector, or 0 if `bytes[k]` is above 15. */
  swizzle(bytes: Vector): Vector {
    return vector(simd.swizzle, this, bytes);
  }

  /** Adds the vectors as two 64-bit lanes. */
  addI64(other: Vector): Vector {
    return vector(simd.i64x2Add, this, other);
  }
  extractI64(half: number): Int64 {
    return new Int64(sequence([this], vectorInstruction(simd.i64x2Extract, half)));
  }
  replaceI64(half: number, by: Int64 | number): Vector {
    return new Vector(sequence([this, operand64(by)], vectorInstruction(simd.i64x2Replace, half)));
  }
  /** Lanes 0 and 1, zero-extended to 64 bits. */
  extendLowU(): Vector {
    return vector(simd.i64x2ExtendLowU, this);
  }
  /** Lanes 2 and 3, zero-extended to 64 bits. */
  extendHighU(): Vector {
    return vector(simd.i64x2ExtendHighU, this);
  }
}

/** A scalar of a functor: an integer, a bool as 0 or 1, or an f32. */
export type Scalar = Int32 | Float32;

export function i32(value: number): Int32 {
  return new Int32(sequence([], [0x41, ...signed(value)]));
}
/** A 32-bit number as a 64-bit constant. */
export function i64(value: number): Int64 {
  return new Int64(sequence([], [0x42, ...signed(value)]));
}
export function f32(value: number): Float32 {
  return new Float32(sequence([], [0x43, ...new Uint8Array(Float32Array.of(value).buffer)]));
}
export function v128(lanes: Lanes): Vector {
  const bytes = new Uint8Array(Uint32Array.from(lanes).buffer);
  return new Vector(sequence([], vectorInstruction(simd.const, ...bytes)));
}

/** The constant lanes `first` to `first + 3`. */
export function fourFrom(first: number): Vector {
  return v128([first, first + 1, first + 2, first + 3]);
}

/** Loads the word `offset` bytes after an address. The address need not be aligned. */
export function load(address: Operand32, offset = 0): Int32 {
  return new Int32(sequence([operand(address)], memoryInstruction(op.i32Load, offset)));
}
export function load64(address: Operand32, offset = 0): Int64 {
  return new Int64(sequence([operand(address)], memoryInstruction(op.i64Load, offset)));
}
export function loadF32(address: Operand32, offset = 0): Float32 {
  return new Float32(sequence([operand(address)], memoryInstruction(op.f32Load, offset)));
}
export function loadByte(address: Operand32, offset = 0): Int32 {
  return new Int32(sequence([operand(address)], memoryInstruction(op.i32Load8U, offset)));
}
/** Loads an i32 with the given instruction, such as one that loads fewer bits. */
export function loadingInt32(instruction: number, address: Operand32, offset: number): Int32 {
  return new Int32(sequence([operand(address)], memoryInstruction(instruction, offset)));
}
export function loadVector(address: Operand32, offset = 0): Vector {
  return loadingVector(simd.load, address, offset);
}
/** Loads one word into all four lanes. */
export function loadSplat(address: Operand32, offset = 0): Vector {
  return loadingVector(simd.load32Splat, address, offset);
}
/** Loads a vector with the given instruction. */
export function loadingVector(instruction: number, address: Operand32, offset: number): Vector {
  return new Vector(sequence([operand(address)], vectorMemoryInstruction(instruction, offset)));
}
/** An atomic load of an aligned word. */
export function atomicLoad(address: Operand32): Int32 {
  return atomicResult(atomic.i32Load, operand(address));
}
/** The result of an atomic instruction on an aligned word. Most return the previous value. */
export function atomicResult(instruction: number, ...operands: readonly Value[]): Int32 {
  return new Int32(sequence(operands, [0xfe, instruction, 2, 0]));
}

/** The i32 result of an instruction without a prefix byte. */
export function int32(instruction: number, ...operands: readonly Value[]): Int32 {
  return new Int32(sequence(operands, [instruction]));
}
export function float32(instruction: number, ...operands: readonly Value[]): Float32 {
  return new Float32(sequence(operands, [instruction]));
}
/** A float truncated to an integer. Values out of range saturate, and NaN becomes 0. */
export function truncSat(value: Float32, isSigned: boolean): Int32 {
  return new Int32(sequence([value], [0xfc, isSigned ? extended.truncSatS : extended.truncSatU]));
}
/** The result of a vector instruction. */
export function vector(instruction: number, ...operands: readonly Value[]): Vector {
  return new Vector(sequence(operands, vectorInstruction(instruction)));
}

/** A parameter that the function never assigns. */
export function parameter(index: number): Int32 {
  return new Int32(sequence([], [0x20, ...unsigned(index)]));
}

/** `yes` if the condition is not zero, else `no`. Only the chosen value is computed. */
export function choose<V extends Value>(condition: Int32, yes: V, no: V): V {
  const emit = (bytes: number[]): void => {
    condition.emit(bytes);
    bytes.push(0x04, yes.type);
    yes.emit(bytes);
    bytes.push(0x05);
    no.emit(bytes);
    bytes.push(0x0b);
  };
  return fresh(yes.type, emit) as V;
}

/** Converts a number to a constant; returns an expression unchanged. */
export function operand<V extends Value>(value: V | number): V | Int32 {
  return typeof value === 'number' ? i32(value) : value;
}

function operand64(value: Int64 | number): Int64 {
  return typeof value === 'number' ? i64(value) : value;
}

function fresh(type: ValueType, emit: (bytes: number[]) => void): Value {
  if (type === I32) return new Int32(emit);
  if (type === I64) return new Int64(emit);
  return type === F32 ? new Float32(emit) : new Vector(emit);
}

function sequence(operands: readonly Value[], instruction: readonly number[]): (bytes: number[]) => void {
  return (bytes) => {
    for (const value of operands) value.emit(bytes);
    bytes.push(...instruction);
  };
}

function vectorInstruction(instruction: number, ...immediates: readonly number[]): readonly number[] {
  return [0xfd, ...unsigned(instruction), ...immediates];
}

/** The encoding of a load or store. The address may be unaligned. */
export function memoryInstruction(instruction: number, offset: number): readonly number[] {
  return [instruction, 0, ...unsigned(offset)];
}

export function vectorMemoryInstruction(instruction: number, offset: number): readonly number[] {
  return vectorInstruction(instruction, 0, ...unsigned(offset));
}
