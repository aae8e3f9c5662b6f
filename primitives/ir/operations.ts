import { ctz, fmax, fmin, idiv, irem, mulhi, popcount, reverseBits, roundEven, udiv, urem } from './semantics.ts';

/**
 * All scalar operations. The table `OPERATIONS` lists the supported types, the signature and the WGSL code of each
 * operation; the table `computes` defines what it computes, by the rules of `semantics.ts`. Backends take their code
 * from these tables, except where they have a faster form. An operation without a form that a backend needs does not
 * compile. Tests take their list of operations from this file.
 */

/** The type of a scalar in a functor. */
export type ScalarType = 'u32' | 'i32' | 'f32' | 'bool';

/**
 * The operand types and the result type of an operation on type T:
 *
 * - `unary`: (T) → T
 * - `binary`: (T, T) → T
 * - `shift`: (T, u32) → T
 * - `comparison`: (T, T) → bool
 * - `select`: (T, T, bool) → T
 * - `conversion`: (T) → another type
 */
type Signature = 'unary' | 'binary' | 'shift' | 'comparison' | 'select' | 'conversion';

interface OperationFacts {
  /** The types that the first operand may have. */
  readonly on: readonly ScalarType[];
  readonly signature: Signature;
  /**
   * The WGSL operator or function for this operation, in generated code and in functors written as WGSL text; T stands
   * for the type. If WGSL has neither, the declaration of a function, in which T stands for the type of the first
   * operand. It has no branches: some compilers take time exponential in the number of branches in a loop.
   */
  readonly wgsl: string;
  /** The smallest and the largest result, if they are known for all operands. */
  readonly bounds?: readonly [min: number, max: number];
}

export const OPERATIONS = {
  add: { on: ['u32', 'i32', 'f32'], signature: 'binary', wgsl: '+' },
  sub: { on: ['u32', 'i32', 'f32'], signature: 'binary', wgsl: '-' },
  mul: { on: ['u32', 'i32', 'f32'], signature: 'binary', wgsl: '*' },
  div: { on: ['u32', 'i32', 'f32'], signature: 'binary', wgsl: '/' },
  rem: { on: ['u32', 'i32'], signature: 'binary', wgsl: '%' },
  min: { on: ['u32', 'i32', 'f32'], signature: 'binary', wgsl: 'min' },
  max: { on: ['u32', 'i32', 'f32'], signature: 'binary', wgsl: 'max' },
  /** The high word of the 64-bit product of two u32. */
  mulhi: {
    on: ['u32'],
    signature: 'binary',
    // Products of 16-bit halves. Such a product still fits in 32 bits after two halves are added to it.
    wgsl: `fn mulhi(a: u32, b: u32) -> u32 {
  let a0 = a & 0xffffu; let a1 = a >> 16u; let b0 = b & 0xffffu; let b1 = b >> 16u;
  let t = a1 * b0 + ((a0 * b0) >> 16u);
  let u = a0 * b1 + (t & 0xffffu);
  return a1 * b1 + (t >> 16u) + (u >> 16u);
}`,
  },
  and: { on: ['u32', 'i32', 'bool'], signature: 'binary', wgsl: '&' },
  or: { on: ['u32', 'i32', 'bool'], signature: 'binary', wgsl: '|' },
  xor: { on: ['u32', 'i32', 'bool'], signature: 'binary', wgsl: '^' },
  shl: { on: ['u32', 'i32'], signature: 'shift', wgsl: '<<' },
  shr: { on: ['u32', 'i32'], signature: 'shift', wgsl: '>>' },
  eq: { on: ['u32', 'i32', 'f32', 'bool'], signature: 'comparison', wgsl: '==' },
  ne: { on: ['u32', 'i32', 'f32', 'bool'], signature: 'comparison', wgsl: '!=' },
  lt: { on: ['u32', 'i32', 'f32'], signature: 'comparison', wgsl: '<' },
  le: { on: ['u32', 'i32', 'f32'], signature: 'comparison', wgsl: '<=' },
  gt: { on: ['u32', 'i32', 'f32'], signature: 'comparison', wgsl: '>' },
  ge: { on: ['u32', 'i32', 'f32'], signature: 'comparison', wgsl: '>=' },
  neg: { on: ['u32', 'i32', 'f32'], signature: 'unary', wgsl: '-' },
  not: { on: ['u32', 'i32', 'bool'], signature: 'unary', wgsl: '~' },
  abs: { on: ['u32', 'i32', 'f32'], signature: 'unary', wgsl: 'abs' },
  floor: { on: ['f32'], signature: 'unary', wgsl: 'floor' },
  ceil: { on: ['f32'], signature: 'unary', wgsl: 'ceil' },
  trunc: { on: ['f32'], signature: 'unary', wgsl: 'trunc' },
  round: { on: ['f32'], signature: 'unary', wgsl: 'round' },
  sqrt: { on: ['f32'], signature: 'unary', wgsl: 'sqrt' },
  clz: { on: ['u32', 'i32'], signature: 'unary', wgsl: 'countLeadingZeros', bounds: [0, 32] },
  ctz: { on: ['u32', 'i32'], signature: 'unary', wgsl: 'countTrailingZeros', bounds: [0, 32] },
  popcount: { on: ['u32', 'i32'], signature: 'unary', wgsl: 'countOneBits', bounds: [0, 32] },
  reverseBits: { on: ['u32', 'i32'], signature: 'unary', wgsl: 'reverseBits' },
  /** `select(a, b, condition)` is b if the condition holds, otherwise a. */
  select: { on: ['u32', 'i32', 'f32', 'bool'], signature: 'select', wgsl: 'select' },
  /** Converts the value to another type. */
  convert: { on: ['u32', 'i32', 'f32', 'bool'], signature: 'conversion', wgsl: 'T' },
  /** Reinterprets the 32 bits of a value as another type. */
  bits: { on: ['u32', 'i32', 'f32'], signature: 'conversion', wgsl: 'bitcast' },
} as const;

export type OperationName = keyof typeof OPERATIONS;

/** Operations that move or convert values. */
type Moving = 'select' | 'convert' | 'bits';

/** The operations on a type, except `select`, `convert` and `bits`. */
export type OperationOn<T extends ScalarType> = Exclude<
  { [N in OperationName]: T extends (typeof OPERATIONS)[N]['on'][number] ? N : never }[OperationName],
  Moving
>;

/** Names of all operations, in the order of the table `OPERATIONS`. */
export const operationNames = Object.keys(OPERATIONS) as readonly OperationName[];

/** The result type of an operation on operands of the given types; undefined if the operation does not support them. */
export function typeOf(name: OperationName, operands: readonly ScalarType[], to?: ScalarType): ScalarType | undefined {
  const [a, b, c] = operands;
  const { on, signature } = factsOf(name);
  if (a === undefined || !on.includes(a)) return undefined;
  switch (signature) {
    case 'unary':
      return operands.length === 1 ? a : undefined;
    case 'binary':
      return operands.length === 2 && a === b ? a : undefined;
    case 'shift':
      return operands.length === 2 && b === 'u32' ? a : undefined;
    case 'comparison':
      return operands.length === 2 && a === b ? 'bool' : undefined;
    case 'select':
      return operands.length === 3 && a === b && c === 'bool' ? a : undefined;
    case 'conversion':
      return operands.length === 1 && (name === 'convert' || to !== 'bool') ? to : undefined;
  }
}

/** All facts of an operation. */
export function factsOf(name: OperationName): OperationFacts {
  return OPERATIONS[name];
}

/** Number of operands of an operation. */
export function arityOf(name: OperationName): number {
  const { signature } = factsOf(name);
  return signature === 'unary' || signature === 'conversion' ? 1 : signature === 'select' ? 3 : 2;
}

/** How WGSL writes an operation: with an operator, or as the call of a function, which may have to be declared. */
export function wgslOf(name: OperationName): 'operator' | 'function' | 'declared' {
  const { wgsl } = factsOf(name);
  return wgsl.startsWith('fn ') ? 'declared' : /^\w/.test(wgsl) ? 'function' : 'operator';
}

/** The declaration of the WGSL function for an operation on a type, under another name. */
export function declarationOf(operation: OperationName, type: ScalarType, name: string): string {
  return factsOf(operation)
    .wgsl!.replace(/^fn \w+/, `fn ${name}`)
    .replaceAll(/\bT\b/g, type);
}

/** A result before it is converted to its type: integers wrap, f32 are rounded. A bool may be given as 0 or 1. */
type Compute = (a: number, b: number) => number | boolean;

const onIntegers = (compute: Compute): Readonly<Record<'u32' | 'i32', Compute>> => ({ u32: compute, i32: compute });

/** What each operation computes. If its rule depends on the type, there is a function for each type. */
const computes: {
  readonly [N in Exclude<OperationName, Moving>]:
    | Compute
    | Readonly<Record<(typeof OPERATIONS)[N]['on'][number], Compute>>;
} = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: { ...onIntegers(Math.imul), f32: (a, b) => a * b },
  div: { u32: udiv, i32: idiv, f32: (a, b) => a / b },
  rem: { u32: urem, i32: irem },
  min: fmin,
  max: fmax,
  mulhi,
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
  shl: (a, b) => a << b,
  shr: { u32: (a, b) => a >>> b, i32: (a, b) => a >> b },
  eq: (a, b) => a === b,
  ne: (a, b) => a !== b,
  lt: (a, b) => a < b,
  le: (a, b) => a <= b,
  gt: (a, b) => a > b,
  ge: (a, b) => a >= b,
  neg: (a) => -a,
  not: { ...onIntegers((a) => ~a), bool: (a) => !a },
  abs: Math.abs,
  floor: Math.floor,
  ceil: Math.ceil,
  trunc: Math.trunc,
  round: roundEven,
  sqrt: Math.sqrt,
  clz: Math.clz32,
  ctz,
  popcount,
  reverseBits,
};

/** What an operation computes of operands of a type, before the result is converted to its type. */
export function computeOf<T extends ScalarType>(name: OperationOn<T>, type: T): Compute {
  const compute: Compute | { readonly [T in ScalarType]?: Compute } = computes[name];
  return typeof compute === 'function' ? compute : compute[type]!;
}
