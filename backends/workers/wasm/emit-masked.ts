import type { Operand, Local as Variable } from '../../../primitives/ir/ir.ts';
import { boundOf } from './emit-simd.ts';
import { type ArrayAccess, type Environment, elementOf, literal, scalarLocal, widthOf } from './emit-wasm.ts';
import { LaneArrays } from './lane-arrays.ts';
import type { LaneKind, LaneKinds } from './lane-kinds.ts';
import { blocksOf, type LaneProgram, type LaneStatement, operandsOf } from './lane-statements.ts';
import { scalarOperation } from './scalar-operations.ts';
import { f32Bound, gatherLanes, lanesOf, loadLanes, splatOf, vectorOperation } from './vector-operations.ts';
import type { Code, Label } from './wasm-code.ts';
import { I32, simd, V128 } from './wasm-encoder.ts';
import { fourFrom, type Int32, type Scalar, type Vector, v128, vector } from './wasm-expressions.ts';
import type { Int32Local, Local, ScalarLocal, VectorLocal } from './wasm-locals.ts';
import { block, br, brIf, loop, when } from './wasm-statements.ts';

/** The inputs of code that processes several vectors of indices together. */
export interface MaskedSources {
  readonly environment: Environment;
  /** The local that holds the first index. */
  readonly index: Int32Local;
  /**
   * The row of the grid that contains the indices of all vectors. Undefined if the program does not divide the index by
   * a row size.
   */
  readonly row: Int32 | undefined;
  /** Number of vectors that are processed together; each has four indices. */
  readonly vectors: number;
  /**
   * The branch target if a read of consecutive elements is out of bounds. The code takes this branch before it has
   * stored anything.
   */
  readonly elsewhere: Label;
  /**
   * The local that the code sets to 0, or to {@link PAUSE} if most lanes were idle in divergent loops. Undefined if the
   * program has no such loop.
   */
  readonly pause: Int32Local | undefined;
}

/** The lanes of a group of vectors that took part in the rounds of divergent loops. */
interface Occupancy {
  readonly rounds: Int32Local;
  /** The sum over all rounds of the number of active lanes, as four partial sums. */
  readonly active: VectorLocal;
}

/** The number of rounds of the index loop that scalar code processes after a round in which most lanes were idle. */
const PAUSE = 16;
/** A number of rounds, a power of two, after which divergent loops look whether most lanes are idle. */
const ROUNDS_BETWEEN_LOOKS = 256;
/** Vectors are slower than one index at a time if less than one in this number of lanes is active. */
const LANES_PER_ACTIVE = 4;

type Of<K extends LaneStatement['kind']> = Extract<LaneStatement, { kind: K }>;

/** A loop whose body is being emitted. */
interface OpenLoop {
  readonly exit: Label;
  readonly next: Label;
  /** Of a divergent loop, the masks of the lanes that have not left it, and of those that are in the current round. */
  readonly live: readonly VectorLocal[] | undefined;
  readonly round: readonly VectorLocal[] | undefined;
}

/**
 * Emits vector code for a program with loops and branches, for several vectors of indices together. Values that are
 * uniform (equal in all lanes) are computed once, as scalars. A divergent branch, which only some lanes take, assigns
 * variables under a mask. The branch is skipped if no lane takes it.
 */
export class MaskedCode {
  readonly #code: Code;
  readonly #program: LaneProgram;
  readonly #kinds: LaneKinds;
  readonly #sources: MaskedSources;
  /**
   * Locals of scalars, by the id of the value. A uniform value has one scalar. For a consecutive value, which increases
   * by 1 from lane to lane, the local contains the value for the first index.
   */
  readonly #scalars = new Map<number, ScalarLocal>();
  /**
   * Locals of vectors, by the id of the value. A varying value has one local per vector of indices; a uniform value has
   * the same local for all vectors.
   */
  readonly #vectors = new Map<number, readonly VectorLocal[]>();
  /** Locals that hold a uniform of the module in every lane, by the name of the uniform. */
  readonly #splats = new Map<string, VectorLocal>();
  /** For each gathered array, its last index and its address in every lane, by the name of the array. */
  readonly #gathers = new Map<string, { readonly last: VectorLocal; readonly address: VectorLocal }>();
  readonly #splatted: ReadonlySet<number>;
  readonly #owned: Local[] = [];
  readonly #loops: OpenLoop[] = [];
  readonly #occupancy: Occupancy | undefined;
  /** Undefined if the program has no local arrays. */
  readonly #arrays: LaneArrays | undefined;
  /** The mask of the active lanes, as one local per vector. Undefined if all lanes are active. */
  #mask: readonly VectorLocal[] | undefined;

  constructor(code: Code, program: LaneProgram, kinds: LaneKinds, sources: MaskedSources) {
    this.#code = code;
    this.#program = program;
    this.#kinds = kinds;
    this.#sources = sources;
    this.#splatted = this.#findSplatted();
    if (hasArrays(program.body)) this.#arrays = new LaneArrays(code, sources.vectors);
    if (sources.pause === undefined) return;
    this.#occupancy = { rounds: this.#own(code.local(I32)), active: this.#own(code.local(V128)) };
  }

  /**
   * Emits the code of the program. Returns locals with the program's results for each vector of indices. The locals are
   * valid until `release`.
   */
  run(): readonly (readonly VectorLocal[])[] {
    const { index } = this.#sources;
    this.#scalars.set(this.#program.parameters[0]!.id, index);
    this.#requireLengths();
    this.#splatUniforms();
    this.#occupancy?.rounds.set(0);
    this.#occupancy?.active.set(NO_LANES);
    this.#block(this.#program.body);
    if (this.#occupancy !== undefined) this.#sources.pause!.set(this.#pauseAfter(this.#occupancy));
    return this.#each((u) => this.#program.results.map((result) => this.#keep(this.#vector(result, u))));
  }

  release(): void {
    for (const local of this.#owned) this.#code.release(local);
    this.#arrays?.release();
  }

  #each<T>(make: (vector: number) => T): T[] {
    return Array.from({ length: this.#sources.vectors }, (_, u) => make(u));
  }

  #own<L extends Local>(local: L): L {
    this.#owned.push(local);
    return local;
  }

  #kindOf(operand: Operand): LaneKind {
    return operand.kind === 'local' ? this.#kinds.kinds.get(operand.id)! : 'uniform';
  }

  /**
   * The ids of uniform variables of the program that are needed as vectors, because a vector statement or a result uses
   * these variables.
   */
  #findSplatted(): ReadonlySet<number> {
    const found = new Set<number>();
    const add = (operand: Operand): void => {
      if (operand.kind === 'local' && this.#kindOf(operand) === 'uniform') found.add(operand.id);
    };
    const visit = (statements: readonly LaneStatement[]): void => {
      for (const statement of statements) {
        if (statement.kind === 'localArray' || statement.kind === 'writeLocal') add(statement.value);
        const makesVectors = 'local' in statement && this.#kinds.kinds.get(statement.local.id) === 'varying';
        const isRead = statement.kind === 'read' || statement.kind === 'readLocal';
        if (makesVectors && !isRead) for (const operand of operandsOf(statement)) add(operand);
        for (const block of blocksOf(statement)) visit(block);
      }
    };
    visit(this.#program.body);
    for (const result of this.#program.results) add(result);
    return found;
  }

  /**
   * Emits branches to `elsewhere`, taken if an array has fewer elements than a read of consecutive elements loads (4
   * per vector).
   */
  #requireLengths(): void {
    for (const name of this.#kinds.arrays) {
      brIf(this.#code, this.#sources.elsewhere, this.#array(name).length.ltU(4 * this.#sources.vectors));
    }
    for (const name of this.#kinds.gathered) {
      const { address, length } = this.#array(name);
      brIf(this.#code, this.#sources.elsewhere, length.isZero());
      this.#gathers.set(name, { last: this.#keep(length.sub(1).splat()), address: this.#keep(address.splat()) });
    }
  }

  #keep(lanes: Vector): VectorLocal {
    const local = this.#own(this.#code.local(V128));
    local.set(lanes);
    return local;
  }

  #array(name: string): ArrayAccess {
    return this.#sources.environment.arrays.get(name)!;
  }

  #splatUniforms(): void {
    const { module, uniforms } = this.#sources.environment;
    for (const [name, type] of module.uniforms) {
      this.#splats.set(name, this.#keep(splatOf(type, uniforms.get(name)!)));
    }
  }

  #block(statements: readonly LaneStatement[]): void {
    if (this.#arrays === undefined) this.#steps(statements);
    else this.#arrays.block(() => this.#steps(statements));
  }

  #steps(statements: readonly LaneStatement[]): void {
    for (const [i, statement] of statements.entries()) {
      this.#step(statement);
      if (!this.#kinds.narrowing.has(statement)) continue;
      if (!this.#isWhole()) {
        this.#narrow(statements.slice(i + 1));
        return;
      }
      // An `if` has done so in its branches.
      if (statement.kind !== 'if') this.#endIfEmpty();
    }
  }

  /** Whether the mask is that of the lanes in the current round of a divergent loop. */
  #isWhole(): boolean {
    const { round } = this.#loops.at(-1) ?? {};
    return round !== undefined && round === this.#mask;
  }

  /** Takes the lanes that have jumped out of the mask, and emits the rest of a block for the other lanes. */
  #narrow(rest: readonly LaneStatement[]): void {
    if (rest.length === 0) return;
    const mask = this.#mask!;
    for (const [u, local] of mask.entries()) local.set(local.and(this.#loops.at(-1)!.round![u]!));
    when(this.#code, anyOf(mask), () => this.#block(rest));
  }

  /**
   * Emits code that ends the current loop if all lanes have left it, and the round if all lanes have left the round.
   * This comes wherever a jump may have taken out the last lane: without lanes, a loop might never end.
   */
  #endIfEmpty(): void {
    const { exit, next, live, round } = this.#loops.at(-1)!;
    brIf(this.#code, exit, anyOf(live!).isZero());
    if (round !== live) brIf(this.#code, next, anyOf(round!).isZero());
  }

  #step(statement: LaneStatement): void {
    switch (statement.kind) {
      case 'let':
        this.#let(statement);
        return;
      case 'dot':
        this.#dot(statement);
        return;
      case 'read':
        this.#read(statement);
        return;
      case 'length':
        this.#keepScalar(statement.local, this.#array(statement.array).length);
        return;
      case 'var':
      case 'set':
        this.#assign(statement);
        return;
      case 'localArray':
        this.#arrays!.declare(statement.localArray, (u) => this.#vector(statement.value, u));
        return;
      case 'readLocal':
        this.#readLocal(statement);
        return;
      case 'writeLocal':
        this.#writeLocal(statement);
        return;
      case 'if':
        if (!this.#kinds.divergent.has(statement)) this.#branch(statement);
        else if (!this.#breakWhere(statement)) this.#diverge(statement);
        return;
      case 'loop':
        this.#loop(statement);
        return;
      case 'break':
        if (this.#kinds.divergent.has(statement)) this.#leave(statement.loops);
        else br(this.#code, this.#loops.at(-statement.loops)!.exit);
        return;
      case 'continue':
        if (this.#kinds.divergent.has(statement)) this.#takeOut(this.#loops.at(-1)!.round!);
        else br(this.#code, this.#loops.at(-1)!.next);
    }
  }

  /** Takes the active lanes out of the innermost `count` loops. */
  #leave(count: number): void {
    // The mask of the active lanes may be that of the innermost loop or of its current round, which therefore come last.
    for (const { live, round } of this.#loops.slice(-count)) {
      this.#takeOut(live!);
      if (round !== live) this.#takeOut(round!);
    }
  }

  #takeOut(lanes: readonly VectorLocal[]): void {
    for (const [u, local] of lanes.entries()) local.set(local.andNot(this.#mask![u]!));
  }

  /**
   * Emits code that stores a uniform value in the local of a variable. If vector code uses the variable, the emitted
   * code also sets a vector local, with the value in all lanes.
   */
  #keepScalar({ id, type }: Variable, value: Scalar): void {
    const code = this.#code;
    code.push(value);
    const local = this.#scalars.get(id) ?? this.#own(scalarLocal(code, type));
    this.#scalars.set(id, local);
    code.set(local);
    if (!this.#splatted.has(id)) return;
    const [splat = this.#own(code.local(V128))] = this.#vectors.get(id) ?? [];
    splat.set(splatOf(type, local));
    this.#vectors.set(
      id,
      this.#each(() => splat),
    );
  }

  /** The vector locals of a varying value, one per vector of indices. Allocated on first use. */
  #vectorsOf(id: number): readonly VectorLocal[] {
    const known = this.#vectors.get(id) ?? this.#each(() => this.#own(this.#code.local(V128)));
    this.#vectors.set(id, known);
    return known;
  }

  #let({ local, operation: { name, operands } }: Of<'let'>): void {
    const from = operands[0]!.type;
    if (this.#kinds.kinds.get(local.id) !== 'varying') {
      const isPlace = (name === 'div' || name === 'rem') && this.#kindOf(operands[0]!) === 'consecutive';
      const scalars = operands.map((operand) => this.#scalar(operand));
      const value = isPlace
        ? this.#place(name, operands)
        : scalarOperation(this.#code, name, from, local.type, scalars);
      this.#keepScalar(local, value);
      return;
    }
    const bound = from === 'f32' && (name === 'min' || name === 'max') ? boundOf(name, operands) : undefined;
    const isShift = name === 'shl' || name === 'shr';
    const count = isShift && this.#kindOf(operands[1]!) === 'uniform' ? this.#integer(operands[1]!) : undefined;
    for (const [u, made] of this.#vectorsOf(local.id).entries()) {
      const values = operands.map((operand) => this.#vector(operand, u));
      made.set(
        bound === undefined
          ? vectorOperation(this.#code, name, from, local.type, values, count)
          : f32Bound(name as 'min' | 'max', values[bound.other]!, bound.number),
      );
    }
  }

  /**
   * The row (`div`) of all indices, or the column (`rem`) of the first index. The row is the quotient, and the column
   * the remainder, of an index divided by the row size.
   */
  #place(name: 'div' | 'rem', [index, cells]: readonly Operand[]): Int32 {
    const row = this.#sources.row!;
    return name === 'div' ? row : this.#integer(index!).sub(row.mul(this.#integer(cells!)));
  }

  #dot({ local, words }: Of<'dot'>): void {
    if (this.#kinds.kinds.get(local.id) === 'uniform') {
      this.#keepScalar(local, this.#dotOfScalars(words));
      return;
    }
    for (const [u, made] of this.#vectorsOf(local.id).entries()) {
      made.set(vector(simd.i32x4DotI16x8S, ...words.map((word) => this.#vector(word, u))));
    }
  }

  #dotOfScalars(words: readonly Operand[]): Int32 {
    const [a, b] = words.map((word) => this.#integer(word)) as [Int32, Int32];
    const low = a.shl(16).shrS(16).mul(b.shl(16).shrS(16));
    return low.add(a.shrS(16).mul(b.shrS(16)));
  }

  #read(statement: Of<'read'>): void {
    const { local, array, index } = statement;
    if (this.#kindOf(index) === 'varying') {
      this.#gather(statement);
      return;
    }
    const code = this.#code;
    const { storage, address, length } = this.#array(array);
    const first = this.#integer(index);
    if (this.#kindOf(index) === 'uniform') {
      this.#keepScalar(local, elementOf(this.#array(array), local.type, first));
      return;
    }
    brIf(code, this.#sources.elsewhere, first.gtU(length.sub(4 * this.#sources.vectors)));
    const at = code.local(I32);
    at.set(address.add(first.shl(widthOf(storage))));
    for (const [u, made] of this.#vectorsOf(local.id).entries()) {
      made.set(loadLanes(storage, local.type, at, (4 * u) << widthOf(storage)));
    }
    code.release(at);
  }

  /** Reads an element for every lane, at an index of its own: zero where the index is out of range. */
  #gather({ local, array, index }: Of<'read'>): void {
    const code = this.#code;
    const { storage } = this.#array(array);
    const { last, address } = this.#gathers.get(array)!;
    const [within, at] = [code.local(V128), code.local(V128)];
    for (const [u, made] of this.#vectorsOf(local.id).entries()) {
      const own = this.#vector(index, u);
      within.set(vector(simd.i32x4MinU, own, last));
      at.set(address.add(within.shl(widthOf(storage))));
      made.set(gatherLanes(storage, local.type, at).and(vector(simd.i32x4Eq, within, own)));
    }
    code.release(within);
    code.release(at);
  }

  #readLocal({ local, localArray, index }: Of<'readLocal'>): void {
    for (const [u, made] of this.#vectorsOf(local.id).entries()) {
      const place = this.#commonIndex(index);
      if (place === undefined) this.#arrays!.gather(localArray, this.#vector(index, u), u, made);
      else made.set(this.#arrays!.element(localArray, place, u));
    }
  }

  #writeLocal(statement: Of<'writeLocal'>): void {
    const { localArray, index, value } = statement;
    const isBlended = this.#kinds.blended.has(statement);
    for (let u = 0; u < this.#sources.vectors; u++) {
      const [lanes, mask] = [this.#vector(value, u), isBlended ? this.#mask![u]! : undefined];
      const place = this.#commonIndex(index);
      if (place === undefined) this.#arrays!.scatter(localArray, this.#vector(index, u), u, lanes, mask);
      else this.#arrays!.write(localArray, place, u, lanes, mask);
    }
  }

  /** An index on which all lanes agree: a number if it is known. Undefined if lanes may differ. */
  #commonIndex(index: Operand): Int32 | number | undefined {
    if (index.kind === 'literal') return Number(index.value);
    return this.#kindOf(index) === 'uniform' ? this.#integer(index) : undefined;
  }

  #assign(statement: Of<'var'> | Of<'set'>): void {
    const { local, value } = statement;
    if (this.#kinds.kinds.get(local.id) !== 'varying') {
      this.#keepScalar(local, this.#scalar(value));
      return;
    }
    const isBlended = this.#kinds.blended.has(statement);
    for (const [u, made] of this.#vectorsOf(local.id).entries()) {
      const lanes = this.#vector(value, u);
      made.set(isBlended ? lanes.bitselect(made, this.#mask![u]!) : lanes);
    }
  }

  #branch({ condition, consequent, alternative }: Of<'if'>): void {
    const otherwise = (): void => this.#block(alternative);
    when(
      this.#code,
      this.#integer(condition),
      () => this.#block(consequent),
      alternative.length > 0 ? otherwise : undefined,
    );
  }

  /**
   * Emits both branches of an `if` whose condition may differ between lanes. Each branch runs under a mask, and only if
   * at least one lane takes the branch. Both masks are made first: the condition may be a variable, which a branch sets.
   */
  #diverge(statement: Of<'if'>): void {
    const { condition, consequent, alternative } = statement;
    const outer = this.#mask;
    const holds = (u: number): Vector => this.#vector(condition, u);
    const branches = [
      { statements: consequent, maskOf: (u: number) => (outer === undefined ? holds(u) : outer[u]!.and(holds(u))) },
      { statements: alternative, maskOf: (u: number) => (outer?.[u] ?? ALL).andNot(holds(u)) },
    ].flatMap(({ statements, maskOf }) => (statements.length > 0 ? [{ statements, mask: this.#masks(maskOf) }] : []));
    for (const { statements, mask } of branches) {
      this.#mask = mask;
      when(this.#code, anyOf(mask), () => {
        this.#block(statements);
        this.#mask = outer;
        if (this.#kinds.narrowing.has(statement) && this.#isWhole()) this.#endIfEmpty();
      });
      for (const local of mask) this.#code.release(local);
    }
  }

  /**
   * Emits an `if` whose only statement is a break, as at the head of a loop, without a branch: the condition narrows
   * the mask of the loop. Returns false for other statements.
   */
  #breakWhere({ condition, consequent, alternative }: Of<'if'>): boolean {
    const [only, ...others] = [...consequent, ...alternative];
    const { live, round } = this.#loops.at(-1) ?? {};
    if (only?.kind !== 'break' || only.loops > 1 || others.length > 0) return false;
    if (live !== round || !this.#isWhole()) return false;
    for (const [u, local] of live!.entries()) {
      const holds = this.#vector(condition, u);
      local.set(consequent.length > 0 ? local.andNot(holds) : local.and(holds));
    }
    this.#endIfEmpty();
    return true;
  }

  #masks(maskOf: (u: number) => Vector): readonly VectorLocal[] {
    return this.#each((u) => {
      const local = this.#code.local(V128);
      local.set(maskOf(u));
      return local;
    });
  }

  #loop(statement: Of<'loop'>): void {
    const code = this.#code;
    const outer = this.#mask;
    const isDivergent = this.#kinds.divergent.has(statement);
    const live = isDivergent ? this.#masks((u) => outer?.[u] ?? ALL) : undefined;
    const round = live && this.#kinds.skipping.has(statement) ? this.#each(() => code.local(V128)) : live;
    block(code, (exit) => {
      const body = (): void =>
        block(code, (next) => {
          this.#loops.push({ exit, next, live, round });
          if (round !== live) for (const [u, local] of round!.entries()) local.set(live![u]!);
          this.#mask = round ?? outer;
          this.#block(statement.body);
          this.#loops.pop();
        });
      if (statement.once) {
        body();
        return;
      }
      loop(code, (again) => {
        if (live !== undefined) this.#countRound(live, this.#occupancy!);
        body();
        this.#mask = live ?? outer;
        this.#block(statement.step);
        br(code, again);
      });
    });
    this.#mask = outer;
    for (const local of new Set([...(live ?? []), ...(round ?? [])])) code.release(local);
  }

  /** Counts the active lanes of a round of a divergent loop. Gives up vectors if most lanes were idle for long. */
  #countRound(live: readonly VectorLocal[], { rounds, active }: Occupancy): void {
    const code = this.#code;
    const { pause, elsewhere } = this.#sources;
    for (const local of live) active.set(active.sub(local));
    rounds.set(rounds.add(1));
    when(code, rounds.and(ROUNDS_BETWEEN_LOOKS - 1).isZero(), () => {
      brIf(code, elsewhere, pause!.tee(this.#pauseAfter({ rounds, active })));
    });
  }

  #pauseAfter({ rounds, active }: Occupancy): Int32 {
    const sum = [1, 2, 3].reduce((all, lane) => all.add(active.extract(lane)), active.extract(0));
    return sum
      .mul(LANES_PER_ACTIVE)
      .ltU(rounds.mul(4 * this.#sources.vectors))
      .mul(PAUSE);
  }

  /** The scalar of a uniform operand, or the value of a consecutive operand at the first index. */
  #scalar(operand: Operand): Scalar {
    if (operand.kind === 'literal') return literal(operand.type, operand.value);
    if (operand.kind === 'uniform') return this.#sources.environment.uniforms.get(operand.name)!;
    return this.#scalars.get(operand.id)!;
  }

  /** The scalar of an operand of integer or bool type; see `#scalar`. */
  #integer(operand: Operand): Int32 {
    return this.#scalar(operand) as Int32;
  }

  #vector(operand: Operand, u: number): Vector {
    if (operand.kind === 'literal') return v128(lanesOf(operand.type, operand.value));
    if (operand.kind === 'uniform') return this.#splats.get(operand.name)!;
    if (this.#kindOf(operand) !== 'consecutive') return this.#vectors.get(operand.id)![u]!;
    return this.#integer(operand)
      .splat()
      .add(fourFrom(4 * u));
  }
}

const NO_LANES = v128([0, 0, 0, 0]);
/** The mask with all lanes active. */
const ALL = v128([-1, -1, -1, -1]);

function hasArrays(block: readonly LaneStatement[]): boolean {
  return block.some((statement) => statement.kind === 'localArray' || blocksOf(statement).some(hasArrays));
}

/** Whether any lane of the masks is active. */
function anyOf(masks: readonly Vector[]): Int32 {
  return masks.reduce((all, one) => all.or(one)).anyTrue();
}
