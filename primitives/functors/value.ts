import { describeGiven, isPromise } from '../given.ts';
import type { Local, Operand, OperationName, ScalarType } from '../ir/ir.ts';
import { append, functorError, literal, newLocal, operate, read, use, wrongInput } from './recorder.ts';

/** An input where a value is expected: a value of the functor, or a JavaScript literal. */
export type Input<T extends ScalarType> = Value<T> | (T extends 'bool' ? boolean : number);

type Numeric = 'u32' | 'i32' | 'f32';
type Integer = 'u32' | 'i32';
type Bits = Integer | 'bool';

/**
 * A value inside a functor: a placeholder for a parameter, an operation or an array element while the functor is
 * recorded. Operations are methods; `tsc` distinguishes u32, i32, f32 and bool. JavaScript's own operators do not work
 * on values and throw.
 */
export class Value<T extends ScalarType> {
  readonly operand: Operand & { readonly type: T };
  /** Distinguishes the four types for the type checker. */
  declare readonly scalar: T;

  constructor(operand: Operand) {
    this.operand = operand as Operand & { readonly type: T };
  }

  [Symbol.toPrimitive](): never {
    throw functorError(
      'javascript-operator',
      'A device value must not be used with a JavaScript operator.',
      'Use its methods: .add(…), .lt(…), .and(…) and so on.',
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
  /** Quotient; for integers truncated, and x / 0 = x. */
  div<N extends Numeric & T>(this: Value<N>, other: Input<N>): Value<N> {
    return binary('div', this, other);
  }
  /** Remainder with the sign of this value; x % 0 = 0. */
  rem<N extends Integer & T>(this: Value<N>, other: Input<N>): Value<N> {
    return binary('rem', this, other);
  }
  min<N extends Numeric & T>(this: Value<N>, other: Input<N>): Value<N> {
    return binary('min', this, other);
  }
  max<N extends Numeric & T>(this: Value<N>, other: Input<N>): Value<N> {
    return binary('max', this, other);
  }
  /** Bitwise on integers, logical on bools; both sides are evaluated. */
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
  /** Shifts left by the count modulo 32. */
  shl<N extends Integer & T>(this: Value<N>, count: Input<'u32'>): Value<N> {
    return new Value<N>(operate('shl', [this.operand, operandOf('u32', count)]));
  }
  /** Shifts right by the count modulo 32; i32 keeps its sign. */
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

/** A value that can be set again. An operation on it uses its value at that moment. */
export class Variable<T extends ScalarType> extends Value<T> {
  set(value: Input<T>): void {
    append({ kind: 'set', local: use(this.operand) as Local, value: use(operandOf(this.operand.type, value)) });
  }
}

/** A captured array: a read-only column that can be indexed. */
export class ArrayValue<T extends ScalarType> {
  readonly name: string;
  readonly type: T;

  constructor(name: string, type: T) {
    this.name = name;
    this.type = type;
  }

  /** Element `index`; zero or false if the index is at or past the length. */
  at(index: Input<'u32'>): Value<T> {
    return new Value<T>(read(this.name, this.type, operandOf('u32', index)));
  }

  length(): U32 {
    const local = newLocal('u32');
    append({ kind: 'length', local, array: this.name });
    return new Value<'u32'>(local);
  }
}

/** The operand of a value or literal of the given type. */
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

/** Requires a value of the functor, for arguments that cannot be literals. */
export function requireOperand(call: string, argument: string, given: unknown): Operand {
  if (given instanceof Value) return given.operand;
  const isLiteral = typeof given === 'number' || typeof given === 'boolean';
  const type = typeof given === 'boolean' ? 'bool' : 'u32';
  const remedy = isLiteral ? `Give it a type: ${type}(${given}).` : undefined;
  throw wrongInput(call, argument, given, 'a value of the functor', remedy);
}

/** Requires a condition: a value of the functor that is a bool. */
export function requireCondition(call: string, given: unknown): Operand {
  const operand = requireOperand(call, 'condition', given);
  if (operand.type === 'bool') return operand;
  throw wrongInput(call, 'condition', given, 'a bool', 'Compare it: .ne(0).');
}
