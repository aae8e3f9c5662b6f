import {
  entryOf,
  type IrFunction,
  type Local,
  type LocalArray,
  type Module,
  type Operand,
  type ScalarType,
  type Statement,
} from '../../../primitives/ir/ir.ts';
import { leaves, terminates } from '../../../primitives/ir/visit.ts';
import type { Arithmetic } from '../device/arithmetic.ts';
import { type F32Facts, f32FactsOf } from './f32-facts.ts';
import type { Helper } from './wgsl-helpers.ts';
import { emitOperand, emitOperation, hideConstant, type OperationContext, zeroOf } from './wgsl-operations.ts';

/** What all functions of a shader share. */
export interface Shader {
  readonly arithmetic: Arithmetic;
  /** Receives the helper functions that the shader must declare; see `helperDeclarations`. */
  readonly helpers: Set<Helper>;
}

/** The emitter's view of the shader that will contain a module's functions. */
export interface WgslEnvironment extends Shader {
  /** Prefix of all names, so that one shader can contain several modules. */
  readonly prefix: string;
  /**
   * Returns the WGSL expression for an element of a captured array. The expression must be zero for indices past the
   * array's length.
   */
  read(array: string, index: string): string;
  /** Returns a WGSL statement that writes an element of an owned array. Absent where a program has none. */
  write?(array: string, index: string, value: string): string;
  length(array: string): string;
  uniform(name: string, type: ScalarType): string;
}

/**
 * Emits a module as WGSL functions. The entry is named `prefix` + `entry`. Functions with several results return a
 * struct with the fields r0, r1, …; functions without results return nothing.
 */
export function emitModule(module: Module, environment: WgslEnvironment): string {
  return module.functions.map((fn) => emitFunction(fn, module, environment)).join('\n');
}

/** The WGSL return type of a function; undefined if the function returns nothing. */
export function resultType(prefix: string, name: string, results: readonly ScalarType[]): string | undefined {
  return results.length > 1 ? `${prefix}${name}_r` : results[0];
}

/**
 * WGSL expression of the result with index `at` of a function that has `count` results. `returned` is WGSL of the value
 * that the function returned.
 */
export function resultOf(returned: string, at: number, count: number): string {
  return count > 1 ? `${returned}.r${at}` : returned;
}

function nameOf(module: Module, callee: string): string {
  const at = module.functions.findIndex(({ name }) => name === callee);
  return module.functions[at] === entryOf(module) ? 'entry' : `f${at}`;
}

function emitFunction(fn: IrFunction, module: Module, environment: WgslEnvironment): string {
  const { prefix } = environment;
  const name = nameOf(module, fn.name);
  const result = resultType(prefix, name, fn.results);
  const fields = fn.results.map((type, i) => `r${i}: ${type}`).join(', ');
  const struct = fn.results.length > 1 ? `struct ${result} { ${fields} }\n` : '';
  const parameters = fn.parameters.map(({ id, type }) => `v${id}: ${type}`).join(', ');
  const arrow = result === undefined ? '' : ` -> ${result}`;
  const body = emitBlock(fn.body, { fn, module, environment, result, facts: f32FactsOf(fn) });
  const missing = terminates(fn.body) || result === undefined ? '' : `\nreturn ${emitResult(fn.results, result)};`;
  return `${struct}fn ${prefix}${name}(${parameters})${arrow} {\n${body}${missing}\n}`;
}

interface FunctionContext {
  readonly fn: IrFunction;
  readonly module: Module;
  readonly environment: WgslEnvironment;
  readonly result: string | undefined;
  readonly facts: F32Facts;
}

function emitResult(results: readonly ScalarType[], struct: string): string {
  const zeros = results.map(zeroOf);
  return zeros.length > 1 ? `${struct}(${zeros.join(', ')})` : zeros[0]!;
}

/**
 * Emits the statements of a block, up to the first statement that leaves the block: WGSL compilers warn about
 * unreachable statements.
 */
function emitBlock(block: readonly Statement[], context: FunctionContext): string {
  const end = block.findIndex(leaves);
  const reached = end < 0 ? block : block.slice(0, end + 1);
  return reached.map((statement) => emitStatement(statement, context)).join('\n');
}

function emitStatement(statement: Statement, context: FunctionContext): string {
  const { environment, fn, facts } = context;
  const operations: OperationContext = {
    arithmetic: environment.arithmetic,
    fast: fn.fast,
    facts,
    uniform: (name, type) => environment.uniform(name, type),
    helper(name) {
      environment.helpers.add(name);
      return `q_${name}`;
    },
  };
  const operand = (o: Operand): string => emitOperand(o, operations);
  const bind = ({ id }: Local, value: string): string => `let v${id} = ${value};`;
  switch (statement.kind) {
    case 'let':
      return bind(statement.local, emitOperation(statement.operation, statement.local, operations));
    case 'writeOwned':
      return environment.write!(statement.array, operand(statement.index), operand(statement.value));
    case 'read':
    case 'readOwned':
      return bind(
        statement.local,
        hideConstant(statement.local.type, environment.read(statement.array, operand(statement.index)), operations),
      );
    case 'length':
      return bind(statement.local, environment.length(statement.array));
    case 'var':
      return `var v${statement.local.id} = ${operand(statement.value)};`;
    case 'set':
      return `v${statement.local.id} = ${operand(statement.value)};`;
    case 'localArray':
      return emitArray(statement, operand);
    case 'readLocal': {
      const { type } = statement.local;
      const element = elementOf(statement.localArray, statement.index, operand);
      const isWithin = isKnownWithin(statement.localArray, statement.index);
      const guarded = `select(${zeroOf(type)}, ${element}, ${operand(statement.index)} < ${statement.localArray.length}u)`;
      return bind(statement.local, hideConstant(type, isWithin ? element : guarded, operations));
    }
    case 'writeLocal': {
      const write = `${elementOf(statement.localArray, statement.index, operand)} = ${operand(statement.value)};`;
      if (isKnownWithin(statement.localArray, statement.index)) return write;
      return `if (${operand(statement.index)} < ${statement.localArray.length}u) { ${write} }`;
    }
    case 'call':
      return emitCall(statement, operand, context);
    case 'if': {
      const alternative = emitBlock(statement.alternative, context);
      const otherwise = alternative === '' ? '' : ` else {\n${alternative}\n}`;
      return `if (${operand(statement.condition)}) {\n${emitBlock(statement.consequent, context)}\n}${otherwise}`;
    }
    case 'loop':
      return `loop {\n${emitBlock(statement.body, context)}\ncontinuing {\n${emitBlock(statement.step, context)}\n}\n}`;
    case 'break':
      return 'break;';
    case 'continue':
      return 'continue;';
    case 'return': {
      const values = statement.values.map(operand).join(', ');
      return statement.values.length > 1 ? `return ${context.result}(${values});` : `return ${values};`;
    }
  }
}

/** Maximum number of elements that are listed where an array begins; more are filled in a loop. */
const MAX_LISTED = 16;

function emitArray(
  { localArray: { id, type, length }, value }: Extract<Statement, { kind: 'localArray' }>,
  operand: (o: Operand) => string,
): string {
  const declared = `var a${id}: array<${type}, ${length}>`;
  const first = operand(value);
  if (length <= MAX_LISTED) return `${declared} = array<${type}, ${length}>(${Array(length).fill(first).join(', ')});`;
  return `${declared};\nfor (var i${id} = 0u; i${id} < ${length}u; i${id}++) { a${id}[i${id}] = ${first}; }`;
}

/** An element of an array as WGSL. An index that is out of range selects the last element. */
function elementOf({ id, length }: LocalArray, index: Operand, operand: (o: Operand) => string): string {
  return `a${id}[min(${operand(index)}, ${length - 1}u)]`;
}

function isKnownWithin({ length }: LocalArray, index: Operand): boolean {
  return index.kind === 'literal' && Number(index.value) < length;
}

function emitCall(
  { callee, args, results }: Extract<Statement, { kind: 'call' }>,
  operand: (o: Operand) => string,
  { fn, module, environment }: FunctionContext,
): string {
  const call = `${deviceFunction(fn, callee, args, module) ?? environment.prefix + nameOf(module, callee)}(${args.map(operand).join(', ')})`;
  const [first] = results;
  if (first === undefined) return `${call};`;
  if (results.length === 1) return `let v${first.id} = ${call};`;
  const fields = results.map(({ id }, i) => `let v${id} = c${first.id}.r${i};`);
  return [`let c${first.id} = ${call};`, ...fields].join('\n');
}

/** The device's own function for a call, if the caller allows it. Of constants it may be undefined, which is an error in WGSL. */
function deviceFunction({ fast }: IrFunction, callee: string, args: readonly Operand[], module: Module) {
  if (!fast || args.every(({ kind }) => kind === 'literal')) return undefined;
  return module.functions.find(({ name }) => name === callee)!.device;
}
