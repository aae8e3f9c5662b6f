import type { Storage } from '../../../primitives/contract/backend.ts';
import type { GatherNode, Node, ReadNode } from '../../analyses/straight-line.ts';
import type { VectorSources } from './emit-simd.ts';
import { emitLoadFrom, emitRead, pushLiteral, scalarLocal, widthOf } from './emit-wasm.ts';
import { emitScalar } from './scalar-operations.ts';
import type { Code } from './wasm-code.ts';
import { I32 } from './wasm-encoder.ts';
import { Float32, Int32, i32, loadByte, type Scalar } from './wasm-expressions.ts';
import type { Int32Local, ScalarLocal } from './wasm-locals.ts';
import { doWhile } from './wasm-statements.ts';

/**
 * Writes straight-line graphs for one index after the other, without a test in them that can be made once for many: what
 * is the same for all indices is computed by `prepare`, and whether all reads are within their arrays by `inRange`.
 */
export class LaneCode {
  readonly #code: Code;
  readonly #sources: VectorSources;
  readonly #invariants = new Map<Node, ScalarLocal>();
  /** For every contiguous read, a local with the address of what index 0 would read. */
  readonly #addresses = new Map<ReadNode, Int32Local>();
  readonly #gathers = new Set<GatherNode>();
  /** Locals of what varies, for the index under way. */
  readonly #lanes = new Map<Node, ScalarLocal>();
  readonly #checked: boolean;
  #offset = 0;

  /**
   * @param checked - whether reads at any index look at the length themselves, where `inRange` is not asked for all.
   */
  constructor(code: Code, sources: VectorSources, checked: boolean) {
    this.#code = code;
    this.#sources = sources;
    this.#checked = checked;
  }

  /** Gives a node that does not vary its scalar; before `prepare`. */
  bindInvariant(node: Node, local: ScalarLocal): void {
    this.#invariants.set(node, local);
  }

  /** Computes what does not vary of everything that leads to the given nodes. */
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

  /** The reads that are prepared and whose index is the loop's plus something. */
  get contiguousReads(): readonly Node[] {
    return [...this.#addresses.keys()];
  }

  /** Whether the reads of the indices below `end` are all within their arrays. */
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

  /** Loads something of every cache line that the contiguous reads below `end` will load from, and mixes it into a local. */
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

  /** Starts the code for the index `index + offset`. */
  begin(offset: number): void {
    for (const local of this.#lanes.values()) this.#code.release(local);
    this.#lanes.clear();
    this.#offset = offset;
  }

  /** Pushes the value of a node; where it varies, it is right only for indices that are in range. */
  push(node: Node): void {
    if (node.kind === 'literal') pushLiteral(this.#code, node.type, node.value);
    else this.#code.get(this.local(node));
  }

  /** The value of a node that is an integer; to be used at once, as it is computed where it is first used. */
  value(node: Node): Int32 {
    return new Int32(() => this.push(node));
  }

  /** The same of any scalar. */
  scalar(node: Node): Scalar {
    return node.type === 'f32' ? new Float32(() => this.push(node)) : this.value(node);
  }

  /** The same as a local, of anything but literals. */
  local(node: Node): ScalarLocal {
    const known = (node.varying ? this.#lanes : this.#invariants).get(node);
    if (known !== undefined) return known;
    this.#compute(node);
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
      emitRead(code, this.#sources.arrays[node.slot]!, node.type, () => this.push(node.index));
    } else if (node.kind === 'operation') {
      const pushes = node.operands.map((operand) => () => this.push(operand));
      emitScalar(code, node.name, node.operands[0]!.type, node.type, pushes);
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

  #compute(node: Node): void {
    const code = this.#code;
    const { arrays, index } = this.#sources;
    switch (node.kind) {
      case 'index':
        code.get(index!.add(this.#offset));
        return;
      case 'read': {
        const { storage } = arrays[node.slot]!;
        code.get(elementAt(storage, this.#addresses.get(node)!, index!));
        emitLoadFrom(code, storage, node.type, this.#offset << widthOf(storage));
        return;
      }
      case 'gather':
        this.#gather(node);
        return;
      case 'operation': {
        for (const operand of node.operands) if (operand.kind !== 'literal') this.local(operand);
        const pushes = node.operands.map((operand) => () => this.push(operand));
        emitScalar(code, node.name, node.operands[0]!.type, node.type, pushes);
        return;
      }
      default:
        throw new RangeError(`a ${node.kind} does not vary`);
    }
  }

  #gather(node: GatherNode): void {
    const array = this.#sources.arrays[node.slot]!;
    this.local(node.index);
    if (this.#checked || this.#greatest(node.index) === ANY) {
      emitRead(this.#code, array, node.type, () => this.push(node.index));
      return;
    }
    this.#code.get(elementAt(array.storage, array.address, this.value(node.index)));
    emitLoadFrom(this.#code, array.storage, node.type, 0);
  }

  /** An upper bound of a u32, as far as it can be seen from how it comes about. */
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

/** Bytes that come from memory at once. */
const CACHE_LINE = 64;

/** Nothing is known of a u32. */
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

function elementAt(storage: Storage, address: Int32, index: Int32): Int32 {
  const width = widthOf(storage);
  return address.add(width > 0 ? index.shl(width) : index);
}
