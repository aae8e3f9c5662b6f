import {
  entryOf,
  type IrFunction,
  type Local,
  type LocalArray,
  type Module,
  type Operand,
  type Statement,
} from '../../../primitives/ir/ir.ts';
import { someStatement, variablesSet } from '../../../primitives/ir/visit.ts';
import { NotStraight } from '../../analyses/straight-line.ts';

type Plain = Exclude<Statement, { kind: 'if' | 'loop' | 'call' | 'break' | 'return' }>;

/** A statement without calls and returns. `Other` is a kind of statement that is added to those of the IR. */
export type InlinedStatement<Other = never> =
  | Plain
  | Other
  | {
      readonly kind: 'if';
      readonly condition: Operand;
      readonly consequent: readonly InlinedStatement<Other>[];
      readonly alternative: readonly InlinedStatement<Other>[];
    }
  /** A loop or, if `once` is set, the body of a function that returns early. Such a body runs once. */
  | {
      readonly kind: 'loop';
      readonly once: boolean;
      readonly body: readonly InlinedStatement<Other>[];
      readonly step: readonly InlinedStatement<Other>[];
    }
  /** Leaves the innermost `loops` loops. A return of a function leaves the function's loops and its body. */
  | { readonly kind: 'break'; readonly loops: number };

/**
 * The entry of a module as one list of statements, with all calls inlined and without returns. Each local is declared
 * once.
 */
export interface Inlined {
  readonly parameters: readonly Local[];
  readonly body: readonly InlinedStatement[];
  readonly results: readonly Operand[];
}

/**
 * Maximum number of locals that the inlined statements declare. This limits the statements, because nested calls can
 * make the code grow exponentially.
 */
const MAX_STATEMENTS = 4096;

/** Inlines all calls in the entry of a module. Throws {@link NotStraight} if the result has too many locals. */
export function inlineCalls(module: Module): Inlined {
  let next = 0;
  const variables = new Set<number>();
  const fresh = ({ type }: Local): Local => ({ kind: 'local', type, id: next++ });

  const copy = (name: string, args: readonly Operand[], into: InlinedStatement[]): readonly Operand[] => {
    const fn = module.functions.find((each) => each.name === name)!;
    const { parameters, body } = fn;
    const returned = returnsEarly(fn) ? fn.results.map((type) => fresh({ kind: 'local', type, id: 0 })) : undefined;
    let loops = 0;
    const values = new Map<number, Operand>(parameters.map(({ id }, i) => [id, args[i]!]));
    const changing = variablesSet(body);
    const value = (operand: Operand): Operand => (operand.kind === 'local' ? values.get(operand.id)! : operand);
    const arrays = new Map<number, LocalArray>();
    const declare = (local: Local): Local => {
      const made = fresh(local);
      values.set(local.id, made);
      return made;
    };
    const block = (statements: readonly Statement[]): InlinedStatement[] => {
      const made: InlinedStatement[] = [];
      for (const statement of statements) add(statement, made);
      return made;
    };
    const add = (statement: Statement, to: InlinedStatement[]): void => {
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
        case 'localArray': {
          const localArray = { ...statement.localArray, id: next++ };
          arrays.set(statement.localArray.id, localArray);
          to.push({ kind: 'localArray', localArray, value: value(statement.value) });
          return;
        }
        case 'readLocal': {
          const localArray = arrays.get(statement.localArray.id)!;
          const index = value(statement.index);
          to.push({ kind: 'readLocal', localArray, index, local: declare(statement.local) });
          return;
        }
        case 'writeLocal': {
          const localArray = arrays.get(statement.localArray.id)!;
          to.push({ kind: 'writeLocal', localArray, index: value(statement.index), value: value(statement.value) });
          return;
        }
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
          loops++;
          to.push({ kind: 'loop', once: false, body: block(statement.body), step: block(statement.step) });
          loops--;
          return;
        case 'break':
          to.push({ kind: 'break', loops: 1 });
          return;
        case 'readOwned':
        case 'writeOwned':
          throw new NotStraight('it writes');
        case 'return':
          for (const [i, local] of returned!.entries()) {
            to.push({ kind: 'set', local, value: value(statement.values[i]!) });
          }
          to.push({ kind: 'break', loops: loops + 1 });
          return;
        case 'continue':
          // Each copy is a statement of its own, because laneKinds tells statements apart by identity.
          to.push({ kind: 'continue' });
          return;
        default:
          statement satisfies never;
      }
    };
    if (returned !== undefined) {
      for (const local of returned) {
        into.push({
          kind: 'var',
          local,
          value: { kind: 'literal', type: local.type, value: local.type !== 'bool' && 0 },
        });
      }
      into.push({ kind: 'loop', once: true, body: withoutLastBreaks(block(body)), step: [] });
      return returned;
    }
    const last = body.at(-1) as Extract<Statement, { kind: 'return' }>;
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
  const body: InlinedStatement[] = [];
  const results = copy(name, own, body);
  return { parameters: own, body, results };
}

/** Whether a function has a return that is not its last statement. */
function returnsEarly({ body }: IrFunction): boolean {
  return someStatement(body, (statement) => statement.kind === 'return' && statement !== body.at(-1));
}

/** Leaves out breaks at the end of a body that runs once, because the body ends there anyway. */
function withoutLastBreaks(body: readonly InlinedStatement[]): readonly InlinedStatement[] {
  const last = body.at(-1);
  const before = body.slice(0, -1);
  if (last?.kind === 'break') return before;
  if (last?.kind !== 'if') return body;
  const { consequent, alternative } = last;
  return [
    ...before,
    { ...last, consequent: withoutLastBreaks(consequent), alternative: withoutLastBreaks(alternative) },
  ];
}
