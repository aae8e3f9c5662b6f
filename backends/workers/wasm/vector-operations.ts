import type { Storage } from '../../../primitives/contract/backend.ts';
import type { OperationName, OperationOn, ScalarType } from '../../../primitives/ir/operations.ts';
import { REVERSALS } from '../../../primitives/ir/semantics.ts';
import { widthOf } from './emit-wasm.ts';
import { emitScalar, type Push } from './scalar-operations.ts';
import type { Code } from './wasm-code.ts';
import { simd, V128 } from './wasm-encoder.ts';
import { type Scalar, Vector, v128 } from './wasm-expressions.ts';

/** Operations on a type that are one instruction; all others have code of their own below. */
type Instructions<T extends ScalarType, Composed extends OperationOn<T>> = Record<
  Exclude<OperationOn<T>, Composed>,
  number
>;

/** SIMD128 lacks these, so lanes are taken one by one. */
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

/**
 * Leaves the result of one operation on four lanes on the stack; a bool is a lane of all ones or all zeros. `count`
 * pushes the count of a shift as one i32, where it is the same for all lanes.
 */
export function emitVector(
  code: Code,
  name: OperationName,
  from: ScalarType,
  to: ScalarType,
  operands: readonly Push[],
  count: Push | undefined,
): void {
  const [a, b, condition] = operands as readonly [Push, Push, Push];
  const emitInstruction = (instruction: number): void => {
    for (const push of operands) push();
    code.simd(instruction);
  };
  if (name === 'select') {
    b();
    a();
    condition();
    code.simd(simd.bitselect);
  } else if (name === 'convert') {
    emitConversion(code, from, to, a);
  } else if (name === 'bits') {
    a();
  } else if (from === 'bool') {
    const on = name as OperationOn<'bool'>;
    if (on === 'eq') emitEquality(code, a, b);
    else emitInstruction(boolInstructions[on]);
  } else if (from === 'f32') {
    const on = name as OperationOn<'f32'>;
    if (on === 'min' || on === 'max') emitF32Extremum(code, on === 'min' ? simd.f32x4Min : simd.f32x4Max, a, b);
    else emitInstruction(f32Instructions[on]);
  } else if (from === 'i32') {
    const on = name as OperationOn<'i32'>;
    if (isIn(signedInstructions, on)) emitInstruction(signedInstructions[on]);
    else emitInteger(code, on, from, operands, count);
  } else {
    const on = name as OperationOn<'u32'>;
    if (isIn(unsignedInstructions, on)) emitInstruction(unsignedInstructions[on]);
    else emitInteger(code, on, from, operands, count);
  }
}

/** The result of one operation on four lanes. Operands may be computed more than once. */
export function vectorOperation(
  code: Code,
  name: OperationName,
  from: ScalarType,
  to: ScalarType,
  operands: readonly Vector[],
): Vector {
  const pushes = operands.map((operand) => () => code.get(operand));
  return new Vector(() => emitVector(code, name, from, to, pushes, undefined));
}

function isIn<K extends string>(record: { readonly [name in K]: number }, name: string): name is K {
  return name in record;
}

function emitEquality(code: Code, a: Push, b: Push): void {
  a();
  b();
  code.simd(simd.xor);
  code.simd(simd.not);
}

function emitConversion(code: Code, from: ScalarType, to: ScalarType, a: Push): void {
  a();
  if (to === from) return;
  if (to === 'bool') {
    code.v128([0, 0, 0, 0]);
    code.simd(from === 'f32' ? simd.f32x4Ne : simd.i32x4Ne);
  } else if (from === 'bool') {
    const one = to === 'f32' ? 0x3f800000 : 1;
    code.v128([one, one, one, one]);
    code.simd(simd.and);
  } else if (from === 'f32') {
    code.simd(to === 'i32' ? simd.i32x4TruncSatS : simd.i32x4TruncSatU);
  } else if (to === 'f32') {
    code.simd(from === 'i32' ? simd.f32x4ConvertS : simd.f32x4ConvertU);
  }
}

/** WebAssembly's min and max give NaN for a NaN; ours give the other operand. */
function emitF32Extremum(code: Code, instruction: number, a: Push, b: Push): void {
  const notANumber = (operand: Push): void => {
    operand();
    operand();
    code.simd(simd.f32x4Ne);
  };
  b();
  a();
  a();
  b();
  code.simd(instruction);
  notANumber(b);
  code.simd(simd.bitselect);
  notANumber(a);
  code.simd(simd.bitselect);
}

/**
 * The same with a number that is no NaN, `bound`: then one comparison tells a NaN, too. `value` may be called twice. Of a
 * maximum the number is not −0.
 */
export function emitF32Bound(code: Code, name: 'min' | 'max', value: Push, bound: number): void {
  const lanes = lanesOf('f32', bound);
  if (name === 'max') {
    // bound < value ? value : bound
    code.v128(lanes);
    value();
    code.simd(simd.f32x4PMax);
  } else if (!Object.is(bound, 0)) {
    code.v128(lanes);
    value();
    code.simd(simd.f32x4PMin);
  } else {
    // −0 has to stay what it is: value ≤ 0 ? value : 0
    value();
    value();
    code.v128(lanes);
    code.simd(simd.f32x4Le);
    code.simd(simd.and);
  }
}

function emitInteger(
  code: Code,
  name: ComposedInteger | 'abs' | 'mulhi',
  type: ScalarType,
  operands: readonly Push[],
  count: Push | undefined,
): void {
  const [a, b] = operands as readonly [Push, Push];
  switch (name) {
    case 'shl':
    case 'shr':
      if (count === undefined) emitLaneByLane(code, name, type, operands);
      else emitShift(code, name, type, a, count);
      return;
    case 'abs':
      // Of u32: SIMD128 has it for i32.
      a();
      return;
    case 'popcount':
      a();
      code.simd(simd.i8x16Popcnt);
      code.simd(simd.i16x8ExtAddPairwiseU);
      code.simd(simd.i32x4ExtAddPairwiseU);
      return;
    case 'mulhi':
      emitMulhi(code, a, b);
      return;
    case 'reverseBits':
      emitReversal(code, a);
      return;
    case 'div':
    case 'rem':
    case 'clz':
    case 'ctz':
      emitLaneByLane(code, name, type, operands);
      return;
  }
}

/** All lanes by the same count. */
function emitShift(code: Code, name: 'shl' | 'shr', type: ScalarType, a: Push, count: Push): void {
  a();
  count();
  const right = type === 'i32' ? simd.i32x4ShrS : simd.i32x4ShrU;
  code.simd(name === 'shl' ? simd.i32x4Shl : right);
}

function emitReversal(code: Code, a: Push): void {
  const word = code.local(V128);
  a();
  for (const [by, mask] of REVERSALS) {
    const masked = (): void => {
      code.v128([mask, mask, mask, mask]);
      code.simd(simd.and);
    };
    code.tee(word);
    code.i32(by);
    code.simd(simd.i32x4ShrU);
    masked();
    code.get(word);
    masked();
    code.i32(by);
    code.simd(simd.i32x4Shl);
    code.simd(simd.or);
  }
  code.release(word);
}

/** The high words of four 64-bit products. */
function emitMulhi(code: Code, a: Push, b: Push): void {
  for (const half of [simd.i64x2ExtMulLowU, simd.i64x2ExtMulHighU]) {
    a();
    b();
    code.simd(half);
  }
  code.shuffle([1, 3, 5, 7]);
}

/** What SIMD128 lacks: {@link LaneByLane}, and shifts by counts that differ from lane to lane. */
function emitLaneByLane(
  code: Code,
  name: LaneByLane | 'shl' | 'shr',
  type: ScalarType,
  operands: readonly Push[],
): void {
  code.v128([0, 0, 0, 0]);
  for (const lane of [0, 1, 2, 3]) {
    const extracted = operands.map((push) => () => {
      push();
      code.simd(simd.i32x4Extract, lane);
    });
    emitScalar(code, name, type, type, extracted);
    code.simd(simd.i32x4Replace, lane);
  }
}

/** Leaves the four elements on the stack that lie `offset` bytes behind the address on it. */
export function emitLoadVector(code: Code, storage: Storage, type: ScalarType, offset: number): void {
  const width = widthOf(storage);
  if (width === 2) {
    code.simdMemory(simd.load, offset);
  } else if (width === 1) {
    code.simdMemory(storage === 'i16' ? simd.load16x4S : simd.load16x4U, offset);
  } else {
    code.simdMemory(simd.load32Zero, offset);
    code.simd(storage === 'i8' ? simd.i16x8ExtendLowS : simd.i16x8ExtendLowU);
    code.simd(storage === 'i8' ? simd.i32x4ExtendLowS : simd.i32x4ExtendLowU);
  }
  if (type !== 'bool') return;
  code.v128([0, 0, 0, 0]);
  code.simd(simd.i32x4Ne);
}

/** Turns a scalar on the stack into four equal lanes. */
export function emitSplat(code: Code, type: ScalarType): void {
  if (type === 'f32') {
    code.simd(simd.f32x4Splat);
    return;
  }
  code.simd(simd.i32x4Splat);
  if (type === 'bool') code.simd(simd.i32x4Neg);
}

/** A scalar in four lanes. */
export function splatOf(type: ScalarType, value: Scalar): Vector {
  const lanes = value.splat();
  return type === 'bool' ? lanes.neg() : lanes;
}

/** Lanes in the form they have in memory: bools as 0 and 1. */
export function wordsOf(type: ScalarType, lanes: Vector): Vector {
  return type === 'bool' ? lanes.and(v128([1, 1, 1, 1])) : lanes;
}

/** The scalar of one lane. */
export function extracted(type: ScalarType, lanes: Vector, lane: number): Scalar {
  if (type === 'f32') return lanes.extractF32(lane);
  return type === 'bool' ? lanes.extract(lane).and(1) : lanes.extract(lane);
}

/** The four lanes of a literal. */
export function lanesOf(type: ScalarType, value: number | boolean): [number, number, number, number] {
  const word = type === 'f32' ? new Uint32Array(Float32Array.of(value as number).buffer)[0]! : wordOf(value);
  return [word, word, word, word];
}

function wordOf(value: number | boolean): number {
  return typeof value === 'boolean' ? (value ? 0xffffffff : 0) : value >>> 0;
}
