import type { Operand } from '../../../primitives/ir/ir.ts';
import { NotStraight } from '../../analyses/straight-line.ts';
import { MIN_CELLS } from '../kernels/rows/row-loop.ts';
import { blocksOf, type LaneProgram, type LaneStatement, sameOperand } from './lane-statements.ts';

/**
 * How a value varies between the lanes of a vector: `uniform` values are equal in all lanes, `consecutive` values
 * increase by 1 from each lane to the next, and `varying` values are arbitrary. (After Karrenberg and Hack,
 * Whole-function vectorization, 2011.)
 */
export type LaneKind = 'uniform' | 'consecutive' | 'varying';

export interface LaneKinds {
  /** The kind of value in each local, by the id of the local. */
  readonly kinds: ReadonlyMap<number, LaneKind>;
  /** The `if` statements whose condition may differ between lanes. */
  readonly divergent: ReadonlySet<LaneStatement>;
  /**
   * Assignments that must keep the old value in inactive lanes. Such an assignment is inside a divergent branch, and
   * its variable is declared outside the branch.
   */
  readonly blended: ReadonlySet<LaneStatement>;
  /**
   * The number of cells per row, by which the functor divides the index (see {@link rowOf}). Vectors do not cross the
   * end of such a row. Undefined if the functor has no such divisor.
   */
  readonly row: Operand | undefined;
  /** Names of the arrays that are read at consecutive indices, so that one load fills a vector. */
  readonly arrays: ReadonlySet<string>;
}

/**
 * Determines the kind of every value in a functor whose first parameter is the index. Throws {@link NotStraight} if
 * vectors cannot evaluate the functor.
 */
export function laneKinds(program: LaneProgram): LaneKinds {
  const [index, ...others] = program.parameters;
  if (index?.type !== 'u32') throw new NotStraight('it is not a functor of the index');
  const row = rowOf(program);
  const kinds = new Map<number, LaneKind>(others.map(({ id }) => [id, 'varying']));
  kinds.set(index.id, 'consecutive');
  const found: Found = { divergent: new Set(), blended: new Set(), arrays: new Set() };
  // Iterates to a fixed point, because a loop can change the kind of a value that was visited before. The iteration
  // ends, because a kind only moves up in `ORDER`, and statements are only added to `divergent` and `blended`.
  for (let before = -1; before !== found.divergent.size + found.blended.size + weight(kinds); ) {
    before = found.divergent.size + found.blended.size + weight(kinds);
    new Walk(kinds, found, index.id, row).block(program.body, []);
  }
  return { kinds, row, ...found };
}

interface Found {
  readonly divergent: Set<LaneStatement>;
  readonly blended: Set<LaneStatement>;
  readonly arrays: Set<string>;
}

const ORDER: readonly LaneKind[] = ['uniform', 'consecutive', 'varying'];

function weight(kinds: ReadonlyMap<number, LaneKind>): number {
  let sum = 0;
  for (const kind of kinds.values()) sum += 1 + ORDER.indexOf(kind);
  return sum;
}

/**
 * The divergent branches around a statement, from the outermost to the innermost. Each has the form `<number of the
 * if>.<number of its block>`.
 */
type Path = readonly string[];

class Walk {
  readonly #kinds: Map<number, LaneKind>;
  readonly #found: Found;
  readonly #index: number;
  readonly #row: Operand | undefined;
  /** For each variable, the path of its declaration. */
  readonly #homes = new Map<number, Path>();
  /** For each loop around the current statement, the number of divergent branches around the loop. */
  readonly #loops: number[] = [];
  #branches = 0;

  constructor(kinds: Map<number, LaneKind>, found: Found, index: number, row: Operand | undefined) {
    this.#kinds = kinds;
    this.#found = found;
    this.#index = index;
    this.#row = row;
  }

  block(statements: readonly LaneStatement[], path: Path): void {
    for (const statement of statements) this.#step(statement, path);
  }

  #step(statement: LaneStatement, path: Path): void {
    switch (statement.kind) {
      case 'let':
        this.#learn(statement.local.id, this.#kindOfOperation(statement));
        return;
      case 'dot':
        this.#learn(statement.local.id, this.#isUniform(statement.words) ? 'uniform' : 'varying');
        return;
      case 'read':
        this.#learn(statement.local.id, this.#kindOfRead(statement));
        return;
      case 'length':
        this.#learn(statement.local.id, 'uniform');
        return;
      case 'var':
        this.#homes.set(statement.local.id, path);
        this.#learn(statement.local.id, this.#kindOf(statement.value));
        return;
      case 'set':
        this.#set(statement, path);
        return;
      case 'if':
        this.#branch(statement, path);
        return;
      case 'loop':
        this.#loops.push(path.length);
        this.block(statement.body, path);
        this.block(statement.step, path);
        this.#loops.pop();
        return;
      default:
        if (path.length > this.#loops.at(-1)!) throw new NotStraight('its rounds differ from index to index');
    }
  }

  #set(statement: Extract<LaneStatement, { kind: 'set' }>, path: Path): void {
    const isBlended = path.length > this.#homes.get(statement.local.id)!.length;
    if (isBlended) this.#found.blended.add(statement);
    this.#learn(statement.local.id, isBlended ? 'varying' : this.#kindOf(statement.value));
  }

  #branch(statement: Extract<LaneStatement, { kind: 'if' }>, path: Path): void {
    const isDivergent = this.#kindOf(statement.condition) !== 'uniform';
    if (isDivergent) this.#found.divergent.add(statement);
    const branch = this.#branches++;
    for (const [k, block] of blocksOf(statement).entries()) {
      this.block(block, isDivergent ? [...path, `${branch}.${k}`] : path);
    }
  }

  #kindOfRead({ index, array }: Extract<LaneStatement, { kind: 'read' }>): LaneKind {
    const kind = this.#kindOf(index);
    if (kind === 'uniform') return kind;
    if (kind === 'varying') throw new NotStraight('it reads an array at an index of its own');
    this.#found.arrays.add(array);
    return 'varying';
  }

  #kindOfOperation({ local, operation: { name, operands } }: Extract<LaneStatement, { kind: 'let' }>): LaneKind {
    const kinds = operands.map((operand) => this.#kindOf(operand));
    if (kinds.every((kind) => kind === 'uniform')) return 'uniform';
    if (name === 'div' || name === 'rem') {
      if (local.type === 'f32') return 'varying';
      if (!this.#isRow(operands)) throw new NotStraight('it divides integers');
      return name === 'div' ? 'uniform' : 'consecutive';
    }
    const [a, b] = kinds;
    if (local.type === 'f32' || operands[0]!.type === 'f32') return 'varying';
    if (name === 'add' && kinds.includes('uniform') && kinds.includes('consecutive')) return 'consecutive';
    if (name === 'sub' && a === 'consecutive' && b === 'uniform') return 'consecutive';
    const isSame = (name === 'bits' || name === 'convert') && local.type !== 'bool' && a === 'consecutive';
    return isSame ? 'consecutive' : 'varying';
  }

  #isRow([index, by]: readonly Operand[]): boolean {
    if (index!.kind !== 'local' || index!.id !== this.#index || this.#row === undefined) return false;
    return sameOperand(by!, this.#row);
  }

  #isUniform(operands: readonly Operand[]): boolean {
    return operands.every((operand) => this.#kindOf(operand) === 'uniform');
  }

  #kindOf(operand: Operand): LaneKind {
    return operand.kind === 'local' ? (this.#kinds.get(operand.id) ?? 'uniform') : 'uniform';
  }

  #learn(id: number, kind: LaneKind): void {
    const known = this.#kinds.get(id);
    if (known === undefined || known === kind) this.#kinds.set(id, kind);
    else this.#kinds.set(id, 'varying');
  }
}

/**
 * The row size: the first divisor of the index that is a uniform or a sufficiently large literal. Undefined if there is
 * no such divisor.
 */
function rowOf({ parameters: [index], body }: LaneProgram): Operand | undefined {
  const find = (statements: readonly LaneStatement[]): Operand | undefined => {
    for (const statement of statements) {
      if (statement.kind === 'let') {
        const { name, operands } = statement.operation;
        const [divided, by] = operands;
        const isDivision = (name === 'div' || name === 'rem') && by!.type === 'u32' && mayBeRow(by!);
        if (isDivision && divided!.kind === 'local' && divided!.id === index!.id) return by;
      }
      for (const block of blocksOf(statement)) {
        const inside = find(block);
        if (inside !== undefined) return inside;
      }
    }
    return undefined;
  };
  return find(body);
}

function mayBeRow(by: Operand): boolean {
  return by.kind === 'uniform' || (by.kind === 'literal' && Number(by.value) >= MIN_CELLS);
}
