import type { Local, LocalArray } from '../../ir/ir.ts';
import { errorAt, type Position } from './source.ts';
import type { Continuing, FunctionDeclaration, TypeName } from './syntax.ts';
import type { Struct, TextType, TextValue } from './values.ts';

/** What a name refers to in a scope. */
export type Entry =
  /** A parameter, a `let`, a `const` (`isConst`) or a uniform. */
  | { readonly kind: 'value'; readonly value: TextValue; readonly isConst?: boolean }
  /** A `var`. The operands of its value are locals that can be assigned. */
  | { readonly kind: 'var'; readonly value: TextValue }
  /** A captured column, or the captured table of a type with several scalars. */
  | { readonly kind: 'array'; readonly type: TextType }
  | LocalArrays
  /** A name that a `continuing` block cannot use, because a `continue` statement skips the name's declaration. */
  | { readonly kind: 'skipped' };

/** An array of a function. It has an array of the IR for each scalar of its type. */
export interface LocalArrays {
  readonly kind: 'localArray';
  readonly type: TextType;
  readonly length: number;
  readonly arrays: readonly LocalArray[];
}

/** The names that a block declares, and the enclosing scope. */
export interface Scope {
  readonly names: Map<string, Entry>;
  readonly parent: Scope | undefined;
}

export function childOf(parent: Scope | undefined): Scope {
  return { names: new Map(), parent };
}

/** What a name refers to in the current scope or an enclosing one; undefined if the name is not declared. */
export function lookUp(
  { scope }: Context,
  name: string,
  position: Position,
): Exclude<Entry, { kind: 'skipped' }> | undefined {
  for (let at: Scope | undefined = scope; at !== undefined; at = at.parent) {
    const entry = at.names.get(name);
    if (entry?.kind === 'skipped') {
      throw errorAt(position, 'unresolved', `A continue skips the declaration of ${name}.`, {
        remedy: 'Declare it before the continue, because continuing uses it.',
      });
    }
    if (entry !== undefined) return entry;
  }
  return undefined;
}

/** The structs and functions of a text, and operations on them, for use in function bodies. */
export interface TextProgram {
  readonly structs: ReadonlyMap<string, Struct>;
  readonly functions: ReadonlyMap<string, FunctionDeclaration>;
  /** The type that a type name refers to; throws if there is none. */
  typeOf(type: TypeName): TextType;
  /** Records a call of a function of the text. The function is compiled at its first call. */
  call(fn: FunctionDeclaration, args: readonly TextValue[], position: Position): TextValue;
}

/**
 * The innermost loop around a statement. The loop's `continuing` block runs after each iteration, even if the iteration
 * ends with `continue`.
 */
export interface LoopContext {
  readonly continuing: Continuing | undefined;
  /** The scope of the loop's body, with the names that the body has declared so far. */
  readonly scope: Scope;
  /** All names that the loop's body declares. */
  readonly declares: readonly string[];
}

/** The program, scope and loop in which a statement or expression is compiled. */
export interface Context {
  readonly program: TextProgram;
  readonly scope: Scope;
  /** The result type of the surrounding function; undefined for a constant that is declared outside functions. */
  readonly result: TextType | undefined;
  /** The locals that can be assigned, which hold `var` variables. As an operand, such a local has its current value. */
  readonly variables: Set<Local>;
  readonly loop: LoopContext | undefined;
  /** Whether the statement is inside a `continuing` block, which no jump may leave. */
  readonly inContinuing: boolean;
}
