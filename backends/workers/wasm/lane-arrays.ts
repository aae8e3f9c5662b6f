import type { LocalArray } from '../../../primitives/ir/ir.ts';
import {
  declareArray,
  type FrameArray,
  type FrameMemory,
  fillArray,
  openFrame,
  readPlace,
  writePlace,
} from './local-arrays.ts';
import { gatherLanes } from './vector-operations.ts';
import type { Code } from './wasm-code.ts';
import { simd, V128 } from './wasm-encoder.ts';
import { type Int32, loadVector, type Vector, v128, vector } from './wasm-expressions.ts';
import type { VectorLocal } from './wasm-locals.ts';
import { store } from './wasm-statements.ts';

export const VECTOR_BYTES = 16;

/**
 * Local arrays of functors in masked vector code, of which every lane has its own. An element has a vector of its lanes
 * for each vector of indices: one instruction reads or writes all lanes where they agree about the index.
 */
export class LaneArrays {
  readonly #code: Code;
  readonly #vectors: number;
  readonly #arrays = new Map<number, FrameArray>();
  readonly #memory: FrameMemory;
  /** The address of each lane in the first vector of the frame. */
  readonly #lanes: VectorLocal;

  constructor(code: Code, vectors: number) {
    this.#code = code;
    this.#vectors = vectors;
    this.#memory = openFrame(code);
    this.#lanes = code.local(V128);
    this.#lanes.set(this.#memory.address.splat().add(v128([0, 4, 8, 12])));
  }

  release(): void {
    this.#code.release(this.#memory.address);
    this.#code.release(this.#lanes);
  }

  /** Emits a block, whose arrays take no memory after it. */
  block(emit: () => void): void {
    const { top } = this.#memory;
    emit();
    this.#memory.top = top;
  }

  declare(array: LocalArray, lanes: (u: number) => Vector): void {
    const made = declareArray(this.#memory, array, VECTOR_BYTES * this.#vectors);
    this.#arrays.set(array.id, made);
    for (let u = 0; u < this.#vectors; u++) fillArray(this.#code, made, lanes(u), NO_LANES, VECTOR_BYTES * u);
  }

  /** Vector `u` of the element at an index on which all lanes agree. */
  element({ id }: LocalArray, index: Int32 | number, u: number): Vector {
    const { address, offset } = readPlace(this.#arrays.get(id)!, index);
    return loadVector(address, offset + VECTOR_BYTES * u);
  }

  /** Vector `u` of the elements at an index of its own for each lane. */
  gather({ id }: LocalArray, index: Vector, u: number, into: VectorLocal): void {
    const array = this.#arrays.get(id)!;
    into.set(this.#placesOf(array, vector(simd.i32x4MinU, index, allLanes(array.length)), u));
    into.set(gatherLanes('u32', 'u32', into));
  }

  /** Writes vector `u` of an element at an index on which all lanes agree, only in the lanes of `mask` if it is given. */
  write({ id }: LocalArray, index: Int32 | number, u: number, lanes: Vector, mask: Vector | undefined): void {
    const { address, offset } = writePlace(this.#arrays.get(id)!, index);
    const at = offset + VECTOR_BYTES * u;
    store(this.#code, address, mask === undefined ? lanes : lanes.bitselect(loadVector(address, at), mask), at);
  }

  /** Writes an element at an index of its own for each lane, only in the lanes of `mask` if it is given. */
  scatter({ id }: LocalArray, index: Vector, u: number, lanes: Vector, mask: Vector | undefined): void {
    const code = this.#code;
    const array = this.#arrays.get(id)!;
    const within = index.ltU(allLanes(array.length));
    const writes = mask === undefined ? within : within.and(mask);
    const [at, values] = [code.local(V128), code.local(V128)];
    at.set(this.#placesOf(array, index.bitselect(allLanes(array.length + 1), writes), u));
    values.set(lanes);
    for (let lane = 0; lane < 4; lane++) store(code, at.extract(lane), values.extract(lane));
    for (const local of [at, values]) code.release(local);
  }

  #placesOf({ offset }: FrameArray, slots: Vector, u: number): Vector {
    const stride = Math.log2(VECTOR_BYTES * this.#vectors);
    return slots
      .shl(stride)
      .add(this.#lanes)
      .add(allLanes(offset + VECTOR_BYTES * u));
  }
}

const NO_LANES = v128([0, 0, 0, 0]);

function allLanes(value: number): Vector {
  return v128([value, value, value, value]);
}
