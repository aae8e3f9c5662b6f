import type { Local, ScalarType } from '../../ir/ir.ts';
import { errorAt, type Position, type SourceText } from './source.ts';
import type { Continuing, FunctionDeclaration, TypeName } from './syntax.ts';
import type { Struct, TextType, TextValue } from './values.ts';

/** The meaning of a name. */
export type Entry =
  /** A parameter, a `let`, a `const` or a uniform. */
  | { readonly kind: 'value'; readonly value: TextValue }
  /** A `var`; the operands of its value are variables. */
  | { readonly kind: 'var'; readonly value: TextValue }
  | { readonly kind: 'array'; readonly type: ScalarType }
  /** A declaration that a `continue` has skipped. */
  | { readonly kind: 'skipped' };

/** The names that a block declares, and the enclosing scope. */
export interface Scope {
  readonly names: Map<string, Entry>;
  readonly parent: Scope | undefined;
}

export function childOf(parent: Scope | undefined): Scope {
  return { names: new Map(), parent };
}

/** Looks up the meaning of a name; undefined if it is not declared. */
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

/** The declarations of a text outside functions, as the checker needs them. */
export interface TextProgram {
  readonly source: SourceText;
  readonly structs: ReadonlyMap<string, Struct>;
  readonly functions: ReadonlyMap<string, FunctionDeclaration>;
  /** The type with that name. */
  typeOf(type: TypeName): TextType;
  /** Calls a function of the text, which is compiled at its first call. */
  call(fn: FunctionDeclaration, args: readonly TextValue[], position: Position): TextValue;
}

/** What the loop around a statement does on `continue`. */
export interface LoopContext {
  readonly continuing: Continuing | undefined;
  /** The names that the loop's body has declared so far. */
  readonly scope: Scope;
  /** All names that the body declares. */
  readonly declares: readonly string[];
}

/** The context of a statement or expression. */
export interface Context {
  readonly program: TextProgram;
  readonly scope: Scope;
  /** The function's result type; undefined in a constant of the module. */
  readonly result: TextType | undefined;
  /** Locals that can be assigned; reading one gives its value at that moment. */
  readonly variables: Set<Local>;
  readonly loop: LoopContext | undefined;
  /** Whether the statement is inside `continuing`, which no jump may leave. */
  readonly inContinuing: boolean;
}
