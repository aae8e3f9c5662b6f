import type { GatherNode, Node, OperationNode, ReadNode } from '../../analyses/straight-line.ts';
import type { VectorSources } from './emit-simd.ts';
import { elementAt, elementOf, literal, loadElement, scalarLocal, widthOf } from './emit-wasm.ts';
import { scalarOperation } from './scalar-operations.ts';
import type { Code } from './wasm-code.ts';
import { I32 } from './wasm-encoder.ts';
import { Float32, Int32, i32, loadByte, type Scalar } from './wasm-expressions.ts';
import type { Int32Local, ScalarLocal } from './wasm-locals.ts';
import { doWhile } from './wasm-statements.ts';

/**
 * Emits scalar code for a straight-line graph, one index at a time. Work is moved out of the loop: `prepare` computes
 * loop-invariant values, and `inRange` checks the bounds of reads for a whole range of indices.
 */
export class LaneCode {
  readonly #code: Code;
  readonly #sources: VectorSources;
  readonly #invariants = new Map<Node, ScalarLocal>();
  /** For each contiguous read, a local with the address that the read would have at index 0. */
  readonly #addresses = new Map<ReadNode, Int32Local>();
  readonly #gathers = new Set<GatherNode>();
  /** Locals with the values of varying nodes, for the current index. */
  readonly #lanes = new Map<Node, ScalarLocal>();
  readonly #checked: boolean;
  #offset = 0;

  /**
   * @param checked - whether every gather checks its own bounds. If false, the caller must check the bounds of gathers
   * by `inRange`.
   */
  constructor(code: Code, sources: VectorSources, checked: boolean) {
    this.#code = code;
    this.#sources = sources;
    this.#checked = checked;
  }

  /** Sets the local that contains the value of a loop-invariant node. Must be called before `prepare`. */
  bindInvariant(node: Node, local: ScalarLocal): void {
    this.#invariants.set(node, local);
  }

  /** Emits code that computes all loop-invariant values and addresses of reads on which the given nodes depend. */
  prepare(nodes: readonly Node[]): void {
    const seen = new Set<Node>();
    const visit = (node: Node): void => {
      if (seen.has(node)) return;
      seen.add(node);
      for (const input of inputsOf(node)) visit(input);
      if (!node.varying) this.#computeInvariant(node);
      else if (node.kind === 'read') this.#computeAddress(node);
      else if (node.kind === 'gather') this.#gathers.add(node);
    };
    for (const node of nodes) visit(node);
  }

  /**
   * The prepared reads of consecutive elements. The index of such a read is the loop's index plus a loop-invariant
   * shift.
   */
  get contiguousReads(): readonly Node[] {
    return [...this.#addresses.keys()];
  }

  /**
   * An expression that is 1 if the reads for all indices below `end` are in bounds, else 0. Gathers that check their
   * bounds themselves are ignored.
   */
  inRange(end: Int32): Int32 {
    let all = i32(1);
    for (const node of this.#addresses.keys()) {
      const { length } = this.#sources.arrays[node.slot]!;
      all = all.and(length.geU(end)).and(this.value(node.shift!).leU(length.sub(end)));
    }
    for (const node of this.#gathers) {
      const max = this.#greatest(node.index);
      if (max !== ANY) all = all.and(this.#sources.arrays[node.slot]!.length.gtU(max));
    }
    return all;
  }

  /**
   * Emits code that prefetches: the code loads a byte from each cache line that the contiguous reads will access for
   * the indices below `end`. The code combines the bytes in the local `into`, so that the compiler keeps the loads.
   */
  touch(into: Int32Local, end: Int32): void {
    const code = this.#code;
    const at = code.local(I32);
    const last = code.local(I32);
    const mix = (place: Int32): void => into.set(into.xor(loadByte(place)));
    for (const [node, address] of this.#addresses) {
      const { storage } = this.#sources.arrays[node.slot]!;
      last.set(elementAt(storage, address, end.sub(1)));
      mix(last);
      at.set(address);
      doWhile(code, () => mix(at), at.tee(at.add(CACHE_LINE)).ltU(last));
    }
    code.release(at);
    code.release(last);
  }

  /** Starts the code for another index, `index + offset`. Forgets all varying values. */
  begin(offset: number): void {
    for (const local of this.#lanes.values()) this.#code.release(local);
    this.#lanes.clear();
    this.#offset = offset;
  }

  /**
   * The value of a node as an expression. The first use emits the code that computes the node, so the expression must
   * be used immediately. For a varying node, the reads for the current index must be in bounds.
   */
  scalar(node: Node): Scalar {
    if (node.kind === 'literal') return literal(node.type, node.value);
    const emit = (bytes: number[]): void => this.local(node).emit(bytes);
    return node.type === 'f32' ? new Float32(emit) : new Int32(emit);
  }

  /** The value of a node of integer or bool type, as an expression; see `scalar`. */
  value(node: Node): Int32 {
    return this.scalar(node) as Int32;
  }

  /** A local with the value of a node, which must not be a literal. */
  local(node: Node): ScalarLocal {
    const known = (node.varying ? this.#lanes : this.#invariants).get(node);
    if (known !== undefined) return known;
    this.#code.push(this.#computed(node));
    const local = scalarLocal(this.#code, node.type);
    this.#code.set(local);
    this.#lanes.set(node, local);
    return local;
  }

  #computeInvariant(node: Node): void {
    if (node.kind === 'literal' || this.#invariants.has(node)) return;
    const code = this.#code;
    if (node.kind === 'uniform') {
      this.#invariants.set(node, this.#sources.uniforms[node.slot]!);
      return;
    }
    if (node.kind === 'length') {
      this.#invariants.set(node, this.#sources.arrays[node.slot]!.length);
      return;
    }
    if (node.kind === 'read') {
      code.push(elementOf(this.#sources.arrays[node.slot]!, node.type, this.value(node.index)));
    } else if (node.kind === 'operation') {
      code.push(this.#operation(node));
    } else {
      throw new RangeError(`a ${node.kind} was not bound`);
    }
    const local = scalarLocal(code, node.type);
    code.set(local);
    this.#invariants.set(node, local);
  }

  #computeAddress(node: ReadNode): void {
    const { storage, address } = this.#sources.arrays[node.slot]!;
    const local = this.#code.local(I32);
    local.set(elementAt(storage, address, this.value(node.shift!)));
    this.#addresses.set(node, local);
  }

  #computed(node: Node): Scalar {
    const { arrays, index } = this.#sources;
    switch (node.kind) {
      case 'index':
        return index!.add(this.#offset);
      case 'read': {
        const { storage } = arrays[node.slot]!;
        const address = elementAt(storage, this.#addresses.get(node)!, index!);
        return loadElement(storage, node.type, address, this.#offset << widthOf(storage));
      }
      case 'gather':
        return this.#gathered(node);
      case 'operation':
        for (const operand of node.operands) if (operand.kind !== 'literal') this.local(operand);
        return this.#operation(node);
      default:
        throw new RangeError(`a ${node.kind} does not vary`);
    }
  }

  #operation({ name, type, operands }: OperationNode): Scalar {
    const values = operands.map((operand) => this.scalar(operand));
    return scalarOperation(this.#code, name, operands[0]!.type, type, values);
  }

  #gathered(node: GatherNode): Scalar {
    const array = this.#sources.arrays[node.slot]!;
    const { storage, address } = array;
    this.local(node.index);
    const index = this.value(node.index);
    if (this.#checked || this.#greatest(node.index) === ANY) return elementOf(array, node.type, index);
    return loadElement(storage, node.type, elementAt(storage, address, index));
  }

  /**
   * An upper bound of the values of a u32 node, derived from its operands. The bound is {@link ANY} if no better bound
   * is known.
   */
  #greatest(node: Node): number {
    if (node.kind === 'literal') return Number(node.value) >>> 0;
    if (node.kind === 'read' || node.kind === 'gather') {
      const { storage } = this.#sources.arrays[node.slot]!;
      return storage === 'u8' ? 0xff : storage === 'u16' ? 0xffff : ANY;
    }
    if (node.kind !== 'operation' || node.type !== 'u32') return ANY;
    const [a, b] = node.operands as readonly [Node, Node];
    switch (node.name) {
      case 'and':
      case 'min':
        return Math.min(this.#greatest(a), this.#greatest(b));
      case 'select':
        return Math.max(this.#greatest(a), this.#greatest(b));
      case 'shr':
        return b.kind === 'literal' ? this.#greatest(a) >>> Number(b.value) : this.#greatest(a);
      default:
        return ANY;
    }
  }
}

/** Bytes of a cache line. */
const CACHE_LINE = 64;

/** The maximum of u32, which bounds the values of any node. */
const ANY = 2 ** 32 - 1;

function inputsOf(node: Node): readonly Node[] {
  switch (node.kind) {
    case 'operation':
      return node.operands;
    case 'read':
      return node.shift === undefined ? [node.index] : [node.shift];
    case 'gather':
      return [node.index];
    default:
      return [];
  }
}
