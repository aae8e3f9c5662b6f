import { largestOf, smallestOf } from '../../primitives/host/extremes.ts';
import { entryOf, type IrFunction, type Module, type Operand, type Statement } from '../../primitives/ir/ir.ts';
import { factsOf, type OperationName } from '../../primitives/ir/operations.ts';
import { variablesSet } from '../../primitives/ir/visit.ts';

/**
 * The possible values of an integer, `lo … hi`, modulo 2³². Bounds below 0 or above 2³² − 1 stand for values that wrap
 * around as u32.
 */
export interface IndexInterval {
  readonly lo: number;
  readonly hi: number;
}

/** Facts about the data of a launch: its indices, uniforms and arrays. */
export interface Known {
  /** The range of the launch indices. */
  readonly index: IndexInterval;
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
const MAX_COUNT: Readonly<Record<'u32' | 'i32', number>> = { u32: WORDS, i32: WORDS / 2 };
const ANY: IndexInterval = { lo: 0, hi: WORDS - 1 };

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
  const see = (array: string, index: IndexInterval): void => {
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
  readonly see: (array: string, index: IndexInterval) => void;
}

/** The ranges of a function's results, given the ranges of its arguments. */
function evaluate(fn: IrFunction, args: readonly IndexInterval[], scope: Scope): IndexInterval[] {
  const ranges = new Map<number, IndexInterval>(fn.parameters.map(({ id }, i) => [id, args[i]!]));
  const changing = variablesSet(fn.body);
  let results: IndexInterval[] | undefined;
  const rangeOf = (operand: Operand): IndexInterval => {
    if (operand.kind === 'local') return ranges.get(operand.id) ?? ANY;
    return exactly(operand.kind === 'literal' ? operand.value : scope.known.uniform(operand.name));
  };
  const run = (block: readonly Statement[]): void => {
    for (const statement of block) {
      switch (statement.kind) {
        case 'let': {
          const { name, operands } = statement.operation;
          ranges.set(statement.local.id, operation(name, operands, operands.map(rangeOf)));
          break;
        }
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

function operation(
  name: OperationName,
  operands: readonly Operand[],
  [a, b, c]: readonly IndexInterval[],
): IndexInterval {
  const type = operands[0]!.type;
  const { bounds } = factsOf(name);
  if (bounds !== undefined) return { lo: bounds[0], hi: bounds[1] };
  if (name === 'select') return either(a!, b!);
  if (type === 'bool') return name === 'convert' ? { lo: 0, hi: 1 } : ANY;
  if (type === 'f32' || c !== undefined) return ANY;
  switch (name) {
    case 'add':
      return wrapped(a!.lo + b!.lo, a!.hi + b!.hi);
    case 'sub':
      return wrapped(a!.lo - b!.hi, a!.hi - b!.lo);
    case 'neg':
      return wrapped(-a!.hi, -a!.lo);
    case 'mul':
      return products(a!, b!);
    case 'shl':
      return b!.lo === b!.hi ? products(a!, exactly(2 ** (b!.lo & 31))) : ANY;
    case 'bits':
      return a!;
    case 'convert':
      return operands[0]!.type === 'u32' || operands[0]!.type === 'i32' ? a! : ANY;
    default:
      return [a!, b ?? a!].every(({ lo, hi }) => lo >= 0 && hi < MAX_COUNT[type]) ? unsigned(name, a!, b) : ANY;
  }
}

/**
 * The range of the result of an operation in unsigned arithmetic. The operands must be neither negative nor wrapped.
 */
function unsigned(name: string, a: IndexInterval, b: IndexInterval = a): IndexInterval {
  switch (name) {
    case 'min':
      return { lo: Math.min(a.lo, b.lo), hi: Math.min(a.hi, b.hi) };
    case 'max':
      return { lo: Math.max(a.lo, b.lo), hi: Math.max(a.hi, b.hi) };
    case 'and':
      return { lo: 0, hi: Math.min(a.hi, b.hi) };
    case 'or':
      return { lo: Math.max(a.lo, b.lo), hi: Math.min(WORDS - 1, a.hi + b.hi) };
    case 'xor':
      return { lo: 0, hi: Math.min(WORDS - 1, a.hi + b.hi) };
    case 'shr':
      return b.lo === b.hi ? quotients(a, 2 ** (b.lo & 31)) : { lo: 0, hi: a.hi };
    case 'div':
      return b.lo === b.hi && b.lo > 0 ? quotients(a, b.lo) : { lo: 0, hi: a.hi };
    case 'rem':
      return remainders(a, b);
    default:
      return ANY;
  }
}

function quotients({ lo, hi }: IndexInterval, by: number): IndexInterval {
  return { lo: Math.floor(lo / by), hi: Math.floor(hi / by) };
}

function remainders(a: IndexInterval, by: IndexInterval): IndexInterval {
  const divisor = by.lo;
  if (divisor !== by.hi || divisor === 0) return { lo: 0, hi: Math.min(a.hi, Math.max(0, by.hi - 1)) };
  const turn = Math.floor(a.lo / divisor);
  if (turn === Math.floor(a.hi / divisor)) return { lo: a.lo - turn * divisor, hi: a.hi - turn * divisor };
  return { lo: 0, hi: divisor - 1 };
}

function products(a: IndexInterval, b: IndexInterval): IndexInterval {
  const corners = [a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi];
  return wrapped(smallestOf(corners), largestOf(corners));
}

function either(a: IndexInterval, b: IndexInterval): IndexInterval {
  return wrapped(Math.min(a.lo, b.lo), Math.max(a.hi, b.hi));
}

function exactly(value: number | boolean): IndexInterval {
  return { lo: Number(value), hi: Number(value) };
}

/**
 * Shifts an interval by multiples of 2³² towards 0. An interval longer than 2³², or with bounds beyond 2⁵², becomes the
 * range of all values.
 */
function wrapped(lo: number, hi: number): IndexInterval {
  if (hi - lo >= WORDS || !(Math.abs(lo) < 2 ** 52 && Math.abs(hi) < 2 ** 52)) return ANY;
  const turns = lo >= WORDS ? Math.floor(lo / WORDS) : hi < -WORDS ? Math.ceil(hi / WORDS) : 0;
  return { lo: lo - turns * WORDS, hi: hi - turns * WORDS };
}

/** The elements of an array of `length` elements that an index in the interval may select. */
function clamp({ lo, hi }: IndexInterval, length: number): Elements {
  // If the interval wraps around, both ends of the array may be read.
  if (lo + WORDS < length || hi >= WORDS || lo < -WORDS) return { from: 0, to: length };
  const from = Math.max(0, lo);
  return { from, to: Math.max(from, Math.min(length, hi + 1)) };
}

function union(a: Elements, b: Elements): Elements {
  if (a.from >= a.to) return b;
  if (b.from >= b.to) return a;
  return { from: Math.min(a.from, b.from), to: Math.max(a.to, b.to) };
}
