import type { DescendingNode, Floor, Node, OperationNode, ReadNode, SharedNode } from '../../analyses/straight-line.ts';
import { type ArrayAccess, elementAt, elementOf, literal, scalarLocal, widthOf } from './emit-wasm.ts';
import { scalarOperation } from './scalar-operations.ts';
import { f32Bound, lanesOf, loadLanes, splatOf, usesTwice, vectorOperation } from './vector-operations.ts';
import type { Code } from './wasm-code.ts';
import { I32, I64, op, V128 } from './wasm-encoder.ts';
import {
  choose,
  Float32,
  fourFrom,
  Int32,
  type Int64,
  i32,
  i64,
  loadingInt32,
  loadSplat,
  type Scalar,
  Vector,
  v128,
} from './wasm-expressions.ts';
import type { Int32Local, ScalarLocal, VectorLocal } from './wasm-locals.ts';
import { drop, lower, raise } from './wasm-statements.ts';

/** Maximum number of indices per round of a vector loop. Chunks begin at multiples of this number. */
const MAX_IN_ROUND = 16;

/** The inputs of the code in a vector loop. */
export interface VectorSources {
  readonly arrays: readonly ArrayAccess[];
  readonly uniforms: readonly ScalarLocal[];
  /** The index of the first lane. Undefined if the code does not depend on an index. */
  readonly index: Int32 | undefined;
}

/**
 * Emits vector code for a straight-line graph, for four lanes at a time. `prepare` computes loop-invariant values
 * before the loop. In the loop, each `begin` starts the code for another four indices.
 */
export class VectorCode {
  readonly #code: Code;
  readonly #sources: VectorSources;
  /** Locals with the values of loop-invariant nodes, as scalars. */
  readonly #invariants = new Map<Node, ScalarLocal>();
  /** Locals with the values of loop-invariant nodes, as vectors with equal lanes. */
  readonly #splats = new Map<Node, VectorLocal>();
  /** For each contiguous read, a local with the address that the read would have at index 0. */
  readonly #addresses = new Map<ReadNode, Int32Local>();
  /** The same for each read of descending elements; the address is that of the last lane. */
  readonly #lastAddresses = new Map<DescendingNode, Int32Local>();
  /** How often each node is used. The value of a node with several uses is kept in a local. */
  readonly #uses = new Map<Node, number>();
  /** Locals with the values of varying nodes, for the current four indices. */
  readonly #lanes = new Map<Node, VectorLocal>();
  /** Nodes whose local in `#lanes` belongs to the caller and must not be released here. */
  readonly #bound = new Set<Node>();
  /** Nodes that are only valid if the index of the first lane is a multiple of four. */
  readonly #aligned = new Set<Node>();
  /** Expressions that the caller supplied for parameters. */
  readonly #supplies = new Map<Node, Vector>();
  /** Comparisons that are false for all indices of the vector loop; see `peelEnds`. */
  readonly #never = new Set<OperationNode>();
  #offset = 0;

  constructor(code: Code, sources: VectorSources) {
    this.#code = code;
    this.#sources = sources;
  }

  /** Sets the local that contains the value of a loop-invariant node. Must be called before `prepare`. */
  bindInvariant(node: Node, local: ScalarLocal): void {
    this.#invariants.set(node, local);
  }

  /**
   * Leaves to the scalar loop all indices for which a given condition `index = 0` or `index + 1 ≥ end` is true. In the
   * vector loop, these conditions, also as operands of `or`, are then always false and need no code. Must be called
   * before `prepare`.
   */
  peelEnds(nodes: readonly Node[]): void {
    for (const node of nodes) {
      if (node.kind !== 'operation' || node.type !== 'bool') continue;
      if (isFirst(node) || endOf(node) !== undefined) this.#never.add(node);
      else if (node.name === 'or') this.peelEnds(node.operands);
    }
  }

  /** Emits code that computes all loop-invariant vectors and addresses of reads on which the given nodes depend. */
  prepare(nodes: readonly Node[]): void {
    for (const node of nodes) this.#count(node);
    for (const node of this.#uses.keys()) {
      if (!node.varying && node.kind !== 'literal') this.#splat(node);
      else if (node.varying && node.kind === 'read') this.#address(node);
      else if (node.kind === 'descending') this.#lastAddress(node);
      else if (node.kind === 'shared' || node.kind === 'rowBits') this.#aligned.add(node);
    }
  }

  /**
   * Emits code that narrows the range `from` … `to − 1` to the indices for which the vector code is valid. All reads
   * must be in bounds. The index of a contiguous read must not be below its floors (lower bounds). The indices that
   * `peelEnds` leaves to the scalar loop are excluded. If the code needs aligned indices, `from` becomes a multiple of
   * {@link MAX_IN_ROUND}.
   */
  narrow(from: Int32Local, to: Int32Local): void {
    const code = this.#code;
    const shift = code.local(I64);
    for (const node of this.#addresses.keys()) {
      const { length } = this.#sources.arrays[node.slot]!;
      shift.set(this.#integer(node.shift!).extendS());
      raise(code, from, clamped(code, i64(0).sub(shift)));
      lower(code, to, clamped(code, length.extendU().sub(shift)));
    }
    for (const node of this.#lastAddresses.keys()) {
      const { length } = this.#sources.arrays[node.slot]!;
      shift.set(this.#integer(node.from).extendU().add(1));
      raise(code, from, clamped(code, shift.sub(length.extendU())));
      lower(code, to, clamped(code, shift));
    }
    code.release(shift);
    for (const floor of this.#floors()) this.#narrowToFloor(floor, from, to);
    for (const node of this.#never) this.#narrowToNever(node, from, to);
    for (const node of this.#aligned) if (node.kind === 'shared') this.#narrowToShared(node, to);
    if (this.#aligned.size > 0) this.#align(from, to);
  }

  /**
   * Emits code that narrows a range to the indices for which a shared read is in bounds. A shared read loads one
   * element for several adjacent indices.
   */
  #narrowToShared({ slot, by }: SharedNode, to: Int32Local): void {
    lower(this.#code, to, clamped(this.#code, this.#sources.arrays[slot]!.length.extendU().shl(by)));
  }

  /**
   * Emits code that rounds `from` up to a multiple of {@link MAX_IN_ROUND}. If the multiple exceeds 32 bits, the code
   * sets `from` to `to`.
   */
  #align(from: Int32Local, to: Int32Local): void {
    const next = this.#code.local(I32);
    const multiple = from.add(MAX_IN_ROUND - 1).and(-MAX_IN_ROUND);
    // If the multiple is less than `from`, the addition of `MAX_IN_ROUND − 1` has overflowed.
    from.set(next.ltU(from).select(to, next.tee(multiple)));
    this.#code.release(next);
  }

  #floors(): Iterable<Floor> {
    const floors = [...this.#addresses.keys()].flatMap((node) => node.floors);
    return new Map(floors.map((floor) => [`${floor.shift.id},${floor.min.id}`, floor])).values();
  }

  /**
   * Emits code that narrows a range to the indices for which index + `shift` is at least `min` and does not overflow.
   */
  #narrowToFloor({ shift, min }: Floor, from: Int32Local, to: Int32Local): void {
    const code = this.#code;
    const without = (bound: Int32): Int32 => clamped(code, bound.extendU().sub(this.#integer(shift).extendS()));
    raise(code, from, without(this.#integer(min)));
    lower(code, to, without(i32(-1)));
  }

  /** Emits code that narrows a range to the indices for which a peeled comparison (see `peelEnds`) is false. */
  #narrowToNever(node: OperationNode, from: Int32Local, to: Int32Local): void {
    const end = endOf(node);
    if (end === undefined) from.set(from.add(from.isZero()));
    else lower(this.#code, to, clamped(this.#code, this.#integer(end).extendU().sub(1)));
  }

  /** Starts the code for another four indices, from `index + offset` on. Forgets all varying values. */
  begin(offset: number): void {
    for (const [node, local] of this.#lanes) if (!this.#bound.has(node)) this.#code.release(local);
    this.#lanes.clear();
    this.#bound.clear();
    this.#offset = offset;
  }

  /**
   * Sets the local that contains the lanes of a parameter, until the next `begin`. The caller must release the local.
   */
  bind(node: Node, local: VectorLocal): void {
    this.#lanes.set(node, local);
    this.#bound.add(node);
  }

  /**
   * Sets the expression for the lanes of a parameter. The code of the expression is emitted at the first use of the
   * parameter.
   */
  supply(node: Node, lanes: Vector): void {
    this.#supplies.set(node, lanes);
  }

  /**
   * The lanes of a node as an expression. The first use emits the code that computes the node, so the expression must
   * be used immediately.
   */
  value(node: Node): Vector {
    return new Vector((bytes) => {
      if (!node.varying) {
        this.#sameLanes(node).emit(bytes);
        return;
      }
      const known = this.#lanes.get(node);
      if (known !== undefined) {
        known.emit(bytes);
        return;
      }
      this.#computed(node).emit(bytes);
      if ((this.#uses.get(node) ?? 0) >= 2) this.#code.tee(this.#keep(node));
    });
  }

  /** A local with the lanes of a node, valid until the next `begin`. */
  local(node: Node): VectorLocal {
    const known = this.#lanes.get(node);
    if (known !== undefined) return known;
    if (!node.varying && node.kind !== 'literal') return this.#splat(node);
    this.#code.push(node.varying ? this.#computed(node) : this.#sameLanes(node));
    const local = this.#keep(node);
    this.#code.set(local);
    return local;
  }

  /** A new local with the lanes of a node. The caller must release the local. */
  copy(node: Node): VectorLocal {
    const local = this.#code.local(V128);
    local.set(this.value(node));
    return local;
  }

  /**
   * The operands on which the result of an operation depends in the vector loop. Peeled comparisons (see `peelEnds`)
   * are left out, because they are always false in the vector loop.
   */
  #needed(node: OperationNode): readonly Node[] {
    if (this.#never.has(node)) return [];
    if (node.name !== 'or') return node.operands;
    return node.operands.filter((operand) => !this.#never.has(operand as OperationNode));
  }

  /** Allocates a local for the lanes of a node. The caller must set the local. */
  #keep(node: Node): VectorLocal {
    const local = this.#code.local(V128);
    this.#lanes.set(node, local);
    return local;
  }

  /** Counts one use of a node. At the first use, also counts a use of each operand. */
  #count(node: Node): void {
    const uses = this.#uses.get(node) ?? 0;
    this.#uses.set(node, uses + 1);
    if (uses > 0 || !node.varying) return;
    if (node.kind === 'operation') for (const operand of this.#needed(node)) this.#count(operand);
    if (node.kind === 'rowBits') this.#count(node.of);
  }

  #computed(node: Node): Vector {
    switch (node.kind) {
      case 'index':
        return this.#sources.index!.splat().add(fourFrom(this.#offset));
      case 'read':
        return this.#loaded(node);
      case 'descending':
        return this.#loadedDescending(node);
      case 'shared':
        return this.#loadedShared(node);
      case 'rowBits':
        return this.#bitsOf(node.of);
      case 'operation':
        return this.#operation(node);
      case 'parameter':
        return this.#supplies.get(node)!;
      default:
        throw new RangeError(`a ${node.kind} has no lanes of its own`);
    }
  }

  #operation(node: OperationNode): Vector {
    const { name, type, operands } = node;
    const needed = this.#needed(node);
    if (needed.length < operands.length) return needed.length === 0 ? NONE : this.value(needed[0]!);
    const from = operands[0]!.type;
    if ((name === 'min' || name === 'max') && from === 'f32') {
      const bound = boundOf(name, operands);
      if (bound !== undefined) {
        const value = operands[bound.other]!;
        this.local(value);
        return f32Bound(name, this.value(value), bound.number);
      }
    }
    const count = operands[1];
    const shift = (name === 'shl' || name === 'shr') && !count!.varying ? count : undefined;
    if (shift === undefined && usesTwice(name, from)) for (const operand of operands) this.local(operand);
    const values = operands.map((operand) => this.value(operand));
    return vectorOperation(this.#code, name, from, type, values, shift && this.#integer(shift));
  }

  #loaded(node: ReadNode): Vector {
    const { storage } = this.#sources.arrays[node.slot]!;
    const address = elementAt(storage, this.#addresses.get(node)!, this.#sources.index!);
    return loadLanes(storage, node.type, address, this.#offset << widthOf(storage));
  }

  /** Four elements before each other: loads them in the order of memory, and turns them around. */
  #loadedDescending(node: DescendingNode): Vector {
    const { storage } = this.#sources.arrays[node.slot]!;
    const address = this.#lastAddresses.get(node)!.sub(this.#firstIndex().shl(widthOf(storage)));
    return loadLanes(storage, node.type, address, 0).shuffle(NONE, [3, 2, 1, 0]);
  }

  /** A shared read for four adjacent rows: loads into every lane the one element that these rows share. */
  #loadedShared({ slot, type, by }: SharedNode): Vector {
    const { storage, address } = this.#sources.arrays[slot]!;
    const width = widthOf(storage);
    const at = address.add(this.#firstIndex().shrU(by).shl(width));
    if (width === 2) return type === 'bool' ? loadSplat(at).ne(NONE) : loadSplat(at);
    const [byte, half] = storage.startsWith('i') ? [op.i32Load8S, op.i32Load16S] : [op.i32Load8U, op.i32Load16U];
    return loadingInt32(width === 0 ? byte : half, at, 0).splat();
  }

  /** `of << (index & 31)` for four adjacent rows, where `of` is loop-invariant. */
  #bitsOf(of: Node): Vector {
    const isOne = of.kind === 'literal' && of.value === 1;
    const bits = isOne ? FIRST_BITS : FIRST_BITS.mul(this.#sameLanes(of));
    return bits.shl(this.#firstIndex());
  }

  /** The index of lane 0: the index of the loop plus the offset given to `begin`. */
  #firstIndex(): Int32 {
    const index = this.#sources.index!;
    return this.#offset === 0 ? index : index.add(this.#offset);
  }

  #address(node: ReadNode): void {
    const { storage, address } = this.#sources.arrays[node.slot]!;
    const local = this.#code.local(I32);
    local.set(address.add(this.#integer(node.shift!).shl(widthOf(storage))));
    this.#addresses.set(node, local);
  }

  #lastAddress(node: DescendingNode): void {
    const { storage, address } = this.#sources.arrays[node.slot]!;
    const local = this.#code.local(I32);
    local.set(address.add(this.#integer(node.from).sub(3).shl(widthOf(storage))));
    this.#lastAddresses.set(node, local);
  }

  /** A vector that has the value of a loop-invariant node or literal in every lane. */
  #sameLanes(node: Node): Vector {
    return node.kind === 'literal' ? v128(lanesOf(node.type, node.value)) : this.#splats.get(node)!;
  }

  #splat(node: Node): VectorLocal {
    const known = this.#splats.get(node);
    if (known !== undefined) return known;
    const local = this.#code.local(V128);
    local.set(splatOf(node.type, this.#invariant(node)));
    this.#splats.set(node, local);
    return local;
  }

  /** The scalar of a loop-invariant node. The first use emits the code that computes the scalar. */
  #invariant(node: Node): Scalar {
    const emit = (bytes: number[]): void => this.#emitInvariant(node, bytes);
    return node.type === 'f32' ? new Float32(emit) : new Int32(emit);
  }

  #integer(node: Node): Int32 {
    return this.#invariant(node) as Int32;
  }

  #emitInvariant(node: Node, bytes: number[]): void {
    const known = this.#invariants.get(node) ?? this.#given(node);
    if (known !== undefined) {
      known.emit(bytes);
      return;
    }
    this.#computedInvariant(node).emit(bytes);
    const local = scalarLocal(this.#code, node.type);
    this.#code.tee(local);
    this.#invariants.set(node, local);
  }

  /** The scalar of a literal, uniform or array length, which needs no code. Undefined for other nodes. */
  #given(node: Node): Scalar | undefined {
    switch (node.kind) {
      case 'literal':
        return literal(node.type, node.value);
      case 'uniform':
        return this.#sources.uniforms[node.slot]!;
      case 'length':
        return this.#sources.arrays[node.slot]!.length;
      default:
        return undefined;
    }
  }

  #computedInvariant(node: Node): Scalar {
    switch (node.kind) {
      case 'read':
        this.#keepInvariants([node.index]);
        return elementOf(this.#sources.arrays[node.slot]!, node.type, this.#integer(node.index));
      case 'operation': {
        this.#keepInvariants(node.operands);
        const values = node.operands.map((operand) => this.#invariant(operand));
        return scalarOperation(this.#code, node.name, node.operands[0]!.type, node.type, values);
      }
      default:
        throw new RangeError(`a ${node.kind} varies`);
    }
  }

  /**
   * Emits the code of loop-invariant operands in advance, because the code that uses an operand may contain the code of
   * the operand twice, or in only one of two branches.
   */
  #keepInvariants(nodes: readonly Node[]): void {
    for (const node of nodes) {
      if (node.kind !== 'read' && node.kind !== 'operation') continue;
      if (!this.#invariants.has(node)) drop(this.#code, this.#invariant(node));
    }
  }
}

const NONE = v128([0, 0, 0, 0]);
/** The bits of rows 0 to 3, one per lane, in a word that packs one flag per row. */
const FIRST_BITS = v128([1, 2, 4, 8]);

/** Whether a condition has the form `index = 0`. */
function isFirst({ name, operands: [a, b] }: OperationNode): boolean {
  return name === 'eq' && a!.kind === 'index' && b?.kind === 'literal' && b.value === 0;
}

/** The `end` of a condition of the form `index + 1 ≥ end`. Undefined for other conditions. */
function endOf({ name, operands: [after, end] }: OperationNode): Node | undefined {
  if (name !== 'ge' || end!.varying || after!.type !== 'u32') return undefined;
  if (after!.kind !== 'operation' || after!.name !== 'add') return undefined;
  const [index, one] = after!.operands;
  return index!.kind === 'index' && one!.kind === 'literal' && one!.value === 1 ? end : undefined;
}

/**
 * The literal among the operands of an f32 `min` or `max` that {@link f32Bound} accepts, and the position of the other
 * operand; undefined if there is none.
 */
export function boundOf(
  name: 'min' | 'max',
  operands: readonly { readonly kind: string; readonly value?: unknown }[],
): { readonly number: number; readonly other: number } | undefined {
  for (const [k, operand] of operands.entries()) {
    const number = operand.kind === 'literal' ? Number(operand.value) : Number.NaN;
    if (!Number.isNaN(number) && !(name === 'max' && Object.is(number, -0))) return { number, other: 1 - k };
  }
  return undefined;
}

/** An i64 clamped to the range of u32, as an i32. */
function clamped(code: Code, value: Int64): Int32 {
  return new Int32((bytes) => {
    const wide = code.local(I64);
    const max = wide.gtS(i32(-1).extendU()).select(-1, wide.wrap());
    choose(wide.tee(value).ltS(0), i32(0), max).emit(bytes);
    code.release(wide);
  });
}
