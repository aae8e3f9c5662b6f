import { blocksOf, entryOf, type Module, type Statement } from '../../../primitives/ir/ir.ts';
import { memoized } from '../../../primitives/ir/memo.ts';

/** Maximum number of statements of a functor whose code may be repeated within one kernel. */
const MAX_STATEMENTS = 100;

/**
 * Whether a functor is cheap. Its code is then short enough to be repeated, so that a thread can evaluate several
 * elements at a time.
 */
export const isLight: (module: Module) => boolean = memoized((module) => sizeOf(module) <= MAX_STATEMENTS);

/** Number of statements of the entry, including the statements of inlined calls; infinite if there is a loop. */
function sizeOf(module: Module): number {
  const sizes = new Map<string, number>();
  const count = (block: readonly Statement[]): number => block.reduce((sum, statement) => sum + one(statement), 0);
  const one = (statement: Statement): number => {
    switch (statement.kind) {
      case 'call':
        return sizes.get(statement.callee) ?? 0;
      case 'loop':
        return Number.POSITIVE_INFINITY;
      default:
        return blocksOf(statement).reduce((sum, block) => sum + count(block), 1);
    }
  };
  for (const { name, body } of module.functions) sizes.set(name, count(body));
  return sizes.get(entryOf(module).name)!;
}
