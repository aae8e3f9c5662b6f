import type { OperationName, ScalarType } from '../../primitives/ir/operations.ts';

/**
 * A random program as a syntax tree that refers to variables by name. It can be rendered as an IR module, with the
 * builder, or as WGSL text, and all three must compute the same results.
 */
export interface Sketch {
  /** Each function calls only earlier ones. The last one is the entry. */
  readonly functions: readonly SketchFunction[];
  readonly arrays: readonly Named[];
  readonly uniforms: readonly Named[];
}

/** The result types of a sketch's entry. */
export function resultTypesOf({ functions }: Sketch): readonly ScalarType[] {
  return functions.at(-1)!.results;
}

export interface Named {
  readonly name: string;
  readonly type: ScalarType;
}

export interface SketchFunction {
  readonly name: string;
  readonly parameters: readonly Named[];
  readonly results: readonly ScalarType[];
  readonly body: readonly SketchStatement[];
}

export type SketchExpression =
  | { readonly kind: 'literal'; readonly type: ScalarType; readonly value: number | boolean }
  | { readonly kind: 'name'; readonly type: ScalarType; readonly name: string }
  | { readonly kind: 'uniform'; readonly type: ScalarType; readonly name: string }
  | { readonly kind: 'element'; readonly type: ScalarType; readonly array: string; readonly index: SketchExpression }
  | { readonly kind: 'length'; readonly type: 'u32'; readonly array: string }
  /** An element of a local array. */
  | { readonly kind: 'local'; readonly type: ScalarType; readonly array: string; readonly index: SketchExpression }
  | {
      readonly kind: 'operation';
      readonly type: ScalarType;
      readonly name: OperationName;
      readonly operands: readonly SketchExpression[];
    }
  | {
      readonly kind: 'call';
      readonly type: ScalarType;
      readonly callee: string;
      readonly args: readonly SketchExpression[];
      /** A call uses one of the callee's results: the one with this index. */
      readonly result: number;
    }
  /** A component of a vector. */
  | { readonly kind: 'component'; readonly type: 'f32'; readonly vector: SketchVector; readonly at: number }
  | { readonly kind: 'dot'; readonly type: 'f32'; readonly operands: readonly [SketchVector, SketchVector] };

/** A vector of two to four f32 in a random program. */
export type SketchVector =
  | { readonly kind: 'vector'; readonly name: string; readonly size: number }
  /** A vector of scalars and shorter vectors; if it has one part, a scalar, all components are equal. */
  | { readonly kind: 'construct'; readonly size: number; readonly parts: readonly (SketchExpression | SketchVector)[] }
  | { readonly kind: 'swizzle'; readonly size: number; readonly vector: SketchVector; readonly at: readonly number[] }
  /** An operation on each component. An operand that is a scalar is the same for all components. */
  | {
      readonly kind: 'byComponent';
      readonly size: number;
      readonly name: OperationName;
      readonly operands: readonly (SketchExpression | SketchVector)[];
    };

export type VectorStatement =
  | { readonly kind: 'letVector' | 'varVector' | 'setVector'; readonly name: string; readonly value: SketchVector }
  | { readonly kind: 'setComponent'; readonly name: string; readonly at: number; readonly value: SketchExpression };

export type SketchStatement =
  | VectorStatement
  | { readonly kind: 'let' | 'var' | 'set'; readonly name: string; readonly value: SketchExpression }
  /** Declares a local array, whose elements all begin with a value. */
  | {
      readonly kind: 'array';
      readonly name: string;
      readonly type: ScalarType;
      readonly length: number;
      readonly value: SketchExpression;
    }
  | {
      readonly kind: 'write';
      readonly array: string;
      readonly index: SketchExpression;
      readonly value: SketchExpression;
    }
  | {
      readonly kind: 'if';
      readonly condition: SketchExpression;
      readonly consequent: readonly SketchStatement[];
      readonly alternative: readonly SketchStatement[];
    }
  /** A counting loop; `from` and `to` are evaluated once. */
  | {
      readonly kind: 'for';
      readonly name: string;
      readonly from: SketchExpression;
      readonly to: SketchExpression;
      readonly body: readonly SketchStatement[];
    }
  | { readonly kind: 'while'; readonly condition: SketchExpression; readonly body: readonly SketchStatement[] }
  | { readonly kind: 'break' | 'continue' }
  | { readonly kind: 'return'; readonly values: readonly SketchExpression[] };

/** The language features that a sketch may use. */
export interface SketchOptions {
  /** Allows loops, early returns and jumps. If false, `if` is the only control flow. */
  readonly loops: boolean;
  /** Allows reads of captured arrays at computed indices. */
  readonly reads: boolean;
  /** Allows local arrays. */
  readonly localArrays: boolean;
  /** Allows division and remainder of integers. */
  readonly integerDivision: boolean;
  /** How often operands and results are f32. */
  readonly floats: 'none' | 'some' | 'mostly';
  /** Allows captured arrays and uniforms of bool, which WGSL text cannot declare. */
  readonly boolCaptures: boolean;
  /** Allows vectors, which only WGSL text has: elsewhere they are scalars. */
  readonly vectors: boolean;
}

export const everything: SketchOptions = {
  loops: true,
  reads: true,
  localArrays: true,
  integerDivision: true,
  floats: 'some',
  boolCaptures: true,
  vectors: false,
};

/** Features of programs that can be evaluated in four lanes at once. */
export const straightLine: SketchOptions = {
  ...everything,
  loops: false,
  reads: false,
  localArrays: false,
  integerDivision: false,
};

export function isVector(part: SketchExpression | SketchVector): part is SketchVector {
  return 'size' in part;
}

/** The name of a component of a vector, where vectors are scalars. */
export function componentName(name: string, at: number): string {
  return `${name}_${'xyzw'[at]}`;
}
