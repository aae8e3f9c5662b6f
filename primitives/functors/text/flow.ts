import type { Block, TextStatement } from './syntax.ts';

/**
 * Whether control may reach the statement after the given one. Follows WGSL's behavior analysis, which ignores the
 * values of conditions.
 */
export function fallsThrough(statement: TextStatement): boolean {
  switch (statement.kind) {
    case 'return':
    case 'break':
    case 'continue':
      return false;
    case 'block':
      return statement.body.every(fallsThrough);
    case 'if':
      return statement.consequent.every(fallsThrough) || statement.alternative.every(fallsThrough);
    case 'for':
      return statement.condition !== undefined || breaks(statement.body);
    case 'loop':
      return breaks(statement.body) || statement.continuing?.breakIf !== undefined;
    default:
      return true;
  }
}

/** Whether a block, as the body of a loop, may leave the loop with `break`. */
function breaks(block: Block): boolean {
  return block.some((statement) => {
    if (statement.kind === 'break') return true;
    if (statement.kind === 'block') return breaks(statement.body);
    return statement.kind === 'if' && (breaks(statement.consequent) || breaks(statement.alternative));
  });
}
