/**
 * All scalar operations. The table below lists the supported types, the signature and the WGSL code of each operation.
 * Every emitter covers all operations of a type (`OperationOn`) with a record or an exhaustive switch. So after an
 * operation is added here, the code does not compile until every backend emits the operation. Tests take their list of
 * operations from this file; `semantics.ts` defines what each operation computes.
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
   * The WGSL operator or function for this operation, in generated code and in functors written as WGSL text.
   * Undefined if WGSL has no operator or function for this operation.
   */
  readonly wgsl: string | undefined;
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
  mulhi: { on: ['u32'], signature: 'binary', wgsl: undefined },
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
  clz: { on: ['u32', 'i32'], signature: 'unary', wgsl: 'countLeadingZeros' },
  ctz: { on: ['u32', 'i32'], signature: 'unary', wgsl: 'countTrailingZeros' },
  popcount: { on: ['u32', 'i32'], signature: 'unary', wgsl: 'countOneBits' },
  reverseBits: { on: ['u32', 'i32'], signature: 'unary', wgsl: 'reverseBits' },
  /** `select(a, b, condition)` is b if the condition holds, otherwise a. */
  select: { on: ['u32', 'i32', 'f32', 'bool'], signature: 'select', wgsl: 'select' },
  /** Converts the value to another type. */
  convert: { on: ['u32', 'i32', 'f32', 'bool'], signature: 'conversion', wgsl: undefined },
  /** Reinterprets the 32 bits of a value as another type. */
  bits: { on: ['u32', 'i32', 'f32'], signature: 'conversion', wgsl: 'bitcast' },
} as const;

export type OperationName = keyof typeof OPERATIONS;

/** Operations whose generated code does not depend on the type of the operands. */
type AlikeOperation = 'select' | 'convert' | 'bits';

/** The operations on a type, except `select`, `convert` and `bits`. */
export type OperationOn<T extends ScalarType> = Exclude<
  { [N in OperationName]: T extends (typeof OPERATIONS)[N]['on'][number] ? N : never }[OperationName],
  AlikeOperation
>;

/** The comparisons. */
export type Comparison = {
  [N in OperationName]: (typeof OPERATIONS)[N]['signature'] extends 'comparison' ? N : never;
}[OperationName];

/** Names of all operations, in the order of the table `OPERATIONS`. */
export const operationNames = Object.keys(OPERATIONS) as readonly OperationName[];

/** The result type of an operation on operands of the given types; undefined if the operation does not support them. */
export function typeOf(name: OperationName, operands: readonly ScalarType[], to?: ScalarType): ScalarType | undefined {
  const [a, b, c] = operands;
  const { on, signature }: OperationFacts = OPERATIONS[name];
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
