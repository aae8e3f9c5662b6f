import type { Operand, Local as Variable } from '../../../primitives/ir/ir.ts';
import { boundOf } from './emit-simd.ts';
import { type ArrayAccess, type Environment, elementOf, literal, scalarLocal, widthOf } from './emit-wasm.ts';
import type { LaneKind, LaneKinds } from './lane-kinds.ts';
import { blocksOf, type LaneProgram, type LaneStatement, operandsOf } from './lane-statements.ts';
import { scalarOperation } from './scalar-operations.ts';
import { f32Bound, lanesOf, loadLanes, splatOf, vectorOperation } from './vector-operations.ts';
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
}

type Of<K extends LaneStatement['kind']> = Extract<LaneStatement, { kind: K }>;

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
  readonly #splatted: ReadonlySet<number>;
  readonly #owned: Local[] = [];
  readonly #loops: { readonly exit: Label; readonly next: Label }[] = [];
  /** The mask of the active lanes, as one local per vector. Undefined if all lanes are active. */
  #mask: readonly VectorLocal[] | undefined;

  constructor(code: Code, program: LaneProgram, kinds: LaneKinds, sources: MaskedSources) {
    this.#code = code;
    this.#program = program;
    this.#kinds = kinds;
    this.#sources = sources;
    this.#splatted = this.#findSplatted();
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
    this.#block(this.#program.body);
    return this.#each((u) => this.#program.results.map((result) => this.#keepVector(result, u)));
  }

  release(): void {
    for (const local of this.#owned) this.#code.release(local);
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
        const makesVectors = 'local' in statement && this.#kinds.kinds.get(statement.local.id) === 'varying';
        if (makesVectors && statement.kind !== 'read') for (const operand of operandsOf(statement)) add(operand);
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
  }

  #array(name: string): ArrayAccess {
    return this.#sources.environment.arrays.get(name)!;
  }

  #splatUniforms(): void {
    const { module, uniforms } = this.#sources.environment;
    for (const [name, type] of module.uniforms) {
      const local = this.#own(this.#code.local(V128));
      local.set(splatOf(type, uniforms.get(name)!));
      this.#splats.set(name, local);
    }
  }

  #block(statements: readonly LaneStatement[]): void {
    for (const statement of statements) this.#step(statement);
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
      case 'if':
        if (this.#kinds.divergent.has(statement)) this.#diverge(statement);
        else this.#branch(statement);
        return;
      case 'loop':
        this.#loop(statement);
        return;
      case 'break':
        br(this.#code, this.#loops.at(-1)!.exit);
        return;
      case 'continue':
        br(this.#code, this.#loops.at(-1)!.next);
    }
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

  #read({ local, array, index }: Of<'read'>): void {
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
   * at least one lane takes the branch.
   */
  #diverge({ condition, consequent, alternative }: Of<'if'>): void {
    const outer = this.#mask;
    const under = (statements: readonly LaneStatement[], maskOf: (u: number) => Vector): void => {
      if (statements.length === 0) return;
      const code = this.#code;
      const mask = this.#each((u) => {
        const local = code.local(V128);
        local.set(maskOf(u));
        return local;
      });
      const any = mask.slice(1).reduce<Vector>((all, one) => all.or(one), mask[0]!);
      this.#mask = mask;
      when(code, any.anyTrue(), () => this.#block(statements));
      this.#mask = outer;
      for (const local of mask) code.release(local);
    };
    under(consequent, (u) => {
      const holds = this.#vector(condition, u);
      return outer === undefined ? holds : outer[u]!.and(holds);
    });
    under(alternative, (u) => (outer?.[u] ?? ALL).andNot(this.#vector(condition, u)));
  }

  #loop({ body, step }: Of<'loop'>): void {
    const code = this.#code;
    block(code, (exit) =>
      loop(code, (again) => {
        block(code, (next) => {
          this.#loops.push({ exit, next });
          this.#block(body);
        });
        this.#loops.pop();
        this.#block(step);
        br(code, again);
      }),
    );
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

  #keepVector(operand: Operand, u: number): VectorLocal {
    const local = this.#own(this.#code.local(V128));
    local.set(this.#vector(operand, u));
    return local;
  }
}

/** The mask with all lanes active. */
const ALL = v128([-1, -1, -1, -1]);
