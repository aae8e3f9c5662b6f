import { atomic, extended, F32, I32, I64, op, signed, simd, unsigned, V128, type ValueType } from './wasm-encoder.ts';

/**
 * A WebAssembly value as an expression. Each use of an expression emits its code again, so a costly value should be put
 * in a local. The operands are emitted first, from left to right. An operand given as a number is a constant.
 */
export abstract class Value {
  abstract readonly type: ValueType;
  /** Appends the instructions that compute the value and leave it on the stack. */
  readonly emit: (bytes: number[]) => void;

  constructor(emit: (bytes: number[]) => void) {
    this.emit = emit;
  }
}

/**
 * Four numbers, one per lane. A shuffle takes lane numbers: 0 to 3 for the first vector, 4 to 7 for the second vector.
 */
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

  /** 1 if both operands are equal, else 0. The other comparisons also return 1 or 0. */
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

  /** `yes` if this value is not zero, else `no`. The code computes `yes`, `no` and this value, in this order. */
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
  /** The f32 with the same bits as this integer. */
  reinterpret(): Float32 {
    return float32(op.f32ReinterpretI32, this);
  }
  /** A vector with this value in each of its four lanes. */
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
  /** The low 32 bits of this value. */
  wrap(): Int32 {
    return int32(op.i32WrapI64, this);
  }
  /** A vector with this value in each of its two 64-bit lanes. */
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
  /** The integer with the same bits as this f32. */
  reinterpret(): Int32 {
    return int32(op.i32ReinterpretF32, this);
  }
  splat(): Vector {
    return vector(simd.f32x4Splat, this);
  }
}

/** A 128-bit vector. Methods treat it as four lanes of 32-bit integers, unless a method's comment says otherwise. */
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
  maxU(other: Vector): Vector {
    return vector(simd.i32x4MaxU, this, other);
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

  /**
   * A mask in which a lane is all ones if the lanes of the two vectors differ, else all zeros. The other comparisons
   * also return such masks.
   */
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
  /** The bits of this vector that are not set in `other`. */
  andNot(other: Vector): Vector {
    return vector(simd.andNot, this, other);
  }
  not(): Vector {
    return vector(simd.not, this);
  }
  /** Takes the bits of this vector where `mask` has a 1, and the bits of `other` where `mask` has a 0. */
  bitselect(other: Vector, mask: Vector): Vector {
    return vector(simd.bitselect, this, other, mask);
  }
  anyTrue(): Int32 {
    return new Int32(sequence([this], vectorInstruction(simd.anyTrue)));
  }
  /** A mask with the highest bit of each lane. Lane 0 determines the lowest bit of the mask. */
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
    return this.shuffleBytes(
      other,
      lanes.flatMap((lane) => [0, 1, 2, 3].map((byte) => 4 * lane + byte)),
    );
  }
  /** Byte k of the result is byte `bytes[k]` of both vectors, one after the other. */
  shuffleBytes(other: Vector, bytes: readonly number[]): Vector {
    return new Vector(sequence([this, other], vectorInstruction(simd.shuffle, ...bytes)));
  }
  /** Byte k of the result is byte `bytes[k]` of this vector, or 0 if `bytes[k]` is above 15. */
  swizzle(bytes: Vector): Vector {
    return vector(simd.swizzle, this, bytes);
  }

  /** Adds both vectors as two 64-bit lanes. */
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

/** A scalar value of a functor: an integer, a bool as 0 or 1, or an f32. */
export type Scalar = Int32 | Float32;

export function i32(value: number): Int32 {
  return new Int32(sequence([], [0x41, ...signed(value)]));
}
/** The 64-bit constant with the value of a signed 32-bit number. */
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

/** The constant vector `first, first + 1, first + 2, first + 3`. */
export function fourFrom(first: number): Vector {
  return v128([first, first + 1, first + 2, first + 3]);
}

/** Loads the 32-bit word `offset` bytes after an address, which need not be aligned. */
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
/** Loads an i32 with the instruction of the given opcode, which may load only a byte or two. */
export function loadingInt32(instruction: number, address: Operand32, offset: number): Int32 {
  return new Int32(sequence([operand(address)], memoryInstruction(instruction, offset)));
}
export function loadVector(address: Operand32, offset = 0): Vector {
  return loadingVector(simd.load, address, offset);
}
/** Loads one 32-bit word into all four lanes. */
export function loadSplat(address: Operand32, offset = 0): Vector {
  return loadingVector(simd.load32Splat, address, offset);
}
/** Loads a vector with the instruction of the given opcode. */
export function loadingVector(instruction: number, address: Operand32, offset: number): Vector {
  return new Vector(sequence([operand(address)], vectorMemoryInstruction(instruction, offset)));
}
/** Loads the 32-bit word at an address into one lane, and takes the other lanes from `lanes`. */
export function loadingLane(address: Int32, lanes: Vector, lane: number): Vector {
  return new Vector(sequence([address, lanes], [...vectorMemoryInstruction(simd.load32Lane, 0), lane]));
}
/** Loads an aligned word atomically. */
export function atomicLoad(address: Operand32): Int32 {
  return atomicResult(atomic.i32Load, operand(address));
}
/**
 * The result of the atomic instruction with the given opcode, on an aligned word. For a read-modify-write instruction,
 * the result is the previous value of the word.
 */
export function atomicResult(instruction: number, ...operands: readonly Value[]): Int32 {
  return new Int32(sequence(operands, [0xfe, instruction, 2, 0]));
}

/** The i32 result of the instruction with the given opcode, which has no prefix byte. */
export function int32(instruction: number, ...operands: readonly Value[]): Int32 {
  return new Int32(sequence(operands, [instruction]));
}
export function float32(instruction: number, ...operands: readonly Value[]): Float32 {
  return new Float32(sequence(operands, [instruction]));
}
/** Truncates a float to an integer. Values out of range become the nearest integer, and NaN becomes 0. */
export function truncSat(value: Float32, isSigned: boolean): Int32 {
  return new Int32(sequence([value], [0xfc, isSigned ? extended.truncSatS : extended.truncSatU]));
}
/** The result of the vector instruction with the given opcode. */
export function vector(instruction: number, ...operands: readonly Value[]): Vector {
  return new Vector(sequence(operands, vectorInstruction(instruction)));
}

/** A parameter of the current function, by index. The function must never assign the parameter. */
export function parameter(index: number): Int32 {
  return new Int32(sequence([], [0x20, ...unsigned(index)]));
}

/** `yes` if the condition is not zero, else `no`. The code computes only the chosen value. */
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

/** Converts a number to an i32 constant, and returns an expression unchanged. */
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

/** The bytes of a load or store instruction without a prefix. The address need not be aligned. */
export function memoryInstruction(instruction: number, offset: number): readonly number[] {
  return [instruction, 0, ...unsigned(offset)];
}

export function vectorMemoryInstruction(instruction: number, offset: number): readonly number[] {
  return vectorInstruction(instruction, 0, ...unsigned(offset));
}
