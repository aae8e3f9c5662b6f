/**
 * The intermediate representation of functors: typed, structured, in A-normal form.
 *
 * The result of every operation is bound to a local as soon as the operation is recorded. So the statements of a
 * functor have the order of its source code, an expression that is used twice is computed once, and an emitter handles
 * one operation at a time. The builder `fn` and the WGSL compiler produce this representation, and the emitters of all
 * backends translate it. `operations.ts` lists the operations, and `semantics.ts` defines them.
 */

import { createCache } from '../host/cache.ts';
import type { OperationName, ScalarType } from './operations.ts';

export type { OperationName, ScalarType };

/** A literal in canonical form: u32 in 0 … 2³²−1, i32 signed, f32 rounded by `Math.fround`, bool a boolean. */
export interface Literal {
  readonly kind: 'literal';
  readonly type: ScalarType;
  readonly value: number | boolean;
}

/**
 * A named value of a function: a parameter, the result of an operation or of a call, or a variable. Ids are unique
 * within a function.
 */
export interface Local {
  readonly kind: 'local';
  readonly type: ScalarType;
  readonly id: number;
}

/**
 * An array of a function: `length` elements, which each call of the function has for itself. Ids are unique within a
 * function, among locals and arrays.
 */
export interface LocalArray {
  readonly kind: 'localArray';
  readonly type: ScalarType;
  readonly id: number;
  readonly length: number;
}

/** A value that is the same for all indices of a launch and may change between launches. */
export interface Uniform {
  readonly kind: 'uniform';
  readonly type: ScalarType;
  readonly name: string;
}

export type Operand = Literal | Local | Uniform;

/** An operation on operands. Its type is the type of the local that holds its result. */
export interface Operation {
  readonly name: OperationName;
  readonly operands: readonly Operand[];
}

export type Statement =
  | { readonly kind: 'let'; readonly local: Local; readonly operation: Operation }
  /** Element `index` (u32) of a captured array. Zero (false) if the index is not below the array's length. */
  | { readonly kind: 'read'; readonly local: Local; readonly array: string; readonly index: Operand }
  /**
   * Element `index` (u32) of an owned array: an array that the same launch writes, see `StripsCommand`. Zero (false) if
   * the strip does not own the element. Between two such statements the element may change, so they are not equal.
   */
  | { readonly kind: 'readOwned'; readonly local: Local; readonly array: string; readonly index: Operand }
  /** Writes element `index` (u32) of an owned array. Writes nothing if the strip does not own the element. */
  | { readonly kind: 'writeOwned'; readonly array: string; readonly index: Operand; readonly value: Operand }
  /** The number of elements of a captured array. */
  | { readonly kind: 'length'; readonly local: Local; readonly array: string }
  | { readonly kind: 'var'; readonly local: Local; readonly value: Operand }
  | { readonly kind: 'set'; readonly local: Local; readonly value: Operand }
  /** Declares an array, whose elements all begin with `value`. It is visible where a local of this place would be. */
  | { readonly kind: 'localArray'; readonly localArray: LocalArray; readonly value: Operand }
  /** Element `index` (u32) of an array of the function. Zero (false) if the index is not below the array's length. */
  | { readonly kind: 'readLocal'; readonly local: Local; readonly localArray: LocalArray; readonly index: Operand }
  /** Writes element `index` (u32) of an array of the function. Writes nothing if the index is not below its length. */
  | {
      readonly kind: 'writeLocal';
      readonly localArray: LocalArray;
      readonly index: Operand;
      readonly value: Operand;
    }
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
   * Repeats `body` and then `step` until a break or return. `continue` jumps to `step`, which contains no break or
   * return. `rounds` is an upper bound for the number of rounds. The author of a loop gives this bound if the analysis
   * cannot find a bound.
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
  /** The statements of the function; every path through them ends in a return. */
  readonly body: readonly Statement[];
  /**
   * Whether the function's f32 operations may be contracted and approximated, so that results may differ between
   * backends.
   */
  readonly fast: boolean;
  /** The function of WGSL that fast functions call in place of this one. */
  readonly device?: string | undefined;
}

/**
 * The functions of a functor, its captured arrays and its uniforms. Callees come before callers; the last function is
 * the entry. Arrays and uniforms have the same names in all functions.
 */
export interface Module {
  readonly functions: readonly IrFunction[];
  readonly arrays: ReadonlyMap<string, ScalarType>;
  readonly uniforms: ReadonlyMap<string, ScalarType>;
}

/** The entry function of a module, which is its last function. */
export function entryOf(module: Module): IrFunction {
  return module.functions[module.functions.length - 1]!;
}

/** The operands that a statement uses, without the operands of the statements in its blocks. */
export function operandsOf(statement: Statement): readonly Operand[] {
  switch (statement.kind) {
    case 'let':
      return statement.operation.operands;
    case 'read':
    case 'readOwned':
    case 'readLocal':
      return [statement.index];
    case 'writeOwned':
    case 'writeLocal':
      return [statement.index, statement.value];
    case 'var':
    case 'set':
    case 'localArray':
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

/** The blocks of statements that a statement contains, such as the branches of an `if`. */
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

/** Maximum weight of the cached texts, in characters: about 5 MB. */
const MAX_CHARACTERS = 2 ** 21;
/** Additional weight of each cached text, in characters, for its entry in the cache. */
const TEXT_CHARACTERS = 256;

/**
 * A number that identifies the structure of a module, used as a key for compiled code. Modules of the same structure
 * have the same number as long as the structure is cached.
 */
export const moduleNumber: (module: Module) => number = numbered(moduleKey);

/**
 * Makes a function that assigns a number to each object by its text. Equal texts have the same number as long as they
 * are cached, and a number is never used for another text.
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

/**
 * Maximum weight of the cached modules, in statements: about 15 MB, including other data that is cached for each
 * module.
 */
const MAX_STATEMENTS = 2 ** 15;
/** Additional weight of each cached module, in statements. */
const MODULE_STATEMENTS = 32;

const one = createCache<number, Module>({ max: MAX_STATEMENTS, weigh: statementsOf });

/** Estimated memory of one statement, in 32-bit words. */
const STATEMENT_WORDS = 128;

/** Estimated memory of a module, in 32-bit words, including the data that is cached for it. */
export function moduleWords(module: Module): number {
  return STATEMENT_WORDS * statementsOf(module);
}

function statementsOf({ functions }: Module): number {
  return functions.reduce((sum, { body }) => sum + statementsIn(body), MODULE_STATEMENTS);
}

/**
 * Returns one object for all modules of the same structure. Pipelines create equal modules repeatedly; since all of
 * them become one object, data that is cached by module is computed only once.
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

/** A number that identifies the structure of a function, as {@link moduleNumber} does for modules. */
export const functionNumber: (fn: IrFunction) => number = numbered(functionText);

/** A name for use in a cache key. The length comes first, because a name may contain any character. */
export function nameText(name: string): string {
  return `${name.length}:${name}`;
}

function namesText(types: ReadonlyMap<string, ScalarType>): string {
  let text = '';
  for (const [name, type] of types) text += `${nameText(name)} ${type},`;
  return text;
}

/** A text that is equal for two functions if and only if they have the same structure. */
function functionText({ name, parameters, results, body, fast, device }: IrFunction): string {
  const flags = (fast ? ' fast' : '') + (device === undefined ? '' : ` device ${device}`);
  return `${nameText(name)}(${operandsText(parameters)})${results.join()}${flags}${blockText(body)}`;
}

// This code must be fast, because every call of a primitive makes texts of functions. Therefore it uses loops, which
// take a third of the time of the array methods `map` and `join`.
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
    case 'readOwned':
      return `${operandText(statement.local)}=own ${nameText(statement.array)}[${operandText(statement.index)}]`;
    case 'writeOwned':
      return `own ${nameText(statement.array)}[${operandText(statement.index)}]=${operandText(statement.value)}`;
    case 'length':
      return `${operandText(statement.local)}=length ${nameText(statement.array)}`;
    case 'var':
      return `var ${operandText(statement.local)}=${operandText(statement.value)}`;
    case 'set':
      return `set ${operandText(statement.local)}=${operandText(statement.value)}`;
    case 'localArray': {
      const { type, id, length } = statement.localArray;
      return `array %${id} ${type} ${length}=${operandText(statement.value)}`;
    }
    case 'readLocal':
      return `${operandText(statement.local)}=%${statement.localArray.id}[${operandText(statement.index)}]`;
    case 'writeLocal':
      return `%${statement.localArray.id}[${operandText(statement.index)}]=${operandText(statement.value)}`;
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

/** An operand as text, for cache keys. Unlike JSON, the text distinguishes 0 from −0, infinities and NaN. */
export function operandText(operand: Operand): string {
  if (operand.kind === 'local') return `%${operand.id} ${operand.type}`;
  if (operand.kind === 'uniform') return `${nameText(operand.name)} ${operand.type}`;
  return `${Object.is(operand.value, -0) ? '-0' : operand.value} ${operand.type}`;
}
