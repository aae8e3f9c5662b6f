import type { Local, ScalarType } from '../../ir/ir.ts';
import { errorAt, type Position, type SourceText } from './source.ts';
import type { Continuing, FunctionDeclaration, TypeName } from './syntax.ts';
import type { Struct, TextType, TextValue } from './values.ts';

/** What a name stands for. */
export type Entry =
  /** A parameter, a `let`, a `const` or a uniform. */
  | { readonly kind: 'value'; readonly value: TextValue }
  /** A `var`; the operands of its value are variables. */
  | { readonly kind: 'var'; readonly value: TextValue }
  | { readonly kind: 'array'; readonly type: ScalarType }
  /** A declaration that a `continue` has skipped. */
  | { readonly kind: 'skipped' };

/** The names that a block declares, within those around it. */
export interface Scope {
  readonly names: Map<string, Entry>;
  readonly parent: Scope | undefined;
}

export function childOf(parent: Scope | undefined): Scope {
  return { names: new Map(), parent };
}

/** What a name stands for at some place; undefined where nothing declares it. */
export function lookUp(
  { program, scope }: Context,
  name: string,
  position: Position,
): Exclude<Entry, { kind: 'skipped' }> | undefined {
  for (let at: Scope | undefined = scope; at !== undefined; at = at.parent) {
    const entry = at.names.get(name);
    if (entry?.kind === 'skipped') {
      throw errorAt(program.source, position, 'unresolved', `A continue skips the declaration of ${name}.`, {
        remedy: 'Declare it before the continue: continuing uses it.',
      });
    }
    if (entry !== undefined) return entry;
  }
  return undefined;
}

/** What the text declares outside of functions, as the checker asks for it. */
export interface TextProgram {
  readonly source: SourceText;
  readonly structs: ReadonlyMap<string, Struct>;
  readonly functions: ReadonlyMap<string, FunctionDeclaration>;
  /** The type of that name. */
  typeOf(type: TypeName): TextType;
  /** Calls a function of the text, which is compiled when it is first called. */
  call(fn: FunctionDeclaration, args: readonly TextValue[], position: Position): TextValue;
}

/** What a loop around a statement does at `continue`. */
export interface LoopContext {
  readonly continuing: Continuing | undefined;
  /** The names that the loop's body has declared so far. */
  readonly scope: Scope;
  /** The names that it declares in all. */
  readonly declares: readonly string[];
}

/** Where a statement or expression stands. */
export interface Context {
  readonly program: TextProgram;
  readonly scope: Scope;
  /** The function's result; undefined in a constant of the module. */
  readonly result: TextType | undefined;
  /** Locals that can be set again: what reads them sees what they hold at that moment. */
  readonly variables: Set<Local>;
  readonly loop: LoopContext | undefined;
  /** Inside `continuing`, which no jump may leave. */
  readonly inContinuing: boolean;
}
