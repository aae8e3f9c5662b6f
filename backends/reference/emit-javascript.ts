import { requireModule } from '../../primitives/arguments.ts';
import { createCache } from '../../primitives/cache.ts';
import { DeviceLostError } from '../../primitives/errors.ts';
import {
  entryOf,
  type IrFunction,
  type Module,
  moduleNumber,
  type Operand,
  type Operation,
  type ScalarType,
  type Statement,
} from '../../primitives/ir/ir.ts';
import { type Comparison, OPERATIONS, type OperationName, type OperationOn } from '../../primitives/ir/operations.ts';
import * as semantics from '../../primitives/ir/semantics.ts';

export type PlainValue = number | boolean;

/** How compiled code reads a captured array. */
export interface ArrayReader {
  /** Element `index`, which must be below the length. */
  at(index: number): PlainValue;
  length(): number;
}

/**
 * The entry function of a compiled module, bound to arrays and uniforms. Records are passed as one value per leaf
 * (scalar component).
 */
export type CompiledEntry = (...args: PlainValue[]) => PlainValue[];

export type CompiledModule = (
  arrays: ReadonlyMap<string, ArrayReader>,
  uniforms: ReadonlyMap<string, PlainValue>,
) => CompiledEntry;

/**
 * The budget of an evaluation that can pause. Every loop round subtracts 1 from `roundsLeft`. When the number falls
 * below 0, the evaluation pauses; the caller then sets a new budget and resumes.
 */
export interface Pause {
  roundsLeft: number;
}

/**
 * As `CompiledModule`, but the entry is a generator, which pauses inside loops when `pause.roundsLeft` falls below 0.
 */
export type PausingModule = (
  arrays: ReadonlyMap<string, ArrayReader>,
  uniforms: ReadonlyMap<string, PlainValue>,
  pause: Pause,
) => (...args: PlainValue[]) => Generator<undefined, PlainValue[], undefined>;

/** Maximum number of compiled modules in the cache. Programs that repeat their work use far fewer modules. */
const MAX_COMPILED = 1024;

const compiled = createCache<number, CompiledModule>({ max: MAX_COMPILED });

/**
 * Compiles a module to JavaScript that follows `semantics.ts` bit by bit. Tests compare the other emitters with this
 * one.
 *
 * @example
 * const twice = compileJavaScript(fn({ x: u32 }, u32, ({ x }) => x.mul(2)).module)(new Map(), new Map());
 * twice(2 ** 31 + 3); // [6]
 */
export function compileJavaScript(module: Module): CompiledModule {
  requireModule('compileJavaScript', 'module', module);
  const number = moduleNumber(module);
  let factory = compiled.get(number);
  if (factory === undefined) {
    const make = functionOf(['semantics', 'arrays', 'uniforms'], emitJavaScript(module));
    factory = (arrays, uniforms) => make(semantics, arrays, uniforms) as CompiledEntry;
    compiled.set(number, factory);
  }
  return factory;
}

/**
 * Compiles a module to generator functions that pause inside loops, so that long loops do not block the thread. They
 * are slower than plain functions.
 */
export function compilePausing(module: Module): PausingModule {
  const make = functionOf(['semantics', 'arrays', 'uniforms', 'pause'], emitJavaScript(module, true));
  return (arrays, uniforms, pause) => make(semantics, arrays, uniforms, pause);
}

/** Throws if the platform forbids `new Function`, which compiles functions from text. */
export function requireText(): void {
  functionOf([], '');
}

function functionOf(parameters: readonly string[], body: string): (...args: unknown[]) => never {
  try {
    return new Function(...parameters, body) as (...args: unknown[]) => never;
  } catch (cause) {
    if (!(cause instanceof EvalError)) throw cause;
    throw new DeviceLostError(
      'reference/no-text',
      'Functors cannot be compiled to JavaScript: this page forbids compiling functions from text.',
      {
        remedy:
          "Add 'unsafe-eval' to script-src in the Content-Security-Policy of the page, or use the WebGPU or workers backend, which " +
          'need no permission.',
        cause,
      },
    );
  }
}

/**
 * Returns JavaScript source: the body of a function `(semantics, arrays, uniforms)` that returns the module's entry. If
 * `pausing`, the function takes `pause` as a fourth parameter.
 */
function emitJavaScript(module: Module, pausing = false): string {
  const arrays = [...module.arrays.keys()];
  const uniforms = [...module.uniforms.keys()];
  return [
    '"use strict";',
    `const { ${Object.keys(semantics).join(', ')} } = semantics;`,
    ...arrays.map((name, i) => `const a${i} = arrays.get(${JSON.stringify(name)});`),
    ...uniforms.map((name, i) => `const u${i} = uniforms.get(${JSON.stringify(name)});`),
    ...module.functions.map((fn) => emitFunction(fn, module, arrays, uniforms, pausing)),
    `return ${functionName(module, entryOf(module).name)};`,
  ].join('\n');
}

const functionName = (module: Module, name: string): string =>
  `f${module.functions.findIndex((fn) => fn.name === name)}`;

function emitFunction(
  fn: IrFunction,
  module: Module,
  arrays: readonly string[],
  uniforms: readonly string[],
  pausing: boolean,
): string {
  const operand = (o: Operand): string =>
    o.kind === 'literal' ? literal(o.value) : o.kind === 'local' ? `v${o.id}` : `u${uniforms.indexOf(o.name)}`;
  const block = (statements: readonly Statement[]): string => statements.map(emit).join('\n');
  const emit = (s: Statement): string => {
    switch (s.kind) {
      case 'let':
        return `const v${s.local.id} = ${emitOperation(s.operation, s.local.type, s.operation.operands.map(operand))};`;
      case 'read': {
        const array = `a${arrays.indexOf(s.array)}`;
        const index = operand(s.index);
        return `const v${s.local.id} = ${index} < ${array}.length() ? ${array}.at(${index}) : ${s.local.type === 'bool' ? 'false' : '0'};`;
      }
      case 'length':
        return `const v${s.local.id} = a${arrays.indexOf(s.array)}.length();`;
      case 'var':
        return `let v${s.local.id} = ${operand(s.value)};`;
      case 'set':
        return `v${s.local.id} = ${operand(s.value)};`;
      case 'call': {
        const results = s.results.map(({ id }) => `v${id}`).join(', ');
        const called = `${functionName(module, s.callee)}(${s.args.map(operand).join(', ')})`;
        return `const [${results}] = ${pausing ? 'yield* ' : ''}${called};`;
      }
      case 'if':
        return `if (${operand(s.condition)}) {\n${block(s.consequent)}\n} else {\n${block(s.alternative)}\n}`;
      case 'loop':
        // The step runs at the start of every round except the first, so that a `continue` does not skip it.
        return `for (let round = 0; ; round++) {
${s.rounds === undefined ? '' : `if (round >= ${s.rounds}) throw new RangeError('A loop took more rounds than its proved bound.');`}
${pausing ? 'if (--pause.roundsLeft < 0) yield;' : ''}
if (round > 0) {\n${block(s.step)}\n}\n${block(s.body)}\n}`;
      case 'break':
        return 'break;';
      case 'continue':
        return 'continue;';
      case 'return':
        return `return [${s.values.map(operand).join(', ')}];`;
    }
  };
  const parameters = fn.parameters.map(({ id }) => `v${id}`).join(', ');
  return `function${pausing ? '*' : ''} ${functionName(module, fn.name)}(${parameters}) {\n${block(fn.body)}\n}`;
}

function literal(value: PlainValue): string {
  return Object.is(value, -0) ? '(-0)' : `(${value})`;
}

const comparisons: Record<Comparison, string> = { eq: '===', ne: '!==', lt: '<', le: '<=', gt: '>', ge: '>=' };

function emitOperation({ name, operands }: Operation, to: ScalarType, args: readonly string[]): string {
  const from = operands[0]!.type;
  const [a, b, c] = args;
  if (name === 'select') return `(${c} ? ${b} : ${a})`;
  if ((name === 'convert' || name === 'bits') && from === to) return a!;
  if (name === 'convert') return emitConversion(from, to, a!);
  if (name === 'bits') return emitBits(from, to, a!);
  if (isComparison(name)) return `(${a} ${comparisons[name]} ${b})`;
  if (from === 'bool') return emitLogic(name as Computing<'bool'>, a!, b!);
  if (from === 'f32') return emitF32(name as Computing<'f32'>, a!, b!);
  return emitInteger(name as Computing<'u32' | 'i32'>, from, a!, b!);
}

function emitConversion(from: ScalarType, to: ScalarType, a: string): string {
  if (to === 'bool') return `(${a} !== 0)`;
  if (from === 'bool') return `(${a} ? 1 : 0)`;
  if (from === 'f32') return to === 'u32' ? `f32ToU32(${a})` : `f32ToI32(${a})`;
  return to === 'f32' ? `toF32(${a})` : wrap(to, a);
}

function emitBits(from: ScalarType, to: ScalarType, a: string): string {
  if (from === 'f32') return to === 'u32' ? `bitsOfF32(${a})` : `(bitsOfF32(${a}) | 0)`;
  return to === 'f32' ? `f32OfBits(${a} >>> 0)` : wrap(to, a);
}

/** The names of the operations on a type, without comparisons. */
type Computing<T extends ScalarType> = Exclude<OperationOn<T>, Comparison>;

function isComparison(name: OperationName): name is Comparison {
  return OPERATIONS[name].signature === 'comparison';
}

function emitLogic(name: Computing<'bool'>, a: string, b: string): string {
  switch (name) {
    case 'not':
      return `!${a}`;
    case 'and':
      return `(${a} && ${b})`;
    case 'or':
      return `(${a} || ${b})`;
    case 'xor':
      return `(${a} !== ${b})`;
  }
}

function emitF32(name: Computing<'f32'>, a: string, b: string): string {
  switch (name) {
    case 'add':
      return `toF32(${a} + ${b})`;
    case 'sub':
      return `toF32(${a} - ${b})`;
    case 'mul':
      return `toF32(${a} * ${b})`;
    case 'div':
      return `toF32(${a} / ${b})`;
    case 'min':
      return `fmin(${a}, ${b})`;
    case 'max':
      return `fmax(${a}, ${b})`;
    case 'neg':
      return `(-${a})`;
    case 'sqrt':
      return `toF32(Math.sqrt(${a}))`;
    case 'abs':
    case 'floor':
    case 'ceil':
    case 'trunc':
      return `Math.${name}(${a})`;
    case 'round':
      return `roundEven(${a})`;
  }
}

function emitInteger(name: Computing<'u32' | 'i32'>, type: ScalarType, a: string, b: string): string {
  const unsigned = type === 'u32';
  switch (name) {
    case 'add':
      return wrap(type, `${a} + ${b}`);
    case 'sub':
      return wrap(type, `${a} - ${b}`);
    case 'mul':
      return wrap(type, `Math.imul(${a}, ${b})`);
    case 'div':
      return `${unsigned ? 'udiv' : 'idiv'}(${a}, ${b})`;
    case 'rem':
      return `${unsigned ? 'urem' : 'irem'}(${a}, ${b})`;
    case 'min':
    case 'max':
      return `Math.${name}(${a}, ${b})`;
    case 'shr':
      return unsigned ? `(${a} >>> ${b})` : `(${a} >> ${b})`;
    case 'neg':
      return wrap(type, `-${a}`);
    case 'not':
      return wrap(type, `~${a}`);
    case 'abs':
      return unsigned ? a : wrap(type, `Math.abs(${a})`);
    case 'clz':
      return `Math.clz32(${a})`;
    case 'ctz':
    case 'popcount':
      return `${name}(${a})`;
    case 'mulhi':
      return `mulhi(${a}, ${b})`;
    case 'reverseBits':
      return wrap(type, `reverseBits(${a})`);
    case 'and':
      return wrap(type, `${a} & ${b}`);
    case 'or':
      return wrap(type, `${a} | ${b}`);
    case 'xor':
      return wrap(type, `${a} ^ ${b}`);
    case 'shl':
      return wrap(type, `${a} << ${b}`);
  }
}

function wrap(type: ScalarType, expression: string): string {
  return type === 'u32' ? `((${expression}) >>> 0)` : `((${expression}) | 0)`;
}
