import type { Operand, Statement } from '../ir.ts';

/** True where control can come out at the end of a statement. */
export function fallsThrough(statement: Statement): boolean {
  switch (statement.kind) {
    case 'return':
    case 'break':
    case 'continue':
      return false;
    case 'if':
      return blockFallsThrough(statement.consequent) || blockFallsThrough(statement.alternative);
    case 'loop':
      return jumps(statement.body, 'break');
    default:
      return true;
  }
}

/** The same of a block in which nothing stands behind a statement that does not fall through. */
export function blockFallsThrough(block: readonly Statement[]): boolean {
  const last = block.at(-1);
  return last === undefined || fallsThrough(last);
}

/** True where a block holds a jump of the given kind that leaves or repeats the loop around it. */
export function jumps(block: readonly Statement[], kind: 'break' | 'continue'): boolean {
  return block.some(
    (statement) =>
      statement.kind === kind ||
      (statement.kind === 'if' && (jumps(statement.consequent, kind) || jumps(statement.alternative, kind))),
  );
}

/** Calls `see` with every statement of a block, the outer ones first. */
export function visit(block: readonly Statement[], see: (statement: Statement) => void): void {
  for (const statement of block) {
    see(statement);
    if (statement.kind === 'if') {
      visit(statement.consequent, see);
      visit(statement.alternative, see);
    } else if (statement.kind === 'loop') {
      visit(statement.body, see);
      visit(statement.step, see);
    }
  }
}

/** What a statement reads itself, without the blocks inside it. */
export function operandsOf(statement: Statement): readonly Operand[] {
  switch (statement.kind) {
    case 'let':
      return statement.operation.operands;
    case 'read':
      return [statement.index];
    case 'var':
    case 'set':
      return [statement.value];
    case 'call':
      return statement.args;
    case 'if':
      return [statement.condition];
    case 'return':
      return statement.values;
    default:
      return [];
  }
}
