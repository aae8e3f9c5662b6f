import { entryOf, type Module, type Statement } from '../../primitives/functors/ir.ts';

/** Statements beyond which a functor is not written out several times in one kernel. */
const MAX_STATEMENTS = 100;

const light = new WeakMap<Module, boolean>();

/** Whether a functor is so small that a thread may evaluate it for several elements side by side. */
export function isLight(module: Module): boolean {
  let known = light.get(module);
  if (known === undefined) {
    known = sizeOf(module) <= MAX_STATEMENTS;
    light.set(module, known);
  }
  return known;
}

/** Statements of the entry with all calls written out; infinite where there is a loop. */
function sizeOf(module: Module): number {
  const sizes = new Map<string, number>();
  const count = (block: readonly Statement[]): number => block.reduce((sum, statement) => sum + one(statement), 0);
  const one = (statement: Statement): number => {
    switch (statement.kind) {
      case 'call':
        return sizes.get(statement.callee) ?? 0;
      case 'if':
        return 1 + count(statement.consequent) + count(statement.alternative);
      case 'loop':
        return Number.POSITIVE_INFINITY;
      default:
        return 1;
    }
  };
  for (const { name, body } of module.functions) sizes.set(name, count(body));
  return sizes.get(entryOf(module).name)!;
}
