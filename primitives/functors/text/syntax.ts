import type { Position } from './source.ts';

/**
 * The syntax tree of an expression. In all syntax trees of the WGSL subset, `position` is the start of a construct,
 * with these exceptions: the operator of a binary operation or assignment, the `.` or `[` of an access, and the name in
 * a declaration.
 */
export type Expression =
  | { readonly kind: 'number'; readonly position: Position; readonly text: string }
  | { readonly kind: 'bool'; readonly position: Position; readonly value: boolean }
  | { readonly kind: 'name'; readonly position: Position; readonly name: string }
  | Unary
  | Binary
  | Call
  | { readonly kind: 'index'; readonly position: Position; readonly array: Expression; readonly index: Expression }
  | Member;

export interface Unary {
  readonly kind: 'unary';
  readonly position: Position;
  readonly operator: '-' | '!' | '~' | '&';
  readonly operand: Expression;
}

export interface Binary {
  readonly kind: 'binary';
  readonly position: Position;
  readonly operator: string;
  readonly left: Expression;
  readonly right: Expression;
}

export interface Member {
  readonly kind: 'member';
  readonly position: Position;
  readonly object: Expression;
  readonly field: string;
}

export interface Call {
  readonly kind: 'call';
  readonly position: Position;
  readonly callee: string;
  /** In `bitcast<T>(…)`, the type `T`; undefined in other calls. */
  readonly template: TypeName | undefined;
  readonly args: readonly Expression[];
}

export interface TypeName {
  readonly name: string;
  readonly position: Position;
}

export interface Declaration {
  readonly kind: 'declaration';
  readonly position: Position;
  readonly keyword: 'let' | 'var' | 'const';
  readonly name: string;
  readonly type: TypeName | undefined;
  readonly value: Expression | undefined;
}

/** The declaration of an array of a function, such as `var name: array<T, N>;` or `var name = array<T, N>(…);`. */
export interface ArrayDeclaration {
  readonly kind: 'arrayDeclaration';
  readonly position: Position;
  readonly name: string;
  /** The types before and after `=`, of which there is at least one. */
  readonly types: readonly ArrayType[];
  /** The elements; none if all begin as zeros. */
  readonly elements: readonly Expression[];
}

export interface ArrayType {
  readonly position: Position;
  readonly element: TypeName;
  readonly length: Expression;
}

export interface Assignment {
  readonly kind: 'assignment';
  readonly position: Position;
  readonly target: Expression;
  /** The operator of a compound assignment, such as `+` in `+=`; undefined for `=`. It is `++` or `--` for these. */
  readonly operator: string | undefined;
  readonly value: Expression;
}

export interface TextIf {
  readonly kind: 'if';
  readonly position: Position;
  readonly condition: Expression;
  readonly consequent: Block;
  readonly alternative: Block;
}

export interface For {
  readonly kind: 'for';
  readonly position: Position;
  readonly start: TextStatement | undefined;
  readonly condition: Expression | undefined;
  readonly step: TextStatement | undefined;
  readonly body: Block;
}

export interface Loop {
  readonly kind: 'loop';
  readonly position: Position;
  readonly body: Block;
  readonly continuing: Continuing | undefined;
}

export interface Continuing {
  readonly position: Position;
  readonly body: Block;
  /** The condition of a `break if` at the end of the `continuing` block; undefined if there is none. */
  readonly breakIf: Expression | undefined;
}

export type Block = readonly TextStatement[];

export type TextStatement =
  | Declaration
  | ArrayDeclaration
  | Assignment
  | TextIf
  | For
  | Loop
  | { readonly kind: 'while'; readonly position: Position; readonly condition: Expression; readonly body: Block }
  | { readonly kind: 'block'; readonly position: Position; readonly body: Block }
  | { readonly kind: 'break' | 'continue'; readonly position: Position }
  | { readonly kind: 'return'; readonly position: Position; readonly value: Expression | undefined };

export interface Field {
  readonly name: string;
  readonly position: Position;
  readonly type: TypeName;
}

export interface StructDeclaration {
  readonly kind: 'struct';
  readonly name: string;
  readonly position: Position;
  readonly fields: readonly Field[];
}

export interface FunctionDeclaration {
  readonly kind: 'function';
  readonly name: string;
  readonly position: Position;
  readonly parameters: readonly Field[];
  readonly result: TypeName;
  readonly body: Block;
  /** Position of the function's closing brace. */
  readonly end: Position;
}

/** The declaration of an array, `var<storage> name: array<T>`, or of a uniform, `var<uniform> name: T`. */
export interface CaptureDeclaration {
  readonly kind: 'array' | 'uniform';
  readonly name: string;
  readonly position: Position;
  readonly type: TypeName;
}

export interface TextModule {
  readonly structs: readonly StructDeclaration[];
  readonly functions: readonly FunctionDeclaration[];
  readonly captures: readonly CaptureDeclaration[];
  readonly constants: readonly Declaration[];
}
