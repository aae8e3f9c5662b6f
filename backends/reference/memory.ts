import type { ArrayBinding, CountRef, DeviceBuffer, Length, Storage } from '../../primitives/contract/backend.ts';
import type { ScalarType } from '../../primitives/ir/ir.ts';
import { outOfHostMemory, outOfMemory, usedAfterRelease } from '../common/memory-errors.ts';
import type { ArrayReader } from './emit-javascript.ts';

type StorageView = Uint32Array | Int32Array | Float32Array | Uint8Array | Int8Array | Uint16Array | Int16Array;

/** Host memory with one typed-array view per storage type. */
export interface HostBuffer extends DeviceBuffer {
  readonly views: Readonly<Record<Storage, StorageView>>;
}

/** Allocates and reads buffers in host memory. */
export interface HostMemory {
  allocate(words: number): HostBuffer;
  release(buffer: DeviceBuffer): void;
  /** The memory of a buffer. Throws if the buffer was released. */
  resolve(buffer: DeviceBuffer): HostBuffer;
  /** The current value of a length. */
  lengthOf(length: Length): number;
  /** A captured array in the form that compiled code reads. */
  reader(binding: ArrayBinding, type: ScalarType): ArrayReader;
  readonly live: { buffers: number; bytes: number };
}

export function createHostMemory(limitBytes: number): HostMemory {
  const buffers = new Map<number, HostBuffer>();
  const live = { buffers: 0, bytes: 0 };
  let nextId = 1;

  const resolve = (buffer: DeviceBuffer): HostBuffer => {
    const found = buffers.get(buffer.id);
    if (found !== undefined) return found;
    throw usedAfterRelease(buffer);
  };
  const count = ({ buffer, word, minus, limit }: CountRef): number =>
    Math.min(limit, Math.max(0, resolve(buffer).views.u32[word]! - minus));
  const lengthOf = (length: Length): number => (typeof length === 'number' ? length : count(length));

  return {
    live,
    resolve,
    lengthOf,
    allocate(words) {
      const bytes = words * 4;
      if (live.bytes + bytes > limitBytes) throw outOfMemory(bytes, live.bytes, limitBytes);
      const buffer: HostBuffer = { id: nextId++, words, views: allocateViews(bytes) };
      buffers.set(buffer.id, buffer);
      live.buffers++;
      live.bytes += bytes;
      return buffer;
    },
    release(buffer) {
      resolve(buffer);
      buffers.delete(buffer.id);
      live.buffers--;
      live.bytes -= buffer.words * 4;
    },
    reader(binding, type) {
      const { views } = resolve(binding.buffer);
      // Words are read through the view of the program's type. Packed elements (8 or 16 bits) are read through the view
      // of their storage type, which widens them.
      const isPacked = views[binding.storage].BYTES_PER_ELEMENT < 4;
      const storage = isPacked ? binding.storage : type === 'bool' ? 'u32' : type;
      const element = elementsOf[storage](views[storage], binding.offset);
      const length = lengthOf(binding.length);
      return {
        at:
          type === 'bool'
            ? (index) => element(index) !== 0
            : type === 'u32' && isPacked
              ? (index) => element(index) >>> 0
              : element,
        length: () => length,
      };
    },
  };
}

type Elements = (view: StorageView, offset: number) => (index: number) => number;

/** Reads elements. A function for each kind of array, because a function that reads several kinds is slow. */
const elementsOf: Readonly<Record<Storage, Elements>> = {
  u32: (view, offset) => (index) => view[offset + index]!,
  i32: (view, offset) => (index) => view[offset + index]!,
  f32: (view, offset) => (index) => view[offset + index]!,
  u8: (view, offset) => (index) => view[offset + index]!,
  i8: (view, offset) => (index) => view[offset + index]!,
  u16: (view, offset) => (index) => view[offset + index]!,
  i16: (view, offset) => (index) => view[offset + index]!,
};

function allocateViews(bytes: number): HostBuffer['views'] {
  try {
    return viewsOf(new ArrayBuffer(bytes));
  } catch (cause) {
    throw outOfHostMemory(bytes, cause);
  }
}

function viewsOf(memory: ArrayBuffer): HostBuffer['views'] {
  return {
    u32: new Uint32Array(memory),
    i32: new Int32Array(memory),
    f32: new Float32Array(memory),
    u8: new Uint8Array(memory),
    i8: new Int8Array(memory),
    u16: new Uint16Array(memory),
    i16: new Int16Array(memory),
  };
}
