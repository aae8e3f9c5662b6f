import {
  entryOf,
  type IrFunction,
  type Module,
  type Operand,
  type Operation,
  type ScalarType,
  type Statement,
} from '../../primitives/ir/ir.ts';
import { factsOf, type OperationName } from '../../primitives/ir/operations.ts';
import { variablesSet } from '../../primitives/ir/visit.ts';
import { rangeOfResult, type ValueRange } from '../analyses/value-ranges.ts';

/**
 * Facts about the data of a launch: its indices, uniforms and arrays. Ranges of integers are modulo 2³² here: bounds
 * below 0 or above 2³² − 1 stand for values that wrap around as u32.
 */
export interface Known {
  /** The range of the launch indices. */
  readonly index: ValueRange;
  readonly uniform: (name: string) => number | boolean;
  /** Number of elements of an array. */
  readonly length: (array: string) => number;
  /** The value of the only element of a one-element array, if known. */
  readonly cell: (array: string) => number | undefined;
}

/** Elements of an array: `from` inclusive to `to` exclusive. */
export interface Elements {
  readonly from: number;
  readonly to: number;
}

const WORDS = 2 ** 32;
/** For each type, an exclusive upper bound: integers from 0 up to this bound are neither negative nor wrapped. */
const MAX_COUNT: Readonly<Record<ScalarType, number>> = { u32: WORDS, i32: WORDS / 2, f32: 0, bool: 0 };
const ANY: ValueRange = { min: 0, max: WORDS - 1 };

/**
 * Finds which elements of each array a module may read, by interval arithmetic on the index. Finds narrow ranges for
 * reads at the index, at a distance from the index, in reverse order, with a stride, and in a table of fixed size. An
 * index may have any value if it is the value of a variable that changes, or was read from an array without a known
 * `cell`. The result includes the reads in both branches of every condition.
 */
export function elementsRead(module: Module, known: Known): ReadonlyMap<string, Elements> {
  const reads = new Map<string, Elements>();
  for (const name of module.arrays.keys()) reads.set(name, { from: 0, to: 0 });
  const functions = new Map(module.functions.map((fn) => [fn.name, fn]));
  const see = (array: string, index: ValueRange): void => {
    reads.set(array, union(reads.get(array)!, clamp(index, known.length(array))));
  };
  const entry = entryOf(module);
  evaluate(
    entry,
    entry.parameters.map((_, i) => (i === 0 ? known.index : ANY)),
    { functions, known, see },
  );
  return reads;
}

interface Scope {
  readonly functions: ReadonlyMap<string, IrFunction>;
  readonly known: Known;
  readonly see: (array: string, index: ValueRange) => void;
}

/** The ranges of a function's results, given the ranges of its arguments. */
function evaluate(fn: IrFunction, args: readonly ValueRange[], scope: Scope): ValueRange[] {
  const ranges = new Map<number, ValueRange>(fn.parameters.map(({ id }, i) => [id, args[i]!]));
  const changing = variablesSet(fn.body);
  let results: ValueRange[] | undefined;
  const rangeOf = (operand: Operand): ValueRange => {
    if (operand.kind === 'local') return ranges.get(operand.id) ?? ANY;
    return exactly(operand.kind === 'literal' ? operand.value : scope.known.uniform(operand.name));
  };
  const run = (block: readonly Statement[]): void => {
    for (const statement of block) {
      switch (statement.kind) {
        case 'let':
          ranges.set(statement.local.id, resultOf(statement.operation, statement.operation.operands.map(rangeOf)));
          break;
        case 'read': {
          scope.see(statement.array, rangeOf(statement.index));
          const cell = scope.known.cell(statement.array);
          ranges.set(statement.local.id, cell === undefined ? ANY : exactly(cell));
          break;
        }
        case 'length':
          ranges.set(statement.local.id, exactly(scope.known.length(statement.array)));
          break;
        case 'var':
          ranges.set(statement.local.id, changing.has(statement.local.id) ? ANY : rangeOf(statement.value));
          break;
        case 'call': {
          const called = evaluate(scope.functions.get(statement.callee)!, statement.args.map(rangeOf), scope);
          for (const [i, { id }] of statement.results.entries()) ranges.set(id, called[i]!);
          break;
        }
        case 'if':
          run(statement.consequent);
          run(statement.alternative);
          break;
        case 'loop':
          run(statement.body);
          run(statement.step);
          break;
        case 'return': {
          const returned = statement.values.map(rangeOf);
          results = results?.map((range, i) => either(range, returned[i]!)) ?? returned;
          break;
        }
      }
    }
  };
  run(fn.body);
  return results!;
}

/** Operations that give equal results modulo 2³² for operands that are equal modulo 2³². */
const MODULAR: ReadonlySet<OperationName> = new Set(['add', 'sub', 'neg', 'mul', 'select', 'convert', 'bits']);

/**
 * The interval of an operation's result. Of operations that are not modular, something is known only if the operands
 * are neither negative nor wrapped, or if the results of the operation are bounded.
 */
function resultOf(operation: Operation, ranges: readonly ValueRange[]): ValueRange {
  const { name, operands } = operation;
  const { type } = operands[0]!;
  if (type === 'bool' && name === 'convert') return { min: 0, max: 1 };
  const isBounded = factsOf(name).bounds !== undefined;
  const isModular = type !== 'f32' && (MODULAR.has(name) || (name === 'shl' && ranges[1]!.min === ranges[1]!.max));
  const isCounted = ranges.every(({ min, max }) => min >= 0 && max < MAX_COUNT[type]);
  const range = isBounded || isModular || isCounted ? rangeOfResult(operation, ranges) : undefined;
  return range === undefined ? ANY : wrapped(range);
}

function either(a: ValueRange, b: ValueRange): ValueRange {
  return wrapped({ min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) });
}

function exactly(value: number | boolean): ValueRange {
  return { min: Number(value), max: Number(value) };
}

/**
 * Shifts an interval by multiples of 2³² towards 0. An interval longer than 2³², or with bounds beyond 2⁵², becomes the
 * range of all values.
 */
function wrapped({ min, max }: ValueRange): ValueRange {
  if (max - min >= WORDS || !(Math.abs(min) < 2 ** 52 && Math.abs(max) < 2 ** 52)) return ANY;
  const turns = min >= WORDS ? Math.floor(min / WORDS) : max < -WORDS ? Math.ceil(max / WORDS) : 0;
  return { min: min - turns * WORDS, max: max - turns * WORDS };
}

/** The elements of an array of `length` elements that an index in the interval may select. */
function clamp({ min, max }: ValueRange, length: number): Elements {
  // If the interval wraps around, both ends of the array may be read.
  if (min + WORDS < length || max >= WORDS || min < -WORDS) return { from: 0, to: length };
  const from = Math.max(0, min);
  return { from, to: Math.max(from, Math.min(length, max + 1)) };
}

function union(a: Elements, b: Elements): Elements {
  if (a.from >= a.to) return b;
  if (b.from >= b.to) return a;
  return { from: Math.min(a.from, b.from), to: Math.max(a.to, b.to) };
}
