/**
 * The intermediate representation of functors: typed, structured, in A-normal form.
 *
 * Every operation is bound to a local as soon as it is written. So the statements of a functor have the order of its
 * source, an expression used twice is computed once, and an emitter handles one operation at a time. All front ends
 * produce this representation and all emitters consume it. `operations.ts` lists the operations, and `semantics.ts`
 * defines them.
 */

import { createCache } from '../cache.ts';
import type { OperationName, ScalarType } from './operations.ts';

export type { OperationName, ScalarType };

/** A literal in canonical form: u32 in 0 … 2³²−1, i32 signed, f32 rounded by `Math.fround`, bool a boolean. */
export interface Literal {
  readonly kind: 'literal';
  readonly type: ScalarType;
  readonly value: number | boolean;
}

/** A parameter, a bound operation, a result of a call, or a variable. Ids are unique within a function. */
export interface Local {
  readonly kind: 'local';
  readonly type: ScalarType;
  readonly id: number;
}

/** A value that is the same for all indices of a launch and may change between launches. */
export interface Uniform {
  readonly kind: 'uniform';
  readonly type: ScalarType;
  readonly name: string;
}

export type Operand = Literal | Local | Uniform;

/** An operation on operands. Its type is that of the local that it is bound to. */
export interface Operation {
  readonly name: OperationName;
  readonly operands: readonly Operand[];
}

export type Statement =
  | { readonly kind: 'let'; readonly local: Local; readonly operation: Operation }
  /** Element `index` (u32) of a captured array; zero (false) where the index is not below the array's length. */
  | { readonly kind: 'read'; readonly local: Local; readonly array: string; readonly index: Operand }
  /** The length of a captured array. */
  | { readonly kind: 'length'; readonly local: Local; readonly array: string }
  | { readonly kind: 'var'; readonly local: Local; readonly value: Operand }
  | { readonly kind: 'set'; readonly local: Local; readonly value: Operand }
  | {
      readonly kind: 'call';
      readonly callee: string;
      readonly args: readonly Operand[];
      readonly results: readonly Local[];
    }
  | {
      readonly kind: 'if';
      readonly condition: Operand;
      readonly consequent: readonly Statement[];
      readonly alternative: readonly Statement[];
    }
  /**
   * Repeats `body` then `step` until a break or return; `continue` goes to `step`, which holds no break or return. `rounds`
   * is the most rounds that it can take, where the author of the loop has proved a bound that analysis does not find.
   */
  | {
      readonly kind: 'loop';
      readonly body: readonly Statement[];
      readonly step: readonly Statement[];
      readonly rounds?: number;
    }
  | { readonly kind: 'break' }
  | { readonly kind: 'continue' }
  | { readonly kind: 'return'; readonly values: readonly Operand[] };

export interface IrFunction {
  readonly name: string;
  readonly parameters: readonly Local[];
  readonly results: readonly ScalarType[];
  /** Every path ends in a return. */
  readonly body: readonly Statement[];
  /** Whether its f32 operations may be contracted and approximated, so that results may differ between backends. */
  readonly fast: boolean;
}

/**
 * Functions with callees before callers; the last is the entry. Arrays and uniforms have one name in the whole module.
 */
export interface Module {
  readonly functions: readonly IrFunction[];
  readonly arrays: ReadonlyMap<string, ScalarType>;
  readonly uniforms: ReadonlyMap<string, ScalarType>;
}

/** The entry function of a module. */
export function entryOf(module: Module): IrFunction {
  return module.functions[module.functions.length - 1]!;
}

/** The operands that a statement itself reads, excluding its blocks. */
export function operandsOf(statement: Statement): readonly Operand[] {
  switch (statement.kind) {
    case 'let':
      return statement.operation.operands;
    case 'read':
      return [statement.index];
    case 'var':
    case 'set':
      return [statement.value];
    case 'call':
      return statement.args;
    case 'if':
      return [statement.condition];
    case 'return':
      return statement.values;
    default:
      return [];
  }
}

/** The blocks of a statement. */
export function blocksOf(statement: Statement): readonly (readonly Statement[])[] {
  if (statement.kind === 'if') return [statement.consequent, statement.alternative];
  return statement.kind === 'loop' ? [statement.body, statement.step] : [];
}

/** A text that is equal for two modules if and only if they have the same structure. */
export function moduleKey({ functions, arrays, uniforms }: Module): string {
  let text = '';
  for (const fn of functions) text += `${functionNumber(fn)},`;
  return `${text};${namesText(arrays)};${namesText(uniforms)}`;
}

/** Maximum characters of cached texts: about 10 MB. */
const MAX_CHARACTERS = 2 ** 22;
/** The additional weight of a cached text, in characters. */
const TEXT_CHARACTERS = 256;

/**
 * A number that identifies the structure of a module; compiled code is cached by it. Modules of the same structure get
 * the same number as long as the structure is in the cache.
 */
export const moduleNumber: (module: Module) => number = numbered(moduleKey);

/**
 * Assigns numbers to objects by their text: equal texts share a number while they are in the cache, and numbers are
 * never reused.
 */
function numbered<T extends object>(textOf: (each: T) => string): (each: T) => number {
  const numbers = new WeakMap<T, number>();
  const byText = createCache<string, { readonly number: number; readonly characters: number }>({
    max: MAX_CHARACTERS,
    weigh: ({ characters }) => TEXT_CHARACTERS + characters,
  });
  let next = 0;
  return (each) => {
    const known = numbers.get(each);
    if (known !== undefined) return known;
    const text = textOf(each);
    let entry = byText.get(text);
    if (entry === undefined) {
      entry = { number: next++, characters: text.length };
      byText.set(text, entry);
    }
    numbers.set(each, entry.number);
    return entry.number;
  };
}

/** Maximum statements of cached modules: about 30 MB, including what is cached elsewhere for each module. */
const MAX_STATEMENTS = 2 ** 16;
/** The additional weight of a cached module, in statements. */
const MODULE_STATEMENTS = 32;

const one = createCache<number, Module>({
  max: MAX_STATEMENTS,
  weigh: ({ functions }) => functions.reduce((sum, { body }) => sum + statementsIn(body), MODULE_STATEMENTS),
});

/**
 * The canonical module of a structure. Pipelines create the same modules repeatedly; with one object for all of them,
 * facts cached by module are computed once.
 */
export function oneOf(module: Module): Module {
  const number = moduleNumber(module);
  const known = one.get(number);
  if (known !== undefined) return known;
  one.set(number, module);
  return module;
}

function statementsIn(block: readonly Statement[]): number {
  return block.reduce(
    (sum, statement) => blocksOf(statement).reduce((count, inner) => count + statementsIn(inner), sum + 1),
    0,
  );
}

/** The same for functions. */
export const functionNumber: (fn: IrFunction) => number = numbered(functionText);

/** A name as part of a text, preceded by its length, because it may contain any character. */
export function nameText(name: string): string {
  return `${name.length}:${name}`;
}

function namesText(types: ReadonlyMap<string, ScalarType>): string {
  let text = '';
  for (const [name, type] of types) text += `${nameText(name)} ${type},`;
  return text;
}

/** Everything in a function, as text. */
function functionText({ name, parameters, results, body, fast }: IrFunction): string {
  return `${nameText(name)}(${operandsText(parameters)})${results.join()}${fast ? ' fast' : ''}${blockText(body)}`;
}

// Every call of a primitive creates these texts. Plain loops take a third of the time of map and join.
function blockText(statements: readonly Statement[]): string {
  let text = '{';
  for (const statement of statements) text += `${statementText(statement)};`;
  return `${text}}`;
}

function statementText(statement: Statement): string {
  switch (statement.kind) {
    case 'let':
      return `${operandText(statement.local)}=${statement.operation.name}(${operandsText(statement.operation.operands)})`;
    case 'read':
      return `${operandText(statement.local)}=${nameText(statement.array)}[${operandText(statement.index)}]`;
    case 'length':
      return `${operandText(statement.local)}=length ${nameText(statement.array)}`;
    case 'var':
      return `var ${operandText(statement.local)}=${operandText(statement.value)}`;
    case 'set':
      return `set ${operandText(statement.local)}=${operandText(statement.value)}`;
    case 'call':
      return `${operandsText(statement.results)}=${nameText(statement.callee)}(${operandsText(statement.args)})`;
    case 'if':
      return `if ${operandText(statement.condition)}${blockText(statement.consequent)}${blockText(statement.alternative)}`;
    case 'loop':
      return `loop${statement.rounds ?? ''}${blockText(statement.body)}${blockText(statement.step)}`;
    case 'return':
      return `return ${operandsText(statement.values)}`;
    default:
      return statement.kind;
  }
}

function operandsText(operands: readonly Operand[]): string {
  let text = '';
  for (const operand of operands) text += `${operandText(operand)},`;
  return text;
}

/** An operand as text. Unlike in JSON, 0 and −0 differ, and so do infinities and NaN. */
export function operandText(operand: Operand): string {
  if (operand.kind === 'local') return `%${operand.id} ${operand.type}`;
  if (operand.kind === 'uniform') return `${nameText(operand.name)} ${operand.type}`;
  return `${Object.is(operand.value, -0) ? '-0' : operand.value} ${operand.type}`;
}
