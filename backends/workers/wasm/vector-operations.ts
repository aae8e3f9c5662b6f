import type { Storage } from '../../../primitives/contract/backend.ts';
import type { OperationName, OperationOn, ScalarType } from '../../../primitives/ir/operations.ts';
import { REVERSALS } from '../../../primitives/ir/semantics.ts';
import { widthOf } from './emit-wasm.ts';
import { scalarOperation } from './scalar-operations.ts';
import type { Code } from './wasm-code.ts';
import { simd, V128 } from './wasm-encoder.ts';
import { type Int32, loadingVector, type Scalar, Vector, v128, vector } from './wasm-expressions.ts';

/**
 * The opcode of the SIMD instruction for each operation on a type. The operations in `Composed` have no entry, because
 * they take several instructions.
 */
type Instructions<T extends ScalarType, Composed extends OperationOn<T>> = Record<
  Exclude<OperationOn<T>, Composed>,
  number
>;

/** Operations without a SIMD instruction. Scalar code computes them lane by lane. */
type LaneByLane = 'div' | 'rem' | 'clz' | 'ctz';
type ComposedInteger = LaneByLane | 'shl' | 'shr' | 'popcount' | 'reverseBits';

const integerInstructions = {
  add: simd.i32x4Add,
  sub: simd.i32x4Sub,
  mul: simd.i32x4Mul,
  and: simd.and,
  or: simd.or,
  xor: simd.xor,
  not: simd.not,
  neg: simd.i32x4Neg,
  eq: simd.i32x4Eq,
  ne: simd.i32x4Ne,
};
const unsignedInstructions: Instructions<'u32', ComposedInteger | 'abs' | 'mulhi'> = {
  ...integerInstructions,
  min: simd.i32x4MinU,
  max: simd.i32x4MaxU,
  lt: simd.i32x4LtU,
  le: simd.i32x4LeU,
  gt: simd.i32x4GtU,
  ge: simd.i32x4GeU,
};
const signedInstructions: Instructions<'i32', ComposedInteger> = {
  ...integerInstructions,
  min: simd.i32x4MinS,
  max: simd.i32x4MaxS,
  lt: simd.i32x4LtS,
  le: simd.i32x4LeS,
  gt: simd.i32x4GtS,
  ge: simd.i32x4GeS,
  abs: simd.i32x4Abs,
};
const f32Instructions: Instructions<'f32', 'min' | 'max'> = {
  add: simd.f32x4Add,
  sub: simd.f32x4Sub,
  mul: simd.f32x4Mul,
  div: simd.f32x4Div,
  eq: simd.f32x4Eq,
  ne: simd.f32x4Ne,
  lt: simd.f32x4Lt,
  le: simd.f32x4Le,
  gt: simd.f32x4Gt,
  ge: simd.f32x4Ge,
  neg: simd.f32x4Neg,
  abs: simd.f32x4Abs,
  floor: simd.f32x4Floor,
  ceil: simd.f32x4Ceil,
  trunc: simd.f32x4Trunc,
  round: simd.f32x4Nearest,
  sqrt: simd.f32x4Sqrt,
};
const boolInstructions: Instructions<'bool', 'eq'> = {
  and: simd.and,
  or: simd.or,
  xor: simd.xor,
  not: simd.not,
  ne: simd.xor,
};

const ZEROS = v128([0, 0, 0, 0]);

/**
 * The result of an operation on four lanes. In a bool lane, all bits are equal. For a shift that shifts all lanes by
 * the same count, `count` is this count. The code may compute operands more than once.
 */
export function vectorOperation(
  code: Code,
  name: OperationName,
  from: ScalarType,
  to: ScalarType,
  operands: readonly Vector[],
  count?: Int32,
): Vector {
  const [a, b, condition] = operands as readonly [Vector, Vector, Vector];
  if (name === 'select') return b.bitselect(a, condition);
  if (name === 'convert') return converted(from, to, a);
  if (name === 'bits') return a;
  if (from === 'bool') {
    const on = name as OperationOn<'bool'>;
    return on === 'eq' ? a.xor(b).not() : vector(boolInstructions[on], ...operands);
  }
  if (from === 'f32') {
    const on = name as OperationOn<'f32'>;
    if (on !== 'min' && on !== 'max') return vector(f32Instructions[on], ...operands);
    return f32Extremum(on === 'min' ? simd.f32x4Min : simd.f32x4Max, a, b);
  }
  if (from === 'i32') {
    const on = name as OperationOn<'i32'>;
    if (isIn(signedInstructions, on)) return vector(signedInstructions[on], ...operands);
    return integerOperation(code, on, from, operands, count);
  }
  const on = name as OperationOn<'u32'>;
  if (isIn(unsignedInstructions, on)) return vector(unsignedInstructions[on], ...operands);
  return integerOperation(code, on, from, operands, count);
}

function isIn<K extends string>(record: { readonly [name in K]: number }, name: string): name is K {
  return name in record;
}

function converted(from: ScalarType, to: ScalarType, a: Vector): Vector {
  if (to === from) return a;
  if (to === 'bool') return vector(from === 'f32' ? simd.f32x4Ne : simd.i32x4Ne, a, ZEROS);
  if (from === 'bool') return a.and(v128(lanesOf(to, 1)));
  if (from === 'f32') return vector(to === 'i32' ? simd.i32x4TruncSatS : simd.i32x4TruncSatU, a);
  return to === 'f32' ? vector(from === 'i32' ? simd.f32x4ConvertS : simd.f32x4ConvertU, a) : a;
}

/** If one operand is NaN, the result must be the other operand, but WebAssembly's min and max return NaN. */
function f32Extremum(instruction: number, a: Vector, b: Vector): Vector {
  const isNoNumber = (value: Vector): Vector => vector(simd.f32x4Ne, value, value);
  return b.bitselect(a.bitselect(vector(instruction, a, b), isNoNumber(b)), isNoNumber(a));
}

/**
 * The minimum or maximum of a vector and a constant. The constant must not be NaN; for `max` it must not be −0 either.
 * One comparison is enough, because a comparison with NaN is false. The code may compute `value` twice.
 */
export function f32Bound(name: 'min' | 'max', value: Vector, bound: number): Vector {
  const lanes = v128(lanesOf('f32', bound));
  // Computes bound < value ? value : bound.
  if (name === 'max') return vector(simd.f32x4PMax, lanes, value);
  if (!Object.is(bound, 0)) return vector(simd.f32x4PMin, lanes, value);
  // Computes value ≤ 0 ? value : 0, which preserves −0.
  return value.and(vector(simd.f32x4Le, value, lanes));
}

function integerOperation(
  code: Code,
  name: ComposedInteger | 'abs' | 'mulhi',
  type: ScalarType,
  operands: readonly Vector[],
  count: Int32 | undefined,
): Vector {
  const [a, b] = operands as readonly [Vector, Vector];
  switch (name) {
    case 'shl':
    case 'shr':
      return count === undefined ? laneByLane(code, name, type, operands) : shifted(name, type, a, count);
    case 'abs':
      // The type is u32, so the number is its own absolute value. (For i32 there is an instruction.)
      return a;
    case 'popcount':
      return vector(simd.i32x4ExtAddPairwiseU, vector(simd.i16x8ExtAddPairwiseU, vector(simd.i8x16Popcnt, a)));
    case 'mulhi':
      return multipliedHigh(a, b);
    case 'reverseBits':
      return reversed(code, a);
    case 'div':
    case 'rem':
    case 'clz':
    case 'ctz':
      return laneByLane(code, name, type, operands);
  }
}

/** Shifts all lanes by the same count, which is a scalar. */
function shifted(name: 'shl' | 'shr', type: ScalarType, a: Vector, count: Int32): Vector {
  if (name === 'shl') return a.shl(count);
  return type === 'i32' ? vector(simd.i32x4ShrS, a, count) : a.shrU(count);
}

function reversed(code: Code, a: Vector): Vector {
  return new Vector((bytes) => {
    const word = code.local(V128);
    let value = a;
    for (const [by, mask] of REVERSALS) {
      const masks = v128([mask, mask, mask, mask]);
      value = word.tee(value).shrU(by).and(masks).or(word.and(masks).shl(by));
    }
    value.emit(bytes);
    code.release(word);
  });
}

/** The high 32 bits of the 64-bit products of four lanes. */
function multipliedHigh(a: Vector, b: Vector): Vector {
  const [low, high] = [vector(simd.i64x2ExtMulLowU, a, b), vector(simd.i64x2ExtMulHighU, a, b)];
  return low.shuffle(high, [1, 3, 5, 7]);
}

/**
 * Computes an operation lane by lane with scalar code: a {@link LaneByLane} operation, or a shift with a different
 * count per lane.
 */
function laneByLane(
  code: Code,
  name: LaneByLane | 'shl' | 'shr',
  type: ScalarType,
  operands: readonly Vector[],
): Vector {
  return [0, 1, 2, 3].reduce((all: Vector, lane) => {
    const extracted = operands.map((operand) => operand.extract(lane));
    return all.replace(lane, scalarOperation(code, name, type, type, extracted) as Int32);
  }, ZEROS);
}

/**
 * Loads four consecutive elements, starting `offset` bytes after `address`. Narrow elements are extended to 32 bits.
 */
export function loadLanes(storage: Storage, type: ScalarType, address: Int32, offset: number): Vector {
  const lanes = loadNumbers(storage, address, offset);
  return type === 'bool' ? lanes.ne(ZEROS) : lanes;
}

function loadNumbers(storage: Storage, address: Int32, offset: number): Vector {
  switch (widthOf(storage)) {
    case 2:
      return loadingVector(simd.load, address, offset);
    case 1:
      return loadingVector(storage === 'i16' ? simd.load16x4S : simd.load16x4U, address, offset);
    default: {
      const four = loadingVector(simd.load32Zero, address, offset);
      if (storage === 'i8') return vector(simd.i32x4ExtendLowS, vector(simd.i16x8ExtendLowS, four));
      return vector(simd.i32x4ExtendLowU, vector(simd.i16x8ExtendLowU, four));
    }
  }
}

/**
 * A vector with a scalar in every lane. A bool, which is 0 or 1 as a scalar, becomes a lane of all zeros or all ones.
 */
export function splatOf(type: ScalarType, value: Scalar): Vector {
  const lanes = value.splat();
  return type === 'bool' ? lanes.neg() : lanes;
}

/** Lanes in the form in which memory stores them: a bool lane becomes 0 or 1. */
export function wordsOf(type: ScalarType, lanes: Vector): Vector {
  return type === 'bool' ? lanes.and(v128([1, 1, 1, 1])) : lanes;
}

/** One lane as a scalar. A bool becomes 0 or 1. */
export function extracted(type: ScalarType, lanes: Vector, lane: number): Scalar {
  if (type === 'f32') return lanes.extractF32(lane);
  return type === 'bool' ? lanes.extract(lane).and(1) : lanes.extract(lane);
}

/** Four lanes with the bits of a literal. A bool becomes all zeros or all ones. */
export function lanesOf(type: ScalarType, value: number | boolean): [number, number, number, number] {
  const word = type === 'f32' ? new Uint32Array(Float32Array.of(value as number).buffer)[0]! : wordOf(value);
  return [word, word, word, word];
}

function wordOf(value: number | boolean): number {
  return typeof value === 'boolean' ? (value ? 0xffffffff : 0) : value >>> 0;
}
