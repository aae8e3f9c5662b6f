import type { OperationName, OperationOn, ScalarType } from '../../../primitives/ir/operations.ts';
import { REVERSALS } from '../../../primitives/ir/semantics.ts';
import type { Code } from './wasm-code.ts';
import { I32, op } from './wasm-encoder.ts';
import { choose, Float32, f32, float32, Int32, i32, int32, type Scalar, truncSat } from './wasm-expressions.ts';

/**
 * The opcode of the WebAssembly instruction for each operation on a type. The operations in `Composed` have no entry,
 * because they take several instructions.
 */
type Instructions<T extends ScalarType, Composed extends OperationOn<T>> = Record<
  Exclude<OperationOn<T>, Composed>,
  number
>;

type IntegerOperation = OperationOn<'u32' | 'i32'>;
type ComposedInteger = 'min' | 'max' | 'div' | 'rem' | 'neg' | 'not' | 'abs' | 'mulhi' | 'reverseBits';

const integerInstructions = {
  add: op.i32Add,
  sub: op.i32Sub,
  mul: op.i32Mul,
  and: op.i32And,
  or: op.i32Or,
  xor: op.i32Xor,
  shl: op.i32Shl,
  eq: op.i32Eq,
  ne: op.i32Ne,
  clz: op.i32Clz,
  ctz: op.i32Ctz,
  popcount: op.i32Popcnt,
};
const unsignedInstructions: Instructions<'u32' | 'i32', ComposedInteger> = {
  ...integerInstructions,
  shr: op.i32ShrU,
  lt: op.i32LtU,
  le: op.i32LeU,
  gt: op.i32GtU,
  ge: op.i32GeU,
};
const signedInstructions: Instructions<'u32' | 'i32', ComposedInteger> = {
  ...integerInstructions,
  shr: op.i32ShrS,
  lt: op.i32LtS,
  le: op.i32LeS,
  gt: op.i32GtS,
  ge: op.i32GeS,
};
const f32Instructions: Instructions<'f32', 'min' | 'max'> = {
  add: op.f32Add,
  sub: op.f32Sub,
  mul: op.f32Mul,
  div: op.f32Div,
  eq: op.f32Eq,
  ne: op.f32Ne,
  lt: op.f32Lt,
  le: op.f32Le,
  gt: op.f32Gt,
  ge: op.f32Ge,
  neg: op.f32Neg,
  abs: op.f32Abs,
  floor: op.f32Floor,
  ceil: op.f32Ceil,
  trunc: op.f32Trunc,
  round: op.f32Nearest,
  sqrt: op.f32Sqrt,
};
const boolInstructions: Instructions<'bool', 'not'> = {
  and: op.i32And,
  or: op.i32Or,
  xor: op.i32Xor,
  eq: op.i32Eq,
  ne: op.i32Ne,
};

/**
 * The result of an operation, as `semantics.ts` defines it. `from` is the type of the first operand, and `to` is the
 * type of the result. Bools are 0 or 1. Operands must be cheap, because the code may compute them more than once.
 */
export function scalarOperation(
  code: Code,
  name: OperationName,
  from: ScalarType,
  to: ScalarType,
  operands: readonly Scalar[],
): Scalar {
  const [a, b, condition] = operands as readonly [Scalar, Scalar, Int32];
  if (name === 'select') return condition.select<Scalar>(b, a);
  if (name === 'convert') return converted(from, to, a);
  if (name === 'bits') return reinterpreted(to, a);
  const result = (instruction: number): Scalar => (to === 'f32' ? float32 : int32)(instruction, ...operands);
  if (from === 'f32') {
    const on = name as OperationOn<'f32'>;
    if (on !== 'min' && on !== 'max') return result(f32Instructions[on]);
    return f32Extremum(on === 'min' ? op.f32Min : op.f32Max, a as Float32, b as Float32);
  }
  if (from === 'bool') {
    const on = name as OperationOn<'bool'>;
    return on === 'not' ? (a as Int32).isZero() : result(boolInstructions[on]);
  }
  const on = name as IntegerOperation;
  if (isComposed(on)) return integerOperation(code, on, from === 'i32', a as Int32, b as Int32);
  return result((from === 'i32' ? signedInstructions : unsignedInstructions)[on]);
}

function isComposed(name: IntegerOperation): name is ComposedInteger {
  return !(name in signedInstructions);
}

function converted(from: ScalarType, to: ScalarType, a: Scalar): Scalar {
  if (to === from) return a;
  if (to === 'bool') return a instanceof Float32 ? a.ne(f32(0)) : a.ne(0);
  if (a instanceof Float32) return truncSat(a, to === 'i32');
  return to === 'f32' ? float32(from === 'i32' ? op.f32ConvertI32S : op.f32ConvertI32U, a) : a;
}

function reinterpreted(to: ScalarType, a: Scalar): Scalar {
  if (a instanceof Float32) return to === 'f32' ? a : a.reinterpret();
  return to === 'f32' ? a.reinterpret() : a;
}

/** If one operand is NaN, the result must be the other operand, but WebAssembly's min and max return NaN. */
function f32Extremum(instruction: number, a: Float32, b: Float32): Float32 {
  const numberOrA = b.ne(b).select(a, float32(instruction, a, b));
  return a.ne(a).select(b, numberOrA);
}

function integerOperation(code: Code, name: ComposedInteger, isSigned: boolean, a: Int32, b: Int32): Int32 {
  switch (name) {
    case 'min':
      return (isSigned ? a.ltS(b) : a.ltU(b)).select(a, b);
    case 'max':
      return (isSigned ? a.gtS(b) : a.gtU(b)).select(a, b);
    case 'div':
    case 'rem':
      return division(name, isSigned, a, b);
    case 'neg':
      return i32(0).sub(a);
    case 'not':
      return a.xor(-1);
    case 'abs':
      return isSigned ? absolute(a) : a;
    case 'mulhi':
      return a.extendU().mul(b.extendU()).shrU(32).wrap();
    case 'reverseBits':
      return reversed(code, a);
  }
}

/**
 * Avoids the traps of WebAssembly's division: x / 0 = x, x % 0 = 0, −2³¹ / −1 = −2³¹. The remainder −2³¹ % −1 does not
 * trap.
 */
function division(name: 'div' | 'rem', isSigned: boolean, a: Int32, b: Int32): Int32 {
  if (name === 'rem') return choose(b.isZero(), i32(0), isSigned ? a.remS(b) : a.remU(b));
  const overflows = a.eq(-(2 ** 31)).and(b.eq(-1));
  if (isSigned) return choose(b.isZero().or(overflows), a, int32(op.i32DivS, a, b));
  return choose(b.isZero(), a, a.divU(b));
}

function absolute(a: Int32): Int32 {
  const sign = a.shrS(31);
  return a.xor(sign).sub(sign);
}

function reversed(code: Code, a: Int32): Int32 {
  return new Int32((bytes) => {
    const word = code.local(I32);
    let value = a;
    for (const [by, mask] of REVERSALS) value = word.tee(value).shrU(by).and(mask).or(word.and(mask).shl(by));
    value.emit(bytes);
    code.release(word);
  });
}
