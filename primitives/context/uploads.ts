import { requireOneOf, requireOptions, wrongArgument } from '../checks/arguments.ts';
import { isPromise, isRecord } from '../checks/given.ts';
import { aFunction, aSignal, type FieldKinds } from '../checks/kinds.ts';
import { Column, requireLength } from '../columns/column.ts';
import {
  arrayOver,
  bytesOf,
  type ColumnTypeOf,
  encode,
  type HostArray,
  requireMemory,
  STORAGES,
  type StoredArrayOf,
  scalarOf,
} from '../columns/host-array.ts';
import type { Storage, WordSource } from '../contract/backend.ts';
import type { AbortSignal } from '../host/platform-types.ts';
import type { ContextMemory } from './memory.ts';
import type { ElementsType } from './shared-buffers.ts';
import { SourceFailure, uploadTo } from './word-sources.ts';

/**
 * A source for {@link Context.upload} that writes elements directly into memory of the context: mapped staging buffers
 * of the device, or the shared memory of the workers. No intermediate copy is made.
 *
 * `read` fills `into` with the bytes of the elements from byte `byte` on, in the layout of a typed array. The context
 * may call `read` for byte ranges in any order, and several reads may be pending at the same time. Use `into` only
 * until `read` returns or its promise settles, because the context may then use the memory for other data. `into` may
 * be shared memory, and must not be transferred. If `read` throws, the upload fails.
 *
 * With the option `failover`, the reader is called again if another backend takes over. So the reader must give the
 * same bytes as long as the uploaded column is in use.
 *
 * @example
 * const context = await open({ backend: 'workers', workers: 1 });
 * const evens: ElementReader<'u16'> = {
 *   type: 'u16',
 *   length: 4,
 *   read(into, byte) {
 *     new Uint16Array(into.buffer, into.byteOffset, into.length / 2).forEach((_, i, out) => (out[i] = byte + 2 * i));
 *   },
 * };
 * const read = await context.read(await context.upload(evens));
 * await context.close();
 * read; // Uint32Array [0, 2, 4, 6]
 */
export interface ElementReader<E extends Storage = Storage> {
  /** The storage format of the elements. Packed elements, of 8 and 16 bits, become u32 or i32 when read. */
  readonly type: E;
  /** Number of elements. */
  readonly length: number;
  read(into: Uint8Array, byte: number, signal: AbortSignal): void | Promise<void>;
}

/**
 * A source for {@link Context.upload} whose callback writes elements to memory of the context. On workers and on the
 * reference backend, the callback is called once for all elements; on WebGPU, once for each staging buffer. `first` is
 * the index of the element that belongs at the start of `into`. All else is as for {@link ElementReader}.
 *
 * @example
 * const context = await open({ backend: 'workers', workers: 1 });
 * const halves = await context.upload({
 *   type: 'f32',
 *   length: 3,
 *   fill: (into, first) => into.forEach((_, i) => (into[i] = (first + i) / 2)),
 * });
 * const read = await context.read(halves);
 * await context.close();
 * read; // Float32Array [0, 0.5, 1]
 */
export interface ElementFiller<E extends Storage = Storage> {
  readonly type: E;
  readonly length: number;
  fill(into: StoredArrayOf<E>, first: number, signal: AbortSignal): void | Promise<void>;
}

/** The sources that {@link Context.upload} accepts. */
export type UploadSource = HostArray | ElementReader | ElementFiller;

/**
 * An array, as the types of calls tell it from other sources: by the name of its class. Its own method `fill` would
 * give its types to that of an {@link ElementFiller}.
 */
export type ArraySource = Pick<Exclude<HostArray, readonly boolean[]>, typeof Symbol.toStringTag> | readonly boolean[];

/** The type of the column that a source becomes: an array `A`, or else elements of the storage format `E`. */
export type UploadedType<E extends Storage, A> = ArraySource extends A
  ? ElementsType<E>
  : A extends HostArray
    ? ColumnTypeOf<A>
    : never;

/** Options of {@link Context.upload}. */
export interface UploadOptions {
  /**
   * Cancels the upload. The promise rejects immediately with the signal's reason, and the source is not read any
   * further.
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * Called with the number of bytes read so far and the total number of bytes. If the callback throws, the upload
   * fails.
   */
  readonly onProgress?: ((doneBytes: number, totalBytes: number) => void) | undefined;
}

const OPTIONS: FieldKinds<UploadOptions> = { signal: aSignal, onProgress: aFunction };

/** Starts uploads, and keeps track of those that are pending. */
export interface Uploads {
  upload(source: UploadSource, options?: UploadOptions): Promise<Column>;
  /** Cancels all pending uploads. The promises of these uploads reject with `reason`. */
  stop(reason: unknown): void;
}

export function createUploads(owner: ContextMemory): Uploads {
  const underWay = new Set<AbortController>();
  return {
    async upload(given, options) {
      requireOptions('upload', OPTIONS, options);
      const elements = elementsOf(given);
      const { signal, onProgress } = options ?? {};
      if (signal?.aborted) throw signal.reason;
      const stopping = new AbortController();
      const stop = (): void => stopping.abort(signal!.reason);
      signal?.addEventListener('abort', stop);
      underWay.add(stopping);
      try {
        return await uploadElements(owner, elements, stopping.signal, onProgress);
      } finally {
        underWay.delete(stopping);
        signal?.removeEventListener('abort', stop);
      }
    },
    stop(reason) {
      for (const each of underWay) each.abort(reason);
    },
  };
}

async function uploadElements(
  owner: ContextMemory,
  elements: Elements,
  signal: AbortSignal,
  onProgress: UploadOptions['onProgress'],
): Promise<Column> {
  const { type, storage, length, bytes } = elements;
  const memory = owner.allocateOutermost(Math.ceil(bytes / 4));
  const column = new Column(owner.context, type, length, { kind: 'stored', memory, storage, offset: 0 });
  if (bytes === 0) return column;
  // Keep the memory allocated until no pending read of the source can write to it.
  owner.hold(memory.allocation);
  let isOver = false;
  const progress = (done: number): void => {
    if (!isOver && !signal.aborted) onProgress?.(done, bytes);
  };
  const work = uploadTo(owner.context.backend, memory.buffer, sourceOf(elements, signal, progress));
  void work.then(
    () => owner.letGo(memory.allocation),
    () => owner.letGo(memory.allocation),
  );
  try {
    await unlessAborted(work, signal);
    return column;
  } catch (error) {
    owner.release(memory);
    throw error instanceof SourceFailure ? error.reason : error;
  } finally {
    isOver = true;
  }
}

function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

/** An upload source of any kind, converted to a common form. */
interface Elements {
  readonly type: 'u32' | 'i32' | 'f32' | 'bool';
  readonly storage: Storage;
  readonly length: number;
  readonly bytes: number;
  readonly lasting: boolean;
  readonly whole: boolean;
  readonly read: ElementReader['read'];
}

function sourceOf(
  { bytes, lasting, whole, read }: Elements,
  signal: AbortSignal,
  onProgress: (doneBytes: number) => void,
): WordSource {
  let done = 0;
  const progress = (more: number): void => {
    done = Math.min(bytes, done + more);
    onProgress(done);
  };
  const failed = (reason: unknown): never => {
    throw new SourceFailure(reason);
  };
  return {
    bytes,
    lasting,
    whole,
    read(into, at) {
      if (signal.aborted) failed(signal.reason);
      const { length } = into;
      try {
        const reading = read(into, at, signal);
        if (isPromise(reading))
          return Promise.resolve(reading)
            .then(() => progress(length))
            .catch(failed);
        progress(length);
      } catch (reason) {
        failed(reason);
      }
      return undefined;
    },
  };
}

function elementsOf(given: UploadSource): Elements {
  if (!isRecord(given)) return elementsOfArray(given as HostArray);
  const source = given as ElementReader | ElementFiller;
  const { type, length } = source;
  requireOneOf('upload', 'source.type', type, STORAGES);
  requireLength(length, 'upload', 'source.length');
  const common = { type: scalarOf(type), storage: type, length, bytes: length * bytesOf(type), lasting: true } as const;
  if ('fill' in source && typeof source.fill === 'function') {
    return { ...common, whole: true, read: (into, byte, signal) => fillPiece(source, into, byte, signal) };
  }
  if ('read' in source && typeof source.read === 'function') {
    return { ...common, whole: false, read: (into, byte, signal) => source.read(into, byte, signal) };
  }
  throw wrongArgument('upload', 'source', given, 'an array, or a record with { type, length } and read or fill', {
    code: 'column/host-type',
  });
}

function fillPiece(filler: ElementFiller, into: Uint8Array, byte: number, signal: AbortSignal): void | Promise<void> {
  return filler.fill(arrayOver(into, filler.type) as never, byte / bytesOf(filler.type), signal);
}

function elementsOfArray(data: HostArray): Elements {
  // Typed arrays are read in place, and `encode` is needed only for their type. So it gets an empty subarray.
  requireMemory(data, 'source', 'upload', 'column/host-type');
  const { type, storage, words } = encode(ArrayBuffer.isView(data) ? data.subarray(0, 0) : data);
  const { buffer, byteOffset, byteLength } = ArrayBuffer.isView(data) ? data : words;
  const bytes = new Uint8Array(buffer, byteOffset, byteLength);
  return {
    ...{ type, storage, length: data.length, bytes: byteLength, lasting: false, whole: false },
    read: (into, at) => into.set(bytes.subarray(at, at + into.length)),
  };
}
