import type { ScalarType } from '../../../primitives/ir/ir.ts';
import type { Floor, Node, OperationNode, ReadNode, SharedNode } from '../../analyses/straight-line.ts';
import { type ArrayAccess, elementAt, elementOf, literal, scalarLocal, widthOf } from './emit-wasm.ts';
import { scalarOperation } from './scalar-operations.ts';
import { f32Bound, lanesOf, loadLanes, splatOf, vectorOperation } from './vector-operations.ts';
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
      const { length } = this.#sources.arrays[node.slot]!;
      shift.set(this.#integer(node.shift!).extendS());
      raise(code, from, clamped(code, i64(0).sub(shift)));
      lower(code, to, clamped(code, length.extendU().sub(shift)));
    }
    code.release(shift);
    for (const floor of this.#floors()) this.#narrowToFloor(floor, from, to);
    for (const node of this.#never) this.#narrowToNever(node, from, to);
    for (const node of this.#aligned) if (node.kind === 'shared') this.#narrowToShared(node, to);
    if (this.#aligned.size > 0) this.#align(from, to);
  }

  /** Narrows it to the indices whose shared words are within their array. */
  #narrowToShared({ slot, by }: SharedNode, to: Int32Local): void {
    lower(this.#code, to, clamped(this.#code, this.#sources.arrays[slot]!.length.extendU().shl(by)));
  }

  /** Moves the first index on to a multiple of what vectors handle in a round, or to the end where there is none. */
  #align(from: Int32Local, to: Int32Local): void {
    const next = this.#code.local(I32);
    const multiple = from.add(MAX_IN_ROUND - 1).and(-MAX_IN_ROUND);
    // The sum may pass 2³².
    from.set(next.ltU(from).select(to, next.tee(multiple)));
    this.#code.release(next);
  }

  #floors(): Iterable<Floor> {
    const floors = [...this.#addresses.keys()].flatMap((node) => node.floors);
    return new Map(floors.map((floor) => [`${floor.shift.id},${floor.min.id}`, floor])).values();
  }

  /** Narrows it to the indices that are, plus a shift, neither below the least one nor as far as 2³². */
  #narrowToFloor({ shift, min }: Floor, from: Int32Local, to: Int32Local): void {
    const code = this.#code;
    const without = (bound: Int32): Int32 => clamped(code, bound.extendU().sub(this.#integer(shift).extendS()));
    raise(code, from, without(this.#integer(min)));
    lower(code, to, without(i32(-1)));
  }

  #narrowToNever(node: OperationNode, from: Int32Local, to: Int32Local): void {
    const end = endOf(node);
    if (end === undefined) from.set(from.add(from.isZero()));
    else lower(this.#code, to, clamped(this.#code, this.#integer(end).extendU().sub(1)));
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

  /** The lanes of a node, to be used at once: they are computed where they are first used. */
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

  /** The lanes of a node in a local that stays valid until the next `begin`. */
  local(node: Node): VectorLocal {
    const known = this.#lanes.get(node);
    if (known !== undefined) return known;
    if (!node.varying && node.kind !== 'literal') return this.#splat(node);
    this.#code.push(node.varying ? this.#computed(node) : this.#sameLanes(node));
    const local = this.#keep(node);
    this.#code.set(local);
    return local;
  }

  /** The lanes of a node in a local of the caller's. */
  copy(node: Node): VectorLocal {
    const local = this.#code.local(V128);
    local.set(this.value(node));
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

  #computed(node: Node): Vector {
    switch (node.kind) {
      case 'index':
        return this.#sources.index!.splat().add(fourFrom(this.#offset));
      case 'read':
        return this.#loaded(node);
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
      const [value, bound] = boundOf(name, operands);
      if (bound !== undefined) {
        this.local(value!);
        return f32Bound(name, this.value(value!), bound);
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

  /** The word that four rows share, in all lanes. */
  #loadedShared({ slot, type, by }: SharedNode): Vector {
    const { storage, address } = this.#sources.arrays[slot]!;
    const width = widthOf(storage);
    const at = address.add(this.#firstIndex().shrU(by).shl(width));
    if (width === 2) return type === 'bool' ? loadSplat(at).ne(NONE) : loadSplat(at);
    const [byte, half] = storage.startsWith('i') ? [op.i32Load8S, op.i32Load16S] : [op.i32Load8U, op.i32Load16U];
    return loadingInt32(width === 0 ? byte : half, at, 0).splat();
  }

  /** The bits of four rows in their word. */
  #bitsOf(of: Node): Vector {
    const isOne = of.kind === 'literal' && of.value === 1;
    const bits = isOne ? FIRST_BITS : FIRST_BITS.mul(this.#sameLanes(of));
    return bits.shl(this.#firstIndex());
  }

  /** The index of the first lane. */
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

  /** The lanes of a node that does not vary. */
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

  /** The scalar of a node that does not vary; it is computed where it is first used. */
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

  /** The scalar of a node that nothing needs to be computed for. */
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

  /** Computes operands before the code that uses them, which may do so twice or in one branch only. */
  #keepInvariants(nodes: readonly Node[]): void {
    for (const node of nodes) {
      if (node.kind !== 'read' && node.kind !== 'operation') continue;
      if (!this.#invariants.has(node)) drop(this.#code, this.#invariant(node));
    }
  }
}

const NONE = v128([0, 0, 0, 0]);
/** The bits of four neighbours in a word, those of the first ones. */
const FIRST_BITS = v128([1, 2, 4, 8]);

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

/** The operand of an extremum that is a number which {@link f32Bound} takes, behind the other one. */
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
function usesTwice(name: OperationNode['name'], from: ScalarType): boolean {
  if (name === 'min' || name === 'max') return from === 'f32';
  return name === 'clz' || name === 'ctz' || name === 'shl' || name === 'shr' || name === 'mulhi';
}

/** An i64 as the nearest u32. */
function clamped(code: Code, value: Int64): Int32 {
  return new Int32((bytes) => {
    const wide = code.local(I64);
    const max = wide.gtS(i32(-1).extendU()).select(-1, wide.wrap());
    choose(wide.tee(value).ltS(0), i32(0), max).emit(bytes);
    code.release(wide);
  });
}
