import { describeGiven, isPromise } from '../checks/given.ts';
import type { Local, Operand, OperationName, ScalarType } from '../ir/ir.ts';
import { append, functorError, literal, newLocal, operate, read, use, wrongInput } from './recorder.ts';

/** What a functor's operations accept where a value is expected: a value of the functor, or a JavaScript literal. */
export type Input<T extends ScalarType> = Value<T> | (T extends 'bool' ? boolean : number);

type Numeric = 'u32' | 'i32' | 'f32';
type Integer = 'u32' | 'i32';
type Bits = Integer | 'bool';

/**
 * A value inside a functor. While the functor is recorded, it stands for a parameter, the result of an operation, or an
 * array element. Operations are methods, and `tsc` checks that u32, i32, f32 and bool are not mixed. JavaScript's own
 * operators throw.
 */
export class Value<T extends ScalarType> {
  /** @internal */
  readonly operand: Operand & { readonly type: T };
  /** Exists only for the type checker, so that values of different scalar types are not interchangeable. */
  declare readonly scalar: T;

  constructor(operand: Operand) {
    this.operand = operand as Operand & { readonly type: T };
  }

  [Symbol.toPrimitive](hint: string): never {
    if (hint === 'string') {
      const sentence = 'A device value must not be used as text or as an index.';
      throw functorError('javascript-operator', sentence, 'Write t.at(i) for t[i]. There is no text in functors.');
    }
    throw functorError(
      'javascript-operator',
      'A device value must not be used with a JavaScript operator or function.',
      'Use its methods: .add(…), .lt(…), .and(…) and so on; x.max(0) for Math.max(x, 0), and sqrt(x) of quadrille for Math.sqrt(x).',
    );
  }

  add<N extends Numeric & T>(this: Value<N>, other: Input<N>): Value<N> {
    return binary('add', this, other);
  }
  sub<N extends Numeric & T>(this: Value<N>, other: Input<N>): Value<N> {
    return binary('sub', this, other);
  }
  mul<N extends Numeric & T>(this: Value<N>, other: Input<N>): Value<N> {
    return binary('mul', this, other);
  }
  /** The quotient. For integers it is truncated, and x / 0 = x. */
  div<N extends Numeric & T>(this: Value<N>, other: Input<N>): Value<N> {
    return binary('div', this, other);
  }
  /** The remainder, which has the sign of this value; x % 0 = 0. */
  rem<N extends Integer & T>(this: Value<N>, other: Input<N>): Value<N> {
    return binary('rem', this, other);
  }
  min<N extends Numeric & T>(this: Value<N>, other: Input<N>): Value<N> {
    return binary('min', this, other);
  }
  max<N extends Numeric & T>(this: Value<N>, other: Input<N>): Value<N> {
    return binary('max', this, other);
  }
  /** Bitwise AND of integers, logical AND of bools. Both sides are always evaluated. */
  and<B extends Bits & T>(this: Value<B>, other: Input<B>): Value<B> {
    return binary('and', this, other);
  }
  or<B extends Bits & T>(this: Value<B>, other: Input<B>): Value<B> {
    return binary('or', this, other);
  }
  xor<B extends Bits & T>(this: Value<B>, other: Input<B>): Value<B> {
    return binary('xor', this, other);
  }
  not<B extends Bits & T>(this: Value<B>): Value<B> {
    return new Value<B>(operate('not', [this.operand]));
  }
  /** Shifts left; the count is taken modulo 32. */
  shl<N extends Integer & T>(this: Value<N>, count: Input<'u32'>): Value<N> {
    return new Value<N>(operate('shl', [this.operand, operandOf('u32', count)]));
  }
  /** Shifts right; the count is taken modulo 32. For i32, the sign bit is copied. */
  shr<N extends Integer & T>(this: Value<N>, count: Input<'u32'>): Value<N> {
    return new Value<N>(operate('shr', [this.operand, operandOf('u32', count)]));
  }
  neg<N extends Numeric & T>(this: Value<N>): Value<N> {
    return new Value<N>(operate('neg', [this.operand]));
  }
  abs<N extends Numeric & T>(this: Value<N>): Value<N> {
    return new Value<N>(operate('abs', [this.operand]));
  }

  eq(other: Input<T>): Value<'bool'> {
    return comparison('eq', this, other);
  }
  ne(other: Input<T>): Value<'bool'> {
    return comparison('ne', this, other);
  }
  lt<N extends Numeric & T>(this: Value<N>, other: Input<N>): Value<'bool'> {
    return comparison('lt', this, other);
  }
  le<N extends Numeric & T>(this: Value<N>, other: Input<N>): Value<'bool'> {
    return comparison('le', this, other);
  }
  gt<N extends Numeric & T>(this: Value<N>, other: Input<N>): Value<'bool'> {
    return comparison('gt', this, other);
  }
  ge<N extends Numeric & T>(this: Value<N>, other: Input<N>): Value<'bool'> {
    return comparison('ge', this, other);
  }
}

export type U32 = Value<'u32'>;
export type I32 = Value<'i32'>;
export type F32 = Value<'f32'>;
export type Bool = Value<'bool'>;

const variables = new WeakSet<Operand>();

/** A value that can be set again. An operation on a variable uses the value that the variable has at that moment. */
export class Variable<T extends ScalarType> extends Value<T> {
  constructor(operand: Operand) {
    super(operand);
    variables.add(operand);
  }

  set(value: Input<T>): void {
    append({ kind: 'set', local: use(this.operand) as Local, value: use(operandOf(this.operand.type, value)) });
  }
}

/** Whether a value changes when a variable is set: a variable, or what a conversion to its own type makes of it. */
export function isVariable(value: unknown): boolean {
  return value instanceof Value && variables.has(value.operand);
}

const LAST = 'Indices count from 0. The last element is at(length().sub(1)), where length() is that of the array.';

/** A captured column inside a functor, whose elements can be read at any index. */
export class ArrayValue<T extends ScalarType> {
  /** @internal */
  readonly name: string;
  readonly type: T;

  constructor(name: string, type: T) {
    this.name = name;
    this.type = type;
  }

  /** The element at `index`; zero or false if the index is not below the length. */
  at(index: Input<'u32'>): Value<T> {
    if (typeof index === 'number' && index < 0) {
      throw functorError('index', `Array ${this.name} has no element at ${index}.`, LAST);
    }
    return new Value<T>(read(this.name, this.type, operandOf('u32', index)));
  }

  length(): U32 {
    const local = newLocal('u32');
    append({ kind: 'length', local, array: this.name });
    return new Value<'u32'>(local);
  }
}

/** The operand for a value or a literal, which must have the given type. */
export function operandOf<T extends ScalarType>(type: T, input: Input<ScalarType>): Operand {
  if (input instanceof Value) {
    if (input.operand.type === type) return input.operand;
    throw functorError('type', `Expected ${type}, got ${input.operand.type}.`, `Convert with ${type}(…).`);
  }
  if (typeof input === 'number' || typeof input === 'boolean') return literal(type, input);
  if (isPromise(input)) throw functorError('promise', `Expected ${type}, got a promise.`, 'An await is missing.');
  throw functorError('type', `Expected ${type}, got ${describeGiven(input)}.`);
}

function binary<T extends ScalarType>(name: OperationName, left: Value<T>, right: Input<T>): Value<T> {
  return new Value<T>(operate(name, [left.operand, operandOf(left.operand.type, right)]));
}

function comparison<T extends ScalarType>(name: OperationName, left: Value<T>, right: Input<T>): Value<'bool'> {
  return new Value<'bool'>(operate(name, [left.operand, operandOf(left.operand.type, right)]));
}

/** Requires a value of the functor; used for arguments that cannot be literals. */
export function requireOperand(call: string, argument: string, given: unknown): Operand {
  if (given instanceof Value) return given.operand;
  const isLiteral = typeof given === 'number' || typeof given === 'boolean';
  const type = typeof given === 'boolean' ? 'bool' : 'u32';
  const remedy = isLiteral ? `Give it a type: ${type}(${given}).` : undefined;
  throw wrongInput(call, argument, given, 'a value of the functor', remedy);
}

/** The result of an operation, of the type of its first operand. Errors name the operands as the caller does. */
export function applied<T extends ScalarType>(
  name: OperationName,
  operands: { readonly [argument: string]: unknown },
): Value<T> {
  const given = Object.entries(operands).map(([argument, operand]) => requireOperand(name, argument, operand));
  return new Value<T>(operate(name, given));
}

/** Requires a condition: a bool value of the functor, not a JavaScript boolean. */
export function requireCondition(call: string, given: unknown): Operand {
  if (typeof given === 'boolean') {
    const remedy = `Write x.eq(2) for x === 2, and c.not() for !c. A constant is bool(${given}).`;
    throw wrongInput(call, 'condition', given, 'a bool of the functor', remedy);
  }
  const operand = requireOperand(call, 'condition', given);
  if (operand.type === 'bool') return operand;
  throw wrongInput(call, 'condition', given, 'a bool', 'Compare it: .ne(0).');
}
