import { entryOf, type Module, type ScalarType } from '../../ir/ir.ts';
import { MAX_PARAMETERS, MAX_RESULTS } from '../functor.ts';
import { callNamed, record, use, withinStack } from '../recorder.ts';
import { evaluate } from './expressions.ts';
import { fallsThrough } from './flow.ts';
import { linkFunctions, type RecordedFunction, standIn } from './link-functions.ts';
import { parseModule } from './parse-module.ts';
import { type Context, childOf, type Entry, type Scope, type TextProgram } from './scope.ts';
import { errorAt, type Position, type SourceText } from './source.ts';
import { constantValue, writeStatements } from './statements.ts';
import type { CaptureDeclaration, FunctionDeclaration, TextModule, TypeName } from './syntax.ts';
import {
  arraysOf,
  isScalarName,
  leafTypesOf,
  leavesOf,
  type Struct,
  type TextType,
  type TextValue,
  valueOfLeaves,
} from './values.ts';
import { lackingType, VECTOR_TYPES } from './vectors.ts';

/** The result of compiling a WGSL text: its functions, and the arrays and uniforms that it declares. */
export interface CompiledText {
  readonly functions: ReadonlyMap<string, CompiledFunction>;
  readonly arrays: ReadonlyMap<string, TextType>;
  readonly uniforms: ReadonlyMap<string, ScalarType>;
  /** The module of one of the functions, linked with all functions that it calls. */
  moduleOf(name: string): Module;
}

export interface CompiledFunction extends RecordedFunction {
  readonly parameters: readonly { readonly name: string; readonly type: TextType }[];
  readonly result: TextType;
  /** The position of the function's name in the text. */
  readonly position: Position;
}

/** Checks a WGSL text and compiles all of its functions. */
export function compileText(source: SourceText, fast: boolean): CompiledText {
  return withinStack('The text', () => compileSource(source, fast));
}

function compileSource(source: SourceText, fast: boolean): CompiledText {
  const syntax = parseModule(source);
  const declared = distinctNames(syntax);
  // A text may declare names that WGSL has declared before, and then means its own.
  const structs = new Map<string, Struct>(VECTOR_TYPES.filter(([name]) => !declared.has(name)));
  const typeOf = (type: TypeName): TextType => namedType(structs, type);
  for (const { name, fields, position } of syntax.structs) {
    const struct = { name, fields: fields.map((field) => ({ name: field.name, type: typeOf(field.type) })) };
    // Checks the size of each struct before the next struct can contain it. Otherwise, nested structs could have more
    // scalars than fit into memory.
    requireAtMost(position, MAX_RESULTS, scalarsOf(struct), `The struct ${name} has too many scalars.`);
    structs.set(name, struct);
  }
  const captured = <T extends TextType>(
    kind: CaptureDeclaration['kind'],
    accepted: (type: TypeName, found: TextType) => T,
  ): ReadonlyMap<string, T> => {
    const captures = syntax.captures.filter((capture) => capture.kind === kind);
    return new Map(captures.map(({ name, type }) => [name, accepted(type, typeOf(type))]));
  };
  const shell: Shell = {
    syntax,
    structs,
    typeOf,
    arrays: captured('array', arrayType),
    uniforms: captured('uniform', uniformType),
    fast,
  };
  const functions = compileFunctions(shell);
  const { arrays, uniforms } = shell;
  return { functions, arrays, uniforms, moduleOf: (name) => linkFunctions(functions, name) };
}

/** The checked declarations of a text whose functions are not compiled yet. */
interface Shell {
  readonly syntax: TextModule;
  readonly structs: ReadonlyMap<string, Struct>;
  readonly arrays: ReadonlyMap<string, TextType>;
  readonly uniforms: ReadonlyMap<string, ScalarType>;
  readonly fast: boolean;
  typeOf(type: TypeName): TextType;
}

/** The names that a text declares outside functions, which must be distinct. */
function distinctNames({ structs, functions, captures, constants }: TextModule): ReadonlySet<string> {
  const seen = new Set<string>();
  for (const { name, position } of [...structs, ...functions, ...captures, ...constants]) {
    if (seen.has(name)) throw errorAt(position, 'declaration', `${name} is declared twice.`);
    seen.add(name);
  }
  return seen;
}

/**
 * Maximum depth of calls between functions of a text. The compiler is recursive: it compiles a callee while it compiles
 * the caller.
 */
const MAX_CALLS = 100;

function requireAtMost(position: Position, max: number, got: number, sentence: string, code = 'size'): void {
  if (got > max) throw errorAt(position, code, sentence, { expected: `at most ${max}`, got });
}

function scalarsOf(type: TextType): number {
  return typeof type === 'string' ? 1 : type.fields.reduce((sum, field) => sum + scalarsOf(field.type), 0);
}

function namedType(structs: ReadonlyMap<string, Struct>, { name, position }: TypeName): TextType {
  if (isScalarName(name)) return name;
  const struct = structs.get(name);
  if (struct !== undefined) return struct;
  const lacking = lackingType(position, name);
  if (lacking !== undefined) throw lacking;
  throw errorAt(position, 'type', `There is no type ${name}.`, {
    remedy: 'Use u32, i32, f32, bool, vec2f, vec3f, vec4f, or a struct declared before.',
  });
}

/** The type of the elements of a captured array. */
function arrayType({ name, position }: TypeName, type: TextType): TextType {
  if (!leafTypesOf(type).includes('bool')) return type;
  throw errorAt(position, 'type', `An array of var<storage> cannot hold ${name}.`, {
    expected: 'u32, i32, f32, or a vector or struct of these',
    got: name,
  });
}

function uniformType({ name, position }: TypeName, type: TextType): ScalarType {
  if (typeof type === 'string' && type !== 'bool') return type;
  throw errorAt(position, 'type', `A uniform cannot hold ${name}.`, {
    expected: 'u32, i32 or f32',
    got: name,
    remedy: 'Declare one for each scalar.',
  });
}

function compileFunctions(shell: Shell): ReadonlyMap<string, CompiledFunction> {
  const { syntax, structs, typeOf } = shell;
  const compiled = new Map<string, CompiledFunction>();
  const underWay: string[] = [];
  const callees = new Map(syntax.functions.map(({ name }) => [name, new Set<string>()]));
  const compile = (fn: FunctionDeclaration, position: Position): CompiledFunction => {
    const known = compiled.get(fn.name);
    if (known !== undefined) return known;
    if (underWay.includes(fn.name)) {
      const circle = [...underWay.slice(underWay.indexOf(fn.name)), fn.name].join(' → ');
      throw errorAt(position, 'recursion', `A function calls itself: ${circle}.`, { remedy: 'Use a loop.' });
    }
    requireAtMost(position, MAX_CALLS, underWay.length, 'The functions call each other too deeply.');
    underWay.push(fn.name);
    const result = compileFunction(shell, program, globals, fn);
    underWay.pop();
    const recorded = { ...result, callees: callees.get(fn.name)! };
    compiled.set(fn.name, recorded);
    return recorded;
  };
  const program: TextProgram = {
    structs,
    functions: new Map(syntax.functions.map((fn) => [fn.name, fn])),
    typeOf,
    call(fn, args, position) {
      callees.get(underWay.at(-1)!)?.add(fn.name);
      return callCompiled(fn.name, compile(fn, position), args);
    },
  };
  const globals = globalScope(shell, program);
  for (const fn of syntax.functions) compile(fn, fn.position);
  return compiled;
}

/**
 * The scope with the constants, arrays and uniforms of a text. A constant can only use constants declared before it.
 */
function globalScope({ syntax, arrays, uniforms }: Shell, program: TextProgram): Scope {
  const scope = childOf(undefined);
  const context: Context = {
    program,
    scope,
    result: undefined,
    variables: new Set(),
    loop: undefined,
    inContinuing: false,
  };
  // What is recorded here is thrown away: a constant that needs an operation at run time is refused, as in functions.
  record({ name: 'constants', parameters: [], results: [] }, () => {
    for (const { name, keyword, type, value, position } of syntax.constants) {
      if (keyword !== 'const') throw errorAt(position, 'syntax', `Only const may be used outside functions.`);
      const declared = type === undefined ? undefined : program.typeOf(type);
      const given = evaluate(context, value!);
      scope.names.set(name, {
        kind: 'value',
        isConst: true,
        value: constantValue(value!.position, name, given, declared),
      });
    }
    return [];
  });
  for (const [name, type] of arrays) scope.names.set(name, { kind: 'array', type });
  for (const [name, type] of uniforms) {
    scope.names.set(name, { kind: 'value', value: { type, operand: { kind: 'uniform', type, name } } });
  }
  return scope;
}

function compileFunction(
  { arrays, uniforms, typeOf, fast }: Shell,
  program: TextProgram,
  globals: Scope,
  { name, position, parameters, result, body, end }: FunctionDeclaration,
): Omit<CompiledFunction, 'callees'> {
  const types = parameters.map((parameter) => ({ name: parameter.name, type: typeOf(parameter.type) }));
  const scalars = types.reduce((sum, { type }) => sum + scalarsOf(type), 0);
  requireAtMost(position, MAX_PARAMETERS, scalars, `The function ${name} has too many parameters.`, 'parameters');
  const resultType = typeOf(result);
  if (body.every(fallsThrough)) {
    throw errorAt(end, 'no-return', `The function ${name} must return a value on every path.`, {
      remedy: 'Add a return to every path.',
    });
  }
  const signature = {
    name,
    parameters: types.flatMap(({ type }) => leafTypesOf(type)),
    results: leafTypesOf(resultType),
    arrays: new Map([...arrays].flatMap(([array, type]) => arraysOf(array, type))),
    uniforms,
    fast,
  };
  const module = record(signature, (locals) => {
    let next = 0;
    const scope = childOf(globals);
    for (const { name: parameter, type } of types) {
      const entry: Entry = { kind: 'value', value: valueOfLeaves(type, () => locals[next++]!) };
      scope.names.set(parameter, entry);
    }
    writeStatements(
      { program, scope, result: resultType, variables: new Set(), loop: undefined, inContinuing: false },
      body,
    );
    return undefined;
  });
  return { module, parameters: types, result: resultType, position };
}

/** Records a call under the placeholder name of the function. Linking replaces the name. */
function callCompiled(name: string, { module, result }: CompiledFunction, args: readonly TextValue[]): TextValue {
  const locals = callNamed(standIn(name), entryOf(module).results, args.flatMap(leavesOf));
  let next = 0;
  return valueOfLeaves(result, () => use(locals[next++]!));
}
