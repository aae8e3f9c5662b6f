import { blocksOf, entryOf, type IrFunction, type Module, type Operand, operandsOf, type Statement } from './ir.ts';
import { createVariants } from './memo.ts';
import { withBlocks } from './rewrite.ts';
import { visitStatements } from './visit.ts';

/** Maximum number of cached projections (variants that return only some results) of a module. */
const MAX_PROJECTIONS = 256;

const projections = createVariants<Module, Module>(MAX_PROJECTIONS);

/**
 * A module that returns only some results of another module, in the given order. Everything that these results do not
 * need is removed: statements, results of callees, arrays and uniforms. (Dead code elimination by marking, after Cytron
 * et al. 1991, on structured control flow.)
 */
export function projectResults(module: Module, results: readonly number[]): Module {
  return projections(module, results.join(), () => project(module, results));
}

function project(module: Module, results: readonly number[]): Module {
  const byName = new Map(module.functions.map((fn) => [fn.name, fn]));
  const functions = new Map<string, IrFunction>();
  const keep = (fn: IrFunction, wanted: readonly number[]): string => {
    const all = wanted.length === fn.results.length && wanted.every((result, i) => result === i);
    const name = all ? fn.name : `${fn.name}_${wanted.join('_')}`;
    if (!functions.has(name)) functions.set(name, reduced(fn, name, wanted));
    return name;
  };
  const reduced = (fn: IrFunction, name: string, wanted: readonly number[]): IrFunction => {
    const needed = markNeeded(fn, wanted);
    const callee: Rewrite['callee'] = (called, used) => keep(byName.get(called)!, used);
    const body = reduceBlock(fn.body, { needed, wanted, callee, inLoop: false });
    return { ...fn, name, body, results: wanted.map((result) => fn.results[result]!) };
  };
  keep(entryOf(module), results);
  // Functions are added to the map when they are complete, so callees come before their callers, as a module requires.
  const list = [...functions.values()];
  const used = new Set<string>();
  for (const { body } of list) noteNames(body, used);
  const only = <T>(named: ReadonlyMap<string, T>, mark: string): Map<string, T> =>
    new Map([...named].filter(([name]) => used.has(mark + name)));
  return { functions: list, arrays: only(module.arrays, 'array '), uniforms: only(module.uniforms, 'uniform ') };
}

/** Ids of the locals and arrays on which the wanted results depend. */
function markNeeded(fn: IrFunction, wanted: readonly number[]): ReadonlySet<number> {
  const needed = new Set<number>();
  const mark = (operand: Operand): void => {
    if (operand.kind === 'local') needed.add(operand.id);
  };
  const visit = (block: readonly Statement[], inLoop: boolean): void => {
    for (const statement of block) {
      if (!isLive(statement, needed, inLoop)) continue;
      if (statement.kind === 'return') for (const result of wanted) mark(statement.values[result]!);
      else operandsOf(statement).forEach(mark);
      if (statement.kind === 'readLocal') needed.add(statement.localArray.id);
      for (const inner of blocksOf(statement)) visit(inner, inLoop || statement.kind === 'loop');
    }
  };
  for (let before = -1; before < needed.size; ) {
    before = needed.size;
    visit(fn.body, false);
  }
  return needed;
}

/** Whether a statement must be kept. Jumps (return, break, continue) inside a loop that is kept must be kept too. */
function isLive(statement: Statement, needed: ReadonlySet<number>, inLoop: boolean): boolean {
  switch (statement.kind) {
    case 'return':
      return true;
    case 'break':
    case 'continue':
      return inLoop;
    case 'writeOwned':
      return true;
    case 'localArray':
    case 'writeLocal':
      return needed.has(statement.localArray.id);
    case 'call':
      // A function without results is called for what it writes.
      return statement.results.length === 0 || statement.results.some(({ id }) => needed.has(id));
    case 'if':
    case 'loop': {
      const within = statement.kind === 'if' && inLoop;
      return blocksOf(statement).some((block) => block.some((each) => isLive(each, needed, within)));
    }
    default:
      return needed.has(statement.local.id);
  }
}

interface Rewrite {
  readonly needed: ReadonlySet<number>;
  readonly wanted: readonly number[];
  readonly callee: (name: string, results: readonly number[]) => string;
  readonly inLoop: boolean;
}

function reduceBlock(block: readonly Statement[], rewrite: Rewrite): Statement[] {
  const { needed, wanted, callee, inLoop } = rewrite;
  return block.flatMap((statement): Statement[] => {
    if (!isLive(statement, needed, inLoop)) return [];
    switch (statement.kind) {
      case 'return':
        return [{ ...statement, values: wanted.map((result) => statement.values[result]!) }];
      case 'call': {
        const used = [...statement.results.keys()].filter((result) => needed.has(statement.results[result]!.id));
        const results = used.map((result) => statement.results[result]!);
        return [{ ...statement, callee: callee(statement.callee, used), results }];
      }
      default: {
        const within = { ...rewrite, inLoop: inLoop || statement.kind === 'loop' };
        return [withBlocks(statement, (each) => reduceBlock(each, within))];
      }
    }
  });
}

function noteNames(block: readonly Statement[], names: Set<string>): void {
  visitStatements(block, (statement) => {
    for (const operand of operandsOf(statement)) if (operand.kind === 'uniform') names.add(`uniform ${operand.name}`);
    if ('array' in statement) names.add(`array ${statement.array}`);
  });
}
