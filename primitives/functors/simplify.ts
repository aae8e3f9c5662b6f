import { entryOf, type IrFunction, type Module, type Operand, type ScalarType } from './ir.ts';
import { removeDeadCode } from './simplify/dead-code.ts';
import { foldConstants } from './simplify/fold.ts';
import { operandsOf, visit } from './simplify/statements.ts';

const simplified = new WeakMap<Module, Module>();

/**
 * A module that computes the same with less: operations on literals and branches on literals are decided, identities that
 * hold to the bit are applied, copies are seen through, and what no result depends on is left out, unused helper
 * functions, arrays and uniforms included. The entry keeps its parameters and its results. A loop that changes nothing is
 * taken to end.
 *
 * Every pass takes time in proportion to the module; passes repeat until nothing changes.
 *
 * Laws: `simplify(simplify(m))` is `simplify(m)`; both modules give the same results.
 *
 * @example
 * const { functions } = simplify(fn({ x: u32 }, u32, ({ x }) => x.add(0).mul(1)).module);
 * functions[0].body.map(({ kind }) => kind); // ['return']
 */
export function simplify(module: Module): Module {
  const known = simplified.get(module);
  if (known !== undefined) return known;
  const functions = new Map(module.functions.map((fn) => [fn.name, fn]));
  const kept = new Map<string, IrFunction>();
  keepFunction(functions, kept, entryOf(module).name);
  const result = withUsedCaptures([...kept.values()], module);
  simplified.set(module, result);
  simplified.set(result, result);
  return result;
}

/** Adds a simplified function behind the ones that it calls. */
function keepFunction(functions: ReadonlyMap<string, IrFunction>, kept: Map<string, IrFunction>, name: string): void {
  if (kept.has(name)) return;
  const fn = simplifyFunction(functions.get(name)!);
  visit(fn.body, (statement) => {
    if (statement.kind === 'call') keepFunction(functions, kept, statement.callee);
  });
  kept.set(name, fn);
}

function simplifyFunction(fn: IrFunction): IrFunction {
  for (let body = fn.body; ; ) {
    const folded = foldConstants(body);
    const next = removeDeadCode(folded.body);
    if (!folded.changed && next === folded.body) return { ...fn, body };
    body = next;
  }
}

function withUsedCaptures(functions: readonly IrFunction[], module: Module): Module {
  const arrays = new Set<string>();
  const uniforms = new Set<string>();
  const note = (operand: Operand): void => {
    if (operand.kind === 'uniform') uniforms.add(operand.name);
  };
  for (const fn of functions) {
    visit(fn.body, (statement) => {
      if (statement.kind === 'read' || statement.kind === 'length') arrays.add(statement.array);
      operandsOf(statement).forEach(note);
    });
  }
  const used = (all: ReadonlyMap<string, ScalarType>, names: ReadonlySet<string>): ReadonlyMap<string, ScalarType> =>
    new Map([...all].filter(([name]) => names.has(name)));
  return { functions, arrays: used(module.arrays, arrays), uniforms: used(module.uniforms, uniforms) };
}
