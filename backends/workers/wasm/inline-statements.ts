import { entryOf, type Local, type Module, type Operand, type Statement } from '../../../primitives/ir/ir.ts';
import { variablesSet } from '../../../primitives/ir/visit.ts';
import { NotStraight } from '../../analyses/straight-line.ts';

/**
 * The entry of a module as one list of statements, with all calls inlined and without returns. Each local is declared
 * once.
 */
export interface Inlined {
  readonly parameters: readonly Local[];
  readonly body: readonly Statement[];
  readonly results: readonly Operand[];
}

/**
 * Maximum number of locals that the inlined statements declare. This limits the statements, because nested calls can
 * make the code grow exponentially.
 */
const MAX_STATEMENTS = 4096;

/**
 * Inlines all calls in the entry of a module. Throws {@link NotStraight} if a function returns before its end, or if
 * the result has too many locals.
 */
export function inlineCalls(module: Module): Inlined {
  let next = 0;
  const variables = new Set<number>();
  const fresh = ({ type }: Local): Local => ({ kind: 'local', type, id: next++ });

  const copy = (name: string, args: readonly Operand[], into: Statement[]): readonly Operand[] => {
    const { parameters, body } = module.functions.find((each) => each.name === name)!;
    const values = new Map<number, Operand>(parameters.map(({ id }, i) => [id, args[i]!]));
    const changing = variablesSet(body);
    const value = (operand: Operand): Operand => (operand.kind === 'local' ? values.get(operand.id)! : operand);
    const declare = (local: Local): Local => {
      const made = fresh(local);
      values.set(local.id, made);
      return made;
    };
    const block = (statements: readonly Statement[]): Statement[] => {
      const made: Statement[] = [];
      for (const statement of statements) add(statement, made);
      return made;
    };
    const add = (statement: Statement, to: Statement[]): void => {
      if (next > MAX_STATEMENTS)
        throw new NotStraight(`it has more than ${MAX_STATEMENTS} operations, all calls inlined`);
      switch (statement.kind) {
        case 'let': {
          const { name, operands } = statement.operation;
          const operation = { name, operands: operands.map(value) };
          to.push({ kind: 'let', local: declare(statement.local), operation });
          return;
        }
        case 'read': {
          const index = value(statement.index);
          to.push({ ...statement, index, local: declare(statement.local) });
          return;
        }
        case 'length':
          to.push({ ...statement, local: declare(statement.local) });
          return;
        case 'var': {
          const given = value(statement.value);
          const local = declare(statement.local);
          if (changing.has(statement.local.id)) variables.add(local.id);
          to.push({ kind: 'var', value: given, local });
          return;
        }
        case 'set':
          to.push({ kind: 'set', local: value(statement.local) as Local, value: value(statement.value) });
          return;
        case 'call': {
          const results = copy(statement.callee, statement.args.map(value), to);
          for (const [i, { id }] of statement.results.entries()) values.set(id, results[i]!);
          return;
        }
        case 'if':
          to.push({
            kind: 'if',
            condition: value(statement.condition),
            consequent: block(statement.consequent),
            alternative: block(statement.alternative),
          });
          return;
        case 'loop':
          to.push({ ...statement, body: block(statement.body), step: block(statement.step) });
          return;
        case 'readOwned':
        case 'writeOwned':
          throw new NotStraight('it writes');
        case 'return':
          throw new NotStraight('it returns early');
        default:
          to.push(statement);
      }
    };
    const last = body.at(-1);
    if (last?.kind !== 'return') throw new NotStraight('it returns early');
    for (const statement of block(body.slice(0, -1))) into.push(statement);
    // A returned variable may be assigned again after the call, so the variable's current value is copied.
    return last.values.map(value).map((operand) => {
      if (operand.kind !== 'local' || !variables.has(operand.id)) return operand;
      const kept = fresh(operand);
      into.push({ kind: 'var', local: kept, value: operand });
      return kept;
    });
  };

  const { name, parameters } = entryOf(module);
  const own = parameters.map(fresh);
  const body: Statement[] = [];
  const results = copy(name, own, body);
  return { parameters: own, body, results };
}
