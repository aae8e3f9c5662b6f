import { requireFunction, requireNoPromise, wrongArgument } from './arguments.ts';
import type { Backend } from './backend.ts';
import {
  Column,
  type ColumnsOf,
  columnsOf,
  commonLength,
  contextOf,
  type DeviceLength,
  Memory,
  mixedContexts,
  sameLength,
  storageOf,
  type Table,
  withColumns,
} from './columns/column.ts';
import {
  asHostArray,
  type ColumnTypeOf,
  type Decoded,
  decode,
  elementsPerWord,
  encode,
  type HostArray,
  type HostTableOf,
} from './columns/host-array.ts';
import { alive, destination, extentOf, fuse, programOf } from './columns/program.ts';
import { columnsIn, memoriesIn } from './columns/reachable.ts';
import { wordsAtHand } from './columns/words.ts';
import { ArgumentError, CapacityError } from './errors.ts';
import type { u64 } from './functors/functor.ts';
import type { ScalarType } from './functors/ir.ts';

/** Memory that is freed together. */
type Owner = Set<Memory>;

/** An `expand` that may have had more rows than its capacity. */
interface CapacityCheck {
  readonly length: DeviceLength;
  readonly primitive: string;
}

/**
 * Where columns live and primitives run: a backend with the memory that was taken from it. Primitives return at once;
 * only {@link Context.read}, {@link Context.count} and {@link Context.sync} wait for the device.
 */
export class Context {
  readonly backend: Backend;
  readonly #owners: Owner[] = [new Set()];
  readonly #capacityChecks: CapacityCheck[] = [];
  /** Memory that a capacity check under way still has to look at, released or not. */
  readonly #awaited = new Set<Memory>();

  constructor(backend: Backend) {
    this.backend = backend;
  }

  /**
   * Copies host data into a column. `Uint8Array`, `Int8Array`, `Uint16Array` and `Int16Array` stay packed and are read as
   * u32 or i32; booleans take a word each. The array can be changed at once.
   *
   * @throws {@link ArgumentError} `column/host-type` for other data.
   */
  column<A extends HostArray>(data: A): Column<ColumnTypeOf<A>> {
    const { type, storage, words } = encode(data);
    const memory = this.allocate(words.length);
    try {
      if (words.length > 0) this.backend.write(memory.buffer, 0, words);
    } catch (error) {
      this.#release(memory);
      throw error;
    }
    const source = { kind: 'stored', memory, storage, offset: 0 } as const;
    return new Column(this, type as ColumnTypeOf<A>, data.length, source);
  }

  /** Copies 64-bit integers into a pair of columns. */
  column64(data: BigUint64Array): ColumnsOf<typeof u64> {
    if (!(data instanceof BigUint64Array)) {
      throw wrongArgument('column64', 'data', data, 'a BigUint64Array', { code: 'column/host-type' });
    }
    const words = new Uint32Array(data.buffer, data.byteOffset, data.length * 2);
    const pick = (from: number): Uint32Array =>
      Uint32Array.from({ length: data.length }, (_, i) => words[2 * i + from]!);
    return { lo: this.column(pick(0)), hi: this.column(pick(1)) };
  }

  /** An empty stored column for the results of a primitive. */
  stored<T extends ScalarType>(type: T, length: number | DeviceLength): Column<T> {
    const [capacity, count] = typeof length === 'number' ? [length, undefined] : [length.limit, length.memory];
    const memory = this.allocate(capacity, count);
    return new Column(this, type, length, { kind: 'stored', memory, storage: storageOf(type), offset: 0 });
  }

  /** Device words that belong to the scope under way; `count` counts the rows in them. */
  allocate(words: number, count?: Memory): Memory {
    const buffer = this.backend.allocate(Math.max(1, words));
    const memory = new Memory(this, buffer, count);
    this.#owners.at(-1)!.add(memory);
    return memory;
  }

  /** Writes views out: every column of the result is stored, and can be captured and indexed. */
  materialize<C extends Table>(table: C): C {
    const columns = columnsOf(table, 'materialize', 'table');
    this.#requireOwn(columns, 'materialize');
    return withColumns(table, this.#materializeAll(columns));
  }

  /**
   * Waits for the columns and copies them to the host, as many elements as they have.
   *
   * @throws {@link CapacityError} where an `expand` before it had more rows than its capacity.
   */
  async read<C extends Table>(table: C): Promise<HostTableOf<C>> {
    const columns = columnsOf(table, 'read', 'table');
    this.#requireOwn(columns, 'read');
    const stored = this.#materializeAll(columns);
    const counts = new Map<DeviceLength, Promise<number>>();
    const countOnce = (length: DeviceLength): Promise<number> => {
      const known = counts.get(length) ?? this.#countIn(length);
      counts.set(length, known);
      return known;
    };
    try {
      const arrays = await this.#settle(stored.map((column) => this.#download(column, countOnce)));
      return withColumns(table, arrays as never) as unknown as HostTableOf<C>;
    } finally {
      for (const { source } of stored.filter((column) => !columns.includes(column))) {
        if (source.kind === 'stored') this.#release(source.memory);
      }
    }
  }

  /**
   * Waits for the number of rows of a table.
   *
   * @throws {@link CapacityError} where an `expand` before it had more rows than its capacity.
   */
  async count(table: Table): Promise<number> {
    const columns = columnsOf(table, 'count', 'table');
    this.#requireOwn(columns, 'count');
    const length = commonLength(columns, 'count');
    const [count] = await this.#settle([typeof length === 'number' ? Promise.resolve(length) : this.#countIn(length)]);
    return count!;
  }

  /**
   * Waits until everything asked for so far has been done.
   *
   * @throws {@link CapacityError} where an `expand` before it had more rows than its capacity.
   */
  async sync(): Promise<void> {
    await this.#settle([this.backend.sync()]);
  }

  /**
   * Runs a pipeline and frees all memory that it took, but for what it returns, which then belongs to the scope around. If
   * the pipeline throws, all of it is freed. The pipeline must not be asynchronous: read its result outside.
   *
   * @throws {@link ArgumentError} `context/async-scope` where the pipeline returns a promise.
   */
  scope<R>(pipeline: () => R): R {
    requireFunction('scope', 'pipeline', pipeline);
    const owner: Owner = new Set();
    this.#owners.push(owner);
    let result: R | undefined;
    try {
      const returned = pipeline();
      if (returned instanceof Promise) {
        // What it does with the memory that is freed here fails: this error says why.
        returned.catch(() => {});
        throw new ArgumentError('context/async-scope', 'A scope was given an asynchronous pipeline.', {
          remedy: 'Return the columns from the scope and await context.read(…) outside of it.',
        });
      }
      result = returned;
      return result;
    } finally {
      this.#owners.pop();
      entrust(result, owner);
      const kept = new Set(memoriesIn(result));
      for (const memory of owner) {
        if (kept.has(memory)) this.#owners.at(-1)!.add(memory);
        else this.#release(memory);
      }
    }
  }

  /**
   * Frees the memory of the columns in a value: that of stored columns, slices included, and what the primitives and scopes
   * that returned a view took for it, but not other columns that it was made of. Columns of one view are freed together; a
   * device count goes with the last of its columns. Freeing twice is no error; using a column or a view of it afterwards is.
   */
  dispose(...tables: readonly unknown[]): void {
    for (const table of tables) requireNoPromise('dispose', 'tables', table);
    const columns = columnsIn(tables);
    for (const { source } of columns) {
      const own = source.kind === 'stored' ? [source.memory] : source.view.owned;
      for (const memory of own) this.#release(memory);
    }
    for (const { length } of columns) {
      if (typeof length !== 'number' && length.memory.dependents === 0) this.#release(length.memory);
    }
  }

  /** Copies a table of another context into this one; waits for it. */
  async adopt<C extends Table>(table: C): Promise<C> {
    const columns = columnsOf(table, 'adopt', 'table');
    const home = contextOf(columns, 'adopt');
    if (home === undefined || home === this) return table;
    const arrays = Object.values(await home.read(Object.fromEntries(columns.entries())));
    const copies = columns.map(({ type }, i) => this.column(asHostArray(type, arrays[i] as never)));
    return withColumns(table, copies);
  }

  /** Records that a device count may be above its limit, to be reported by the next read, count or sync. */
  expectCapacity(length: DeviceLength, primitive: string): void {
    this.#capacityChecks.push({ length, primitive });
    this.#awaited.add(length.memory);
  }

  /** Drops everything under way; the context can only be closed after that. */
  abort(reason: unknown): void {
    this.backend.abort(reason);
  }

  /** Frees everything; idempotent. */
  async close(): Promise<void> {
    for (const memory of this.#awaited) this.#letGo(memory);
    for (const owner of this.#owners) for (const memory of owner) this.#release(memory);
    await this.backend.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #requireOwn(columns: readonly Column[], primitive: string): void {
    const home = contextOf(columns, primitive);
    if (home !== undefined && home !== this) throw mixedContexts(primitive);
  }

  /** The same columns, stored; views of one length are written by one launch. */
  #materializeAll(columns: readonly Column[]): Column[] {
    return this.scope(() => {
      const stored = new Map<Column, Column>();
      let views = [...new Set(columns)].filter(({ source }) => source.kind === 'view');
      while (views.length > 0) {
        const { length } = views[0]!;
        const alike = views.filter((view) => sameLength(view.length, length));
        this.#store(alike, length).forEach((column, i) => {
          stored.set(alike[i]!, column);
        });
        views = views.filter((view) => !stored.has(view));
      }
      return columns.map((column) => stored.get(column) ?? column);
    });
  }

  #store(views: readonly Column[], length: number | DeviceLength): Column[] {
    const stored = views.map(({ type }) => this.stored(type, length));
    const words = views.map(wordsAtHand);
    const types = words.map(({ type }) => type);
    const fusion = fuse('materialize', [], types, (index, _, loader) => loader.load(words, index));
    const stores = stored.map((column, value) => ({ ...destination(column), value }));
    this.backend.forEach(extentOf(length), programOf(fusion), stores);
    return stored;
  }

  #release(memory: Memory): void {
    if (memory.released) return;
    memory.released = true;
    if (memory.count !== undefined) memory.count.dependents--;
    for (const owner of this.#owners) owner.delete(memory);
    if (!this.#awaited.has(memory)) this.backend.release(memory.buffer);
  }

  /** Ends the wait of a capacity check, and frees memory that was released meanwhile. */
  #letGo(memory: Memory): void {
    if (this.#awaited.delete(memory) && memory.released) this.backend.release(memory.buffer);
  }

  /** Waits until all of them are through, then throws what went wrong, lost rows first. */
  async #settle<R>(promises: readonly Promise<R>[]): Promise<R[]> {
    const [checked, ...settled] = await Promise.allSettled([this.#checkCapacities(), ...promises]);
    const failed = [checked!, ...settled].find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    return settled.map((outcome) => (outcome as PromiseFulfilledResult<Awaited<R>>).value);
  }

  async #checkCapacities(): Promise<void> {
    const checks = this.#capacityChecks.splice(0);
    try {
      const cells = checks.map(({ length: { memory, word } }) => this.backend.read(memory.buffer, word, 1));
      const needed = await Promise.all(cells);
      const outgrown = checks.findIndex(({ length }, i) => needed[i]![0]! > length.limit);
      if (outgrown >= 0) throw capacityOutgrown(checks[outgrown]!, needed[outgrown]![0]!);
    } finally {
      for (const { length } of checks) this.#letGo(length.memory);
    }
  }

  async #countIn({ memory, word, minus, limit }: DeviceLength): Promise<number> {
    const [count] = await this.backend.read(alive(memory).buffer, word, 1);
    return Math.min(limit, Math.max(0, count! - minus));
  }

  async #download(column: Column, countOnce: (length: DeviceLength) => Promise<number>): Promise<HostArray> {
    const { length, capacity } = column;
    if (typeof length === 'number') return this.#readRows(column, length);
    if (capacity > ROWS_READ_AT_ONCE) return this.#readRows(column, await countOnce(length));
    const [count, rows] = await Promise.all([countOnce(length), this.#readRows(column, capacity)]);
    return rows.subarray(0, count);
  }

  async #readRows({ source, type }: Column, rows: number): Promise<Decoded> {
    if (source.kind === 'view') throw new ArgumentError('column/view', 'A view cannot be downloaded.');
    const buffer = alive(source.memory).buffer;
    if (rows === 0) return decode(new Uint32Array(), source.storage, type);
    const perWord = elementsPerWord(source.storage);
    const first = Math.floor(source.offset / perWord);
    const end = Math.ceil((source.offset + rows) / perWord);
    const words = await this.backend.read(buffer, first, end - first);
    const from = source.offset - first * perWord;
    return decode(words, source.storage, type).subarray(from, from + rows);
  }
}

/** Up to so many rows are read together with their device count, which saves a second wait. */
const ROWS_READ_AT_ONCE = 65536;

/** Gives to the views that a scope returns what was taken in it for them alone. */
function entrust(result: unknown, owner: Owner): void {
  const columns = columnsIn(result);
  const elsewhere = new Set(memoriesIn(columns.filter(({ source }) => source.kind === 'stored')));
  for (const column of columns) {
    if (column.source.kind === 'stored') continue;
    for (const memory of memoriesIn(column)) {
      if (owner.has(memory) && !elsewhere.has(memory)) column.source.view.owned.add(memory);
    }
  }
}

function capacityOutgrown({ length, primitive }: CapacityCheck, needed: number): CapacityError {
  return new CapacityError('capacity/outgrown', `${primitive} made more rows than its capacity.`, {
    expected: `at most ${length.limit} rows`,
    got: needed,
    remedy: 'Give it a larger capacity, run it in parts, or leave the capacity out and let it wait once.',
  });
}
