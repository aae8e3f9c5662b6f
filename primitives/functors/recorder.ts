import { type ErrorPlace, FunctorError } from '../errors.ts';
import { describeGiven, isPromise, shortenedWords } from '../given.ts';
import {
  entryOf,
  functionNumber,
  type IrFunction,
  type Literal,
  type Local,
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
import { OPERATIONS, typeOf } from '../ir/operations.ts';
import { withBlocks, withOperands } from '../ir/rewrite.ts';
import { evaluate, toF32, toI32, toU32 } from '../ir/semantics.ts';
import { terminates, visitStatements } from '../ir/visit.ts';
import { callerPlace, placeIn } from './place.ts';

/** The module that is being written and the function in it. */
interface FunctorRecorder extends Linkage {
  /** The blocks that are open, innermost last. */
  readonly blocks: Statement[][];
  /** The block that every local was made in: where it can be seen. */
  readonly declared: Map<Local, readonly Statement[]>;
  /** Those of the function; neighbours are added as they are asked for. */
  readonly parameters: Local[];
  readonly arrays: Map<string, ScalarType>;
  readonly uniforms: Map<string, ScalarType>;
  /** Comparisons whose result nothing has used yet: the mark of a JavaScript `if` or `&&` on a value. */
  readonly unusedConditions: Map<number, ErrorPlace | undefined>;
  readonly locate: boolean;
  nextId: number;
  statements: number;
  loopDepth: number;
  /** Turns what `Return` is given into operands. */
  readonly toOperands: ((values: unknown) => Operand[]) | undefined;
}

let active: FunctorRecorder | undefined;

/** An error at the line of the caller's code that is being executed, or where {@link writtenAt} says. */
export function functorError(code: string, sentence: string, remedy?: string): FunctorError {
  const place = written === undefined ? callerPlace() : placeIn(written.stack);
  return new FunctorError(`functor/${code}`, shortenedWords(sentence), { remedy, place });
}

let written: Error | undefined;

/** Places the errors of `run`, which no line of a body makes, where the stack of `at` was taken. */
export function writtenAt<R>(at: Error | undefined, run: () => R): R {
  const outer = written;
  written = at;
  try {
    return run();
  } finally {
    written = outer;
  }
}

/** The error of an argument of the builder's that is not what it should be; of a promise it says so. */
export function wrongInput(
  call: string,
  argument: string,
  given: unknown,
  expected: string,
  remedy?: string,
): FunctorError {
  const got = describeGiven(given);
  const code = isPromise(given) ? 'promise' : 'argument';
  const sentence = `${call} cannot take ${got} as ${argument}: ${expected} is wanted.`;
  return functorError(code, sentence, isPromise(given) ? 'An await is missing.' : remedy);
}

/** What was given, as the beginning of a sentence. */
function sentenceOf(given: unknown): string {
  const text = describeGiven(given);
  return `${text[0]!.toUpperCase()}${text.slice(1)}`;
}

/** Runs something that may go deeper than the stack, which is an error of its author's then. */
export function withinStack<R>(what: string, run: () => R): R {
  try {
    return run();
  } catch (cause) {
    if (!(cause instanceof RangeError) || !cause.message.includes('call stack')) throw cause;
    const error = functorError('size', `${what} goes deeper than the stack, or for ever.`, 'Write a loop.');
    throw new FunctorError(error.code, error.message, { cause });
  }
}

/** The recorder of the functor body under way. */
export function recorder(): FunctorRecorder {
  if (active === undefined) {
    throw functorError(
      'outside-body',
      'A functor operation was used outside a functor body.',
      'Write it inside fn(…).',
    );
  }
  return active;
}

/** What is to be recorded: declares parameters, then writes statements and returns the results. */
export type Body = (parameters: readonly Local[]) => readonly Operand[] | undefined;

export interface Signature {
  readonly name: string;
  readonly parameters: readonly ScalarType[];
  readonly results: readonly ScalarType[];
  readonly arrays?: ReadonlyMap<string, ScalarType>;
  readonly uniforms?: ReadonlyMap<string, ScalarType>;
  readonly fast?: boolean;
  /** Made where the functor is written. */
  readonly written?: Error | undefined;
  /** Turns what `Return` is given into operands. */
  readonly toOperands?: (values: unknown) => Operand[];
}

/** Records a module whose entry has the given signature. */
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
    loopDepth: 0,
    toOperands: signature.toOperands,
  };
  active = own;
  try {
    own.parameters.push(...signature.parameters.map(newLocal));
    const results = body([...own.parameters]);
    if (results !== undefined) append({ kind: 'return', values: results.map(use) });
    const statements = own.blocks[0]!;
    if (!terminates(statements.slice(-1))) {
      throw writtenAt(signature.written, () =>
        functorError(
          'no-return',
          `Functor ${signature.name} can end without returning a value.`,
          'Return on every path.',
        ),
      );
    }
    const [unused] = own.unusedConditions;
    if (unused !== undefined) {
      if (!locate) return undefined;
      throw new FunctorError(
        'functor/unused-condition',
        `Functor ${signature.name} compares values and drops the result.`,
        {
          place: unused[1],
          remedy: 'A JavaScript if, &&, || or ?: sees no device value: use If(…), .and(…), .or(…) or select(…).',
        },
      );
    }
    const taken = own.functions.some(({ name }) => name === signature.name);
    own.functions.push({
      name: taken ? `entry_${signature.name}` : signature.name,
      parameters: own.parameters,
      results: signature.results,
      body: statements,
      fast: signature.fast ?? false,
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

/** One more parameter of the function under way, which can be seen in all of it. */
export function newParameter(type: ScalarType): Local {
  const { blocks, declared, parameters } = recorder();
  const local = newLocal(type);
  declared.set(local, blocks[0]!);
  parameters.push(local);
  return local;
}

/** What a device's compiler takes of a function: WebAssembly has 50,000 locals, a stack frame of JavaScript's some more. */
const MAX_STATEMENTS = 2 ** 15;
/** WGSL nests 127 blocks; what primitives put around a functor's takes some of them. */
const MAX_BLOCKS = 100;

/** Appends to the block under way; what stands after a jump is never reached and is left out. */
export function append(statement: Statement): void {
  const own = recorder();
  const block = own.blocks.at(-1)!;
  const last = block.at(-1)?.kind;
  if (last === 'return' || last === 'break' || last === 'continue') return;
  if (++own.statements > MAX_STATEMENTS) {
    throw functorError(
      'size',
      `A functor has more than ${MAX_STATEMENTS} operations.`,
      'Write a loop, or call other functors: each may have as many.',
    );
  }
  block.push(statement);
}

/** Records what `write` appends as a block of its own. */
export function block(write: () => void): Statement[] {
  const { blocks } = recorder();
  if (blocks.length > MAX_BLOCKS) {
    throw functorError('size', `More than ${MAX_BLOCKS} blocks are nested in a functor.`, 'Call other functors.');
  }
  blocks.push([]);
  write();
  return blocks.pop()!;
}

/** Marks an operand as used and returns it; refuses one that cannot be seen from here. */
export function use<O extends Operand>(operand: O): O {
  if (operand.kind !== 'local') return operand;
  const { blocks, declared, unusedConditions } = recorder();
  const home = declared.get(operand);
  if (home === undefined || !blocks.includes(home as Statement[])) {
    throw functorError(
      'out-of-scope',
      'A value is used outside the block or the functor that it was made in.',
      'Make a Var before the block and set it inside; pass values to other functors as arguments.',
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
    throw functorError('literal', `${sentenceOf(value)} is not a ${type}.`, 'Write a number.');
  }
  const number = Number(value);
  if (type === 'f32') return { kind: 'literal', type, value: toF32(number) };
  if (!Number.isInteger(number) || number < -(2 ** 31) || number >= 2 ** 32) {
    throw functorError('literal', `${value} is not a 32-bit integer.`, 'Use f32(…) for fractions.');
  }
  return { kind: 'literal', type, value: type === 'u32' ? toU32(number) : toI32(number) };
}

/** Binds an operation to a new local, or computes it now where all operands are literals. */
export function operate(name: OperationName, operands: readonly Operand[], to?: ScalarType): Operand {
  const types = operands.map((operand) => operand.type);
  const type = typeOf(name, types, to);
  if (type === undefined) {
    throw functorError(
      'type',
      `There is no ${name} of ${types.join(' and ')}.`,
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
  if (OPERATIONS[name].signature === 'comparison') {
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

/** What the arrays, uniforms and inputs of a linked module are called in the module that it becomes part of. */
export interface Links {
  readonly arrays: ReadonlyMap<string, string>;
  readonly uniforms: ReadonlyMap<string, Operand>;
  /** What stands for the functions that the module calls and does not have. */
  readonly inputs?: ReadonlyMap<string, LinkedInput>;
}

/** The name of a function, or the arrays where its results are stored, by the number of the result. */
export type LinkedInput = string | ReadonlyMap<number, string>;

/** The functions of a module that is being put together. */
export interface Linkage {
  readonly functions: IrFunction[];
  /** Names of the functions by what they do. */
  readonly linked: Map<string, string>;
}

/** Calls the entry of another module, whose functions become part of the one under way. */
export function call(module: Module, links: Links, args: readonly Operand[]): Local[] {
  return callNamed(link(recorder(), module, links), entryOf(module).results, args);
}

/** Calls a function by a name that stands for it until the module is linked. */
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

/** Makes the functions of a module part of another one; returns the name of its entry there. */
export function link({ linked, functions }: Linkage, module: Module, links: Links): string {
  const linksKey = textOf(links);
  const key = `${moduleNumber(module)} ${linksKey}`;
  const known = linked.get(key);
  if (known !== undefined) return known;
  const names = new Map<string, string>();
  for (const fn of module.functions) {
    const renamed = linkFunction(fn, names, links, linksKey);
    // Equal for functions that do the same, so that what several callees share is linked once.
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

/** Makes the functions of a module part of another one, of which its entry becomes the entry. */
export function linkEntry(linkage: Linkage, module: Module, links: Links): void {
  const { functions } = linkage;
  const name = link(linkage, module, links);
  const linked = functions.find((fn) => fn.name === name)!;
  // Nothing calls it where it stands last; elsewhere it does what another function does.
  if (functions.at(-1) === linked) functions.pop();
  const own = entryOf(module).name;
  const taken = functions.some((fn) => fn.name === own);
  functions.push(withName(linked, taken ? `entry_${own}` : own));
}

/** Variants of a function that are remembered: a helper that is given a new literal each time has a variant for each. */
const MAX_VARIANTS = 256;

/** Functions as they were linked before: pipelines link the same ones again and again. */
const linkedVariant = createVariants<IrFunction, IrFunction>(MAX_VARIANTS);

/** A function as part of another module, without a name. */
function linkFunction(fn: IrFunction, names: ReadonlyMap<string, string>, links: Links, linksKey: string): IrFunction {
  let callees = '';
  for (const callee of calleesOf(fn)) {
    const name = names.get(callee);
    if (name !== undefined) callees += ` ${nameText(callee)}>${nameText(name)}`;
  }
  return linkedVariant(fn, `${linksKey}${callees}`, () => rename({ ...fn, name: '' }, names, links));
}

/** The functions that a function calls, each once. */
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

/** A call of what a function has become; results of an input that is stored are read. */
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
