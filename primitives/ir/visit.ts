import { blocksOf, type Module, type Statement } from './ir.ts';

type Block = readonly Statement[];

/** Visits the statements of a block in order, each before those of its own blocks. */
export function visitStatements(block: Block, see: (statement: Statement) => void): void {
  for (const statement of block) {
    see(statement);
    for (const inner of blocksOf(statement)) visitStatements(inner, see);
  }
}

/** Whether a test holds for any statement of a block, including nested blocks. */
export function someStatement(block: Block, test: (statement: Statement) => boolean): boolean {
  return block.some((statement) => test(statement) || blocksOf(statement).some((inner) => someStatement(inner, test)));
}

/** Whether a module contains loops. */
export function hasLoops({ functions }: Module): boolean {
  return functions.some(({ body }) => someStatement(body, ({ kind }) => kind === 'loop'));
}

/** The ids of the variables that a block assigns. */
export function variablesSet(block: Block): ReadonlySet<number> {
  const ids = new Set<number>();
  visitStatements(block, (statement) => {
    if (statement.kind === 'set') ids.add(statement.local.id);
  });
  return ids;
}

/** Whether control never reaches the end of a block. */
export function terminates(block: Block): boolean {
  return block.some(leaves);
}

/** Whether control never reaches the statement after this one. */
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

/** Whether the body of a loop may break out of it. */
function breaks(block: Block): boolean {
  return block.some(
    (statement) =>
      statement.kind === 'break' ||
      (statement.kind === 'if' && (breaks(statement.consequent) || breaks(statement.alternative))),
  );
}
