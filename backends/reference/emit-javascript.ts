import { requireModule } from '../../primitives/checks/arguments.ts';
import { DeviceLostError } from '../../primitives/checks/errors.ts';
import { cached, createCache } from '../../primitives/host/cache.ts';
import {
  entryOf,
  type IrFunction,
  type LocalArray,
  type Module,
  moduleNumber,
  type Operand,
  type Operation,
  type ScalarType,
  type Statement,
} from '../../primitives/ir/ir.ts';
import {
  computeOf,
  factsOf,
  type OperationName,
  type OperationOn,
  operationNames,
} from '../../primitives/ir/operations.ts';
import * as semantics from '../../primitives/ir/semantics.ts';

export type PlainValue = number | boolean;

/** How compiled code reads a captured array. */
export interface ArrayReader {
  /** Element `index`, which must be below the length. */
  at(index: number): PlainValue;
  length(): number;
  /** Only of an owned array: writes an element of the strip, and ignores the others. Its `at` gives zero for them. */
  set?(index: number, value: PlainValue): void;
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
const loops = createCache<string, CompiledLoop>({ max: MAX_COMPILED });

/** What the entry of a module is bound to. */
export interface Bindings {
  readonly arrays: ReadonlyMap<string, ArrayReader>;
  readonly uniforms: ReadonlyMap<string, PlainValue>;
}

/** A loop over rows, together with the entries that it calls, bound to arrays, uniforms and the loop's own values. */
export type CompiledLoop = (
  bindings: { readonly [entry: string]: Bindings },
  values: { readonly [name: string]: unknown },
) => unknown;

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
  return cached(compiled, moduleNumber(module), () => {
    const make = functionOf(['scope', 'arrays', 'uniforms'], `${HEAD}\n${emitJavaScript(module)}`);
    return (arrays, uniforms) => make(scope, arrays, uniforms) as CompiledEntry;
  });
}

/**
 * Compiles a loop, the body of a function in JavaScript, together with modules, whose entries it calls by their names in
 * `modules`. It reads its own values by the names in `values`. Code that is compiled for one loop and its entries takes
 * a tenth of the time of a loop that calls any entry: the engine inlines the entries and allocates no results.
 */
export function compileLoop(
  modules: { readonly [entry: string]: Module },
  values: readonly string[],
  body: string,
): CompiledLoop {
  const entries = Object.entries(modules);
  const key = [...entries.map(([name, module]) => `${name} ${moduleNumber(module)}`), values, body].join('\n');
  return cached(loops, key, () => {
    const make = functionOf(
      ['scope', 'bindings', 'values'],
      [
        HEAD,
        `const { ${values.join(', ')} } = values;`,
        ...entries.map(
          ([name, module]) =>
            `const ${name} = (({ arrays, uniforms }) => {\n${emitJavaScript(module)}\n})(bindings.${name});`,
        ),
        body,
      ].join('\n'),
    );
    return (bindings, values) => make(scope, bindings, values);
  });
}

/**
 * Compiles a module to generator functions that pause inside loops, so that long loops do not block the thread. They
 * are slower than plain functions.
 */
export function compilePausing(module: Module): PausingModule {
  const make = functionOf(['scope', 'arrays', 'uniforms', 'pause'], `${HEAD}\n${emitJavaScript(module, true)}`);
  return (arrays, uniforms, pause) => make(scope, arrays, uniforms, pause);
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
 * Returns JavaScript source: the body of a function `(arrays, uniforms)` that returns the module's entry. If `pausing`,
 * `pause` is in its scope. `HEAD` stands before it.
 */
function emitJavaScript(module: Module, pausing = false): string {
  const arrays = [...module.arrays.keys()];
  const uniforms = [...module.uniforms.keys()];
  return [
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
  const localArrays: LocalArray[] = [];
  const own = functionName(module, fn.name);
  const arrayName = ({ id }: LocalArray): string => `t${id}_${own}`;
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
      case 'readOwned':
        return `const v${s.local.id} = a${arrays.indexOf(s.array)}.at(${operand(s.index)});`;
      case 'writeOwned':
        return `a${arrays.indexOf(s.array)}.set(${operand(s.index)}, ${operand(s.value)});`;
      case 'length':
        return `const v${s.local.id} = a${arrays.indexOf(s.array)}.length();`;
      case 'var':
        return `let v${s.local.id} = ${operand(s.value)};`;
      case 'set':
        return `v${s.local.id} = ${operand(s.value)};`;
      case 'localArray':
        localArrays.push(s.localArray);
        return `${arrayName(s.localArray)}.fill(${operand(s.value)});`;
      case 'readLocal': {
        const index = operand(s.index);
        const element = `${arrayName(s.localArray)}[${index}]`;
        const [read, none] = s.local.type === 'bool' ? [`${element} !== 0`, 'false'] : [element, '0'];
        return `const v${s.local.id} = ${index} < ${s.localArray.length} ? ${read} : ${none};`;
      }
      case 'writeLocal': {
        const index = operand(s.index);
        return `if (${index} < ${s.localArray.length}) ${arrayName(s.localArray)}[${index}] = ${operand(s.value)};`;
      }
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
  const text = `function${pausing ? '*' : ''} ${own}(${parameters}) {\n${block(fn.body)}\n}`;
  // Functions never call themselves, and rows are computed one after the other, so that calls can share their arrays.
  const declared = localArrays.map(
    (array) => `const ${arrayName(array)} = new ${ARRAYS[array.type]}(${array.length});`,
  );
  return [...declared, text].join('\n');
}

const ARRAYS: { readonly [T in ScalarType]: string } = {
  u32: 'Uint32Array',
  i32: 'Int32Array',
  f32: 'Float32Array',
  bool: 'Uint8Array',
};

function literal(value: PlainValue): string {
  return Object.is(value, -0) ? '(-0)' : `(${value})`;
}

/**
 * JavaScript's operators and functions for the operations on a type. The other operations are calls of what they compute
 * by `operations.ts`.
 */
const common = { eq: '===', ne: '!==', lt: '<', le: '<=', gt: '>', ge: '>=', add: '+', sub: '-', neg: '-' };
const ofIntegers = {
  ...{ and: '&', or: '|', xor: '^', not: '~', shl: '<<', shr: '>>', mul: 'Math.imul', clz: 'Math.clz32' },
  ...{ min: 'Math.min', max: 'Math.max', abs: 'Math.abs' },
};
const forms: { readonly [T in ScalarType]: { readonly [N in OperationOn<T>]?: string } } = {
  u32: { ...common, ...ofIntegers, shr: '>>>' },
  i32: { ...common, ...ofIntegers },
  f32: {
    ...{ ...common, mul: '*', div: '/', sqrt: 'Math.sqrt' },
    ...{ abs: 'Math.abs', floor: 'Math.floor', ceil: 'Math.ceil', trunc: 'Math.trunc' },
  },
  bool: { eq: '===', ne: '!==', and: '&&', or: '||', xor: '!==', not: '!' },
};

/** Operations on f32 whose result is an f32 without rounding. */
const EXACT: ReadonlySet<OperationName> = new Set(['neg', 'abs', 'min', 'max', 'floor', 'ceil', 'trunc', 'round']);

/** The name of the function that computes an operation on a type, in emitted code. */
const callee = (name: OperationName, type: ScalarType): string => `${name}_${type}`;

/** The functions that emitted code calls. */
const scope: { readonly [name: string]: unknown } = {
  ...semantics,
  ...Object.fromEntries(
    operationNames.flatMap((name) => {
      const { on, signature } = factsOf(name);
      const types =
        signature === 'select' || signature === 'conversion' ? [] : on.filter((type) => !(name in forms[type]));
      return types.map((type) => [callee(name, type), computeOf(name as OperationOn<typeof type>, type)]);
    }),
  ),
};

/** The first lines of every compiled function, whose first parameter is `scope`. */
const HEAD = `"use strict";\nconst { ${Object.keys(scope).join(', ')} } = scope;`;

function emitOperation({ name, operands }: Operation, to: ScalarType, args: readonly string[]): string {
  const from = operands[0]!.type;
  const [a, b, c] = args;
  if (name === 'select') return `(${c} ? ${b} : ${a})`;
  if ((name === 'convert' || name === 'bits') && from === to) return a!;
  if (name === 'convert') return emitConversion(from, to, a!);
  if (name === 'bits') return emitBits(from, to, a!);
  const form = (forms[from] as { readonly [name: string]: string })[name] ?? callee(name, from);
  const isFunction = /^\w/.test(form);
  const result = isFunction ? `${form}(${args.join(', ')})` : b === undefined ? `(${form}${a})` : `(${a} ${form} ${b})`;
  if (to === 'u32' || to === 'i32') return wrap(to, result);
  return to === 'f32' && !EXACT.has(name) ? `toF32(${result})` : result;
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

function wrap(type: ScalarType, expression: string): string {
  return type === 'u32' ? `(${expression} >>> 0)` : `(${expression} | 0)`;
}
