import { entryOf, type IrFunction, type Module, type Operand, type Statement } from './ir.ts';
import { memoized } from './memo.ts';
import { visitStatements } from './visit.ts';

/**
 * How a module reads a captured array:
 * - `cells`: only at constant indices, which are listed;
 * - `index`: only at the index of the launch (the index for which a launch calls the module's entry function);
 * - `anywhere`: at any index.
 */
export type AccessPattern =
  | { readonly kind: 'cells'; readonly indices: readonly number[] }
  | { readonly kind: 'index' }
  | { readonly kind: 'anywhere' };

/**
 * Maximum number of constant indices for the pattern `cells`. Emitters pass the element at each of these indices as a
 * parameter. With more indices, passing all these elements would not pay.
 */
const MAX_CELLS = 4;

/**
 * How a module reads each of its arrays, in any of its functions. The first parameter of the entry function must be the
 * index of the launch.
 */
export const accessPatterns: (module: Module) => ReadonlyMap<string, AccessPattern> = memoized(findPatterns);

/** For every function, the ids of those parameters that hold the index of the launch in every call of the function. */
export type IndexLocals = Map<IrFunction, Set<number>>;

function findPatterns(module: Module): ReadonlyMap<string, AccessPattern> {
  const reads = new Map<string, Set<number | 'index' | 'anywhere'>>();
  for (const name of module.arrays.keys()) reads.set(name, new Set());
  const holders = indexLocals(module);
  for (const fn of module.functions) {
    visitStatements(fn.body, (statement) => {
      if (statement.kind === 'read') reads.get(statement.array)!.add(placeOf(statement.index, holders.get(fn)!));
      if (isOwnedAccess(statement)) reads.get(statement.array)!.add('anywhere');
    });
  }
  return new Map([...reads].map(([name, places]) => [name, patternOf([...places])]));
}

function placeOf(index: Operand, holders: ReadonlySet<number>): number | 'index' | 'anywhere' {
  if (index.kind === 'literal') return index.value as number;
  return index.kind === 'local' && holders.has(index.id) ? 'index' : 'anywhere';
}

function patternOf(places: readonly (number | 'index' | 'anywhere')[]): AccessPattern {
  const indices = places.filter((place) => typeof place === 'number');
  if (indices.length === places.length && indices.length <= MAX_CELLS) return { kind: 'cells', indices };
  return places.every((place) => place === 'index') ? { kind: 'index' } : { kind: 'anywhere' };
}

/**
 * Finds the parameters that hold the index of the launch in every call of their function. With `derive`, callers may
 * also pass the locals that `derive` returns for the parameters found in the caller. In a module, callees come before
 * their callers. So one pass from the entry backwards sees all calls of a function before the function.
 */
export function indexLocals(
  module: Module,
  derive: (fn: IrFunction, holders: ReadonlySet<number>) => ReadonlySet<number> = (_, holders) => holders,
): IndexLocals {
  const holders: IndexLocals = new Map(
    module.functions.map((fn) => [fn, new Set(fn.parameters.filter(({ type }) => type === 'u32').map(({ id }) => id))]),
  );
  const entry = entryOf(module);
  for (const { id } of entry.parameters.slice(1)) holders.get(entry)!.delete(id);
  for (const fn of [...module.functions].reverse()) {
    const derived = derive(fn, holders.get(fn)!);
    visitStatements(fn.body, (statement) => {
      if (statement.kind !== 'call') return;
      const callee = module.functions.find(({ name }) => name === statement.callee)!;
      for (const [i, arg] of statement.args.entries()) {
        if (!isIn(derived, arg)) holders.get(callee)!.delete(callee.parameters[i]!.id);
      }
    });
  }
  return holders;
}

/** The arrays that a module reads and writes as owned arrays. */
export const ownedArrays: (module: Module) => ReadonlySet<string> = memoized(({ functions }) => {
  const arrays = new Set<string>();
  for (const { body } of functions) {
    visitStatements(body, (statement) => {
      if (isOwnedAccess(statement)) arrays.add(statement.array);
    });
  }
  return arrays;
});

function isOwnedAccess(statement: Statement): statement is Extract<Statement, { kind: 'readOwned' | 'writeOwned' }> {
  return statement.kind === 'readOwned' || statement.kind === 'writeOwned';
}

/** The arrays that a module reads only at indices up to the index of the launch, never above it. */
export const arraysUpToIndex: (module: Module) => ReadonlySet<string> = memoized(findArraysUpToIndex);

function findArraysUpToIndex(module: Module): ReadonlySet<string> {
  const arrays = new Set(module.arrays.keys());
  const parameters = indexLocals(module, localsUpTo);
  for (const fn of module.functions) {
    const behind = localsUpTo(fn, parameters.get(fn)!);
    visitStatements(fn.body, (statement) => {
      if (statement.kind === 'read' && !isIn(behind, statement.index)) arrays.delete(statement.array);
      if (isOwnedAccess(statement)) arrays.delete(statement.array);
    });
  }
  return arrays;
}

/**
 * The locals in `some`, and every local that is computed as `min(i, …)` or `i − min(i, …)` from a returned local `i`.
 * Such a local cannot be larger than `i`.
 */
function localsUpTo({ body }: IrFunction, some: ReadonlySet<number>): ReadonlySet<number> {
  const upTo = new Set(some);
  const minOf = new Map<number, Operand>();
  visitStatements(body, (statement) => {
    if (statement.kind !== 'let' || statement.local.type !== 'u32') return;
    const { name, operands } = statement.operation;
    const [left, right] = operands;
    const lesser = name === 'min' ? operands.find((operand) => isIn(upTo, operand)) : undefined;
    if (lesser !== undefined) minOf.set(statement.local.id, lesser);
    const taken = name === 'sub' && right!.kind === 'local' ? minOf.get(right!.id) : undefined;
    const isLess = lesser !== undefined || (taken !== undefined && isIn(upTo, left!) && sameLocal(taken, left!));
    if (isLess) upTo.add(statement.local.id);
  });
  return upTo;
}

function isIn(locals: ReadonlySet<number>, operand: Operand): boolean {
  return operand.kind === 'local' && locals.has(operand.id);
}

function sameLocal(a: Operand, b: Operand): boolean {
  return a.kind === 'local' && b.kind === 'local' && a.id === b.id;
}
