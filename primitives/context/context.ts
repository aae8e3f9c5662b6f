/// <reference lib="esnext.disposable" preserve="true" />
import {
  requireFunction,
  requireNoPromise,
  requireOneOf,
  requireOptions,
  requireRecord,
  wrongArgument,
} from '../checks/arguments.ts';
import { ArgumentError, type CapacityError, DeviceLostError } from '../checks/errors.ts';
import { aWord, type FieldKinds } from '../checks/kinds.ts';
import type { OnWarning } from '../checks/warnings.ts';
import { AutomaticColumns } from '../columns/automatic-columns.ts';
import {
  Column,
  type ColumnOwner,
  type ColumnsOf,
  columnsOf,
  commonLength,
  type DeviceLength,
  type HostTableOf,
  Memory,
  type Recording,
  requireLength,
  requireType,
  storageOf,
  type Table,
  type View,
  withColumns,
} from '../columns/column.ts';
import { contextOf, currentContext, mixedContexts, recordingFor } from '../columns/current-context.ts';
import { type Grid, requireGrid } from '../columns/grid.ts';
import {
  asHostArray,
  type ColumnTypeOf,
  encode,
  type HostArray,
  requireMemory as requireArrayMemory,
} from '../columns/host-array.ts';
import { columnsIn } from '../columns/reachable.ts';
import { storeViews } from '../columns/views.ts';
import type { Backend, Storage } from '../contract/backend.ts';
import type { GpuBuffer } from '../contract/gpu-types.ts';
import { requireBackend } from '../contract/require-backend.ts';
import type { u64 } from '../functors/functor.ts';
import { createCache } from '../host/cache.ts';
import type { ScalarType } from '../ir/ir.ts';
import type { PreparedArguments, PreparedInputs } from '../prepared/inputs.ts';
import { type Iterated, type IterateOptions, iterate } from '../prepared/iterate.ts';
import { type Prepared, type PreparingContext, preparePipeline } from '../prepared/prepare.ts';
import { waits } from '../prepared/recording-backend.ts';
import { type CapacityChecks, createCapacityChecks } from './capacity-checks.ts';
import { type IntoTable, type ReadOptions, requireInto, rowsIn } from './downloads.ts';
import { createForgottenNotes } from './forgotten.ts';
import { createLateReads } from './late-reads.ts';
import { createLentArrays, type LentArray, type LentArrays } from './lent-arrays.ts';
import { type ContextMemory, createMemory } from './memory.ts';
import { closedMeanwhile, createReads, type Reads } from './reads.ts';
import {
  type BorrowOptions,
  type BufferElements,
  borrowColumn,
  type ElementsType,
  type LendOptions,
  type LentColumn,
  lendColumn,
} from './shared-buffers.ts';
import {
  type ArraySource,
  createUploads,
  type ElementFiller,
  type ElementReader,
  type UploadedType,
  type UploadOptions,
  type UploadSource,
  type Uploads,
} from './uploads.ts';
import { watchedBackend } from './watched-backend.ts';
import { joinWords, splitWords } from './wide-arrays.ts';

/** Options of {@link Context.read64}. */
interface Read64Options {
  readonly as?: 'u64' | 'i64' | undefined;
}

const READ_64_OPTIONS: FieldKinds<Read64Options> = { as: aWord(['u64', 'i64'], 'read/as') };

/**
 * Maximum number of pipelines in the cache of {@link Context.step}. The cache holds pipelines that the library itself
 * prepares, for steps that it repeats.
 */
const MAX_STEPS = 64;

/**
 * A backend with the columns that are stored on it. Most primitives run in the context of their columns. They return
 * immediately; only {@link Context.read}, {@link Context.count} and {@link Context.sync} wait for the device.
 */
export class Context implements ColumnOwner {
  readonly backend: Backend;
  /**
   * Columns in which the library automatically stores results of views, so that later commands can reuse the results.
   *
   * @internal
   */
  readonly automatic: AutomaticColumns = new AutomaticColumns(this);
  readonly #memory: ContextMemory;
  readonly #checks: CapacityChecks;
  readonly #uploads: Uploads;
  readonly #lentArrays: LentArrays;
  readonly #reads: Reads;
  readonly #preparing: PreparingContext;
  readonly #steps = createCache<string, Prepared>({
    max: MAX_STEPS,
    onForget: (steps) => {
      for (const step of steps) step.dispose();
    },
  });

  /**
   * The recording, if this is the temporary context in which a pipeline is being recorded; otherwise undefined.
   *
   * @internal
   */
  readonly recording: Recording | undefined;

  /**
   * Makes a context for a backend. From then on, use the backend only through `context.backend`, which informs the
   * context of every command.
   */
  constructor(backend: Backend);
  /** @internal */
  constructor(backend: Backend, recording: Recording | undefined, onWarning?: OnWarning);
  constructor(backend: Backend, recording?: Recording, onWarning?: OnWarning) {
    requireBackend('new Context', 'backend', backend);
    this.recording = recording;
    const memory = createMemory(this, {
      onRelease: ({ buffer }) => this.#checks.forget(buffer),
      readReleased: () => lateReads.freeReleased(),
      forgotten: recording === undefined ? createForgottenNotes(onWarning) : undefined,
    });
    const checks = createCapacityChecks(memory);
    const lateReads = createLateReads(memory);
    const lentArrays = createLentArrays(memory);
    this.#memory = memory;
    this.#checks = checks;
    this.#uploads = createUploads(memory);
    this.#lentArrays = lentArrays;
    this.#reads = createReads(memory, checks, lateReads);
    const createContext = (recorder: Backend, of: Recording): Context => new Context(recorder, of);
    this.#preparing = { memory, backend, checks, createContext };
    // The backend of a recording needs no `watchedBackend`: while a pipeline is recorded, nothing is read or lent, and
    // no capacity is checked.
    if (recording !== undefined) {
      this.backend = backend;
      return;
    }
    this.backend = watchedBackend(backend, {
      get idle() {
        return checks.idle && lateReads.idle && lentArrays.idle;
      },
      beforeWrite(buffers) {
        lentArrays.beforeWrite(buffers);
        lateReads.beforeWrite(buffers);
      },
      afterCommand: checks.derive,
    });
  }

  /**
   * Copies host data into a column. `Uint8Array`, `Int8Array`, `Uint16Array` and `Int16Array` stay packed in memory and
   * are read as u32 or i32. A boolean takes a 32-bit word. The data is copied during the call, so you may change the
   * array afterwards.
   *
   * With `grid`, the elements are the cells of a grid, row by row; see {@link asGrid}.
   *
   * @throws {@link ArgumentError} `column/host-type` for other data, `grid/cells` if the grid has another number of
   * cells.
   */
  column<A extends HostArray>(data: A, grid?: Grid): Column<ColumnTypeOf<A>> {
    const recording = recordingFor(this);
    if (recording !== undefined) return recording.column(data, grid);
    const { type, storage, words } = encode(data);
    const shape = grid === undefined ? undefined : requireGrid('column', grid, data.length);
    const memory = this.allocate(words.length);
    try {
      if (words.length > 0) this.backend.write(memory.buffer, 0, words);
    } catch (error) {
      this.#memory.release(memory);
      throw error;
    }
    const source = { kind: 'stored', memory, storage, offset: 0 } as const;
    return new Column(this, type as ColumnTypeOf<A>, data.length, source, shape);
  }

  /**
   * Uploads elements into a new column; the promise resolves when the upload is done. The elements come from an array,
   * a reader or a callback. A reader or a callback writes them directly into the memory of the context, several pieces
   * at a time. The column belongs to no scope: it lives until you dispose of it. Do not change a source array until the
   * promise settles.
   *
   * If the context is closed before the upload is done, the promise rejects with `device/closed`.
   *
   * @throws {@link ArgumentError} `column/host-type` for any other source, `column/size` for a length that no column
   * can have. Errors of a reader and the reason of the option `signal` are thrown unchanged.
   *
   * @example
   * const context = await open({ backend: 'workers', workers: 1 });
   * const column = await context.upload(Float32Array.of(1, 2, 3));
   * const sum = await context.read(reduce(column, plus(f32)));
   * await context.close();
   * sum[0]; // 6
   */
  async upload<E extends Storage, A extends ArraySource>(
    source: ElementReader<E> | ElementFiller<E> | A,
    options?: UploadOptions,
  ): Promise<Column<UploadedType<E, A>>> {
    const column = this.#uploads.upload(source as UploadSource, options);
    return column as Promise<Column<UploadedType<E, A>>>;
  }

  /**
   * Copies 64-bit integers into a table of two u32 columns, the lower and the upper halves. Signed integers are in two's
   * complement. {@link Context.read64} puts the halves together again.
   */
  column64(data: BigUint64Array | BigInt64Array): ColumnsOf<typeof u64> {
    if (!(data instanceof BigUint64Array || data instanceof BigInt64Array)) {
      throw wrongArgument('column64', 'data', data, 'a BigUint64Array or a BigInt64Array', {
        code: 'column/host-type',
      });
    }
    requireArrayMemory(data, 'data', 'column64', 'column/host-type');
    const [lo, hi] = splitWords(data);
    return { lo: this.column(lo), hi: this.column(hi) };
  }

  /**
   * Makes a column whose elements are in your own `GPUBuffer`, without a copy. The context must have been opened with
   * the option `device`.
   *
   * - The buffer stays yours: the context never writes to it, and disposing of the column does not destroy the buffer.
   *   The buffer needs the usage `STORAGE`, and also `COPY_SRC` if its elements are read to the host. Do not destroy or
   *   map the buffer before the column is disposed of.
   * - A command sees the contents that the buffer has when the command is handed to the queue.
   *   {@link Context.submit}, `read`, `count`, `sync` and `lend` hand over all commands issued so far before they
   *   return. A view is evaluated by each command that reads it. So a view of the buffer gives other values after the
   *   buffer changes; `materialize` stores the current values. Calls that you await, and commands that wait for memory,
   *   read the buffer later: do not change the buffer until these calls and commands are done.
   * - If the device is lost, everything computed from the buffer is lost too, even with the option `failover`. Reads of
   *   columns computed from the buffer throw `buffer/lost`, unless the columns were copied to the host before.
   *
   * @throws {@link ArgumentError} `buffer/no-device` on other contexts, `buffer/usage` if the buffer lacks the usage
   * `STORAGE`, `buffer/range` if the elements are not all inside the buffer, `buffer/own` for a buffer that the context
   * has lent. The device may also refuse the buffer later, because the buffer belongs to another device, is
   * destroyed or is mapped. Then reads throw `buffer/refused`. The refusal affects the results of commands that are
   * submitted together with a command that reads the buffer. Until the device has reported the refusal, it also affects
   * the results of commands that are submitted later.
   *
   * @example
   * const adapter = await (await openTestGpu()).requestAdapter({ forceFallbackAdapter: testAdapter() === 'software' });
   * const device = await adapter.requestDevice(deviceDescriptor(adapter));
   * const buffer = device.createBuffer({ size: 16, usage: 0x8c }); // STORAGE, COPY_SRC and COPY_DST
   * device.queue.writeBuffer(buffer, 0, Uint32Array.of(9, 3, 1, 2));
   * const context = await open({ device });
   * const sorted = await context.read(sort(context.borrow(buffer, { type: 'u32', offset: 4 })));
   * await context.close();
   * sorted; // Uint32Array [1, 2, 3]
   */
  borrow<E extends BufferElements>(buffer: GpuBuffer, options: BorrowOptions<E>): Column<ElementsType<E>> {
    return borrowColumn(this.#memory, buffer, options);
  }

  /**
   * Gives you access to the `GPUBuffer` of a column, without a copy and without waiting. A view is stored first. All
   * commands issued so far are submitted to the queue, so your next submission sees the elements. The context must have
   * been opened with the option `device`.
   *
   * The buffer has the usages `VERTEX`, `INDEX`, `INDIRECT`, `STORAGE` and `COPY_SRC`. Do not write to the buffer. It
   * stays valid until you release it, even if the column is disposed of or the column's scope ends before that.
   * Closing the context destroys the buffer, even if it is not released.
   *
   * @throws {@link ArgumentError} `buffer/no-device` on other contexts, `buffer/split` if the column spans several
   * buffers, `buffer/spilled` if the column is on the host or waits for memory.
   * @throws {@link DeviceLostError} `buffer/lost` if another backend has taken over (option `failover`).
   *
   * @example
   * const adapter = await (await openTestGpu()).requestAdapter({ forceFallbackAdapter: testAdapter() === 'software' });
   * const device = await adapter.requestDevice(deviceDescriptor(adapter));
   * const context = await open({ device });
   * const heights = context.lend(map(fn({ i: u32 }, f32, ({ i }) => f32(i).mul(0.5)), { i: sequence(100) }));
   * const { offset, bytes, count } = heights; // for setVertexBuffer(0, heights.buffer, offset, bytes)
   * heights.release();
   * await context.close();
   * [offset, bytes, count]; // [0, 400, 100]
   */
  lend(column: Column, options?: LendOptions): LentColumn {
    this.#requireOne(column, 'lend');
    return lendColumn(this.#memory, column, options);
  }

  /**
   * Submits all commands issued so far to the device, without waiting. If the device is your own, work that you submit
   * to its queue afterwards runs after these commands.
   *
   * @throws {@link ArgumentError} `buffer/spilled` if some commands wait for memory.
   */
  submit(): void {
    if (this.backend.submit?.() !== false) return;
    throw new ArgumentError('buffer/spilled', 'Some commands wait for memory, so they cannot be submitted yet.', {
      remedy: 'Await context.sync() first, or raise limits.memoryBytes.',
    });
  }

  /**
   * Lends the elements of a column as a typed array, as they are after all commands issued so far. On the workers
   * backend, the array is the memory of the column itself; on other backends, it is a copy. If the column is a view,
   * its elements are computed and stored first. Do not write to the array.
   *
   * The array stays valid until you release it, even if you dispose of the column before. Until you release the array,
   * commands that write to the column throw `array/lent`, on every backend. To fill memory without a copy, pass a
   * callback to {@link Context.upload}.
   *
   * @throws {@link ArgumentError} `column/type` if the argument is not a single column.
   * @throws {@link CapacityError} under the conditions of {@link Context.read}.
   *
   * @example
   * const context = await open({ backend: 'workers', workers: 1 });
   * const lent = await context.lendArray(sort(context.column(Float32Array.of(2, 3, 1))));
   * const last = lent.array.at(-1);
   * lent.release();
   * await context.close();
   * [last, lent.copied]; // [3, false]
   */
  async lendArray<T extends ScalarType>(column: Column<T>): Promise<LentArray<T>> {
    this.#requireOne(column, 'lendArray');
    const stored = storeViews(this, [column], 'read')[0]!;
    const [lent] = await this.#reads.settle([stored], [this.#lentArrays.lend(stored, stored !== column)]);
    return lent as LentArray<T>;
  }

  /**
   * Returns a new column for the results of a primitive. Its elements are undefined until a command writes them.
   *
   * @internal
   */
  stored<T extends ScalarType>(type: T, length: number | DeviceLength, grid?: Grid): Column<T> {
    requireOneOf('stored', 'type', type, SCALAR_TYPES);
    requireLength(length, 'stored');
    const shape = grid === undefined ? undefined : requireGrid('stored', grid, length);
    const recording = recordingFor(this);
    if (recording !== undefined) return recording.stored(type, length, grid);
    const [capacity, count] = typeof length === 'number' ? [length, undefined] : [length.limit, length.memory];
    const memory = this.allocate(capacity, count);
    return new Column(this, type, length, { kind: 'stored', memory, storage: storageOf(type), offset: 0 }, shape);
  }

  /**
   * Allocates 32-bit words on the device. The words are freed at the end of the current scope. If only the device knows
   * how many rows the words will hold, pass as `count` the memory that holds the number of rows.
   *
   * @internal
   */
  allocate(words: number, count?: Memory): Memory {
    if (!Number.isInteger(words) || words < 0) throw wrongArgument('allocate', 'words', words, 'a whole number from 0');
    if (count !== undefined) requireMemory('allocate', 'count', count);
    const recording = recordingFor(this);
    if (recording !== undefined) return recording.allocate(words, count);
    return this.#memory.allocate(words, count);
  }

  /**
   * Allocates 32-bit words for the results of a view. They are freed with the scope in which the view was made or, if
   * that scope has ended, with the nearest enclosing scope that is still open.
   *
   * @internal
   */
  allocateFor(view: View, words: number): Memory {
    return this.#memory.allocateFor(view, words);
  }

  /**
   * Frees memory. Freeing the same memory twice has no effect.
   *
   * @internal
   */
  free(memory: Memory): void {
    requireMemory('free', 'memory', memory);
    this.#memory.release(memory);
  }

  /**
   * Evaluates the views among the columns of a table and stores their elements. Functors can capture every column of
   * the result, and read it at any index.
   */
  materialize<C extends Table>(table: C): C {
    const columns = columnsOf(table, 'materialize', 'table');
    const home = contextOf(columns, 'materialize');
    const recording = home?.recording === undefined ? recordingFor(this) : home;
    if (recording?.recording?.outer === this) return recording.materialize(table);
    this.#requireOwn(columns, 'materialize');
    return withColumns(table, storeViews(this, columns, 'materialize'));
  }

  /**
   * Stores the elements of a view like {@link Context.materialize}, but evaluates the view only at the first call.
   * Later calls for the same view return a new column over the same elements. The caller must dispose of every returned
   * column. The elements are kept as long as the view and its inputs live, unless memory runs short.
   *
   * @internal
   */
  materializeOnce<T extends ScalarType>(view: Column<T>): Column<T> {
    if (view.source.kind === 'stored' || recordingFor(this) !== undefined) return this.materialize(view);
    this.#requireOwn([view], 'materialize');
    const { memory: kept, storage, offset, length } = this.automatic.store(view);
    const memory = this.#memory.share(kept);
    return new Column(this, view.type, length, { kind: 'stored', memory, storage, offset }, view.grid);
  }

  /**
   * Waits for the columns and copies their elements to the host.
   *
   * The result has the contents at the time of the call, even if the columns are written to, disposed of, or freed with
   * their scope before the promise settles. If the context is closed before the copy is done, the promise rejects with
   * `device/closed`.
   *
   * @throws {@link CapacityError} `capacity/outgrown` if a column derives from the result of a primitive, and this
   * result has more rows than its capacity. Every read of such a column throws; other columns are not affected.
   * @throws {@link ArgumentError} `read/into` if `into` is not an array of the column's type, `read/into-length` if the
   * array is too short. If only the device knows the length, `read/into-length` is thrown once the length is known,
   * before anything is written.
   *
   * @example
   * const context = await open({ backend: 'workers', workers: 1 });
   * const into = new Float32Array(100);
   * const filled = await context.read(context.column(Float32Array.of(1, 2)), { into });
   * await context.close();
   * [filled.length, filled.buffer === into.buffer]; // [2, true]
   */
  async read<C extends Table>(table: C): Promise<HostTableOf<C>>;
  async read<C extends Table, I extends IntoTable<C>>(table: C, options: ReadOptions<I>): Promise<I>;
  async read<C extends Table>(table: C, options?: ReadOptions<IntoTable<C>>): Promise<unknown> {
    const columns = columnsOf(table, 'read', 'table');
    this.#requireOwn(columns, 'read');
    const into = requireInto(table, columns, options);
    return withColumns(table, (await this.#reads.read(columns, into)) as never);
  }

  /**
   * Reads 64-bit integers, a table of two u32 columns, into one array: unsigned by default, or signed in two's complement
   * with `{ as: 'i64' }`. Errors are those of {@link Context.read}.
   *
   * @throws {@link ArgumentError} `column/type` if `lo` or `hi` is no column of u32, `read/as` for another type.
   * @example
   * const numbers = ctx.column64(BigInt64Array.of(-1n, 2n ** 40n));
   * const sum = reduce(numbers, plus(u64));
   * [await ctx.read64(numbers, { as: 'i64' }), await ctx.read64(sum)];
   * // [BigInt64Array [-1n, 1099511627776n], BigUint64Array [1099511627775n]]
   */
  async read64(table: ColumnsOf<typeof u64>, options?: { readonly as?: 'u64' | undefined }): Promise<BigUint64Array>;
  async read64(table: ColumnsOf<typeof u64>, options: { readonly as: 'i64' }): Promise<BigInt64Array>;
  async read64(table: ColumnsOf<typeof u64>, options: Read64Options = {}): Promise<BigUint64Array | BigInt64Array> {
    requireRecord('read64', 'table', table, '{ lo, hi } of u32');
    requireOptions('read64', READ_64_OPTIONS, options);
    for (const half of ['lo', 'hi'] as const) requireType(table[half], ['u32'], `table.${half}`, 'read64');
    commonLength([table.lo, table.hi], 'read64');
    const { lo, hi } = await this.read({ lo: table.lo, hi: table.hi });
    const bytes = joinWords(lo, hi);
    return options.as === 'i64' ? new BigInt64Array(bytes) : new BigUint64Array(bytes);
  }

  /**
   * Waits for the number of rows of a table. You may dispose of the table before the promise settles.
   *
   * @throws {@link CapacityError} under the conditions of {@link Context.read}.
   */
  async count(table: Table): Promise<number> {
    const columns = columnsOf(table, 'count', 'table');
    this.#requireOwn(columns, 'count');
    const length = commonLength(columns, 'count');
    const count = typeof length === 'number' ? Promise.resolve(length) : rowsIn(this.backend, length);
    return (await this.#reads.settle(columns, [count]))[0]!;
  }

  /**
   * Waits until all commands issued so far are done. If a result has exceeded its capacity, `sync` throws only if one
   * of the given tables has a column that derives from this result. Later reads of such columns throw in any case.
   *
   * @throws {@link CapacityError} under the conditions of {@link Context.read}, for the columns of the tables.
   */
  async sync(...tables: readonly Table[]): Promise<void> {
    const columns = tables.flatMap((table) => columnsOf(table, 'sync', 'table'));
    this.#requireOwn(columns, 'sync');
    await this.#reads.settle(columns, [this.backend.sync()]);
    await this.#checks.settle();
  }

  /**
   * Runs a pipeline (a function that calls primitives). Then frees all memory that the pipeline allocated, except the
   * memory of its result, which the enclosing scope frees. If the pipeline throws, all memory that it allocated is
   * freed. The pipeline must not be asynchronous: read its result outside the pipeline.
   *
   * @throws {@link ArgumentError} `context/async-scope` if the pipeline returns a promise, or a value that contains a
   * promise.
   */
  scope<R>(pipeline: () => R): R {
    requireFunction('scope', 'pipeline', pipeline);
    const recording = recordingFor(this);
    if (recording !== undefined) return recording.scope(pipeline);
    return this.#memory.scope(pipeline);
  }

  /**
   * Frees the memory of the columns in a value. For a stored column or a slice of one, this is the memory of the
   * elements. For a view, it is the memory that was allocated only for that view, but not the memory of its input
   * columns. If several columns are results of one view, their memory is freed together. A device count (a length that
   * only the device knows) is freed with the last column that has this length. Disposing of a column twice has no
   * effect, but using a freed column, or a view of a freed column, is an error.
   *
   * A column that nobody disposes of is freed when it is garbage-collected: when nothing refers to it any more, nor to a
   * view, a slice, a pending call or a prepared pipeline that reads it. Garbage may be collected long after memory ran
   * short, so the warning `column/forgotten` names the line that made such a column, once for each line, unless
   * `NODE_ENV` is `production` or `test`. Prepared pipelines, and arrays and buffers that are lent, are not given back
   * by themselves.
   */
  dispose(...tables: readonly unknown[]): void {
    for (const table of tables) requireNoPromise('dispose', 'tables', table);
    this.#memory.dispose(columnsIn(tables));
  }

  /**
   * Prepares a pipeline for many calls: runs its function once, records the commands that it issues, and returns a
   * function that issues the same commands for other columns and uniforms. Calls do not record, fuse or plan again.
   * Their results have the same bytes as those of the original pipeline.
   *
   * - `inputs` declares the arguments of calls: tables by {@link input}, of any length up to a capacity, and uniforms
   *   by `uniform(type)`. Columns that the function uses but that are not arguments are read anew at each call.
   * - The arguments of the function are columns whose lengths only the device knows. The function must not wait
   *   (`read`, `count`, `expand` without a capacity). It must not branch in JavaScript on a length or a uniform,
   *   because lengths and uniforms have no values during the recording. It may branch on the `capacity` of a column.
   * - A result stays valid until you dispose of it or its scope ends. Later calls then reuse its memory. Memory for two
   *   results is allocated at the start, and more if more results are in use at the same time.
   * - Memory for intermediate columns is allocated once and reused by later calls, but is freed if memory runs short.
   *
   * @throws {@link ArgumentError} `prepare/waits`, `prepare/decision` and `prepare/written` if the function waits,
   * branches, or writes to columns that it did not create. Calls throw `prepare/capacity` if a table has more rows than
   * its declared capacity, `prepare/column` for a column of another type or packing, `prepare/argument` for a missing
   * or unknown argument, and `prepare/disposed` after `dispose`.
   *
   * @example
   * const above = fn({ x: f32, min: uniform(f32) }, bool, ({ x, min }) => x.gt(min));
   * const tallest = ctx.prepare({ heights: input(f32, 1000), min: uniform(f32) }, ({ heights, min }) =>
   *   sort(copyIf(heights, map(above, { x: heights, min }))),
   * );
   * const heights = ctx.column(Float32Array.of(4, 8, 2, 6));
   * const some = await ctx.read(tallest({ heights, min: 3 }));
   * const few = await ctx.read(tallest({ heights, min: 7 }));
   * [...some, ...few]; // [4, 6, 8, 8]
   */
  prepare<const I extends PreparedInputs, R extends Table>(
    inputs: I,
    pipeline: (args: PreparedArguments<I>) => R,
  ): Prepared<I, R> {
    return preparePipeline(this.#preparing, inputs, pipeline);
  }

  /**
   * Returns a prepared pipeline for a step that the library repeats. The first call with a `key` prepares the pipeline
   * and keeps it in a bounded cache. If memory runs short, the memory of cached pipelines is freed. Results of cached
   * pipelines are freed like results of ordinary calls. Returns undefined while `prepare` or `explain` runs a pipeline,
   * because then each primitive must be called individually.
   *
   * @internal
   */
  step<I extends PreparedInputs, R extends Table>(
    key: string,
    inputs: () => I,
    pipeline: (args: PreparedArguments<I>) => R,
  ): Prepared<I, R> | undefined {
    if (currentContext()?.context?.recording !== undefined || this.recording !== undefined) return undefined;
    if (this.automatic.explainers.size > 0) return undefined;
    const known = this.#steps.get(key) ?? preparePipeline(this.#preparing, inputs(), pipeline, 0);
    this.#steps.set(key, known as never);
    return known as Prepared<I, R>;
  }

  /**
   * Calls a prepared step repeatedly, on the device. If the step returns a table under the name of one of its inputs,
   * that table is the argument of the next round; the other arguments stay the same. The loop ends after `maxRounds`
   * rounds, or after the first round whose `done` (a bool column of one row) is true. The result is that of the last
   * round, even if the host has issued further rounds.
   *
   * - Lengths may change from round to round, up to the capacities that the step was prepared for.
   * - The work and the span of the loop are the sums over its rounds. On WebGPU the host checks `done` every `batch`
   *   rounds.
   *
   * @throws {@link ArgumentError} `iterate/state` if no table that the step returns has the name of an input,
   * `iterate/done` if the `done` of the step is not a bool column of one row, and every error of a call of the step.
   * @throws {@link CapacityError} `capacity/outgrown` if a round exceeds a capacity; the error names the first such
   * round.
   *
   * @example
   * const half = fn({ x: u32 }, u32, ({ x }) => x.shr(1));
   * const isZero = fn({ x: u32 }, bool, ({ x }) => x.eq(0));
   * const step = ctx.prepare({ x: input(u32, 10) }, (given) => {
   *   const x = map(half, given);
   *   return { x, done: ctx.materialize(all(x, isZero)) };
   * });
   * const { rounds } = await ctx.iterate(step, { x: ctx.column(Uint32Array.of(5, 9, 2)) }, { maxRounds: 100 });
   * rounds; // 4
   */
  iterate<I extends PreparedInputs, R extends Table>(
    step: Prepared<I, R>,
    args: PreparedArguments<I>,
    options: IterateOptions,
  ): Promise<Iterated<R>> {
    return iterate(step, args, options);
  }

  /** Copies a table of another context into this one, and waits until the copy is done. */
  async adopt<C extends Table>(table: C): Promise<C> {
    const columns = columnsOf(table, 'adopt', 'table');
    const home = contextOf(columns, 'adopt');
    if (home === undefined || home === this) return table;
    const arrays = Object.values(await home.read(Object.fromEntries(columns.entries())));
    const copies = columns.map(({ type }, i) => this.column(asHostArray(type, arrays[i] as never)));
    return withColumns(table, copies);
  }

  /**
   * Declares that a device count (a length that only the device knows) may exceed its limit. Call this method before
   * the count is used. If the count exceeds the limit, all reads of columns that derive from the count throw a
   * {@link CapacityError}.
   *
   * @internal
   */
  expectCapacity(length: DeviceLength, primitive: string): void {
    if (this.recording !== undefined) this.recording.expectCapacity(length, primitive);
    else this.#checks.expect(length, primitive);
  }

  /** Discards all pending work. After this, the context can only be closed. */
  abort(reason: unknown): void {
    this.#uploads.stop(reason);
    this.backend.abort(reason);
  }

  /**
   * Frees all memory, threads and devices of the context; closing twice has no effect. Calls that still wait for the
   * device reject with `device/closed`, so await them first.
   */
  async close(): Promise<void> {
    this.#uploads.stop(closedMeanwhile());
    this.#memory.close();
    await this.backend.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #requireOne(column: Column, call: 'lend' | 'lendArray'): void {
    const [only] = columnsOf(column, call, 'column');
    if (only !== column) throw wrongArgument(call, 'column', column, 'one column', { code: 'column/type' });
    this.#requireOwn([column], call);
  }

  #requireOwn(columns: readonly Column[], primitive: string): void {
    const home = contextOf(columns, primitive);
    if (home === undefined || home === this || home === this.recording?.outer) return;
    throw home.recording?.outer === this ? waits() : mixedContexts(primitive);
  }
}

const SCALAR_TYPES: readonly ScalarType[] = ['u32', 'i32', 'f32', 'bool'];

function requireMemory(call: string, argument: string, given: Memory): void {
  if (!(given instanceof Memory)) throw wrongArgument(call, argument, given, 'memory from allocate()');
}
