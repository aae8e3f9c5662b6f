import type { Operand, ScalarType } from '../../ir/ir.ts';
import { bool, f32, i32, u32 } from '../functor.ts';
import { nameOfLeaf } from '../records.ts';
import { leafPaths, type Scalar, type Shape } from '../shapes.ts';
import type { Position } from './source.ts';

/** A type in a WGSL text: a scalar or a struct. A vector is a struct that every text has. */
export type TextType = ScalarType | Struct;

export interface Struct {
  readonly name: string;
  readonly fields: readonly { readonly name: string; readonly type: TextType }[];
}

/**
 * The value of an expression. Numbers without a suffix, and results computed only from such numbers, are abstract: they
 * are exact and have no type until the context requires one.
 */
export type TextValue = ScalarValue | StructValue | AbstractValue;

export interface ScalarValue {
  readonly type: ScalarType;
  readonly operand: Operand;
}

export interface StructValue {
  readonly type: Struct;
  /** The values of the fields, in the order in which the struct declares them. */
  readonly fields: readonly TextValue[];
}

export type AbstractValue =
  | { readonly type: 'abstract-int'; readonly value: bigint }
  | { readonly type: 'abstract-float'; readonly value: number };

/** The value of an argument, and its position in the text for error messages. */
export interface Argument {
  readonly value: TextValue;
  readonly position: Position;
}

export function isAbstract(value: TextValue): value is AbstractValue {
  return value.type === 'abstract-int' || value.type === 'abstract-float';
}

export function isScalar(value: TextValue): value is ScalarValue {
  return 'operand' in value;
}

/** The name of a type, for error messages. */
export function typeName(type: TextValue['type']): string {
  if (typeof type === 'object') return type.name;
  if (type === 'abstract-int') return 'an integer without suffix';
  return type === 'abstract-float' ? 'a number without suffix' : type;
}

const scalars: { readonly [T in ScalarType]: Scalar<T> } = { u32, i32, f32, bool };

export function isScalarName(name: string): name is ScalarType {
  return Object.hasOwn(scalars, name);
}

/** Converts a type of the text to the shape of a functor's parameter or result. */
export function shapeOf(type: TextType): Shape {
  if (typeof type === 'string') return scalars[type];
  return Object.fromEntries(type.fields.map((field) => [field.name, shapeOf(field.type)]));
}

/** The scalar types of a type, in depth-first order of its fields. */
export function leafTypesOf(type: TextType): ScalarType[] {
  return typeof type === 'string' ? [type] : type.fields.flatMap((field) => leafTypesOf(field.type));
}

/** The arrays that a functor captures for a `var<storage>`: one, or one for each scalar of its type, in the order above. */
export function arraysOf(name: string, type: TextType): readonly (readonly [name: string, type: ScalarType])[] {
  if (typeof type === 'string') return [[name, type]];
  const types = leafTypesOf(type);
  return leafPaths(shapeOf(type)).map((path, leaf) => [nameOfLeaf(name, path), types[leaf]!]);
}

/** The operands of a value's scalars, in the order of {@link leafTypesOf}. Throws for an abstract number. */
export function leavesOf(value: TextValue): Operand[] {
  if ('operand' in value) return [value.operand];
  if ('fields' in value) return value.fields.flatMap(leavesOf);
  throw new TypeError('an abstract number has no operand');
}

/** Makes a value of a type. `leaf` is called once for every scalar, in depth-first order. */
export function valueOfLeaves(type: TextType, leaf: (type: ScalarType) => Operand): TextValue {
  if (typeof type === 'string') return { type, operand: leaf(type) };
  return { type, fields: type.fields.map((field) => valueOfLeaves(field.type, leaf)) };
}

/** The initial value of a variable that is declared without one: zeros and false. */
export function zeroOf(type: TextType): TextValue {
  return valueOfLeaves(type, (leaf) => ({ kind: 'literal', type: leaf, value: leaf === 'bool' ? false : 0 }));
}
