import { type ErrorPlace, FunctorError } from '../checks/errors.ts';
import { describeGiven, isPromise, shortenedWords, withArticle } from '../checks/given.ts';
import { withElementVariables } from '../ir/element-variables.ts';
import { evaluate } from '../ir/evaluate.ts';
import {
  entryOf,
  functionNumber,
  type IrFunction,
  type Literal,
  type Local,
  type LocalArray,
  type Module,
  moduleNumber,
  nameText,
  type Operand,
  type OperationName,
  operandText,
  type ScalarType,
  type Statement,
} from '../ir/ir.ts';
import { createVariants, memoized } from '../ir/memo.ts';
import { factsOf, typeOf } from '../ir/operations.ts';
import { withBlocks, withOperands } from '../ir/rewrite.ts';
import { toF32, toI32, toU32 } from '../ir/semantics.ts';
import { terminates, visitStatements } from '../ir/visit.ts';
import { callerPlace, placeIn } from './place.ts';

/** The state of the recording: the module that is being recorded, and its current function. */
interface FunctorRecorder extends Linkage {
  /** The open blocks, the innermost last. Statements are appended to the innermost block. */
  readonly blocks: Statement[][];
  /**
   * The block in which each local and each local array was declared. It is visible only in this block and the blocks
   * inside it.
   */
  readonly declared: Map<Local | LocalArray, readonly Statement[]>;
  /** The parameters of the function. Neighbours are added when the body reads them. */
  readonly parameters: Local[];
  readonly arrays: Map<string, ScalarType>;
  readonly uniforms: Map<string, ScalarType>;
  /**
   * Comparisons whose results have not been used yet: the id of the result, and the place of the comparison if known.
   * If a result is never used, the author probably applied a JavaScript `if` or `&&` to a value.
   */
  readonly unusedConditions: Map<number, ErrorPlace | undefined>;
  readonly locate: boolean;
  nextId: number;
  statements: number;
  /** The number of elements of the local arrays. */
  elements: number;
  loopDepth: number;
  /** Converts the argument of `Return` to operands. Undefined where `Return` is not allowed. */
  readonly toOperands: ((values: unknown) => Operand[]) | undefined;
}

let active: FunctorRecorder | undefined;

/**
 * Makes an error with the line of the caller's code that is running now, or with the place set by {@link writtenAt}.
 */
export function functorError(code: string, sentence: string, remedy?: string): FunctorError {
  const place = written === undefined ? callerPlace() : placeIn(written.stack);
  return new FunctorError(`functor/${code}`, shortenedWords(sentence), { remedy, place });
}

let written: Error | undefined;

/**
 * Runs code whose errors cannot be attributed to a line of a functor's body. The errors get the place where `at` was
 * created.
 */
export function writtenAt<R>(at: Error | undefined, run: () => R): R {
  const outer = written;
  written = at;
  try {
    return run();
  } finally {
    written = outer;
  }
}

/**
 * The error for an invalid argument of a builder function, such as `Var` or `If`. If the argument is a promise, the
 * error says so.
 */
export function wrongInput(
  call: string,
  argument: string,
  given: unknown,
  expected: string,
  remedy?: string,
): FunctorError {
  const got = describeGiven(given);
  const code = isPromise(given) ? 'promise' : 'argument';
  const sentence = `Argument ${argument} of ${call} must be ${expected}; got ${got}.`;
  return functorError(code, sentence, isPromise(given) ? 'An await is missing.' : remedy);
}

/** Describes the given value as the start of a sentence, with a capital letter. */
function sentenceOf(given: unknown): string {
  const text = describeGiven(given);
  return `${text[0]!.toUpperCase()}${text.slice(1)}`;
}

/**
 * Runs code that may overflow the stack. Replaces an overflow by a {@link FunctorError} whose message names the line of
 * the caller's code.
 */
export function withinStack<R>(what: string, run: () => R): R {
  try {
    return run();
  } catch (cause) {
    if (!(cause instanceof RangeError) || !cause.message.includes('call stack')) throw cause;
    const error = functorError('size', `${what} recurses too deeply, or endlessly.`, 'Write a loop.');
    throw new FunctorError(error.code, error.message, { cause });
  }
}

/** The recorder of the functor whose body is running. Throws if there is none. */
export function recorder(): FunctorRecorder {
  if (active === undefined) {
    throw functorError(
      'outside-body',
      'A functor operation must not be used outside a functor body.',
      'Write it inside fn(…).',
    );
  }
  return active;
}

/**
 * A callback that records the statements of a function, given the function's parameters. It returns the function's
 * results, or undefined if the statements already contain the returns.
 */
export type Body = (parameters: readonly Local[]) => readonly Operand[] | undefined;

export interface Signature {
  readonly name: string;
  readonly parameters: readonly ScalarType[];
  readonly results: readonly ScalarType[];
  readonly arrays?: ReadonlyMap<string, ScalarType>;
  readonly uniforms?: ReadonlyMap<string, ScalarType>;
  readonly fast?: boolean;
  readonly device?: string | undefined;
  /**
   * An error created where the functor is defined. Errors that have no line of the body get the place of this error.
   */
  readonly written?: Error | undefined;
  /** Converts the argument of `Return` to operands. Without this function, the body must not call `Return`. */
  readonly toOperands?: (values: unknown) => Operand[];
}

/** Records a module. `signature` describes its entry function, and `body` records the statements of that function. */
export function record(signature: Signature, body: Body): Module {
  const module = recordOnce(signature, body, false);
  return module ?? recordOnce(signature, body, true)!;
}

function recordOnce(signature: Signature, body: Body, locate: boolean): Module | undefined {
  const outer = active;
  const own: FunctorRecorder = {
    blocks: [[]],
    declared: new Map(),
    parameters: [],
    functions: [],
    linked: new Map(),
    arrays: new Map(signature.arrays),
    uniforms: new Map(signature.uniforms),
    unusedConditions: new Map(),
    locate,
    nextId: 0,
    statements: 0,
    elements: 0,
    loopDepth: 0,
    toOperands: signature.toOperands,
  };
  active = own;
  try {
    for (const parameter of signature.parameters) own.parameters.push(newLocal(parameter));
    const results = body([...own.parameters]);
    if (results !== undefined) append({ kind: 'return', values: results.map(use) });
    // A function without results may simply end, on any of its paths.
    else if (signature.results.length === 0) append({ kind: 'return', values: [] });
    const statements = own.blocks[0]!;
    if (!terminates(statements.slice(-1))) {
      throw writtenAt(signature.written, () =>
        functorError(
          'no-return',
          `Functor ${signature.name} must return a value on every path.`,
          'Add a Return to every path, or return a value: t[0] of an array is undefined, write t.at(0).',
        ),
      );
    }
    const [unused] = own.unusedConditions;
    if (unused !== undefined) {
      if (!locate) return undefined;
      throw new FunctorError(
        'functor/unused-condition',
        `Functor ${signature.name} compares values but does not use the result.`,
        {
          place: unused[1],
          remedy: 'JavaScript if, &&, || and ?: do not work on device values: use If(…), .and(…), .or(…) or select(…).',
        },
      );
    }
    const taken = own.functions.some(({ name }) => name === signature.name);
    own.functions.push({
      name: taken ? `entry_${signature.name}` : signature.name,
      parameters: own.parameters,
      results: signature.results,
      body: withElementVariables(statements, (type) => ({ kind: 'local', type, id: own.nextId++ })),
      fast: signature.fast ?? false,
      ...(signature.device !== undefined && { device: signature.device }),
    });
    return { functions: own.functions, arrays: own.arrays, uniforms: own.uniforms };
  } finally {
    active = outer;
  }
}

export function newLocal(type: ScalarType): Local {
  const own = recorder();
  const local: Local = { kind: 'local', type, id: own.nextId++ };
  own.declared.set(local, own.blocks.at(-1)!);
  return local;
}

/**
 * Maximum number of elements of all local arrays of a functor: 4 KB, which is half of what WGSL lets the variables of a
 * function take.
 */
const MAX_ELEMENTS = 1024;

/** Declares a local array, all elements of which begin with a value. */
export function declareArray(length: number, value: Operand): LocalArray {
  const own = recorder();
  own.elements += length;
  if (own.elements > MAX_ELEMENTS) {
    const sentence = `The local arrays of a functor must not have more than ${MAX_ELEMENTS} elements together.`;
    throw functorError('size', sentence, 'Make them shorter, or store results of other functors in columns.');
  }
  const localArray: LocalArray = { kind: 'localArray', type: value.type, id: own.nextId++, length };
  own.declared.set(localArray, own.blocks.at(-1)!);
  append({ kind: 'localArray', localArray, value: use(value) });
  return localArray;
}

/** Adds a parameter to the current function. It is visible in all blocks of the function. */
export function newParameter(type: ScalarType): Local {
  const { blocks, declared, parameters } = recorder();
  const local = newLocal(type);
  declared.set(local, blocks[0]!);
  parameters.push(local);
  return local;
}

/**
 * Maximum number of statements of a function. The maximum exists because compilers limit the locals of a function:
 * WebAssembly allows 50,000 locals, and a stack frame of JavaScript somewhat more.
 */
const MAX_STATEMENTS = 2 ** 15;
/** Maximum number of nested blocks in a functor. WGSL allows 127, and primitives put some blocks around a functor. */
const MAX_BLOCKS = 100;

/**
 * Appends a statement to the current block. A statement after a jump (return, break, continue) is unreachable, so it is
 * dropped.
 */
export function append(statement: Statement): void {
  const own = recorder();
  const block = own.blocks.at(-1)!;
  const last = block.at(-1)?.kind;
  if (last === 'return' || last === 'break' || last === 'continue') return;
  if (++own.statements > MAX_STATEMENTS) {
    throw functorError(
      'size',
      `A functor must not have more than ${MAX_STATEMENTS} operations.`,
      'Write a loop, or call other functors: each may have that many operations.',
    );
  }
  block.push(statement);
}

/** Opens a new block, calls `write`, and returns the block with the statements that `write` has appended. */
export function block(write: () => void): Statement[] {
  const { blocks } = recorder();
  if (blocks.length > MAX_BLOCKS) {
    throw functorError('size', `A functor must not nest more than ${MAX_BLOCKS} blocks.`, 'Call other functors.');
  }
  blocks.push([]);
  write();
  return blocks.pop()!;
}

/** Marks an operand as used and returns it. Throws if the operand or array is not visible in the current block. */
export function use<O extends Operand | LocalArray>(operand: O): O {
  if (operand.kind !== 'local' && operand.kind !== 'localArray') return operand;
  const { blocks, declared, unusedConditions } = recorder();
  const home = declared.get(operand);
  if (home === undefined || !blocks.includes(home as Statement[])) {
    throw functorError(
      'out-of-scope',
      'A value must not be used outside the block or functor in which it was made.',
      'Make a Var or a LocalArray before the block and set it inside. Pass values to other functors as arguments.',
    );
  }
  unusedConditions.delete(operand.id);
  return operand;
}

export function literal(type: ScalarType, value: number | boolean): Literal {
  if (type === 'bool') {
    if (typeof value !== 'boolean') {
      throw functorError('literal', `${sentenceOf(value)} is not a bool.`, 'Write true or false.');
    }
    return { kind: 'literal', type, value };
  }
  if (typeof value !== 'number' && typeof value !== 'boolean') {
    throw functorError('literal', `${sentenceOf(value)} is not ${withArticle(type)}.`, 'Write a number.');
  }
  const number = Number(value);
  if (type === 'f32') return { kind: 'literal', type, value: toF32(number) };
  if (!Number.isInteger(number) || number < -(2 ** 31) || number >= 2 ** 32) {
    throw functorError('literal', `${value} is not a 32-bit integer.`, 'Use f32(…) for fractions.');
  }
  return { kind: 'literal', type, value: type === 'u32' ? toU32(number) : toI32(number) };
}

/**
 * Records an operation and returns a local with its result. If all operands are literals, the result is computed at
 * once.
 */
export function operate(name: OperationName, operands: readonly Operand[], to?: ScalarType): Operand {
  const types = operands.map((operand) => operand.type);
  const type = typeOf(name, types, to);
  if (type === undefined) {
    throw functorError(
      'type',
      `Operation ${name} is not defined for ${types.join(' and ')}.`,
      'Convert with u32(…), i32(…) or f32(…).',
    );
  }
  operands.forEach(use);
  if ((name === 'convert' || name === 'bits') && types[0] === type) return operands[0]!;
  if (operands.every((operand) => operand.kind === 'literal')) {
    const values = operands.map((operand) => (operand as Literal).value);
    return { kind: 'literal', type, value: evaluate(name, types[0]!, type, values) };
  }
  const local = newLocal(type);
  append({ kind: 'let', local, operation: { name, operands } });
  if (factsOf(name).signature === 'comparison') {
    const { unusedConditions, locate } = recorder();
    unusedConditions.set(local.id, locate ? callerPlace() : undefined);
  }
  return local;
}

export function read(array: string, type: ScalarType, index: Operand): Local {
  const local = newLocal(type);
  append({ kind: 'read', local, array, index: use(index) });
  return local;
}

/** Reads an element of a local array. `index` is a u32. */
export function readLocal(localArray: LocalArray, index: Operand): Local {
  const local = newLocal(localArray.type);
  append({ kind: 'readLocal', local, localArray: use(localArray), index: use(index) });
  return local;
}

/** Writes an element of a local array. `index` is a u32. */
export function writeLocal(localArray: LocalArray, index: Operand, value: Operand): void {
  append({ kind: 'writeLocal', localArray: use(localArray), index: use(index), value: use(value) });
}

export function readOwned(array: string, type: ScalarType, index: Operand): Local {
  const local = newLocal(type);
  append({ kind: 'readOwned', local, array, index: use(index) });
  return local;
}

/** What replaces the arrays, uniforms and inputs of a module when the module is linked into another module. */
export interface Links {
  readonly arrays: ReadonlyMap<string, string>;
  readonly uniforms: ReadonlyMap<string, Operand>;
  /** Replacements for functions that the module calls but does not contain, such as views that the module reads. */
  readonly inputs?: ReadonlyMap<string, LinkedInput>;
}

/**
 * What replaces a called function: the name of another function, or the arrays that hold its results, by result index.
 */
export type LinkedInput = string | ReadonlyMap<number, string>;

/** The functions of a module that is being built, in the order in which they were added. */
export interface Linkage {
  readonly functions: IrFunction[];
  /** Maps a key for the structure of each added module or function to its name, so that no function is added twice. */
  readonly linked: Map<string, string>;
}

/** Records a call of another module's entry function. Adds the functions of `module` to the module being recorded. */
export function call(module: Module, links: Links, args: readonly Operand[]): Local[] {
  return callNamed(link(recorder(), module, links), entryOf(module).results, args);
}

/** Records a call of a function under a placeholder name, which is replaced when the module is linked. */
export function callNamed(callee: string, types: readonly ScalarType[], args: readonly Operand[]): Local[] {
  const results = types.map(newLocal);
  append({ kind: 'call', callee, args: args.map(use), results });
  return results;
}

function textOf({ arrays, uniforms, inputs }: Links): string {
  let text = '';
  for (const [name, to] of arrays) text += `${nameText(name)}>${nameText(to)},`;
  text += ';';
  for (const [name, to] of uniforms) text += `${nameText(name)}>${operandText(to)},`;
  for (const [name, to] of inputs ?? []) text += `;${nameText(name)}>${inputText(to)}`;
  return text;
}

function inputText(input: LinkedInput): string {
  if (typeof input === 'string') return nameText(input);
  let text = '';
  for (const [result, array] of input) text += `${result}>${nameText(array)},`;
  return text;
}

/**
 * Adds the functions of a module to the module under construction. Returns the name under which the entry function of
 * the added module can then be called.
 */
export function link({ linked, functions }: Linkage, module: Module, links: Links): string {
  const linksKey = textOf(links);
  const key = `${moduleNumber(module)} ${linksKey}`;
  const known = linked.get(key);
  if (known !== undefined) return known;
  const names = new Map<string, string>();
  for (const fn of module.functions) {
    const renamed = linkFunction(fn, names, links, linksKey);
    // Functions with the same structure have the same key, so a function that several modules contain is added once.
    const functionKey = `${functionNumber(renamed)}`;
    let name = linked.get(functionKey);
    if (name === undefined) {
      name = `m${functions.length}_${fn.name.replace(/^m\d+_/, '')}`;
      functions.push(withName(renamed, name));
      linked.set(functionKey, name);
    }
    names.set(fn.name, name);
  }
  const name = names.get(entryOf(module).name)!;
  linked.set(key, name);
  return name;
}

/**
 * Adds the functions of a module to the module under construction. The entry function of the added module becomes the
 * entry function of the module under construction.
 */
export function linkEntry(linkage: Linkage, module: Module, links: Links): void {
  const { functions } = linkage;
  const name = link(linkage, module, links);
  const linked = functions.find((fn) => fn.name === name)!;
  // Functions call only functions that were added before them. If the linked function is the last one, no function
  // calls it, so the entry function replaces it. Otherwise, later functions may call it, so the linked function stays,
  // and the entry function is a copy of it.
  if (functions.at(-1) === linked) functions.pop();
  const own = entryOf(module).name;
  const taken = functions.some((fn) => fn.name === own);
  functions.push(withName(linked, taken ? `entry_${own}` : own));
}

/**
 * Maximum number of cached variants of a function. Without a maximum, a helper that is called with many different
 * literals would have one variant for each literal.
 */
const MAX_VARIANTS = 256;

/** Cache of linked functions, because pipelines link the same functions repeatedly. */
const linkedVariant = createVariants<IrFunction, IrFunction>(MAX_VARIANTS);

/**
 * A copy of a function for use in another module, with its callees, arrays and uniforms renamed. The copy has no name
 * yet.
 */
function linkFunction(fn: IrFunction, names: ReadonlyMap<string, string>, links: Links, linksKey: string): IrFunction {
  let callees = '';
  for (const callee of calleesOf(fn)) {
    const name = names.get(callee);
    if (name !== undefined) callees += ` ${nameText(callee)}>${nameText(name)}`;
  }
  return linkedVariant(fn, `${linksKey}${callees}`, () => rename({ ...fn, name: '' }, names, links));
}

/** Names of the functions that a function calls, each listed once. */
const calleesOf = memoized(({ body }: IrFunction): readonly string[] => {
  const callees = new Set<string>();
  visitStatements(body, (statement) => {
    if (statement.kind === 'call') callees.add(statement.callee);
  });
  return [...callees];
});

const namedVariant = createVariants<IrFunction, IrFunction>(MAX_VARIANTS);

function withName(fn: IrFunction, name: string): IrFunction {
  return namedVariant(fn, name, () => ({ ...fn, name }));
}

function rename(fn: IrFunction, names: ReadonlyMap<string, string>, links: Links): IrFunction {
  const operand = (old: Operand): Operand => (old.kind === 'uniform' ? links.uniforms.get(old.name)! : old);
  const block = (statements: readonly Statement[]): Statement[] => statements.flatMap(rewrite);
  const rewrite = (statement: Statement): Statement | Statement[] => {
    const renamed = withBlocks(withOperands(statement, operand), block);
    switch (renamed.kind) {
      case 'read':
      case 'readOwned':
      case 'writeOwned':
      case 'length':
        return { ...renamed, array: links.arrays.get(renamed.array)! };
      case 'call':
        return linkCall(renamed, names, links);
      default:
        return renamed;
    }
  };
  return { ...fn, body: block(fn.body) };
}

/**
 * Returns a call with the callee's name in the module into which the call is linked. If the callee is a stored view,
 * returns reads of the view's arrays instead.
 */
function linkCall(
  statement: Extract<Statement, { kind: 'call' }>,
  names: ReadonlyMap<string, string>,
  { inputs }: Links,
): Statement | Statement[] {
  const { callee, args } = statement;
  const target = names.get(callee) ?? inputs!.get(callee)!;
  if (typeof target === 'string') return { ...statement, callee: target };
  return [...target].map(([result, array]) => {
    return { kind: 'read', local: statement.results[result]!, array, index: args[0]! };
  });
}
