import type { Operand, ScalarType, Local as Variable } from '../../../primitives/ir/ir.ts';
import { type ArrayAccess, type Environment, emitRead, pushLiteral, scalarLocal, widthOf } from './emit-wasm.ts';
import type { LaneKind, LaneKinds } from './lane-kinds.ts';
import { blocksOf, type LaneProgram, type LaneStatement, operandsOf } from './lane-statements.ts';
import { emitScalar } from './scalar-operations.ts';
import { emitF32Bound, emitLoadVector, emitSplat, emitVector, lanesOf } from './vector-operations.ts';
import type { Code, Label } from './wasm-code.ts';
import { I32, op, simd, V128 } from './wasm-encoder.ts';
import type { Int32 } from './wasm-expressions.ts';
import type { Int32Local, Local, ScalarLocal, VectorLocal } from './wasm-locals.ts';

/** Where code for several vectors of indices finds what it works on. */
export interface MaskedSources {
  readonly environment: Environment;
  /** Local of the first index, and of its row where the program divides by the cells of one. */
  readonly index: Int32Local;
  readonly row: Int32 | undefined;
  /** Vectors of four indices that are handled at once. */
  readonly vectors: number;
  /** Where to go when a read is not within its array for all indices; nothing was stored by then. */
  readonly elsewhere: Label;
}

type Of<K extends LaneStatement['kind']> = Extract<LaneStatement, { kind: K }>;

/**
 * Writes a program with its loops and branches for several vectors of indices at once. What is the same for all indices is
 * computed once, as scalars; where indices go different ways, a branch is taken if any of them takes it, and sets variables
 * under a mask.
 */
export class MaskedCode {
  readonly #code: Code;
  readonly #program: LaneProgram;
  readonly #kinds: LaneKinds;
  readonly #sources: MaskedSources;
  /** Locals of what does not vary, or of its first index. */
  readonly #scalars = new Map<number, ScalarLocal>();
  /** Locals of what varies, a vector each; of what does not vary where vectors need it, the same vector. */
  readonly #vectors = new Map<number, readonly VectorLocal[]>();
  readonly #splats = new Map<string, VectorLocal>();
  readonly #splatted: ReadonlySet<number>;
  readonly #owned: Local[] = [];
  readonly #loops: { readonly exit: Label; readonly next: Label }[] = [];
  /** Locals of the mask under which statements run; undefined where all indices take part. */
  #mask: readonly VectorLocal[] | undefined;

  constructor(code: Code, program: LaneProgram, kinds: LaneKinds, sources: MaskedSources) {
    this.#code = code;
    this.#program = program;
    this.#kinds = kinds;
    this.#sources = sources;
    this.#splatted = this.#findSplatted();
  }

  /** Writes the code; returns, for every vector, locals with the results. They are valid until `release`. */
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

  /** Locals that do not vary and are operands of vectors. */
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

  /** Goes elsewhere where an array is shorter than what is read of it at once. */
  #requireLengths(): void {
    for (const name of this.#kinds.arrays) {
      this.#code.get(this.#array(name).length);
      this.#code.i32(4 * this.#sources.vectors);
      this.#code.op(op.i32LtU);
      this.#code.brIf(this.#sources.elsewhere);
    }
  }

  #array(name: string): ArrayAccess {
    return this.#sources.environment.arrays.get(name)!;
  }

  #splatUniforms(): void {
    const code = this.#code;
    for (const [name, type] of this.#sources.environment.module.uniforms) {
      const local = this.#own(code.local(V128));
      code.get(this.#sources.environment.uniforms.get(name)!);
      emitSplat(code, type);
      code.set(local);
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
        this.#code.get(this.#array(statement.array).length);
        this.#keepScalar(statement.local);
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
        this.#code.br(this.#loops.at(-1)!.exit);
        return;
      case 'continue':
        this.#code.br(this.#loops.at(-1)!.next);
    }
  }

  /** Keeps the scalar on the stack as that of a local, and as a vector where vectors need it. */
  #keepScalar({ id, type }: Variable): void {
    const code = this.#code;
    const local = this.#scalars.get(id) ?? this.#own(scalarLocal(code, type));
    this.#scalars.set(id, local);
    code.set(local);
    if (!this.#splatted.has(id)) return;
    const [splat = this.#own(code.local(V128))] = this.#vectors.get(id) ?? [];
    code.get(local);
    emitSplat(code, type);
    code.set(splat);
    this.#vectors.set(
      id,
      this.#each(() => splat),
    );
  }

  /** The locals of what varies. */
  #vectorsOf(id: number): readonly VectorLocal[] {
    const known = this.#vectors.get(id) ?? this.#each(() => this.#own(this.#code.local(V128)));
    this.#vectors.set(id, known);
    return known;
  }

  #let({ local, operation: { name, operands } }: Of<'let'>): void {
    const code = this.#code;
    const from = operands[0]!.type;
    if (this.#kinds.kinds.get(local.id) !== 'varying') {
      if ((name === 'div' || name === 'rem') && this.#kindOf(operands[0]!) === 'consecutive')
        this.#place(name, operands);
      else {
        const pushes = operands.map((operand) => () => this.#pushScalar(operand));
        emitScalar(code, name, from, local.type, pushes);
      }
      this.#keepScalar(local);
      return;
    }
    const bound = name === 'min' || name === 'max' ? numberOf(name, operands) : undefined;
    const isShift = name === 'shl' || name === 'shr';
    const count = isShift && this.#kindOf(operands[1]!) === 'uniform' ? operands[1] : undefined;
    for (const [u, made] of this.#vectorsOf(local.id).entries()) {
      const pushes = operands.map((operand) => () => this.#pushVector(operand, u));
      if (bound !== undefined) emitF32Bound(code, name as 'min' | 'max', pushes[bound.other]!, bound.number);
      else emitVector(code, name, from, local.type, pushes, count && (() => this.#pushScalar(count)));
      code.set(made);
    }
  }

  /** Pushes the row of the indices, or the column of the first. */
  #place(name: 'div' | 'rem', [index, cells]: readonly Operand[]): void {
    const code = this.#code;
    const row = this.#sources.row!;
    if (name === 'div') {
      code.get(row);
      return;
    }
    this.#pushScalar(index!);
    code.get(row);
    this.#pushScalar(cells!);
    code.op(op.i32Mul, op.i32Sub);
  }

  #dot({ local, words }: Of<'dot'>): void {
    const code = this.#code;
    if (this.#kinds.kinds.get(local.id) === 'uniform') {
      this.#dotOfScalars(words);
      this.#keepScalar(local);
      return;
    }
    for (const [u, made] of this.#vectorsOf(local.id).entries()) {
      for (const word of words) this.#pushVector(word, u);
      code.simd(simd.i32x4DotI16x8S);
      code.set(made);
    }
  }

  #dotOfScalars(words: readonly Operand[]): void {
    const code = this.#code;
    const half = (isLow: boolean) => (operand: Operand) => {
      this.#pushScalar(operand);
      if (isLow) {
        code.i32(16);
        code.op(op.i32Shl);
      }
      code.i32(16);
      code.op(op.i32ShrS);
    };
    for (const isLow of [true, false]) {
      words.forEach(half(isLow));
      code.op(op.i32Mul);
    }
    code.op(op.i32Add);
  }

  #read({ local, array, index }: Of<'read'>): void {
    const code = this.#code;
    const { storage, address, length } = this.#array(array);
    const pushIndex = (): void => this.#pushScalar(index);
    if (this.#kindOf(index) === 'uniform') {
      emitRead(code, this.#array(array), local.type, pushIndex);
      this.#keepScalar(local);
      return;
    }
    pushIndex();
    code.get(length);
    code.i32(4 * this.#sources.vectors);
    code.op(op.i32Sub, op.i32GtU);
    code.brIf(this.#sources.elsewhere);
    const at = code.local(I32);
    code.get(address);
    pushIndex();
    code.i32(widthOf(storage));
    code.op(op.i32Shl, op.i32Add);
    code.set(at);
    for (const [u, made] of this.#vectorsOf(local.id).entries()) {
      code.get(at);
      emitLoadVector(code, storage, local.type, (4 * u) << widthOf(storage));
      code.set(made);
    }
    code.release(at);
  }

  #assign(statement: Of<'var'> | Of<'set'>): void {
    const { local, value } = statement;
    const code = this.#code;
    if (this.#kinds.kinds.get(local.id) !== 'varying') {
      this.#pushScalar(value);
      this.#keepScalar(local);
      return;
    }
    const isBlended = this.#kinds.blended.has(statement);
    for (const [u, made] of this.#vectorsOf(local.id).entries()) {
      this.#pushVector(value, u);
      if (isBlended) {
        code.get(made);
        code.get(this.#mask![u]!);
        code.simd(simd.bitselect);
      }
      code.set(made);
    }
  }

  #branch({ condition, consequent, alternative }: Of<'if'>): void {
    const code = this.#code;
    this.#pushScalar(condition);
    code.if();
    this.#block(consequent);
    if (alternative.length > 0) {
      code.else();
      this.#block(alternative);
    }
    code.end();
  }

  /** Both branches, each where any index takes it. */
  #diverge({ condition, consequent, alternative }: Of<'if'>): void {
    const outer = this.#mask;
    const under = (statements: readonly LaneStatement[], pushMask: (u: number) => void): void => {
      if (statements.length === 0) return;
      const code = this.#code;
      const mask = this.#each((u) => {
        const local = code.local(V128);
        pushMask(u);
        code.set(local);
        return local;
      });
      mask.forEach((local, u) => {
        code.get(local);
        if (u > 0) code.simd(simd.or);
      });
      code.simd(simd.anyTrue);
      this.#mask = mask;
      code.when(() => this.#block(statements));
      this.#mask = outer;
      for (const local of mask) code.release(local);
    };
    under(consequent, (u) => this.#pushMask(condition, u, simd.and));
    under(alternative, (u) => this.#pushMask(condition, u, simd.andNot));
  }

  /** Pushes where the condition holds of the mask around, or where it does not. */
  #pushMask(condition: Operand, u: number, instruction: number): void {
    const code = this.#code;
    if (this.#mask !== undefined) code.get(this.#mask[u]!);
    else if (instruction === simd.andNot) code.v128([-1, -1, -1, -1]);
    this.#pushVector(condition, u);
    if (this.#mask !== undefined || instruction === simd.andNot) code.simd(instruction);
  }

  #loop({ body, step }: Of<'loop'>): void {
    const code = this.#code;
    const exit = code.block();
    const again = code.loop();
    const next = code.block();
    this.#loops.push({ exit, next });
    this.#block(body);
    code.end();
    this.#loops.pop();
    this.#block(step);
    code.br(again);
    code.end();
    code.end();
  }

  /** Pushes what does not vary, or the value of the first index of what is consecutive. */
  #pushScalar(operand: Operand): void {
    if (operand.kind === 'literal') pushLiteral(this.#code, operand.type, operand.value);
    else if (operand.kind === 'uniform') this.#code.get(this.#sources.environment.uniforms.get(operand.name)!);
    else this.#code.get(this.#scalars.get(operand.id)!);
  }

  #pushVector(operand: Operand, u: number): void {
    const code = this.#code;
    if (operand.kind === 'literal') code.v128(lanesOf(operand.type, operand.value));
    else if (operand.kind === 'uniform') code.get(this.#splats.get(operand.name)!);
    else if (this.#kindOf(operand) !== 'consecutive') code.get(this.#vectors.get(operand.id)![u]!);
    else {
      this.#pushScalar(operand);
      code.simd(simd.i32x4Splat);
      code.v128([0, 1, 2, 3].map((lane) => 4 * u + lane) as [number, number, number, number]);
      code.simd(simd.i32x4Add);
    }
  }

  #keepVector(operand: Operand, u: number): VectorLocal {
    const local = this.#own(this.#code.local(V128));
    this.#pushVector(operand, u);
    this.#code.set(local);
    return local;
  }
}

/** The operand of an extremum of f32 that is a number, which takes fewer instructions, and where the other one stands. */
function numberOf(
  name: 'min' | 'max',
  operands: readonly Operand[],
): { readonly number: number; readonly other: number } | undefined {
  for (const [k, operand] of operands.entries()) {
    if (operand.kind !== 'literal' || operand.type !== ('f32' satisfies ScalarType)) continue;
    const number = operand.value as number;
    if (!Number.isNaN(number) && !(name === 'max' && Object.is(number, -0))) return { number, other: 1 - k };
  }
  return undefined;
}
