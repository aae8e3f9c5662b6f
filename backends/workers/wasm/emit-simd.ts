import type { ScalarType } from '../../../primitives/ir/ir.ts';
import type { Floor, Node, OperationNode, ReadNode, SharedNode } from '../../analyses/straight-line.ts';
import { emitMaximum, emitMinimum } from '../commands/kernel-arguments.ts';
import { type ArrayAccess, emitRead, pushLiteral, scalarLocal, widthOf } from './emit-wasm.ts';
import { emitScalar } from './scalar-operations.ts';
import { emitF32Bound, emitLoadVector, emitSplat, emitVector, lanesOf } from './vector-operations.ts';
import type { Code } from './wasm-code.ts';
import { I32, I64, op, simd, V128 } from './wasm-encoder.ts';
import { type Int32, Vector } from './wasm-expressions.ts';
import type { Int32Local, ScalarLocal, VectorLocal } from './wasm-locals.ts';

/** Indices that a round handles at most; chunks begin at multiples of it. */
const MAX_IN_ROUND = 16;

/** Where a vector loop finds what it works on. */
export interface VectorSources {
  readonly arrays: readonly ArrayAccess[];
  readonly uniforms: readonly ScalarLocal[];
  /** Local of the index of the first lane. */
  readonly index: Int32 | undefined;
}

/**
 * Writes straight-line graphs for four lanes at once. What is the same for all lanes is computed once, by `prepare`,
 * before the loop; then every `begin` starts the code for the next four indices.
 */
export class VectorCode {
  readonly #code: Code;
  readonly #sources: VectorSources;
  /** Locals of what does not vary: scalars, and the same in four lanes. */
  readonly #invariants = new Map<Node, ScalarLocal>();
  readonly #splats = new Map<Node, VectorLocal>();
  /** For every contiguous read, a local with the address of what index 0 would read. */
  readonly #addresses = new Map<ReadNode, Int32Local>();
  readonly #uses = new Map<Node, number>();
  /** Locals of what varies, for the four indices under way. */
  readonly #lanes = new Map<Node, VectorLocal>();
  readonly #bound = new Set<Node>();
  /** What is right where the first lane's index is a multiple of four. */
  readonly #aligned = new Set<Node>();
  /** The lanes of parameters that are not bound. */
  readonly #supplies = new Map<Node, Vector>();
  /** Comparisons that are false for all indices that vectors handle. */
  readonly #never = new Set<OperationNode>();
  #offset = 0;

  constructor(code: Code, sources: VectorSources) {
    this.#code = code;
    this.#sources = sources;
  }

  /** Gives a node that does not vary its scalar; before `prepare`. */
  bindInvariant(node: Node, local: ScalarLocal): void {
    this.#invariants.set(node, local);
  }

  /**
   * Peels the first row and the last ones off the vector loop, for the scalar loop to handle. Comparisons that tell these
   * rows apart, in the conditions that lead to the given nodes, are then false for all others. Before `prepare`.
   */
  peelEnds(nodes: readonly Node[]): void {
    for (const node of nodes) {
      if (node.kind !== 'operation' || node.type !== 'bool') continue;
      if (isFirst(node) || endOf(node) !== undefined) this.#never.add(node);
      else if (node.name === 'or') this.peelEnds(node.operands);
    }
  }

  /** Makes ready for everything that leads to the given nodes. */
  prepare(nodes: readonly Node[]): void {
    for (const node of nodes) this.#count(node);
    for (const node of this.#uses.keys()) {
      if (!node.varying && node.kind !== 'literal') this.#splat(node);
      else if (node.varying && node.kind === 'read') this.#address(node);
      else if (node.kind === 'shared' || node.kind === 'rowBits') this.#aligned.add(node);
    }
  }

  /** Narrows the range of indices to those whose contiguous reads are all within their arrays, and above their floors. */
  narrow(from: Int32Local, to: Int32Local): void {
    const code = this.#code;
    const shift = code.local(I64);
    for (const node of this.#addresses.keys()) {
      this.#pushInvariant(node.shift!);
      code.op(op.i64ExtendI32S);
      code.set(shift);
      emitMaximum(code, from, () =>
        pushClamped(code, () => {
          code.i64(0);
          code.get(shift);
          code.op(op.i64Sub);
        }),
      );
      emitMinimum(code, to, () =>
        pushClamped(code, () => {
          code.get(this.#sources.arrays[node.slot]!.length);
          code.op(op.i64ExtendI32U);
          code.get(shift);
          code.op(op.i64Sub);
        }),
      );
    }
    code.release(shift);
    for (const floor of this.#floors()) this.#narrowToFloor(floor, from, to);
    for (const node of this.#never) this.#narrowToNever(node, from, to);
    for (const node of this.#aligned) if (node.kind === 'shared') this.#narrowToShared(node, to);
    if (this.#aligned.size > 0) this.#align(from, to);
  }

  /** Narrows it to the indices whose shared words are within their array. */
  #narrowToShared(node: SharedNode, to: Int32Local): void {
    const code = this.#code;
    emitMinimum(code, to, () =>
      pushClamped(code, () => {
        code.get(this.#sources.arrays[node.slot]!.length);
        code.op(op.i64ExtendI32U);
        code.i64(node.by);
        code.op(op.i64Shl);
      }),
    );
  }

  /** Moves the first index on to a multiple of what vectors handle in a round, or to the end where there is none. */
  #align(from: Int32Local, to: Int32Local): void {
    const code = this.#code;
    const next = code.local(I32);
    code.get(to);
    code.get(from);
    code.i32(MAX_IN_ROUND - 1);
    code.op(op.i32Add);
    code.i32(-MAX_IN_ROUND);
    code.op(op.i32And);
    code.tee(next);
    code.get(next);
    code.get(from);
    code.op(op.i32LtU, op.select);
    code.set(from);
    code.release(next);
  }

  #floors(): Iterable<Floor> {
    const floors = [...this.#addresses.keys()].flatMap((node) => node.floors);
    return new Map(floors.map((floor) => [`${floor.shift.id},${floor.min.id}`, floor])).values();
  }

  /** Narrows it to the indices that are, plus a shift, neither below the least one nor as far as 2³². */
  #narrowToFloor({ shift, min }: Floor, from: Int32Local, to: Int32Local): void {
    const code = this.#code;
    const pushFrom = (pushBound: () => void): void =>
      pushClamped(code, () => {
        pushBound();
        code.op(op.i64ExtendI32U);
        this.#pushInvariant(shift);
        code.op(op.i64ExtendI32S, op.i64Sub);
      });
    emitMaximum(code, from, () => pushFrom(() => this.#pushInvariant(min)));
    emitMinimum(code, to, () => pushFrom(() => code.i32(-1)));
  }

  #narrowToNever(node: OperationNode, from: Int32Local, to: Int32Local): void {
    const code = this.#code;
    const end = endOf(node);
    if (end === undefined) {
      code.get(from);
      code.get(from);
      code.op(op.i32Eqz, op.i32Add);
      code.set(from);
    } else {
      emitMinimum(code, to, () =>
        pushClamped(code, () => {
          this.#pushInvariant(end);
          code.op(op.i64ExtendI32U);
          code.i64(1);
          code.op(op.i64Sub);
        }),
      );
    }
  }

  /** Starts the code for the indices from `index + offset` on. */
  begin(offset: number): void {
    for (const [node, local] of this.#lanes) if (!this.#bound.has(node)) this.#code.release(local);
    this.#lanes.clear();
    this.#bound.clear();
    this.#offset = offset;
  }

  /** Gives a parameter node its lanes. */
  bind(node: Node, local: VectorLocal): void {
    this.#lanes.set(node, local);
    this.#bound.add(node);
  }

  /** Gives a parameter node an expression of its lanes, which is computed where they are first asked for. */
  supply(node: Node, lanes: Vector): void {
    this.#supplies.set(node, lanes);
  }

  /** The lanes of a node; to be used at once, as they are computed where they are first used. */
  value(node: Node): Vector {
    return new Vector(() => this.push(node));
  }

  /** Pushes the lanes of a node. */
  push(node: Node): void {
    if (!node.varying) {
      this.#pushSplat(node);
      return;
    }
    const known = this.#lanes.get(node);
    if (known !== undefined) {
      this.#code.get(known);
      return;
    }
    this.#compute(node);
    if ((this.#uses.get(node) ?? 0) < 2) return;
    this.#code.tee(this.#keep(node));
  }

  /** The lanes of a node in a local that stays valid until the next `begin`. */
  local(node: Node): VectorLocal {
    const known = this.#lanes.get(node);
    if (known !== undefined) return known;
    if (!node.varying && node.kind !== 'literal') return this.#splat(node);
    if (node.varying) this.#compute(node);
    else this.#pushSplat(node);
    const local = this.#keep(node);
    this.#code.set(local);
    return local;
  }

  /** The lanes of a node in a local of the caller's. */
  copy(node: Node): VectorLocal {
    const local = this.#code.local(V128);
    this.push(node);
    this.#code.set(local);
    return local;
  }

  /** The operands that decide what an operation gives. */
  #needed(node: OperationNode): readonly Node[] {
    if (this.#never.has(node)) return [];
    if (node.name !== 'or') return node.operands;
    return node.operands.filter((operand) => !this.#never.has(operand as OperationNode));
  }

  #keep(node: Node): VectorLocal {
    const local = this.#code.local(V128);
    this.#lanes.set(node, local);
    return local;
  }

  #count(node: Node): void {
    const uses = this.#uses.get(node) ?? 0;
    this.#uses.set(node, uses + 1);
    if (uses > 0 || !node.varying) return;
    if (node.kind === 'operation') for (const operand of this.#needed(node)) this.#count(operand);
    if (node.kind === 'rowBits') this.#count(node.of);
  }

  #compute(node: Node): void {
    const code = this.#code;
    switch (node.kind) {
      case 'index':
        code.get(this.#sources.index!);
        code.simd(simd.i32x4Splat);
        code.v128([0, 1, 2, 3].map((lane) => lane + this.#offset) as [number, number, number, number]);
        code.simd(simd.i32x4Add);
        return;
      case 'read':
        this.#load(node);
        return;
      case 'shared':
        this.#loadShared(node);
        return;
      case 'rowBits':
        this.#pushBits(node.of);
        return;
      case 'operation':
        this.#operate(node);
        return;
      case 'parameter':
        code.get(this.#supplies.get(node)!);
        return;
      default:
        throw new RangeError(`a ${node.kind} has no lanes of its own`);
    }
  }

  #operate(node: OperationNode): void {
    const { name, type, operands } = node;
    const needed = this.#needed(node);
    if (needed.length < operands.length) {
      if (needed.length === 0) this.#code.v128([0, 0, 0, 0]);
      else this.push(needed[0]!);
      return;
    }
    const from = operands[0]!.type;
    if ((name === 'min' || name === 'max') && from === 'f32') {
      const [value, bound] = boundOf(name, operands);
      if (bound !== undefined) {
        this.local(value!);
        emitF32Bound(this.#code, name, () => this.push(value!), bound);
        return;
      }
    }
    const count = operands[1];
    const shift = (name === 'shl' || name === 'shr') && !count!.varying ? count : undefined;
    if (shift === undefined && pushesTwice(name, from)) for (const operand of operands) this.local(operand);
    const pushes = operands.map((operand) => () => this.push(operand));
    emitVector(this.#code, name, from, type, pushes, shift && (() => this.#pushInvariant(shift)));
  }

  #load(node: ReadNode): void {
    const code = this.#code;
    const { storage } = this.#sources.arrays[node.slot]!;
    const width = widthOf(storage);
    const offset = this.#offset << width;
    code.get(this.#addresses.get(node)!);
    code.get(this.#sources.index!);
    if (width > 0) {
      code.i32(width);
      code.op(op.i32Shl);
    }
    code.op(op.i32Add);
    emitLoadVector(code, storage, node.type, offset);
  }

  /** Pushes the word that four rows share, in all lanes. */
  #loadShared({ slot, type, by }: SharedNode): void {
    const code = this.#code;
    const { storage, address } = this.#sources.arrays[slot]!;
    const width = widthOf(storage);
    code.get(address);
    this.pushIndex();
    code.i32(by);
    code.op(op.i32ShrU);
    code.i32(width);
    code.op(op.i32Shl, op.i32Add);
    if (width === 2) {
      code.simdMemory(simd.load32Splat);
      if (type !== 'bool') return;
      code.v128([0, 0, 0, 0]);
      code.simd(simd.i32x4Ne);
      return;
    }
    const [byte, half] = storage.startsWith('i') ? [op.i32Load8S, op.i32Load16S] : [op.i32Load8U, op.i32Load16U];
    code.memory(width === 0 ? byte : half);
    code.simd(simd.i32x4Splat);
  }

  /** Pushes the bits of four rows in their word. */
  #pushBits(of: Node): void {
    const code = this.#code;
    code.v128([1, 2, 4, 8]);
    if (of.kind !== 'literal' || of.value !== 1) {
      this.#pushSplat(of);
      code.simd(simd.i32x4Mul);
    }
    this.pushIndex();
    code.simd(simd.i32x4Shl);
  }

  /** Pushes the index of the first lane. */
  pushIndex(): void {
    this.#code.get(this.#sources.index!);
    if (this.#offset === 0) return;
    this.#code.i32(this.#offset);
    this.#code.op(op.i32Add);
  }

  #address(node: ReadNode): void {
    const code = this.#code;
    const { storage, address } = this.#sources.arrays[node.slot]!;
    const local = code.local(I32);
    code.get(address);
    this.#pushInvariant(node.shift!);
    code.i32(widthOf(storage));
    code.op(op.i32Shl, op.i32Add);
    code.set(local);
    this.#addresses.set(node, local);
  }

  #pushSplat(node: Node): void {
    if (node.kind === 'literal') this.#code.v128(lanesOf(node.type, node.value));
    else this.#code.get(this.#splats.get(node)!);
  }

  #splat(node: Node): VectorLocal {
    const known = this.#splats.get(node);
    if (known !== undefined) return known;
    const local = this.#code.local(V128);
    this.#pushInvariant(node);
    emitSplat(this.#code, node.type);
    this.#code.set(local);
    this.#splats.set(node, local);
    return local;
  }

  /** Pushes the scalar of a node that does not vary; it is computed where it is first asked for. */
  #pushInvariant(node: Node): void {
    const code = this.#code;
    const known = this.#invariants.get(node);
    if (known !== undefined) {
      code.get(known);
      return;
    }
    switch (node.kind) {
      case 'literal':
        pushLiteral(code, node.type, node.value);
        return;
      case 'uniform':
        code.get(this.#sources.uniforms[node.slot]!);
        return;
      case 'length':
        code.get(this.#sources.arrays[node.slot]!.length);
        return;
      case 'read':
        this.#keepInvariants([node.index]);
        emitRead(code, this.#sources.arrays[node.slot]!, node.type, () => this.#pushInvariant(node.index));
        break;
      case 'operation': {
        this.#keepInvariants(node.operands);
        const pushes = node.operands.map((operand) => () => this.#pushInvariant(operand));
        emitScalar(code, node.name, node.operands[0]!.type, node.type, pushes);
        break;
      }
      default:
        throw new RangeError(`a ${node.kind} varies`);
    }
    const local = scalarLocal(code, node.type);
    code.tee(local);
    this.#invariants.set(node, local);
  }

  /** Computes operands before the code that pushes them, which may do so twice or in one branch only. */
  #keepInvariants(nodes: readonly Node[]): void {
    for (const node of nodes) {
      if (node.kind !== 'read' && node.kind !== 'operation') continue;
      if (this.#invariants.has(node)) continue;
      this.#pushInvariant(node);
      this.#code.op(op.drop);
    }
  }
}

/** Whether a condition holds for row 0 alone. */
function isFirst({ name, operands: [a, b] }: OperationNode): boolean {
  return name === 'eq' && a!.kind === 'index' && b?.kind === 'literal' && b.value === 0;
}

/** The end whose last row a condition tells; undefined for other conditions. */
function endOf({ name, operands: [after, end] }: OperationNode): Node | undefined {
  if (name !== 'ge' || end!.varying || after!.type !== 'u32') return undefined;
  if (after!.kind !== 'operation' || after!.name !== 'add') return undefined;
  const [index, one] = after!.operands;
  return index!.kind === 'index' && one!.kind === 'literal' && one!.value === 1 ? end : undefined;
}

/** The operand of an extremum that is a number which {@link emitF32Bound} takes, behind the other one. */
function boundOf(name: 'min' | 'max', [a, b]: readonly Node[]): [Node, number] | [] {
  for (const [value, bound] of [
    [a!, b!],
    [b!, a!],
  ] as const) {
    if (bound.kind !== 'literal') continue;
    const number = Number(bound.value);
    if (!Number.isNaN(number) && !(name === 'max' && Object.is(number, -0))) return [value, number];
  }
  return [];
}

/** Operations whose code takes an operand more than once. */
function pushesTwice(name: OperationNode['name'], from: ScalarType): boolean {
  if (name === 'min' || name === 'max') return from === 'f32';
  return name === 'clz' || name === 'ctz' || name === 'shl' || name === 'shr' || name === 'mulhi';
}

/** Pushes an i64 as the nearest u32. */
function pushClamped(code: Code, value: () => void): void {
  const wide = code.local(I64);
  value();
  code.tee(wide);
  code.i64(0);
  code.op(op.i64LtS);
  code.if(I32);
  code.i32(0);
  code.else();
  code.i32(-1);
  code.get(wide);
  code.op(op.i32WrapI64);
  code.get(wide);
  code.i32(-1);
  code.op(op.i64ExtendI32U, op.i64GtS, op.select);
  code.end();
  code.release(wide);
}
