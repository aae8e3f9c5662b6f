import { capacityOf } from '../contract/backend.ts';
import { entryOf } from '../ir/ir.ts';
import {
  type Automatic,
  type Column,
  type ColumnOwner,
  type Memory,
  type StoredArray,
  type StoredOf,
  type StoredResults,
  type StoredViews,
  sameLength,
  storageOf,
  type View,
  type ViewInput,
  viewColumn,
} from './column.ts';
import { storing } from './program.ts';
import { sourcesOf, viewsUnder } from './reachable.ts';
import { type Cut, type IsStored, isCheap, isCut, planStores } from './storing-plan.ts';
import { type OnViewReport, reportsOf, type ViewReport } from './view-reports.ts';
import { fuseColumns } from './views.ts';

/** A view to store. */
type Storing = Pick<Cut, 'view' | 'length' | 'results' | 'operations'>;

/**
 * Maximum share of `limits.memoryBytes` that automatically stored columns may take. Columns that a pending command
 * reads are kept even if they exceed this share.
 */
const MAX_OF_MEMORY = 1 / 4;

/**
 * Maximum number of programs (compiled functors) of one command. Automatically stored columns that any of these
 * programs reads are not freed before the command is issued.
 */
const PROGRAMS_OF_A_COMMAND = 4;

/**
 * The columns in which a context automatically stores results of views. Each column belongs to a view, and later
 * commands that read this view reuse the column. A column is freed with the scope in which its view was made, or when
 * the last view that needs it is disposed of or garbage-collected. It is also freed when memory from which it was
 * computed is freed or overwritten. If there are too many columns or memory runs short, the least recently used ones
 * are freed.
 */
export class AutomaticColumns implements StoredViews {
  /** Callbacks that receive a report of every view that a command reads; the report says whether the view is stored. */
  readonly explainers: Set<OnViewReport> = new Set();
  readonly #context: ColumnOwner;
  /** The automatically stored columns, from the least to the most recently used. */
  readonly #kept = new Set<Automatic>();
  /** Stored columns that were computed from borrowed buffers. They expire when the current submission ends. */
  readonly #passing = new Set<Automatic>();
  readonly #collected = new FinalizationRegistry<Automatic>((automatic) => this.release(automatic));
  readonly #references = new WeakMap<View, WeakRef<View>>();
  #bytes = 0;
  #programs = 0;
  #isStoring = false;

  constructor(context: ColumnOwner) {
    this.#context = context;
  }

  /**
   * Stores each view that a command reads, if storing the view is cheaper than evaluating it at every read. `rows` is
   * the number of rows of the command. Returns a function that finds the stored results of an input.
   */
  storeFor(fusion: View, rows: number): StoredOf {
    this.#programs++;
    if (this.#passing.size > 0) this.#forgetPassed();
    const isExplained = this.explainers.size > 0;
    if (isCheap(fusion.cost)) {
      if (isExplained) this.#tell(reportsOf(planStores(fusion, rows, noneIsStored, Infinity), noneIsStored));
      return nothingStored;
    }
    const isStored: IsStored = (input) => this.#find(input) !== undefined;
    const planned = planStores(fusion, rows, isStored, this.#roomBytes());
    const reports = isExplained ? reportsOf(planned, isStored, (cut) => this.#missing(cut)) : [];
    const cuts = planned.filter(isCut);
    if (cuts.length > 0) this.#storeAll(cuts, fusion);
    this.#tell(reports);
    if (this.#kept.size > 0) this.#noteUsers(fusion);
    return (input) => this.#find(input);
  }

  /**
   * Returns the stored elements of `column`, which belongs to a view. If necessary, stores them first. Later calls for
   * the same view reuse the memory.
   */
  store(column: Column): StoredArray {
    this.#programs++;
    if (this.#passing.size > 0) this.#forgetPassed();
    const fusion = fuseColumns('captured', [column]);
    const [input] = fusion.inputs as [ViewInput];
    const { view, length } = input;
    const cut = { view, length, results: new Set(input.results), operations: view.cost.operations };
    if (this.#find(input) === undefined) this.#storeAll([cut], fusion);
    this.#noteUsers(fusion);
    return this.#find(input)!.get(input.results[0]!)!;
  }

  /**
   * Returns the memory of automatically stored results: the results of the views among `columns`, and of all views that
   * those views read directly or indirectly. Skips views with a serial number below `since`.
   */
  memoriesUnder(columns: readonly Column[], since: number): Memory[] {
    if (this.#kept.size === 0) return [];
    const views = columns.flatMap(({ source }) => (source.kind === 'view' ? [source.view] : []));
    return [...viewsUnder(views, since)].flatMap(({ automatic }) => [...(automatic?.results.values() ?? [])]);
  }

  /**
   * Frees the automatically stored columns of a view, and of the views that it reads, unless another view needs the
   * columns.
   */
  disposeUnder(view: View): void {
    if (this.#kept.size === 0) return;
    for (const { automatic } of viewsUnder([view])) {
      if (automatic === undefined || !this.#kept.has(automatic)) continue;
      for (const user of automatic.users) {
        const other = user.deref();
        if (other === undefined || viewsUnder([other], view.born).has(view)) automatic.users.delete(user);
      }
      if (automatic.users.size === 0) this.release(automatic);
    }
  }

  /** Frees the automatically stored columns that were computed from memory whose contents are about to change. */
  forgetDerived(memory: Memory): void {
    for (const automatic of memory.derived ?? []) this.release(automatic);
  }

  /**
   * Expires columns that were computed from borrowed buffers for an earlier submission, because the contents of the
   * buffers may have changed since. A submission may end between two programs of one command, so the columns are freed
   * only once no pending command reads them.
   */
  #forgetPassed(): void {
    const { submissions } = this.#context.backend.counters;
    for (const automatic of this.#passing) {
      if (automatic.submission === submissions) continue;
      automatic.hasPassed = true;
      if (automatic.usedBy <= this.#programs - PROGRAMS_OF_A_COMMAND) this.release(automatic);
    }
  }

  /** Frees all automatically stored columns that no pending command reads. Returns whether there were any. */
  releaseUnused(): boolean {
    return this.#shrinkTo(0);
  }

  release(automatic: Automatic): void {
    for (const memory of automatic.results.values()) this.#context.free(memory);
  }

  /**
   * Called when memory is freed. Frees the columns that were computed from this memory, and forgets the columns stored
   * in it.
   */
  freed(memory: Memory): void {
    if (memory.derived !== undefined) this.forgetDerived(memory);
    const { automatic } = memory;
    if (automatic === undefined || !this.#kept.delete(automatic)) return;
    this.#collected.unregister(automatic);
    this.#passing.delete(automatic);
    this.#bytes -= bytesOf(automatic);
    for (const source of automatic.sources) source.derived?.delete(automatic);
    this.release(automatic);
  }

  #tell(reports: readonly ViewReport[]): void {
    for (const report of reports) for (const explainer of this.explainers) explainer(report);
  }

  #storeAll(cuts: readonly Storing[], fusion: View): void {
    const lastReaders = lastReadersOf(cuts, fusion, (input) => this.#find(input) !== undefined);
    const made: Automatic[] = [];
    this.#isStoring = true;
    try {
      for (const [number, cut] of cuts.entries()) {
        made.push(this.#store(cut));
        // Free the new columns that no later view reads, and that the command does not read.
        for (const [earlier, reader] of lastReaders.entries()) if (reader === number) this.release(made[earlier]!);
      }
      this.#shrinkTo(MAX_OF_MEMORY * this.#context.backend.limits.memoryBytes);
    } catch (error) {
      for (const automatic of made) this.release(automatic);
      throw error;
    } finally {
      this.#isStoring = false;
    }
  }

  /** Evaluates a view for all its rows and stores its results, except results that are already stored. */
  #store(cut: Storing): Automatic {
    const { view, length } = cut;
    const missing = this.#missing(cut);
    const automatic = this.#automaticOf(cut);
    const types = entryOf(view.module).results;
    const columns = missing.map((result) => viewColumn(this.#context, types[result]!, length, view, result));
    const fusion = fuseColumns('stored', columns);
    const storedOf: StoredOf = (input) => (input.view === view ? undefined : this.#find(input));
    const capacity = capacityOf(length);
    try {
      const stores = missing.map((result, value) => {
        const memory = this.#context.allocateFor(view, capacity);
        memory.automatic = automatic;
        automatic.results.set(result, memory);
        this.#bytes += 4 * memory.buffer.words;
        return { buffer: memory.buffer, offset: 0, capacity, value };
      });
      this.#context.backend.run(storing(length, fusion, storedOf, stores));
    } catch (error) {
      this.release(automatic);
      throw error;
    }
    return automatic;
  }

  /** Indices of the view's results that are to be stored but are not stored yet. */
  #missing({ view, length, results }: Storing): number[] {
    const automatic = this.#keptOf(view, length);
    return [...results].filter((result) => !automatic?.results.has(result));
  }

  /** Returns the stored columns of a view if their length equals `length`, otherwise undefined. */
  #keptOf({ automatic }: View, length: Column['length']): Automatic | undefined {
    if (automatic === undefined || automatic.hasPassed || !this.#kept.has(automatic)) return undefined;
    return sameLength(automatic.length, length) ? automatic : undefined;
  }

  #automaticOf({ view, length, operations }: Storing): Automatic {
    const known = this.#keptOf(view, length);
    if (known !== undefined) return known;
    const sources = sourcesOf(view, (input) => this.#keptOf(input.view, input.length)?.sources);
    if (typeof length !== 'number') sources.add(length.memory);
    const automatic: Automatic = {
      context: this.#context,
      length,
      operations,
      results: new Map(),
      sources,
      users: new Set(),
      usedBy: this.#programs,
      submission: this.#context.backend.counters.submissions,
      hasPassed: false,
    };
    if ([...sources].some(({ borrowed }) => borrowed)) this.#passing.add(automatic);
    for (const source of sources) {
      source.derived ??= new Set();
      source.derived.add(automatic);
    }
    view.automatic = automatic;
    this.#kept.add(automatic);
    this.#collected.register(view, automatic, automatic);
    return automatic;
  }

  #find({ view, length, results }: ViewInput): StoredResults | undefined {
    const automatic = this.#keptOf(view, length);
    if (automatic === undefined) return undefined;
    const types = entryOf(view.module).results;
    const stored: [number, StoredArray][] = [];
    for (const result of results) {
      const memory = automatic.results.get(result);
      if (memory === undefined) return undefined;
      stored.push([result, { memory, storage: storageOf(types[result]!), offset: 0, length }]);
    }
    return new Map(stored);
  }

  /**
   * Records which input views of a program need which stored columns, and marks these columns as the most recently
   * used.
   */
  #noteUsers(fusion: View): void {
    for (const input of fusion.inputs) {
      for (const { automatic } of storedUnder(input, (each) => this.#find(each) !== undefined)) {
        automatic!.users.add(this.#referenceTo(input.view));
        automatic!.usedBy = this.#programs;
        this.#kept.delete(automatic!);
        this.#kept.add(automatic!);
      }
    }
  }

  #referenceTo(view: View): WeakRef<View> {
    const reference = this.#references.get(view) ?? new WeakRef(view);
    this.#references.set(view, reference);
    return reference;
  }

  /** Bytes available for stored columns; infinite if the backend can spill (move data to the host). */
  #roomBytes(): number {
    const { counters, limits } = this.#context.backend;
    return counters.spilling === undefined ? limits.memoryBytes - counters.liveBytes + this.#bytes : Infinity;
  }

  /**
   * Frees columns, the least recently used first, until the remaining columns take at most `bytes`. Keeps the columns
   * that the current command reads. Returns whether any was freed.
   */
  #shrinkTo(bytes: number): boolean {
    const before = this.#bytes;
    const unused = this.#isStoring ? this.#programs - PROGRAMS_OF_A_COMMAND : this.#programs;
    for (const automatic of this.#kept) {
      if (this.#bytes <= bytes) break;
      if (automatic.usedBy <= unused) this.release(automatic);
    }
    return this.#bytes < before;
  }
}

const nothingStored = (): undefined => undefined;
const noneIsStored: IsStored = () => false;

function bytesOf({ results }: Automatic): number {
  return [...results.values()].reduce((bytes, { buffer }) => bytes + 4 * buffer.words, 0);
}

/**
 * Returns the stored views that are read to evaluate `input`: the view of `input` if this view is stored, otherwise the
 * nearest stored views that this view reads directly or through other views.
 */
function storedUnder(input: ViewInput, isStored: IsStored): View[] {
  const stored = new Set<View>();
  const seen = new Set<View>();
  const open = [input];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (isStored(next)) stored.add(next.view);
    else if (!seen.has(next.view)) {
      seen.add(next.view);
      for (const input of next.view.inputs) open.push(input);
    }
  }
  return [...stored];
}

/**
 * Returns, for every cut (a view to store), the index of the last cut that reads this cut. If the command reads the cut
 * too, the index is `cuts.length`.
 */
function lastReadersOf(cuts: readonly Storing[], root: View, isStored: IsStored): number[] {
  const numbers = new Map(cuts.map(({ view }, number) => [view, number]));
  const last = cuts.map(() => cuts.length);
  const isCut: IsStored = (input) => numbers.has(input.view) || isStored(input);
  const note = (reader: View, number: number): void => {
    for (const input of reader.inputs) {
      for (const view of storedUnder(input, isCut)) {
        const cut = numbers.get(view);
        if (cut !== undefined) last[cut] = number;
      }
    }
  };
  for (const [number, { view }] of cuts.entries()) note(view, number);
  note(root, cuts.length);
  return last;
}
