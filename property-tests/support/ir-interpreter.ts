import { ArgumentError } from '../../primitives/checks/errors.ts';
import { type Parameters, splitParameters } from '../../primitives/functors/functor.ts';
import { assemble, flatten, leafTypes, type PlainOf, type Shape, type Tree } from '../../primitives/functors/shapes.ts';
import { evaluate } from '../../primitives/ir/evaluate.ts';
import {
  entryOf,
  type IrFunction,
  type Literal,
  type Local,
  type Module,
  type Operand,
  type Operation,
  type ScalarType,
  type Statement,
} from '../../primitives/ir/ir.ts';

/**
 * A value that the interpreter in this file has computed. The interpreter executes the statements of the functor IR one
 * by one, and computes every operation with `evaluate` of semantics.ts. It is slow but easy to read. It is independent
 * of the emitters, whose tests compare results with it.
 *
 * `reliance` states how far the value's bytes can be relied on. It depends on all values and branches from which the
 * value was computed.
 */
export interface Evaluated {
  readonly value: number | boolean;
  readonly reliance: Reliance;
}

/**
 * `PROMISED`: every backend gives exactly these bytes, because every f32 in the computation is a normal number or zero.
 * `SPECIFIED`: semantics.ts defines the value, but its computation has a subnormal, an infinity or a NaN, for which
 * devices may differ.
 * `OPEN`: the value depends on the bits of a NaN, which are not specified.
 */
export type Reliance = 0 | 1 | 2;
export const PROMISED = 2;
export const SPECIFIED = 1;
const OPEN = 0;

export interface Bindings {
  readonly arrays?: { readonly [name: string]: ArrayLike<number | boolean> };
  readonly uniforms?: { readonly [name: string]: number | boolean };
}

/** Maximum number of loop iterations of a program run; a program that needs more is assumed never to end. */
const maximumRounds = 100_000;

interface Machine {
  readonly module: Module;
  readonly arrays: NonNullable<Bindings['arrays']>;
  readonly uniforms: NonNullable<Bindings['uniforms']>;
  /**
   * The lowest reliance of all values that have decided branches so far. The reliance of later values is at most this.
   */
  path: Reliance;
  rounds: number;
  /** Called for each executed statement and each iteration of a loop. */
  readonly observe: (statement: Statement) => void;
}

interface Frame {
  readonly locals: Map<number, Evaluated>;
  readonly arrays: Map<number, Evaluated[]>;
}
type Outcome = 'next' | 'break' | 'continue' | { readonly returned: Evaluated[] };

/** Runs the entry of a module. Arguments and results are flat lists of scalars. */
export function interpret(
  module: Module,
  args: readonly (number | boolean)[],
  { arrays = {}, uniforms = {} }: Bindings = {},
  observe: Machine['observe'] = () => {},
): Evaluated[] {
  const machine: Machine = { module, arrays, uniforms, path: PROMISED, rounds: 0, observe };
  const entry = entryOf(module);
  const given = entry.parameters.map(({ type }, leaf) => plain(type, args[leaf]!));
  return run(machine, entry, given).map((result) => limited(result, machine.path));
}

/** Runs a functor on plain values. Returns plain values in the shape of the functor's result. */
export function interpretFunctor<P extends Parameters, R extends Shape>(
  functor: { readonly module: Module; readonly parameters: P; readonly result: R },
  args: { readonly [K in keyof P]?: P[K] extends Shape ? PlainOf<P[K]> : never },
  bindings?: Bindings,
): PlainOf<R> {
  const { values } = splitParameters(functor.parameters);
  const leaves = flatten<number | boolean>(values, args as Tree<number | boolean>, (path) => {
    throw new ArgumentError('interpreter/argument', `The argument ${path} is missing.`);
  });
  const results = interpret(functor.module, leaves, bindings);
  const expected = leafTypes(functor.result).length;
  if (results.length !== expected) throw new RangeError(`${results.length} results, ${expected} declared`);
  return assemble(
    functor.result,
    results.map(({ value }) => value),
  ) as PlainOf<R>;
}

function run(machine: Machine, fn: IrFunction, args: readonly Evaluated[]): Evaluated[] {
  const locals = new Map(fn.parameters.map(({ id }, leaf) => [id, args[leaf]!]));
  const frame: Frame = { locals, arrays: new Map() };
  const outcome = runBlock(machine, frame, fn.body);
  if (typeof outcome === 'string') throw new RangeError(`function ${fn.name} ends in ${outcome}`);
  return outcome.returned;
}

function runBlock(machine: Machine, frame: Frame, block: readonly Statement[]): Outcome {
  for (const statement of block) {
    const outcome = runStatement(machine, frame, statement);
    if (outcome !== 'next') return outcome;
  }
  return 'next';
}

function runStatement(machine: Machine, frame: Frame, statement: Statement): Outcome {
  const look = (operand: Operand): Evaluated => valueOfOperand(machine, frame, operand);
  const bind = (local: Local, value: Evaluated): void => {
    frame.locals.set(local.id, limited(value, machine.path));
  };
  if (statement.kind !== 'loop') machine.observe(statement);
  switch (statement.kind) {
    case 'let':
      bind(statement.local, compute(statement.operation, statement.local.type, statement.operation.operands.map(look)));
      return 'next';
    case 'read': {
      const index = look(statement.index);
      const value = element(machine, statement.array, statement.local.type, index.value as number);
      bind(statement.local, limited(value, index.reliance));
      return 'next';
    }
    case 'length':
      bind(statement.local, { value: machine.arrays[statement.array]!.length, reliance: PROMISED });
      return 'next';
    case 'var':
    case 'set':
      bind(statement.local, look(statement.value));
      return 'next';
    case 'call': {
      const callee = machine.module.functions.find(({ name }) => name === statement.callee)!;
      const results = run(machine, callee, statement.args.map(look));
      statement.results.forEach((local, leaf) => {
        bind(local, results[leaf]!);
      });
      return 'next';
    }
    case 'if': {
      const condition = look(statement.condition);
      machine.path = min(machine.path, condition.reliance);
      return runBlock(machine, frame, condition.value ? statement.consequent : statement.alternative);
    }
    case 'loop':
      return runLoop(machine, frame, statement);
    case 'return':
      return { returned: statement.values.map(look) };
    case 'localArray': {
      const { id, length } = statement.localArray;
      frame.arrays.set(id, Array(length).fill(limited(look(statement.value), machine.path)));
      return 'next';
    }
    case 'readLocal': {
      const index = look(statement.index);
      const none = plain(statement.local.type, statement.local.type !== 'bool' && 0);
      const value = frame.arrays.get(statement.localArray.id)![index.value as number] ?? none;
      bind(statement.local, limited(value, index.reliance));
      return 'next';
    }
    case 'writeLocal': {
      const elements = frame.arrays.get(statement.localArray.id)!;
      const index = look(statement.index);
      const value = limited(limited(look(statement.value), machine.path), index.reliance);
      // If devices may differ about the index, they differ about every element.
      if (index.reliance < PROMISED)
        elements.splice(0, elements.length, ...elements.map((old) => limited(old, index.reliance)));
      if ((index.value as number) < elements.length) elements[index.value as number] = value;
      return 'next';
    }
    case 'readOwned':
    case 'writeOwned':
      throw new RangeError('the interpreter has no strips');
    default:
      return statement.kind;
  }
}

function runLoop(machine: Machine, frame: Frame, loop: Statement & { readonly kind: 'loop' }): Outcome {
  for (;;) {
    machine.observe(loop);
    if (machine.rounds++ >= maximumRounds) throw new RangeError('the program does not end');
    const outcome = runBlock(machine, frame, loop.body);
    if (outcome === 'break') return 'next';
    if (typeof outcome === 'object') return outcome;
    runBlock(machine, frame, loop.step);
  }
}

function valueOfOperand(machine: Machine, frame: Frame, operand: Operand): Evaluated {
  switch (operand.kind) {
    case 'literal':
      return plain(operand.type, (operand as Literal).value);
    case 'uniform':
      return plain(operand.type, machine.uniforms[operand.name]!);
    case 'local': {
      const value = frame.locals.get(operand.id);
      if (value === undefined) throw new RangeError(`local ${operand.id} is read before it is bound`);
      return value;
    }
  }
}

function element({ arrays }: Machine, name: string, type: ScalarType, index: number): Evaluated {
  const array = arrays[name]!;
  if (index >= array.length) return { value: type === 'bool' ? false : 0, reliance: PROMISED };
  return plain(type, array[index]!);
}

function compute({ name, operands }: Operation, type: ScalarType, args: readonly Evaluated[]): Evaluated {
  const value = evaluate(
    name,
    operands[0]!.type,
    type,
    args.map((arg) => arg.value),
  );
  const needed = name === 'select' ? [args[2]!, args[args[2]!.value ? 1 : 0]!] : args;
  const reliance = needed.map((arg) => arg.reliance).reduce(min);
  return limited({ value, reliance }, ownReliance(name, type, value, args));
}

function ownReliance(
  name: Operation['name'],
  type: ScalarType,
  value: number | boolean,
  args: readonly Evaluated[],
): Reliance {
  if (name === 'bits' && Number.isNaN(type === 'f32' ? value : args[0]!.value)) return OPEN;
  return type === 'f32' && !keepsBytes(name, value as number) ? SPECIFIED : PROMISED;
}

function plain(type: ScalarType, value: number | boolean): Evaluated {
  return { value, reliance: type !== 'f32' || isNormalOrZero(value as number) ? PROMISED : SPECIFIED };
}

const min = (a: Reliance, b: Reliance): Reliance => (a < b ? a : b);

const limited = ({ value, reliance }: Evaluated, limit: Reliance): Evaluated => ({
  value,
  reliance: min(reliance, limit),
});

const smallestNormal = 2 ** -126;

/** Whether a number is ±0, or finite and not subnormal. */
export function isNormalOrZero(x: number): boolean {
  return x === 0 || (Number.isFinite(x) && Math.abs(x) >= smallestNormal);
}

/**
 * Whether all devices give the same bytes for a result. Devices may differ for a product or quotient that rounds up to
 * the smallest normal number, because a device may flush the unrounded value to zero.
 */
function keepsBytes(name: Operation['name'], value: number): boolean {
  return isNormalOrZero(value) && !((name === 'mul' || name === 'div') && Math.abs(value) === smallestNormal);
}
