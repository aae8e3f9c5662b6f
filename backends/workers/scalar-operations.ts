import type { OperationName, ScalarType } from '../../primitives/functors/ir.ts';
import type { Code } from './wasm-code.ts';
import { I32, op } from './wasm-encoder.ts';

/** Pushes an operand; cheap, and may be called several times. */
export type Push = () => void;

type Table = Partial<Record<OperationName, number>>;

const integerInstructions: Table = {
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
const unsignedInstructions: Table = {
  ...integerInstructions,
  shr: op.i32ShrU,
  lt: op.i32LtU,
  le: op.i32LeU,
  gt: op.i32GtU,
  ge: op.i32GeU,
};
const signedInstructions: Table = {
  ...integerInstructions,
  shr: op.i32ShrS,
  lt: op.i32LtS,
  le: op.i32LeS,
  gt: op.i32GtS,
  ge: op.i32GeS,
};
const f32Instructions: Table = {
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
const boolInstructions: Table = { and: op.i32And, or: op.i32Or, xor: op.i32Xor, eq: op.i32Eq, ne: op.i32Ne };

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
  const instruction = tableOf(from)[name];
  if (instruction !== undefined) {
    for (const push of operands) push();
    code.op(instruction);
  } else if (from === 'f32') {
    emitF32Extremum(code, name === 'min' ? op.f32Min : op.f32Max, a, b);
  } else if (from === 'bool') {
    a();
    code.op(op.i32Eqz);
  } else {
    emitInteger(code, name, from === 'i32', a, b);
  }
}

function tableOf(type: ScalarType): Table {
  if (type === 'u32') return unsignedInstructions;
  if (type === 'i32') return signedInstructions;
  return type === 'f32' ? f32Instructions : boolInstructions;
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

function emitInteger(code: Code, name: OperationName, isSigned: boolean, a: Push, b: Push): void {
  switch (name) {
    case 'min':
    case 'max': {
      const compare = (isSigned ? signedInstructions : unsignedInstructions)[name === 'min' ? 'lt' : 'gt']!;
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
    default:
      throw new RangeError(`no operation ${name} on integers`);
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
