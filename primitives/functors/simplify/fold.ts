import type { Local, Operand, Operation, Statement } from '../ir.ts';
import { simplerOperation } from './identities.ts';
import { fallsThrough, jumps } from './statements.ts';

/** What is known at some point of a function. */
interface Knowledge {
  /** Locals that some statement sets again. */
  readonly variables: ReadonlySet<number>;
  /** What stands for locals that need not be computed. */
  readonly values: Map<number, Operand>;
  /** How the remaining locals are computed. */
  readonly definitions: Map<number, Operation>;
  changed: boolean;
}

/**
 * A function's body with literals folded, exact identities applied, copies replaced by what they copy and unreachable
 * statements left out. Every statement is a new object.
 */
export function foldConstants(body: readonly Statement[]): {
  readonly body: readonly Statement[];
  readonly changed: boolean;
} {
  const variables = new Set<number>();
  collectVariables(body, variables);
  const knowledge: Knowledge = { variables, values: new Map(), definitions: new Map(), changed: false };
  const folded = foldBlock(knowledge, body);
  return { body: folded, changed: knowledge.changed };
}

function collectVariables(block: readonly Statement[], variables: Set<number>): void {
  for (const statement of block) {
    if (statement.kind === 'set') variables.add(statement.local.id);
    if (statement.kind === 'if') {
      collectVariables(statement.consequent, variables);
      collectVariables(statement.alternative, variables);
    }
    if (statement.kind === 'loop') {
      collectVariables(statement.body, variables);
      collectVariables(statement.step, variables);
    }
  }
}

function foldBlock(knowledge: Knowledge, block: readonly Statement[]): Statement[] {
  const out: Statement[] = [];
  for (let i = 0; i < block.length; i++) {
    out.push(...foldStatement(knowledge, block[i]!));
    const last = out.at(-1);
    if (last === undefined || fallsThrough(last)) continue;
    if (i < block.length - 1) knowledge.changed = true;
    break;
  }
  return out;
}

function foldStatement(knowledge: Knowledge, statement: Statement): readonly Statement[] {
  const resolve = (operand: Operand): Operand => resolveOperand(knowledge, operand);
  switch (statement.kind) {
    case 'let':
      return foldLet(knowledge, statement.local, {
        name: statement.operation.name,
        operands: statement.operation.operands.map(resolve),
      });
    case 'var':
      return replaceOrKeep(knowledge, statement.local, resolve(statement.value), true);
    case 'set': {
      const value = resolve(statement.value);
      if (value.kind === 'local' && value.id === statement.local.id) return drop(knowledge);
      return [{ ...statement, value }];
    }
    case 'read':
      return [{ ...statement, index: resolve(statement.index) }];
    case 'call':
      return [{ ...statement, args: statement.args.map(resolve) }];
    case 'return':
      return [{ ...statement, values: statement.values.map(resolve) }];
    case 'if':
      return foldIf(knowledge, statement, resolve(statement.condition));
    case 'loop':
      return foldLoop(knowledge, statement);
    default:
      return [{ ...statement }];
  }
}

function resolveOperand({ values }: Knowledge, operand: Operand): Operand {
  return operand.kind === 'local' ? (values.get(operand.id) ?? operand) : operand;
}

function foldLet(knowledge: Knowledge, local: Local, operation: Operation): readonly Statement[] {
  const simpler = simplerOperation(operation, local.type, (operand) => definitionOf(knowledge, operand));
  if (simpler === undefined) {
    knowledge.definitions.set(local.id, operation);
    return [{ kind: 'let', local, operation }];
  }
  knowledge.changed = true;
  if ('kind' in simpler) return replaceOrKeep(knowledge, local, simpler, false);
  knowledge.definitions.set(local.id, simpler);
  return [{ kind: 'let', local, operation: simpler }];
}

/** How an operand was computed, if it was from values that are still the same. */
function definitionOf({ definitions, variables }: Knowledge, operand: Operand): Operation | undefined {
  const operation = operand.kind === 'local' ? definitions.get(operand.id) : undefined;
  return operation?.operands.every((part) => isFixed(variables, part)) ? operation : undefined;
}

function isFixed(variables: ReadonlySet<number>, operand: Operand): boolean {
  return operand.kind !== 'local' || !variables.has(operand.id);
}

/** Lets a value stand for a local, unless one of the two can change: then the local is a copy of its own. */
function replaceOrKeep(knowledge: Knowledge, local: Local, value: Operand, isVariable: boolean): readonly Statement[] {
  const { variables, values } = knowledge;
  if (isFixed(variables, local) && isFixed(variables, value)) {
    values.set(local.id, value);
    return drop(knowledge);
  }
  if (!isVariable) knowledge.changed = true;
  return [{ kind: 'var', local, value }];
}

function foldIf(
  knowledge: Knowledge,
  statement: Statement & { readonly kind: 'if' },
  condition: Operand,
): readonly Statement[] {
  if (condition.kind === 'literal') {
    knowledge.changed = true;
    return foldBlock(knowledge, condition.value ? statement.consequent : statement.alternative);
  }
  const consequent = foldBlock(knowledge, statement.consequent);
  const alternative = foldBlock(knowledge, statement.alternative);
  return [{ kind: 'if', condition, consequent, alternative }];
}

function foldLoop(knowledge: Knowledge, statement: Statement & { readonly kind: 'loop' }): readonly Statement[] {
  const body = foldBlock(knowledge, statement.body);
  if (body[0]?.kind === 'break') return drop(knowledge);
  const last = body.at(-1);
  const repeats = last === undefined || fallsThrough(last) || jumps(body, 'continue');
  if (!repeats && statement.step.length > 0) knowledge.changed = true;
  return [{ kind: 'loop', body, step: repeats ? foldBlock(knowledge, statement.step) : [] }];
}

function drop(knowledge: Knowledge): readonly Statement[] {
  knowledge.changed = true;
  return [];
}
