import type { OperationName, OperationOn, ScalarType } from '../../../primitives/ir/operations.ts';
import { REVERSALS } from '../../../primitives/ir/semantics.ts';
import type { Code } from './wasm-code.ts';
import { I32, op } from './wasm-encoder.ts';

/** Pushes an operand; cheap, and may be called several times. */
export type Push = () => void;

/** Operations on a type that are one instruction; all others have code of their own below. */
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
 * Leaves the result of one operation on the stack, by the rules of `semantics.ts`. `from` is the type of the first
 * operand, `to` that of the result; bools are 0 and 1.
 */
export function emitScalar(
  code: Code,
  name: OperationName,
  from: ScalarType,
  to: ScalarType,
  operands: readonly Push[],
): void {
  const [a, b, condition] = operands as readonly [Push, Push, Push];
  if (name === 'select') {
    emitSelect(code, b, a, condition);
    return;
  }
  if (name === 'convert') {
    emitConversion(code, from, to, a);
    return;
  }
  if (name === 'bits') {
    emitBits(code, from, to, a);
    return;
  }
  const emitInstruction = (instruction: number): void => {
    for (const push of operands) push();
    code.op(instruction);
  };
  if (from === 'f32') {
    const on = name as OperationOn<'f32'>;
    if (on === 'min' || on === 'max') emitF32Extremum(code, on === 'min' ? op.f32Min : op.f32Max, a, b);
    else emitInstruction(f32Instructions[on]);
  } else if (from === 'bool') {
    const on = name as OperationOn<'bool'>;
    if (on === 'not') emitNegation(code, a);
    else emitInstruction(boolInstructions[on]);
  } else {
    const on = name as IntegerOperation;
    if (isComposed(on)) emitInteger(code, on, from === 'i32', a, b);
    else emitInstruction((from === 'i32' ? signedInstructions : unsignedInstructions)[on]);
  }
}

function isComposed(name: IntegerOperation): name is ComposedInteger {
  return !(name in signedInstructions);
}

function emitNegation(code: Code, a: Push): void {
  a();
  code.op(op.i32Eqz);
}

/** `yes` where the condition holds, else `no`. */
function emitSelect(code: Code, yes: Push, no: Push, condition: Push): void {
  yes();
  no();
  condition();
  code.op(op.select);
}

function emitConversion(code: Code, from: ScalarType, to: ScalarType, a: Push): void {
  a();
  if (to === from) return;
  if (to === 'bool') {
    if (from === 'f32') code.f32(0);
    else code.i32(0);
    code.op(from === 'f32' ? op.f32Ne : op.i32Ne);
  } else if (from === 'f32') {
    code.truncSat(to === 'i32');
  } else if (to === 'f32') {
    code.op(from === 'i32' ? op.f32ConvertI32S : op.f32ConvertI32U);
  }
}

function emitBits(code: Code, from: ScalarType, to: ScalarType, a: Push): void {
  a();
  if (from === 'f32' && to !== 'f32') code.op(op.i32ReinterpretF32);
  if (from !== 'f32' && to === 'f32') code.op(op.f32ReinterpretI32);
}

/** WebAssembly's min and max give NaN for a NaN; ours give the other operand. */
function emitF32Extremum(code: Code, instruction: number, a: Push, b: Push): void {
  const notANumber = (operand: Push): void => {
    operand();
    operand();
    code.op(op.f32Ne);
  };
  b();
  a();
  a();
  b();
  code.op(instruction);
  notANumber(b);
  code.op(op.select);
  notANumber(a);
  code.op(op.select);
}

function emitInteger(code: Code, name: ComposedInteger, isSigned: boolean, a: Push, b: Push): void {
  switch (name) {
    case 'min':
    case 'max': {
      const compare = (isSigned ? signedInstructions : unsignedInstructions)[name === 'min' ? 'lt' : 'gt'];
      emitSelect(code, a, b, () => {
        a();
        b();
        code.op(compare);
      });
      return;
    }
    case 'div':
    case 'rem':
      emitDivision(code, name, isSigned, a, b);
      return;
    case 'neg':
      code.i32(0);
      a();
      code.op(op.i32Sub);
      return;
    case 'not':
      a();
      code.i32(-1);
      code.op(op.i32Xor);
      return;
    case 'abs':
      isSigned ? emitAbs(code, a) : a();
      return;
    case 'mulhi':
      emitMulhi(code, a, b);
      return;
    case 'reverseBits':
      emitReversal(code, a);
      return;
  }
}

/** Traps are guarded: x / 0 = x, x % 0 = 0, −2³¹ / −1 = −2³¹ (the remainder of that one does not trap). */
function emitDivision(code: Code, name: 'div' | 'rem', isSigned: boolean, a: Push, b: Push): void {
  const quotient = name === 'div';
  b();
  code.op(op.i32Eqz);
  if (isSigned && quotient) {
    a();
    code.i32(-(2 ** 31));
    code.op(op.i32Eq);
    b();
    code.i32(-1);
    code.op(op.i32Eq, op.i32And, op.i32Or);
  }
  code.if(I32);
  if (quotient) a();
  else code.i32(0);
  code.else();
  a();
  b();
  if (quotient) code.op(isSigned ? op.i32DivS : op.i32DivU);
  else code.op(isSigned ? op.i32RemS : op.i32RemU);
  code.end();
}

function emitAbs(code: Code, a: Push): void {
  const sign = (): void => {
    a();
    code.i32(31);
    code.op(op.i32ShrS);
  };
  a();
  sign();
  code.op(op.i32Xor);
  sign();
  code.op(op.i32Sub);
}

function emitMulhi(code: Code, a: Push, b: Push): void {
  a();
  code.op(op.i64ExtendI32U);
  b();
  code.op(op.i64ExtendI32U, op.i64Mul);
  code.i64(32);
  code.op(op.i64ShrU, op.i32WrapI64);
}

function emitReversal(code: Code, a: Push): void {
  const word = code.local(I32);
  a();
  for (const [by, mask] of REVERSALS) {
    code.tee(word);
    code.i32(by);
    code.op(op.i32ShrU);
    code.i32(mask);
    code.op(op.i32And);
    code.get(word);
    code.i32(mask);
    code.op(op.i32And);
    code.i32(by);
    code.op(op.i32Shl, op.i32Or);
  }
  code.release(word);
}
