import { blocksOf, type Literal, type Local, type LocalArray, type Operand, type Statement } from './ir.ts';
import { withBlocks } from './rewrite.ts';
import { visitStatements } from './visit.ts';

/**
 * Replaces the local arrays of a block by variables, one for each element, where all indices of the array are constants:
 * compilers keep variables in registers, and vectors know them. `declare` makes a local of the function.
 */
export function withElementVariables(
  block: readonly Statement[],
  declare: (type: Local['type']) => Local,
): readonly Statement[] {
  const indexed = new Set<number>();
  let arrays = 0;
  visitStatements(block, (statement) => {
    if (statement.kind === 'localArray') arrays++;
    const isAccess = statement.kind === 'readLocal' || statement.kind === 'writeLocal';
    if (isAccess && statement.index.kind !== 'literal') indexed.add(statement.localArray.id);
  });
  if (arrays === indexed.size) return block;
  const elements = new Map<number, readonly Local[]>();
  const elementOf = (array: LocalArray, index: Operand): Local | undefined =>
    elements.get(array.id)![Number((index as Literal).value)];
  const rewrite = (statement: Statement): readonly Statement[] => {
    const isOfArray = 'localArray' in statement && !indexed.has(statement.localArray.id);
    if (!isOfArray) return blocksOf(statement).length === 0 ? [statement] : [withBlocks(statement, rewriteAll)];
    switch (statement.kind) {
      case 'localArray': {
        const { id, length, type } = statement.localArray;
        const locals = Array.from({ length }, () => declare(type));
        elements.set(id, locals);
        return locals.map((local): Statement => ({ kind: 'var', local, value: statement.value }));
      }
      case 'readLocal': {
        const { local } = statement;
        const none: Literal = { kind: 'literal', type: local.type, value: local.type !== 'bool' && 0 };
        return [{ kind: 'var', local, value: elementOf(statement.localArray, statement.index) ?? none }];
      }
      case 'writeLocal': {
        const local = elementOf(statement.localArray, statement.index);
        return local === undefined ? [] : [{ kind: 'set', local, value: statement.value }];
      }
    }
  };
  const rewriteAll = (statements: readonly Statement[]): readonly Statement[] => statements.flatMap(rewrite);
  return rewriteAll(block);
}
