import type { Local, ScalarType } from '../../ir/ir.ts';
import { errorAt, type Position, type SourceText } from './source.ts';
import type { Continuing, FunctionDeclaration, TypeName } from './syntax.ts';
import type { Struct, TextType, TextValue } from './values.ts';

/** What a name refers to in a scope. */
export type Entry =
  /** A parameter, a `let`, a `const` or a uniform. */
  | { readonly kind: 'value'; readonly value: TextValue }
  /** A `var`. The operands of its value are locals that can be assigned. */
  | { readonly kind: 'var'; readonly value: TextValue }
  | { readonly kind: 'array'; readonly type: ScalarType }
  /** A variable that `continuing` cannot use, because a `continue` skips its declaration. */
  | { readonly kind: 'skipped' };

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
  { program, scope }: Context,
  name: string,
  position: Position,
): Exclude<Entry, { kind: 'skipped' }> | undefined {
  for (let at: Scope | undefined = scope; at !== undefined; at = at.parent) {
    const entry = at.names.get(name);
    if (entry?.kind === 'skipped') {
      throw errorAt(program.source, position, 'unresolved', `A continue skips the declaration of ${name}.`, {
        remedy: 'Declare it before the continue, because continuing uses it.',
      });
    }
    if (entry !== undefined) return entry;
  }
  return undefined;
}

/** The structs and functions of a text, and operations on them, for use in function bodies. */
export interface TextProgram {
  readonly source: SourceText;
  readonly structs: ReadonlyMap<string, Struct>;
  readonly functions: ReadonlyMap<string, FunctionDeclaration>;
  /** The type that a type name refers to; throws if there is none. */
  typeOf(type: TypeName): TextType;
  /** Records a call of a function of the text. The function is compiled at its first call. */
  call(fn: FunctionDeclaration, args: readonly TextValue[], position: Position): TextValue;
}

/** The innermost loop around a statement, with its `continuing` block, which runs on `continue`. */
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
  /** The result type of the function; undefined in a constant outside functions. */
  readonly result: TextType | undefined;
  /** Locals that can be assigned. An operand that refers to one stands for its current value. */
  readonly variables: Set<Local>;
  readonly loop: LoopContext | undefined;
  /** Whether the statement is inside a `continuing` block, which no jump may leave. */
  readonly inContinuing: boolean;
}
