/// <reference lib="esnext.disposable" preserve="true" />

import { ArgumentError, DeviceLostError } from '../checks/errors.ts';
import type { Column, Memory } from '../columns/column.ts';
import { arrayOver, elementsPerWord } from '../columns/host-array.ts';
import type { Backend, DeviceBuffer } from '../contract/backend.ts';
import type { ScalarType } from '../ir/ir.ts';
import { type IntoArray, readElements, rowsIn } from './downloads.ts';
import type { ContextMemory } from './memory.ts';

/**
 * The typed array for lent elements of a scalar type. Bools are 32-bit words, 0 and 1. Packed elements of 8 or 16 bits
 * stay packed.
 */
export type LentElements<T extends ScalarType> = T extends 'f32'
  ? Float32Array
  : T extends 'i32'
    ? Int32Array | Int16Array | Int8Array
    : Uint32Array | Uint16Array | Uint8Array;

/** The elements of a column as a typed array for reading, until `release` is called. */
export interface LentArray<T extends ScalarType = ScalarType> extends Disposable {
  /**
   * The elements in the format in which they are stored. Do not write to this array. Do not keep it after the release,
   * because the memory may then hold other data.
   *
   * @throws {@link ArgumentError} `array/released` after the release; {@link DeviceLostError} `device/closed` once the
   * context is closed.
   */
  readonly array: LentElements<T>;
  /**
   * Whether the array is a copy. On the workers backend, the array is a copy only if the column was spilled to the host
   * or is empty. On other backends, the array is always a copy.
   */
  readonly copied: boolean;
  /** Ends the use of the array, so that the column can be written to again. Releasing twice has no effect. */
  release(): void;
}

/** Keeps track of the arrays that a context has lent. */
export interface LentArrays {
  readonly idle: boolean;
  /** Throws if the elements of one of the buffers are lent. Called before commands write to the buffers. */
  beforeWrite(buffers: readonly DeviceBuffer[]): void;
  /**
   * Lends the elements of a stored column. If `isOwn` is true, the column was stored only for this call, and its memory
   * is freed when the array is released.
   */
  lend(column: Column, isOwn: boolean): Promise<LentArray>;
}

export function createLentArrays(owner: ContextMemory): LentArrays {
  const lent = new Map<DeviceBuffer, number>();

  /**
   * Protects memory from being freed or written. Returns a function that ends the protection. If `isOwn` is true, that
   * function also releases the memory.
   */
  const keep = (memory: Memory, isOwn: boolean): (() => void) => {
    const { buffer } = memory;
    owner.hold(memory.allocation);
    lent.set(buffer, (lent.get(buffer) ?? 0) + 1);
    let isKept = true;
    return () => {
      if (!isKept) return;
      isKept = false;
      const left = lent.get(buffer)! - 1;
      if (left === 0) lent.delete(buffer);
      else lent.set(buffer, left);
      owner.letGo(memory.allocation);
      if (isOwn) owner.release(memory);
    };
  };

  return {
    get idle() {
      return lent.size === 0;
    },
    beforeWrite(buffers) {
      if (buffers.some((buffer) => lent.has(buffer))) throw writtenWhileLent();
    },
    async lend(column, isOwn) {
      const { length, source } = column;
      const { backend } = owner.context;
      if (source.kind === 'view') throw new ArgumentError('column/view', 'A view has no memory to lend.');
      const letGo = keep(source.memory, isOwn);
      try {
        const rows = typeof length === 'number' ? length : await rowsIn(backend, length);
        const { array, end } = await elementsOf(backend, column, rows);
        return lentArray(owner, array, end, letGo);
      } catch (error) {
        letGo();
        throw error;
      }
    },
  };
}

interface Found {
  readonly array: IntoArray;
  /** Ends the access to the backend's memory; undefined if the array is a copy. */
  readonly end: (() => void) | undefined;
}

/** The elements in the backend's own memory if the host can access it, otherwise a copy. */
async function elementsOf(backend: Backend, column: Column, rows: number): Promise<Found> {
  const { memory, storage, offset } = column.source as Extract<Column['source'], { readonly kind: 'stored' }>;
  const perWord = elementsPerWord(storage);
  const first = Math.floor(offset / perWord);
  const words = Math.ceil((offset + rows) / perWord) - first;
  const found = rows === 0 ? undefined : await backend.lendWords?.(memory.buffer, first, words);
  if (found !== undefined) {
    const skipped = offset - first * perWord;
    return { array: arrayOver(found.words, storage).subarray(skipped, skipped + rows), end: found.end };
  }
  const into = arrayOver(new Uint32Array(Math.ceil(rows / perWord)), storage);
  return { array: await readElements(backend, column, rows, into), end: undefined };
}

function lentArray(owner: ContextMemory, array: IntoArray, end: Found['end'], letGo: () => void): LentArray {
  let isReleased = false;
  const release = (): void => {
    if (isReleased) return;
    isReleased = true;
    end?.();
    letGo();
  };
  return {
    get array() {
      if (owner.closed) throw closed();
      if (isReleased) throw released();
      return array as LentElements<ScalarType>;
    },
    copied: end === undefined,
    release,
    [Symbol.dispose]: release,
  };
}

function writtenWhileLent(): ArgumentError {
  return new ArgumentError('array/lent', 'A column must not be written to while its array is lent.', {
    remedy: 'Release the array first, or write to a copy of the column.',
  });
}

function released(): ArgumentError {
  return new ArgumentError('array/released', 'A lent array must not be used after its release.', {
    remedy: 'Use it before the release, or lend the array again.',
  });
}

function closed(): DeviceLostError {
  return new DeviceLostError('device/closed', 'A lent array must not be used after its context is closed.', {
    remedy: 'Copy the elements before you close the context.',
  });
}
