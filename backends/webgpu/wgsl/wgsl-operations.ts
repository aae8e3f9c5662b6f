import { evaluate } from '../../../primitives/ir/evaluate.ts';
import type { Literal, Local, Operand, Operation, OperationName, ScalarType } from '../../../primitives/ir/ir.ts';
import { factsOf, type OperationOn, wgslOf } from '../../../primitives/ir/operations.ts';
import { bitsOfF32, f32OfBits, SMALLEST_NORMAL_F32 } from '../../../primitives/ir/semantics.ts';
import { type Arithmetic, plainArithmetic } from '../device/arithmetic.ts';
import { OPAQUE_ZERO } from '../launches/parameters.ts';
import { type F32Fact, type F32Facts, isExactScaling, mayUnderflow } from './f32-facts.ts';
import type { Helper } from './wgsl-helpers.ts';

/** Facts about the function and the shader in which an operation is emitted. */
export interface OperationContext {
  readonly arithmetic: Arithmetic;
  readonly fast: boolean;
  readonly facts: F32Facts;
  /** Records that the shader needs a helper, and returns the helper's WGSL name. */
  helper(name: Helper): string;
  uniform(name: string, type: ScalarType): string;
}

/**
 * WGSL expression of an operation whose result is bound to `local`. The expression follows the rules of `semantics.ts`.
 */
export function emitOperation({ name, operands }: Operation, local: Local, context: OperationContext): string {
  const to = local.type;
  const from = operands[0]!.type;
  const literals = operands.filter((operand): operand is Literal => operand.kind === 'literal');
  if (literals.length === operands.length) {
    // Operations on literals are evaluated here, because WGSL compilers reject some constant expressions.
    const values = literals.map(({ value }) => value);
    return emitOperand({ kind: 'literal', type: to, value: evaluate(name, from, to, values) }, context);
  }
  const args = operands.map((operand) => emitOperand(operand, context));
  const [a, b, c] = args as [string, string, string];
  if (name === 'select') return `select(${a}, ${b}, ${c})`;
  if (name === 'convert') return hideConstant(to, emitConversion(operands[0]!, to, a, context), context);
  if (name === 'bits') return from === to ? a : hideConstant(to, `bitcast<${to}>(${a})`, context);
  if (from === 'bool') return emitLogic(name as OperationOn<'bool'>, a, b, context);
  return from === 'f32'
    ? emitF32(name as OperationOn<'f32'>, args, operands, local, context)
    : emitInteger(name as OperationOn<'u32' | 'i32'>, from, operands[1], args, context);
}

/** WGSL expression of an operand. */
export function emitOperand(operand: Operand, context: OperationContext): string {
  switch (operand.kind) {
    case 'literal':
      return emitLiteral(operand, arithmeticOf(context).constant === 'guarded');
    case 'local':
      return `v${operand.id}`;
    case 'uniform':
      return context.uniform(operand.name, operand.type);
  }
}

/**
 * Hides a value from the compiler, if the device's arithmetic requires this. A compiler may find out that a converted
 * integer or a read of an empty array is a constant.
 */
export function hideConstant(type: ScalarType, value: string, context: OperationContext): string {
  const hide = type === 'f32' && arithmeticOf(context).constant === 'guarded';
  return hide ? `${context.helper('hide')}(${value})` : value;
}

/** WGSL expression of a literal. With `hidden`, an f32 is written so that the compiler does not know its value. */
export function emitLiteral({ type, value }: Literal, hidden = false): string {
  switch (type) {
    case 'bool':
      return String(value);
    case 'u32':
      return `${value}u`;
    case 'i32':
      return value === -2147483648 ? 'i32(-2147483648)' : `${value}i`;
    case 'f32':
      return emitFloat(value as number, hidden);
  }
}

function emitFloat(value: number, hidden: boolean): string {
  if (!hidden && Object.is(value, 0)) return '0f';
  if (!hidden && Math.abs(value) >= SMALLEST_NORMAL_F32 && Number.isFinite(value)) return `${value}f`;
  // WGSL constants must be finite, compilers may treat −0 as 0, and subnormals may be flushed. All these values are
  // therefore made at run time.
  return `bitcast<f32>(${bitsOfF32(value)}u | ${OPAQUE_ZERO})`;
}

function emitConversion(operand: Operand, to: ScalarType, a: string, context: OperationContext): string {
  const from = operand.type;
  if (from === to) return a;
  if (to === 'bool') {
    return from === 'f32' ? `((bitcast<u32>(${a}) & 0x7fffffffu) != 0u)` : `(${a} != ${from === 'u32' ? '0u' : '0i'})`;
  }
  if (from === 'bool') return `select(${zeroOf(to)}, ${oneOf(to)}, ${a})`;
  if (from === 'f32') {
    const isPlain = context.arithmetic.truncation === 'plain' && context.facts.of(operand).isNumber;
    return isPlain ? `${to}(${a})` : `${context.helper(to === 'u32' ? 'tou32' : 'toi32')}(${a})`;
  }
  if (to !== 'f32') return `bitcast<${to}>(${a})`;
  if (arithmeticOf(context).conversion === 'plain') return `f32(${a})`;
  return `${context.helper(from === 'u32' ? 'tof32' : 'itof32')}(${a})`;
}

function arithmeticOf({ arithmetic, fast }: OperationContext): Arithmetic {
  return fast ? plainArithmetic : arithmetic;
}

export function zeroOf(type: ScalarType): string {
  return { u32: '0u', i32: '0i', f32: '0f', bool: 'false' }[type];
}

function oneOf(type: ScalarType): string {
  return { u32: '1u', i32: '1i', f32: '1f', bool: 'true' }[type];
}

function emitLogic(name: OperationOn<'bool'>, a: string, b: string, context: OperationContext): string {
  if (name === 'not') return `!${a}`;
  return name === 'xor' ? `(${a} != ${b})` : written(name, 'bool', [a, b], context);
}

/** An operation as the table of operations writes it. */
function written(name: OperationName, type: ScalarType, args: readonly string[], context: OperationContext): string {
  const { wgsl } = factsOf(name);
  switch (wgslOf(name)) {
    case 'operator':
      return args.length === 1 ? `(${wgsl}${args[0]})` : `(${args.join(` ${wgsl} `)})`;
    case 'function':
      return `${wgsl}(${args.join(', ')})`;
    default:
      return `${context.helper(`${name}_${type}`)}(${args.join(', ')})`;
  }
}

function emitInteger(
  name: OperationOn<'u32' | 'i32'>,
  type: 'u32' | 'i32',
  second: Operand | undefined,
  args: readonly string[],
  context: OperationContext,
): string {
  const [a, b] = args as [string, string];
  switch (name) {
    case 'shl':
    case 'shr': {
      const count = second!.kind === 'literal' ? `${(second!.value as number) & 31}u` : `(${b} & 31u)`;
      return written(name, type, [a, count], context);
    }
    case 'div':
    case 'rem':
      // WGSL and this library define division by zero, and −2³¹ / −1, in the same way. However, WGSL rejects a constant
      // zero as divisor.
      if (second!.kind === 'literal' && second!.value === 0) return name === 'div' ? a : zeroOf(type);
      break;
    case 'neg':
      return `(${zeroOf(type)} - ${a})`;
    case 'abs':
      if (type === 'u32') return a;
  }
  return written(name, type, args, context);
}

function emitF32(
  name: OperationOn<'f32'>,
  args: readonly string[],
  operands: readonly Operand[],
  local: Local,
  context: OperationContext,
): string {
  const { sum, quotient, root, comparison } = arithmeticOf(context);
  const { facts } = context;
  const [a, b] = args as [string, string];
  const plain = written(name, 'f32', args, context);
  const hidden = (): string => `${context.helper('hide')}${plain}`;
  switch (name) {
    case 'add':
    case 'sub':
      if (sum === 'plain') return plain;
      return !facts.mayCancel(local) && (sum === 'kept' || facts.isUsedOnlyBy(local, endOfAlgebra)) ? plain : hidden();
    case 'mul':
      return emitProduct(a, b, operands, local, context);
    case 'div':
      if (quotient === 'corrected') return `${context.helper('div')}(${a}, ${b})`;
      return quotient === 'plain' ? plain : hidden();
    case 'sqrt':
      return root === 'plain' ? plain : `${context.helper('sqrt')}(${a})`;
    case 'min':
    case 'max':
      if (arithmeticOf(context).extremum === 'plain') return plain;
      return emitExtremum(name, a, b, operands, context);
    case 'neg':
    case 'abs':
      return `${context.helper(name)}(${a})`;
    case 'floor':
    case 'ceil':
    case 'trunc':
    case 'round':
      return facts.isUsedOnlyBy(local, conversion) ? plain : `${context.helper('sign')}(${plain}, ${a})`;
    case 'eq':
    case 'ne':
    case 'lt':
    case 'le':
    case 'gt':
    case 'ge':
      if (comparison === 'bits') return emitComparison(name, a, b, context);
      // Compilers may translate `!=` to an ordered comparison, which is false for NaN instead of true.
      return name === 'ne' ? `!(${a} == ${b})` : plain;
  }
}

/**
 * Operations that end algebraic simplification: compilers do not simplify sums and products across them. (Bit
 * operations do not end simplification.)
 */
const endOfAlgebra: ReadonlySet<OperationName> = new Set(['floor', 'ceil', 'trunc', 'round', 'convert']);
/** Operations that give the same result for zero and for numbers that devices flush to zero. */
const rounding: ReadonlySet<OperationName> = new Set(['trunc', 'round']);
const conversion: ReadonlySet<OperationName> = new Set(['convert']);
const sums: ReadonlySet<OperationName> = new Set(['add', 'sub']);

function emitProduct(
  a: string,
  b: string,
  operands: readonly Operand[],
  local: Local,
  context: OperationContext,
): string {
  const { product } = arithmeticOf(context);
  const { facts } = context;
  const plain = `(${a} * ${b})`;
  if (product === 'plain' || facts.isUsedOnlyBy(local, rounding)) return plain;
  const [x, y] = operands.map(facts.of) as [F32Fact, F32Fact];
  if (product === 'corrected' && mayUnderflow(x, y)) return emitCorrectedProduct(a, b, operands, context);
  const isScaledTerm = isExactScaling(x, y) && facts.isUsedOnlyBy(local, sums) && !facts.mayCancel(local);
  return isScaledTerm || facts.isUsedOnlyBy(local, endOfAlgebra) ? plain : `${context.helper('hide')}${plain}`;
}

/**
 * WGSL of a product on devices that flush subnormal products to zero before they round. The code corrects products that
 * should round up to the smallest normal number. If one factor is a constant, the host computes for which values of the
 * other factor a correction may be needed.
 */
function emitCorrectedProduct(a: string, b: string, operands: readonly Operand[], context: OperationContext): string {
  const at = operands.findIndex(({ kind }) => kind === 'literal');
  const factor = Math.abs((operands[at] as Literal | undefined)?.value as number);
  if (!(factor >= SMALLEST_NORMAL_F32 && factor < Number.POSITIVE_INFINITY))
    return `${context.helper('mul')}(${a}, ${b})`;
  if (factor >= 1) return `${context.helper('hide')}(${a} * ${b})`;
  const [x, constant] = at === 0 ? [b, a] : [a, b];
  return `${context.helper('scale')}(${x}, ${constant}, ${minThatRoundsUp(factor)}u)`;
}

/**
 * Returns the bits of the smallest normal number x for which x · `factor` rounds to a normal number. `factor` must be
 * below 1.
 */
function minThatRoundsUp(factor: number): number {
  // The bound is halfway between the largest subnormal and the smallest normal number. A tie rounds to the normal
  // number, which is even.
  const bound = SMALLEST_NORMAL_F32 - 2 ** -150;
  let bits = bitsOfF32(Math.fround(bound / factor));
  // The products in this loop are exact, because a product of two 24-bit numbers fits in f64.
  while (f32OfBits(bits) * factor >= bound) bits--;
  while (f32OfBits(bits) * factor < bound) bits++;
  return Math.max(bits, 0x800000);
}

/**
 * WGSL of the minimum or maximum of two numbers. If one number is a constant, a single comparison of ranks (integers
 * ordered like the numbers) is enough. If the other number is NaN, the comparison is false and the result is the
 * constant.
 */
function emitExtremum(
  name: 'min' | 'max',
  a: string,
  b: string,
  operands: readonly Operand[],
  context: OperationContext,
): string {
  const [first, second] = operands as readonly [Operand, Operand];
  const constant = second.kind === 'literal' ? second : first;
  if (constant.kind !== 'literal' || Number.isNaN(constant.value)) return `${context.helper(name)}(${a}, ${b})`;
  const [x, value] = constant === second ? [a, b] : [b, a];
  // Ranks are integers that are ordered like the numbers, with −0 below +0. The ranks of NaNs lie outside the range
  // between the two infinities.
  const [rank, min, max] = [
    rankOf(constant.value as number),
    rankOf(Number.NEGATIVE_INFINITY),
    rankOf(Number.POSITIVE_INFINITY),
  ];
  const [from, count] = name === 'max' ? [rank + 1, max - rank] : [min, rank - min];
  return `${context.helper('within')}(${x}, ${value}, ${from >>> 0}u, ${count >>> 0}u)`;
}

function rankOf(value: number): number {
  const bits = bitsOfF32(value) | 0;
  return bits ^ ((bits >> 31) & 0x7fffffff);
}

function emitComparison(name: Operation['name'], a: string, b: string, context: OperationContext): string {
  const equal = `${context.helper('eq')}(${a}, ${b})`;
  const less = (x: string, y: string): string => `${context.helper('lt')}(${x}, ${y})`;
  switch (name) {
    case 'eq':
      return equal;
    case 'ne':
      return `!${equal}`;
    case 'lt':
      return less(a, b);
    case 'gt':
      return less(b, a);
    case 'le':
      return `(${less(a, b)} || ${equal})`;
    default:
      return `(${less(b, a)} || ${equal})`;
  }
}
