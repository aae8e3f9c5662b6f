import { blocksOf, type Module, type Statement } from './ir.ts';

type Block = readonly Statement[];

/** Calls `see` for every statement of a block, in order. A statement comes before the statements in its own blocks. */
export function visitStatements(block: Block, see: (statement: Statement) => void): void {
  for (const statement of block) {
    see(statement);
    for (const inner of blocksOf(statement)) visitStatements(inner, see);
  }
}

/** Whether a test is true for any statement of a block, including the statements of nested blocks. */
export function someStatement(block: Block, test: (statement: Statement) => boolean): boolean {
  return block.some((statement) => test(statement) || blocksOf(statement).some((inner) => someStatement(inner, test)));
}

/** Whether a module contains loops. */
export function hasLoops({ functions }: Module): boolean {
  return functions.some(({ body }) => someStatement(body, ({ kind }) => kind === 'loop'));
}

/** The ids of the variables that a block or a nested block assigns. */
export function variablesSet(block: Block): ReadonlySet<number> {
  const ids = new Set<number>();
  visitStatements(block, (statement) => {
    if (statement.kind === 'set') ids.add(statement.local.id);
  });
  return ids;
}

/** Whether control never reaches the end of a block, because every path ends in a jump. */
export function terminates(block: Block): boolean {
  return block.some(leaves);
}

/** Whether control never reaches the statement after the given one. */
export function leaves(statement: Statement): boolean {
  switch (statement.kind) {
    case 'return':
    case 'break':
    case 'continue':
      return true;
    case 'if':
      return terminates(statement.consequent) && terminates(statement.alternative);
    case 'loop':
      return !breaks(statement.body);
    default:
      return false;
  }
}

/** Whether a block, as the body of a loop, may leave the loop with `break`. */
function breaks(block: Block): boolean {
  return block.some(
    (statement) =>
      statement.kind === 'break' ||
      (statement.kind === 'if' && (breaks(statement.consequent) || breaks(statement.alternative))),
  );
}
