import type { Storage } from '../../../primitives/contract/backend.ts';
import { factsOf, type OperationName, type OperationOn, type ScalarType } from '../../../primitives/ir/operations.ts';
import { REVERSALS } from '../../../primitives/ir/semantics.ts';
import { loadElement, widthOf } from './emit-wasm.ts';
import { scalarOperation } from './scalar-operations.ts';
import type { Code } from './wasm-code.ts';
import { simd, V128 } from './wasm-encoder.ts';
import {
  Float32,
  type Int32,
  i32,
  loadingLane,
  loadingVector,
  loadSplat,
  type Scalar,
  Vector,
  v128,
  vector,
} from './wasm-expressions.ts';
import type { VectorLocal } from './wasm-locals.ts';

const onIntegers = {
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

/** The opcode of the SIMD instruction for an operation on a type, if there is one. */
const instructions: { readonly [T in ScalarType]: { readonly [N in OperationOn<T>]?: number } } = {
  u32: {
    ...onIntegers,
    min: simd.i32x4MinU,
    max: simd.i32x4MaxU,
    lt: simd.i32x4LtU,
    le: simd.i32x4LeU,
    gt: simd.i32x4GtU,
    ge: simd.i32x4GeU,
  },
  i32: {
    ...onIntegers,
    min: simd.i32x4MinS,
    max: simd.i32x4MaxS,
    lt: simd.i32x4LtS,
    le: simd.i32x4LeS,
    gt: simd.i32x4GtS,
    ge: simd.i32x4GeS,
    abs: simd.i32x4Abs,
  },
  f32: {
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
  },
  bool: { and: simd.and, or: simd.or, xor: simd.xor, not: simd.not, ne: simd.xor },
};

function instructionOf(name: OperationName, type: ScalarType): number | undefined {
  return (instructions[type] as { readonly [name: string]: number })[name];
}

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
  const instruction = instructionOf(name, from);
  if (instruction !== undefined) return vector(instruction, ...operands);
  switch (name) {
    case 'eq':
      // The type is bool. For the other types there is an instruction.
      return a.xor(b).not();
    case 'abs':
      // The type is u32, so the number is its own absolute value.
      return a;
    case 'min':
    case 'max':
      return f32Extremum(code, name, a, b);
    case 'shl':
    case 'shr':
      return count === undefined ? laneByLane(code, name, from, to, operands) : shifted(name, from, a, count);
    case 'popcount':
      return vector(simd.i32x4ExtAddPairwiseU, vector(simd.i16x8ExtAddPairwiseU, vector(simd.i8x16Popcnt, a)));
    case 'mulhi':
      return multipliedHigh(a, b);
    case 'reverseBits':
      return reversed(code, a);
    default:
      return laneByLane(code, name, from, to, operands);
  }
}

/** Operations that have no instruction, but whose code takes each operand once. */
const TAKES_ONCE: ReadonlySet<OperationName> = new Set(['eq', 'abs', 'popcount', 'reverseBits']);

/** Whether the code of an operation may use an operand more than once, so that each operand should be in a local. */
export function usesTwice(name: OperationName, from: ScalarType): boolean {
  const { signature } = factsOf(name);
  if (signature === 'select' || signature === 'conversion') return false;
  return instructionOf(name, from) === undefined && !TAKES_ONCE.has(name);
}

function converted(from: ScalarType, to: ScalarType, a: Vector): Vector {
  if (to === from) return a;
  if (to === 'bool') return vector(from === 'f32' ? simd.f32x4Ne : simd.i32x4Ne, a, ZEROS);
  if (from === 'bool') return a.and(v128(lanesOf(to, 1)));
  if (from === 'f32') return vector(to === 'i32' ? simd.i32x4TruncSatS : simd.i32x4TruncSatU, a);
  return to === 'f32' ? vector(from === 'i32' ? simd.f32x4ConvertS : simd.f32x4ConvertU, a) : a;
}

/**
 * The minimum or maximum of two f32 vectors. If one operand is NaN, the result is the other, and −0 is less than +0.
 * WebAssembly's `min` and `max`, which treat NaN differently, take more instructions than its `pmin` and `pmax`, which
 * return the first operand if the second is not less or greater.
 */
function f32Extremum(code: Code, name: 'min' | 'max', a: Vector, b: Vector): Vector {
  return new Vector((bytes) => {
    const left = code.local(V128);
    const first = left.tee(a.bitselect(b, vector(simd.f32x4Eq, a, a)));
    // Equal operands have the same bits, unless they are zeros of different signs.
    const equal = vector(simd.f32x4Eq, left, b);
    const extremum =
      name === 'min'
        ? vector(simd.f32x4PMin, first, b).or(b.and(equal))
        : vector(simd.f32x4PMax, first, b).andNot(equal.andNot(b));
    extremum.emit(bytes);
    code.release(left);
  });
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

/** Computes an operation without a SIMD instruction by scalar code, lane by lane. */
function laneByLane(
  code: Code,
  name: OperationName,
  from: ScalarType,
  to: ScalarType,
  operands: readonly Vector[],
): Vector {
  const { signature } = factsOf(name);
  return [0, 1, 2, 3].reduce((all: Vector, lane) => {
    const scalars = operands.map((operand, i) =>
      extracted(signature === 'shift' && i === 1 ? 'u32' : from, operand, lane),
    );
    const result = scalarOperation(code, name, from, to, scalars);
    return all.replace(
      lane,
      result instanceof Float32 ? result.reinterpret() : to === 'bool' ? i32(0).sub(result) : result,
    );
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

/** Loads an element for each lane, whose address is in the same lane of `at`. Narrow elements are extended to 32 bits. */
export function gatherLanes(storage: Storage, type: ScalarType, at: VectorLocal): Vector {
  const lanes = [1, 2, 3].reduce(
    (all, lane) => loadLane(storage, all, at, lane),
    widthOf(storage) === 2 ? loadSplat(at.extract(0)) : wordAt(storage, at.extract(0)).splat(),
  );
  return type === 'bool' ? lanes.ne(ZEROS) : lanes;
}

function loadLane(storage: Storage, lanes: Vector, at: VectorLocal, lane: number): Vector {
  if (widthOf(storage) === 2) return loadingLane(at.extract(lane), lanes, lane);
  return lanes.replace(lane, wordAt(storage, at.extract(lane)));
}

/** A narrow element at an address, extended to 32 bits. */
function wordAt(storage: Storage, address: Int32): Int32 {
  return loadElement(storage, 'u32', address) as Int32;
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
