import type { Local, Statement } from '../ir.ts';
import { jumps, operandsOf } from './statements.ts';

/** Where statements stand, and what gives locals their values. */
interface Places {
  readonly parents: Map<Statement, Statement>;
  /** Breaks and continues by the loop they belong to. */
  readonly jumps: Map<Statement, Statement[]>;
  /** Statements that bind or set a local. */
  readonly sources: Map<number, Statement[]>;
  /** Statements that are needed whatever else is. */
  readonly roots: Statement[];
  count: number;
}

/**
 * A function's body without the statements that no result depends on; the same object where all are needed. No two of
 * its statements may be the same object.
 *
 * Needed are returns, loops without an end, everything that gives a needed statement its operands, the branches and loops
 * around a needed statement, and the jumps of a needed loop.
 */
export function removeDeadCode(body: readonly Statement[]): readonly Statement[] {
  const places: Places = { parents: new Map(), jumps: new Map(), sources: new Map(), roots: [], count: 0 };
  place(places, body, undefined, undefined);
  const needed = markNeeded(places);
  return needed.size === places.count ? body : keep(body, needed);
}

function place(
  places: Places,
  block: readonly Statement[],
  parent: Statement | undefined,
  loop: Statement | undefined,
): void {
  for (const statement of block) {
    places.count++;
    if (parent !== undefined) places.parents.set(statement, parent);
    for (const local of localsOf(statement)) append(places.sources, local.id, statement);
    switch (statement.kind) {
      case 'return':
        places.roots.push(statement);
        break;
      case 'break':
      case 'continue':
        append(places.jumps, loop!, statement);
        break;
      case 'if':
        place(places, statement.consequent, statement, loop);
        place(places, statement.alternative, statement, loop);
        break;
      case 'loop':
        if (!jumps(statement.body, 'break')) places.roots.push(statement);
        place(places, statement.body, statement, statement);
        place(places, statement.step, statement, statement);
    }
  }
}

function append<K>(lists: Map<K, Statement[]>, key: K, statement: Statement): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [statement]);
  else list.push(statement);
}

/** The locals that a statement gives a value. */
function localsOf(statement: Statement): readonly Local[] {
  if (statement.kind === 'call') return statement.results;
  return 'local' in statement ? [statement.local] : [];
}

function markNeeded({ roots, parents, jumps, sources }: Places): Set<Statement> {
  const needed = new Set<Statement>();
  const waiting = [...roots];
  for (let statement = waiting.pop(); statement !== undefined; statement = waiting.pop()) {
    if (needed.has(statement)) continue;
    needed.add(statement);
    const parent = parents.get(statement);
    if (parent !== undefined) waiting.push(parent);
    for (const jump of jumps.get(statement) ?? []) waiting.push(jump);
    for (const operand of operandsOf(statement)) {
      if (operand.kind !== 'local') continue;
      for (const source of sources.get(operand.id) ?? []) waiting.push(source);
      sources.delete(operand.id);
    }
  }
  return needed;
}

function keep(block: readonly Statement[], needed: ReadonlySet<Statement>): Statement[] {
  return block
    .filter((statement) => needed.has(statement))
    .map((statement) => {
      if (statement.kind === 'if') {
        return {
          ...statement,
          consequent: keep(statement.consequent, needed),
          alternative: keep(statement.alternative, needed),
        };
      }
      if (statement.kind !== 'loop') return statement;
      return { ...statement, body: keep(statement.body, needed), step: keep(statement.step, needed) };
    });
}
