import { largestOf } from '../../primitives/host/extremes.ts';
import { accessPatterns, indexLocals } from '../../primitives/ir/access-patterns.ts';
import type { IrFunction, Local, Module, Operand, OperationName, Statement, Uniform } from '../../primitives/ir/ir.ts';
import { createVariants } from '../../primitives/ir/memo.ts';
import { withBlocks, withOperands } from '../../primitives/ir/rewrite.ts';
import { visitStatements } from '../../primitives/ir/visit.ts';

/**
 * How the module of a window (range of the launch's indices) addresses the elements of an array:
 * - `whole`: the whole array is bound and read at indices of the launch;
 * - `aligned`: a piece that starts at the window's first index is bound and read at indices of the window;
 * - `piece`: a piece that may start at any element is bound. The module subtracts the index of the piece's first
 *   element, which is a uniform, from indices of the launch.
 */
export type Placing = 'whole' | 'aligned' | 'piece';

/**
 * A module for windows (ranges of indices) of a launch. Its additional uniforms are the start of the window, the starts
 * of pieces, and the lengths of arrays.
 */
export interface WindowModule {
  readonly module: Module;
  /** Name of the uniform with the window's first index. */
  readonly start: string;
  /** For each array read as a `piece`, the name of the uniform with the index of the piece's first element. */
  readonly pieces: ReadonlyMap<string, string>;
  /** For each array that is not bound whole, the name of the uniform with the length of the whole array. */
  readonly lengths: ReadonlyMap<string, string>;
}

/** Maximum number of cached variants of a module. */
const MAX_PLACINGS = 64;

const variants = createVariants<Module, WindowModule>(MAX_PLACINGS);

/**
 * A module whose result at index i of a window (range of indices) equals the given module's result at index `start + i`
 * of the launch.
 */
export function windowModule(module: Module, placings: ReadonlyMap<string, Placing>): WindowModule {
  return variants(module, [...placings.values()].join(), () => rewrite(module, placings));
}

/** Chooses how windows address each array. An array that is read only at the launch index can be aligned. */
export function placingsOf(module: Module, whole: (array: string) => boolean): ReadonlyMap<string, Placing> {
  const patterns = accessPatterns(module);
  const placing = (name: string): Placing => {
    if (whole(name)) return 'whole';
    return patterns.get(name)!.kind === 'index' ? 'aligned' : 'piece';
  };
  return new Map([...module.arrays.keys()].map((name) => [name, placing(name)]));
}

function rewrite(module: Module, placings: ReadonlyMap<string, Placing>): WindowModule {
  const uniforms = new Map(module.uniforms);
  const declare = (base: string): string => {
    let name = base;
    while (uniforms.has(name)) name += '_';
    uniforms.set(name, 'u32');
    return name;
  };
  const start = declare('windowStart');
  const inPieces = [...placings].filter(([, placing]) => placing !== 'whole').map(([name]) => name);
  const pieces = new Map(
    inPieces.filter((name) => placings.get(name) === 'piece').map((name) => [name, declare(`${name}Start`)]),
  );
  const lengths = new Map(inPieces.map((name) => [name, declare(`${name}Length`)]));
  const holders = indexLocals(module);
  const parameters = new Map(module.functions.map((fn) => [fn.name, { fn, holding: holders.get(fn)! }]));
  const functions = module.functions.map((fn) => {
    const shifter = createShifter(fn, holders.get(fn)!, { placings, start, pieces, lengths });
    return {
      ...fn,
      body: shifter.body((callee, place) => {
        const called = parameters.get(callee)!;
        return called.holding.has(called.fn.parameters[place]!.id);
      }),
    };
  });
  return { module: { functions, arrays: module.arrays, uniforms }, start, pieces, lengths };
}

interface Names {
  readonly placings: ReadonlyMap<string, Placing>;
  readonly start: string;
  readonly pieces: ReadonlyMap<string, string>;
  readonly lengths: ReadonlyMap<string, string>;
}

/**
 * Prepares to rewrite one function. Parameters of the new function that hold the index take indices of the window
 * instead of the launch. All other values stay the same.
 */
function createShifter(
  fn: IrFunction,
  holding: ReadonlySet<number>,
  { placings, start, pieces, lengths }: Names,
): { body(takesIndex: (callee: string, place: number) => boolean): Statement[] } {
  let nextId = 1 + largestId(fn);
  const compute = (name: OperationName, a: Operand, b: Operand): [Local, Statement] => {
    const local: Local = { kind: 'local', type: 'u32', id: nextId++ };
    return [local, { kind: 'let', local, operation: { name, operands: [a, b] } }];
  };
  const uniform = (name: string): Uniform => ({ kind: 'uniform', type: 'u32', name });
  const launchIndex = new Map<number, Local>();
  const prologue: Statement[] = [];
  for (const parameter of fn.parameters) {
    if (!holding.has(parameter.id)) continue;
    const [index, statement] = compute('add', parameter, uniform(start));
    launchIndex.set(parameter.id, index);
    prologue.push(statement);
  }
  const value = (operand: Operand): Operand =>
    operand.kind === 'local' ? (launchIndex.get(operand.id) ?? operand) : operand;

  const body = (takesIndex: (callee: string, place: number) => boolean): Statement[] => {
    const readOf = (statement: Extract<Statement, { kind: 'read' }>): Statement[] => {
      switch (placings.get(statement.array)) {
        case 'aligned':
          return [statement];
        case 'piece': {
          const [index, shift] = compute('sub', value(statement.index), uniform(pieces.get(statement.array)!));
          return [shift, { ...statement, index }];
        }
        default:
          return [{ ...statement, index: value(statement.index) }];
      }
    };
    const rewriteOne = (statement: Statement): Statement[] => {
      switch (statement.kind) {
        case 'read':
          return readOf(statement);
        case 'length': {
          const length = lengths.get(statement.array);
          if (length === undefined) return [statement];
          const operands = [uniform(length), uniform(length)];
          return [{ kind: 'let', local: statement.local, operation: { name: 'max', operands } }];
        }
        case 'call': {
          const args = statement.args.map((arg, place) => (takesIndex(statement.callee, place) ? arg : value(arg)));
          return [{ ...statement, args }];
        }
        default:
          return [withBlocks(withOperands(statement, value), (block) => block.flatMap(rewriteOne))];
      }
    };
    return [...prologue, ...fn.body.flatMap(rewriteOne)];
  };
  return { body };
}

function largestId({ parameters, body }: IrFunction): number {
  let largest = largestOf(
    parameters.map(({ id }) => id),
    -1,
  );
  visitStatements(body, (statement) => {
    if ('local' in statement) largest = Math.max(largest, statement.local.id);
    if ('localArray' in statement) largest = Math.max(largest, statement.localArray.id);
    if (statement.kind === 'call')
      largest = largestOf(
        statement.results.map(({ id }) => id),
        largest,
      );
  });
  return largest;
}
