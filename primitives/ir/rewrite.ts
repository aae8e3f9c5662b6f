import type { Operand, Statement } from './ir.ts';

/** A copy of a statement in which `replace` has replaced the operands. The blocks of the statement stay the same. */
export function withOperands(statement: Statement, replace: (operand: Operand) => Operand): Statement {
  switch (statement.kind) {
    case 'let': {
      const { name, operands } = statement.operation;
      return { ...statement, operation: { name, operands: operands.map(replace) } };
    }
    case 'read':
    case 'readOwned':
    case 'readLocal':
      return { ...statement, index: replace(statement.index) };
    case 'writeOwned':
    case 'writeLocal':
      return { ...statement, index: replace(statement.index), value: replace(statement.value) };
    case 'var':
    case 'set':
    case 'localArray':
      return { ...statement, value: replace(statement.value) };
    case 'call':
      return { ...statement, args: statement.args.map(replace) };
    case 'if':
      return { ...statement, condition: replace(statement.condition) };
    case 'return':
      return { ...statement, values: statement.values.map(replace) };
    default:
      return statement;
  }
}

/** A copy of a statement with other blocks. The operands of the statement stay the same. */
export function withBlocks(
  statement: Statement,
  replace: (block: readonly Statement[]) => readonly Statement[],
): Statement {
  if (statement.kind === 'if') {
    return { ...statement, consequent: replace(statement.consequent), alternative: replace(statement.alternative) };
  }
  if (statement.kind === 'loop') return { ...statement, body: replace(statement.body), step: replace(statement.step) };
  return statement;
}
