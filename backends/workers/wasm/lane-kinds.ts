import type { Operand } from '../../../primitives/ir/ir.ts';
import { NotStraight } from '../../analyses/straight-line.ts';
import { MIN_CELLS } from '../kernels/rows/row-loop.ts';
import { blocksOf, type LaneProgram, type LaneStatement, operandsOf, sameOperand } from './lane-statements.ts';

/**
 * How a value varies between the lanes of a vector: `uniform` values are equal in all lanes, `consecutive` values
 * increase by 1 from each lane to the next, and `varying` values are arbitrary. (After Karrenberg and Hack,
 * Whole-function vectorization, 2011.)
 */
export type LaneKind = 'uniform' | 'consecutive' | 'varying';

export interface LaneKinds {
  /** The kind of value in each local, by the id of the local. */
  readonly kinds: ReadonlyMap<number, LaneKind>;
  /**
   * The `if` statements whose condition may differ between lanes; the jumps (break, continue) that only some lanes of a
   * round may take; and the loops that such jumps leave or continue.
   */
  readonly divergent: ReadonlySet<LaneStatement>;
  /** Statements that contain divergent jumps out of themselves, and these jumps. */
  readonly narrowing: ReadonlySet<LaneStatement>;
  /** Loops in which some lanes may skip the rest of a round, by a divergent continue. */
  readonly skipping: ReadonlySet<LaneStatement>;
  /**
   * Assignments that must keep the old value in inactive lanes. Such an assignment is inside a divergent branch or
   * loop, and its variable or array is declared outside.
   */
  readonly blended: ReadonlySet<LaneStatement>;
  /**
   * The number of cells per row, by which the functor divides the index (see {@link rowOf}). Vectors do not cross the
   * end of such a row. Undefined if the functor has no such divisor.
   */
  readonly row: Operand | undefined;
  /** Names of the arrays that are read at consecutive indices, so that one load fills a vector. */
  readonly arrays: ReadonlySet<string>;
  /** Names of the arrays that are read at an index of its own in every lane. */
  readonly gathered: ReadonlySet<string>;
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
  const found: Found = {
    divergent: new Set(),
    narrowing: new Set(),
    skipping: new Set(),
    blended: new Set(),
    arrays: new Set(),
    gathered: new Set(),
  };
  const extents = extentsOf(program);
  const progress = (): number => found.divergent.size + found.narrowing.size + found.blended.size + weight(kinds);
  // Iterates to a fixed point, because a loop can change the kind of a value that was visited before. The iteration
  // ends, because a kind only moves up in `ORDER`, and statements are only added to the sets.
  for (let before = -1; before !== progress(); ) {
    before = progress();
    new Walk(program, kinds, found, extents, row).block(program.body, []);
  }
  return { kinds, row, ...found };
}

type Found = {
  readonly [K in Exclude<keyof LaneKinds, 'kinds' | 'row'>]: LaneKinds[K] extends ReadonlySet<infer S> ? Set<S> : never;
};

type Loop = Extract<LaneStatement, { kind: 'loop' }>;

/** For each variable, the loops around its declaration, and the loops that contain all of its uses. */
interface Extent {
  readonly declared: readonly Loop[];
  used: readonly Loop[] | undefined;
}

function extentsOf({ body, results }: LaneProgram): ReadonlyMap<number, Extent> {
  const extents = new Map<number, Extent>();
  const use = (operand: Operand, loops: readonly Loop[]): void => {
    const extent = operand.kind === 'local' ? extents.get(operand.id) : undefined;
    if (extent === undefined) return;
    extent.used = extent.used === undefined ? loops : extent.used.filter((loop, i) => loop === loops[i]);
  };
  const visit = (statements: readonly LaneStatement[], loops: readonly Loop[]): void => {
    for (const statement of statements) {
      for (const operand of operandsOf(statement)) use(operand, loops);
      if (statement.kind === 'var') extents.set(statement.local.id, { declared: loops, used: undefined });
      const inner = statement.kind === 'loop' ? [...loops, statement] : loops;
      for (const block of blocksOf(statement)) visit(block, inner);
    }
  };
  visit(body, []);
  for (const result of results) use(result, []);
  return extents;
}

const ORDER: readonly LaneKind[] = ['uniform', 'consecutive', 'varying'];

function weight(kinds: ReadonlyMap<number, LaneKind>): number {
  let sum = 0;
  for (const kind of kinds.values()) sum += 1 + ORDER.indexOf(kind);
  return sum;
}

/**
 * Why not all lanes may be active at a statement, from the outermost to the innermost reason: a divergent branch, a
 * divergent continue before the statement, or a divergent loop, which lanes have left.
 */
type Path = readonly ('branch' | 'continue' | Loop)[];

class Walk {
  readonly #kinds: Map<number, LaneKind>;
  readonly #found: Found;
  readonly #extents: ReadonlyMap<number, Extent>;
  /**
   * Whether lanes may read and divide each for itself. That pays only beside many operations: without, one index at a time
   * is as fast.
   */
  readonly #computes: boolean;
  readonly #index: number;
  readonly #row: Operand | undefined;
  /** For each variable and each array, the path of its declaration. */
  readonly #homes = new Map<number, Path>();
  /** The loops around the current statement, with the paths of their bodies. */
  readonly #loops: { readonly loop: Loop; readonly path: Path }[] = [];
  /** The `if` statements and loops around the current statement. */
  readonly #around: LaneStatement[] = [];
  /** Statements that contain a divergent continue of the innermost loop around them. */
  readonly #continuing = new Set<LaneStatement>();

  constructor(
    { parameters, body }: LaneProgram,
    kinds: Map<number, LaneKind>,
    found: Found,
    extents: ReadonlyMap<number, Extent>,
    row: Operand | undefined,
  ) {
    this.#kinds = kinds;
    this.#found = found;
    this.#extents = extents;
    this.#computes = hasLoop(body) || hasManyOperations(body);
    this.#index = parameters[0]!.id;
    this.#row = row;
  }

  block(statements: readonly LaneStatement[], path: Path): void {
    let here = path;
    for (const statement of statements) {
      this.#step(statement, here);
      if (this.#continuing.has(statement)) here = [...here, 'continue'];
    }
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
      case 'localArray':
        this.#homes.set(statement.localArray.id, path);
        return;
      case 'readLocal':
        this.#learn(statement.local.id, 'varying');
        return;
      case 'writeLocal':
        if (path.length > this.#homes.get(statement.localArray.id)!.length) this.#found.blended.add(statement);
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
        this.#loop(statement, path);
        return;
      case 'break':
        this.#jump(statement, path, statement.loops);
        return;
      case 'continue':
        this.#jump(statement, path, 1);
    }
  }

  #set(statement: Extract<LaneStatement, { kind: 'set' }>, path: Path): void {
    const { id } = statement.local;
    const isBlended = path.slice(this.#homes.get(id)!.length).some((reason) => this.#isKept(id, reason));
    if (isBlended) this.#found.blended.add(statement);
    this.#learn(id, isBlended ? 'varying' : this.#kindOf(statement.value));
  }

  /**
   * Whether a variable must keep its old value in lanes that are inactive for a reason. Lanes that have left a loop no
   * longer need a variable that is used in this loop only, unless an outer loop carries its value to the next entry.
   */
  #isKept(id: number, reason: Path[number]): boolean {
    if (typeof reason === 'string') return true;
    const { declared, used } = this.#extents.get(id)!;
    if (!used?.includes(reason)) return used !== undefined;
    const loops = this.#loops.map(({ loop }) => loop);
    const between = loops.slice(declared.length, loops.indexOf(reason));
    return between.some(({ once }) => !once);
  }

  #branch(statement: Extract<LaneStatement, { kind: 'if' }>, path: Path): void {
    const isDivergent = this.#kindOf(statement.condition) !== 'uniform';
    if (isDivergent) this.#found.divergent.add(statement);
    this.#around.push(statement);
    for (const block of blocksOf(statement)) this.block(block, isDivergent ? [...path, 'branch'] : path);
    this.#around.pop();
  }

  #loop(loop: Loop, outer: Path): void {
    const path = this.#found.divergent.has(loop) ? [...outer, loop] : outer;
    this.#loops.push({ loop, path });
    this.#around.push(loop);
    for (const block of blocksOf(loop)) this.block(block, path);
    this.#around.pop();
    this.#loops.pop();
  }

  /** A jump that leaves or continues the innermost `count` loops. */
  #jump(statement: LaneStatement, path: Path, count: number): void {
    const target = this.#loops.at(-count)!;
    if (path.length === target.path.length) return;
    const { divergent, narrowing, skipping } = this.#found;
    divergent.add(statement);
    for (const { loop } of this.#loops.slice(-count)) divergent.add(loop);
    if (statement.kind === 'continue') skipping.add(target.loop);
    for (const each of [statement, ...this.#around.slice(this.#around.indexOf(target.loop) + 1)]) {
      narrowing.add(each);
      if (statement.kind === 'continue') this.#continuing.add(each);
    }
  }

  #kindOfRead({ index, array }: Extract<LaneStatement, { kind: 'read' }>): LaneKind {
    const kind = this.#kindOf(index);
    if (kind === 'uniform') return kind;
    if (kind === 'varying' && !this.#computes) throw new NotStraight('it reads an array at an index of its own');
    this.#found[kind === 'varying' ? 'gathered' : 'arrays'].add(array);
    return 'varying';
  }

  #kindOfOperation({ local, operation: { name, operands } }: Extract<LaneStatement, { kind: 'let' }>): LaneKind {
    const kinds = operands.map((operand) => this.#kindOf(operand));
    if (kinds.every((kind) => kind === 'uniform')) return 'uniform';
    if (name === 'div' || name === 'rem') {
      if (local.type === 'f32') return 'varying';
      const isRow = this.#isRow(operands);
      if (!isRow && !this.#computes) throw new NotStraight('it divides integers');
      if (!isRow) return 'varying';
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

/** Number of operations for each read or division from which on vectors take less time, also if each lane has its own. */
const OPERATIONS_PER_LANE_STEP = 16;

function hasManyOperations(block: readonly LaneStatement[]): boolean {
  const operations = countOf(block, ({ kind }) => kind === 'let');
  return operations >= OPERATIONS_PER_LANE_STEP * countOf(block, isLaneStep);
}

/** Whether a statement reads, or divides integers. */
function isLaneStep(statement: LaneStatement): boolean {
  if (statement.kind !== 'let') return statement.kind === 'read';
  const { local, operation } = statement;
  return local.type !== 'f32' && (operation.name === 'div' || operation.name === 'rem');
}

function countOf(block: readonly LaneStatement[], isMeant: (statement: LaneStatement) => boolean): number {
  let count = 0;
  for (const statement of block) {
    if (isMeant(statement)) count++;
    for (const inner of blocksOf(statement)) count += countOf(inner, isMeant);
  }
  return count;
}

function hasLoop(block: readonly LaneStatement[]): boolean {
  return block.some((each) => (each.kind === 'loop' && !each.once) || blocksOf(each).some(hasLoop));
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
