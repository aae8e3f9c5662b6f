/// <reference lib="esnext.disposable" preserve="true" />
import { requireOneOf, requireOptions, wrongArgument } from '../checks/arguments.ts';
import { ArgumentError } from '../checks/errors.ts';
import { isRecord } from '../checks/given.ts';
import { aFiniteNumber, anything, type FieldKinds } from '../checks/kinds.ts';
import { type Allocation, Column, cellColumn, type DeviceLength, Memory, viewColumn } from '../columns/column.ts';
import { bytesOf, STORAGES, scalarOf } from '../columns/host-array.ts';
import { fuse, storeRows } from '../columns/program.ts';
import { storeColumns } from '../columns/views.ts';
import type { Backend, DeviceBuffer, SharedDevice, Storage } from '../contract/backend.ts';
import type { GpuBuffer } from '../contract/gpu-types.ts';
import { literal } from '../functors/recorder.ts';
import { select } from '../functors/standard/choose.ts';
import { type U32, Value } from '../functors/value.ts';
import type { AbortSignal } from '../host/platform-types.ts';
import type { ContextMemory } from './memory.ts';

/**
 * How elements are stored in a GPU buffer, one after another. Elements of `u8`, `i8`, `u16` and `i16` are packed, four
 * or two to a 32-bit word, and are read as u32 or i32. All other elements take a word each; bools are 0 and 1.
 */
export type BufferElements = Storage | 'bool';

/** The column type of elements that are stored in a GPU buffer. */
export type ElementsType<E extends BufferElements> = E extends 'f32' | 'bool'
  ? E
  : E extends 'i32' | 'i8' | 'i16'
    ? 'i32'
    : 'u32';

/** A number in a GPU buffer: a u32 at byte `offset`, which is a multiple of four. */
export interface BufferCount {
  readonly buffer: GpuBuffer;
  readonly offset: number;
}

/** The type and the range of the elements that are borrowed from a GPU buffer. */
export interface BorrowOptions<E extends BufferElements> {
  readonly type: E;
  /** The byte at which the elements start; 0 by default. It must be a multiple of an element's size. */
  readonly offset?: number | undefined;
  /** Number of bytes to borrow, from `offset` on. By default, all bytes of the buffer after `offset`. */
  readonly bytes?: number | undefined;
  /**
   * The number of elements. By default, as many as fit into the bytes. If only the device knows the number, pass the
   * buffer word in which it is stored. The call queues a copy of the word, so later changes of the word have no effect.
   * The number is limited to the number of elements that fit.
   */
  readonly count?: number | BufferCount | undefined;
}

/** Options of {@link Context.lend}. */
export interface LendOptions {
  /**
   * The byte at which the elements start must be a multiple of this number. If a column, such as a slice, starts
   * elsewhere, the column is copied. Bindings need a multiple of 256, and vertex buffers need a multiple of 4. By
   * default, nothing is copied.
   */
  readonly alignment?: number | undefined;
}

/**
 * A GPU buffer with the elements of a column. The owner of the device may read the elements until `release` is called.
 */
export interface LentColumn extends Disposable {
  /**
   * The GPU buffer. Reading this property after the device was lost throws the reason of the loss. After the release,
   * it throws an {@link ArgumentError} (`buffer/released`).
   */
  readonly buffer: GpuBuffer;
  /** The byte of the buffer at which the elements start. */
  readonly offset: number;
  /** The size of all elements in bytes. If only the device knows the number of elements, the size of the capacity. */
  readonly bytes: number;
  /** How the elements are stored. */
  readonly type: BufferElements;
  /**
   * The number of elements. If only the device knows this number, `count` is the buffer word in which it is stored. The
   * four words after this word are then 1, 0, 0 and 0. So the five words are a record for `drawIndirect` and
   * `drawIndexedIndirect`, with the number of elements as the number of vertices, and one instance.
   */
  readonly count: number | BufferCount;
  /** Aborted if the buffer is lost before its release. The reason is the error that caused the loss. */
  readonly lost: AbortSignal;
  /**
   * Ends the use of the buffer, whose memory may then be used for other columns. Releasing twice has no effect. GPU
   * work that was submitted before the release still reads the elements.
   */
  release(): void;
}

const BORROW_OPTIONS: FieldKinds<BorrowOptions<BufferElements>> = {
  type: anything,
  offset: anything,
  bytes: anything,
  count: anything,
};

const LEND_OPTIONS: FieldKinds<LendOptions> = { alignment: aFiniteNumber };

export function borrowColumn<E extends BufferElements>(
  owner: ContextMemory,
  buffer: GpuBuffer,
  options: BorrowOptions<E>,
): Column<ElementsType<E>> {
  const shared = requireShared('borrow', owner.context.backend);
  requireBuffer('buffer', buffer);
  if (options === undefined) throw wrongArgument('borrow', 'options', options, '{ type, … }');
  requireOptions('borrow', BORROW_OPTIONS, options);
  const { offset = 0, count } = options;
  const type: BufferElements = options.type;
  requireOneOf('borrow', 'the option type', type, [...STORAGES, 'bool']);
  const storage = type === 'bool' ? 'u32' : type;
  const size = bytesOf(storage);
  const usable = Math.floor(buffer.size / 4) * 4;
  requireBytes('offset', offset, size, usable);
  const { bytes = Math.floor((usable - offset) / size) * size } = options;
  requireBytes('bytes', bytes, 1, usable - offset);
  const capacity = Math.floor(bytes / size);
  if (typeof count === 'number') requireBytes('count', count, 1, capacity);
  const length =
    count === undefined || typeof count === 'number' ? (count ?? capacity) : countAt(owner, count, capacity);
  const elements = typeof length === 'number' ? length : capacity;
  const place = shared.borrow(buffer, offset, elements * size);
  const memory = keepBorrowed(owner, place.buffer);
  const source = { kind: 'stored', memory, storage, offset: place.byte / size } as const;
  const column = new Column(owner.context, scalarOf(storage), length, source);
  return (type === 'bool' ? truths(column, memory) : column) as Column as Column<ElementsType<E>>;
}

/** Makes memory from a borrowed buffer. The memory is freed with the current scope. */
function keepBorrowed(owner: ContextMemory, buffer: DeviceBuffer): Memory {
  const memory = new Memory(owner.context, buffer);
  memory.borrowed = true;
  owner.own(memory);
  return memory;
}

/** Copies a column to new memory. `call` names the caller. */
function copyOf({ context }: ContextMemory, column: Column, call: string): Column {
  return storeColumns(context, [column], column.length, call)[0]!;
}

/**
 * A bool view that is true where a word is not 0. The library stores bools as 0 and 1, but the user's words may have
 * other values.
 */
function truths(words: Column, memory: Memory): Column<'bool'> {
  const { context, length } = words;
  const view = fuse('borrow', [], ['bool'], (index, _, loader) => [(loader.load([words], index)[0] as U32).ne(0)]);
  view.owned.add(memory);
  return viewColumn(context, 'bool', length, view);
}

/** Copies a count to memory of the context, because the word in the user's buffer may change later. */
function countAt(owner: ContextMemory, count: BufferCount, limit: number): DeviceLength {
  if (!isRecord(count)) throw wrongArgument('borrow', 'the option count', count, 'a number or { buffer, offset }');
  const { buffer, offset } = count;
  requireBuffer('the option count.buffer', buffer);
  requireBytes('count.offset', offset, 4, Math.floor(buffer.size / 4) * 4 - 4);
  const shared = requireShared('borrow', owner.context.backend);
  const place = shared.borrow(buffer, offset, 4);
  const borrowed = keepBorrowed(owner, place.buffer);
  const { source } = copyOf(owner, cellColumn(borrowed, 'u32', place.byte / 4), 'borrow');
  owner.release(borrowed);
  return { memory: (source as { readonly memory: Memory }).memory, word: 0, minus: 0, limit };
}

export function lendColumn(owner: ContextMemory, column: Column, options: LendOptions = {}): LentColumn {
  const shared = requireShared('lend', owner.context.backend);
  requireOptions('lend', LEND_OPTIONS, options);
  const { alignment = 1 } = options;
  if (!Number.isInteger(alignment) || alignment < 1) {
    throw wrongArgument('lend', 'the option alignment', alignment, 'a whole number from 1', {
      code: 'options/value',
    });
  }
  const held: Allocation[] = [];
  const hold = ({ allocation }: Memory): void => {
    owner.hold(allocation);
    held.push(allocation);
  };
  const letGo = (): void => held.splice(0).forEach(owner.letGo);
  const lost = new AbortController();
  const onLost = (reason: unknown): void => lost.abort(reason);
  /** Holds memory and gives up all other use of it, so that the memory is freed when the hold ends. */
  const holdAlone = (memory: Memory): Memory => {
    hold(memory);
    owner.release(memory);
    return memory;
  };
  try {
    const stored = isAligned(column, alignment) ? column : copyOf(owner, column, 'lend');
    const { memory, storage, offset } = stored.source as Extract<Column['source'], { kind: 'stored' }>;
    if (stored === column) hold(memory);
    else holdAlone(memory);
    const { length, capacity } = column;
    const counted = typeof length === 'number' ? undefined : holdAlone(drawRecord(owner, length));
    const lent = shared.lend(memory.buffer, onLost);
    const lentCount = counted && shared.lend(counted.buffer, onLost);
    const type = column.type === 'bool' ? 'bool' : storage;
    const usable = (buffer: GpuBuffer): GpuBuffer => {
      if (lost.signal.aborted) throw lost.signal.reason;
      if (held.length === 0) throw released();
      return buffer;
    };
    const release = (): void => {
      if (held.length === 0) return;
      lent.end();
      lentCount?.end();
      letGo();
    };
    const place = (at: { readonly buffer: GpuBuffer; readonly byte: number }, byte: number): BufferCount => ({
      get buffer() {
        return usable(at.buffer);
      },
      offset: at.byte + byte,
    });
    return Object.defineProperties(place(lent, offset * bytesOf(storage)), {
      bytes: { value: capacity * bytesOf(storage), enumerable: true },
      type: { value: type, enumerable: true },
      count: { value: lentCount === undefined ? length : place(lentCount, 0), enumerable: true },
      lost: { value: lost.signal, enumerable: true },
      release: { value: release },
      [Symbol.dispose]: { value: release },
    }) as LentColumn;
  } catch (error) {
    letGo();
    throw error;
  }
}

function isAligned({ source }: Column, alignment: number): boolean {
  if (source.kind === 'view') return false;
  return (source.offset * bytesOf(source.storage)) % alignment === 0;
}

/**
 * Makes the record for `drawIndirect` and `drawIndexedIndirect`: `length` as the number of vertices, 1 as the number of
 * instances, and zeros.
 */
function drawRecord({ context }: ContextMemory, length: DeviceLength): Memory {
  const words = 5;
  const memory = context.allocate(words);
  const u32 = (value: number): U32 => new Value<'u32'>(literal('u32', value));
  const record = fuse('lend', [], ['u32'], (index, _, loader) => [
    select(select(u32(0), u32(1), index.eq(1)), loader.length(length), index.eq(0)),
  ]);
  const store = { buffer: memory.buffer, offset: 0, capacity: words, value: 0 };
  storeRows(context, words, record, [store]);
  return memory;
}

function requireShared(call: string, { shared }: Backend): SharedDevice {
  if (shared !== undefined) return shared;
  throw new ArgumentError('buffer/no-device', `${call} needs a context that was opened on your own WebGPU device.`, {
    remedy: 'Open one with open({ device }). On other backends, read the column and upload it.',
  });
}

function requireBuffer(argument: string, given: unknown): asserts given is GpuBuffer {
  const { size, usage, mapAsync } = (given ?? {}) as Partial<GpuBuffer>;
  if (typeof size === 'number' && typeof usage === 'number' && typeof mapAsync === 'function') return;
  throw wrongArgument('borrow', argument, given, 'a GPUBuffer');
}

/** Requires a number of bytes from 0 to `max` that is a multiple of `step`. */
function requireBytes(option: string, given: number, step: number, max: number): void {
  if (Number.isInteger(given) && given >= 0 && given <= max && given % step === 0) return;
  const expected = `${step === 1 ? 'a whole number' : `a multiple of ${step}`} from 0 to ${Math.max(0, max)}`;
  throw wrongArgument('borrow', `the option ${option}`, given, expected, { code: 'buffer/range' });
}

function released(): ArgumentError {
  return new ArgumentError('buffer/released', 'A lent buffer must not be used after its release.', {
    remedy: 'Release it after the last submission that uses it, or lend the column again.',
  });
}
