import type { Context } from '../context-type.ts';
import { entryOf } from '../functors/ir.ts';
import {
  type Automatic,
  type Column,
  type Memory,
  type StoredArray,
  sameLength,
  storageOf,
  type View,
  type ViewInput,
  viewColumn,
} from './column.ts';
import type { StoredResults } from './link-views.ts';
import { extentOf, type Fusion, fuse, linkedProgram } from './program.ts';
import { memoriesUnder, viewsUnder } from './reachable.ts';
import { type Cut, type IsStored, isCheap, isCut, planStores } from './storing-plan.ts';
import { type OnViewReport, reportsOf, type ViewReport } from './view-reports.ts';

/** A view that is to be stored. */
type Storing = Pick<Cut, 'view' | 'length' | 'results' | 'operations'>;

/** The share of `limits.memoryBytes` that is spent on columns which no command under way reads. */
const MAX_OF_MEMORY = 1 / 4;

/** A command has so many programs at most; none of what they read is given back before it is issued. */
const PROGRAMS_OF_A_COMMAND = 4;

/**
 * The columns that a context has stored by itself. They belong to their views: a command that reads a view again finds them.
 * They are given back when the scope ends that the view was made in, when the last view that needs them is disposed of or
 * collected as garbage, when what they were computed from is freed or written to, and, those used longest ago first, when
 * there are too many of them or memory is short.
 */
export class AutomaticColumns {
  /** Are told of the views that commands read, and whether they are stored. */
  readonly explainers: Set<OnViewReport> = new Set();
  readonly #context: Context;
  /** In the order of their last use. */
  readonly #kept = new Set<Automatic>();
  /** Those that were computed from borrowed buffers. */
  readonly #passing = new Set<Automatic>();
  readonly #collected = new FinalizationRegistry<Automatic>((automatic) => this.release(automatic));
  readonly #references = new WeakMap<View, WeakRef<View>>();
  #bytes = 0;
  #programs = 0;
  #isStoring = false;

  constructor(context: Context) {
    this.#context = context;
  }

  /**
   * Stores the views that a command of so many rows had better not evaluate wherever it reads them, as far as they are not
   * stored already; returns where the results of an input are stored.
   */
  storeFor(fusion: Fusion, rows: number): (input: ViewInput) => StoredResults | undefined {
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

  /** Where a view is stored, which is done now if need be: for those who capture it, and will again. */
  store(column: Column): StoredArray {
    this.#programs++;
    if (this.#passing.size > 0) this.#forgetPassed();
    const fusion = fuse('captured', [], [column.type], (index, _, loader) => loader.load([column], index));
    const [input] = fusion.inputs as [ViewInput];
    const { view, length } = input;
    const cut = { view, length, results: new Set(input.results), operations: view.cost.operations };
    if (this.#find(input) === undefined) this.#storeAll([cut], fusion);
    this.#noteUsers(fusion);
    return this.#find(input)!.get(input.results[0]!)!;
  }

  /** The memory in which columns, and the views that they read, are stored, as far as they are not older than `since`. */
  memoriesUnder(columns: readonly Column[], since: number): Memory[] {
    if (this.#kept.size === 0) return [];
    const views = columns.flatMap(({ source }) => (source.kind === 'view' ? [source.view] : []));
    return [...viewsUnder(views, since)].flatMap(({ automatic }) => [...(automatic?.results.values() ?? [])]);
  }

  /** Frees the columns of a view, and of what it reads, that nobody else needs. */
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

  /** Frees what was computed from memory that is about to change. */
  forgetDerived(memory: Memory): void {
    for (const automatic of memory.derived ?? []) this.release(automatic);
  }

  /**
   * Forgets what was computed from borrowed buffers for commands that have been handed over: they may hold something else now.
   * It is freed once no command under way reads it, as a submission may end between the programs of one.
   */
  #forgetPassed(): void {
    const { submissions } = this.#context.backend.counters;
    for (const automatic of this.#passing) {
      if (automatic.submission === submissions) continue;
      automatic.hasPassed = true;
      if (automatic.usedBy <= this.#programs - PROGRAMS_OF_A_COMMAND) this.release(automatic);
    }
  }

  /** Frees all columns that no command under way reads; says whether there were any. */
  releaseUnused(): boolean {
    return this.#shrinkTo(0);
  }

  release(automatic: Automatic): void {
    for (const memory of automatic.results.values()) this.#context.free(memory);
  }

  /** Takes note that memory is freed. */
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

  #storeAll(cuts: readonly Storing[], fusion: Fusion): void {
    const lastReaders = lastReadersOf(cuts, fusion, (input) => this.#find(input) !== undefined);
    const made: Automatic[] = [];
    this.#isStoring = true;
    try {
      for (const [number, cut] of cuts.entries()) {
        made.push(this.#store(cut));
        // What served to store this view alone is not needed any more.
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

  /** Evaluates those results of a view that are not stored yet, for all of its rows. */
  #store(cut: Storing): Automatic {
    const { view, length } = cut;
    const missing = this.#missing(cut);
    const automatic = this.#automaticOf(cut);
    const types = entryOf(view.module).results;
    const columns = missing.map((result) => viewColumn(this.#context, types[result]!, length, view, result));
    const fusion = fuse(
      'stored',
      [],
      missing.map((result) => types[result]!),
      (index, _, loader) => loader.load(columns, index),
    );
    const program = linkedProgram(fusion, (input) => (input.view === view ? undefined : this.#find(input)));
    const capacity = typeof length === 'number' ? length : length.limit;
    try {
      const stores = missing.map((result, value) => {
        const memory = this.#context.allocateFor(view, capacity);
        memory.automatic = automatic;
        automatic.results.set(result, memory);
        this.#bytes += 4 * memory.buffer.words;
        return { buffer: memory.buffer, offset: 0, capacity, value };
      });
      this.#context.backend.forEach(extentOf(length), program, stores);
    } catch (error) {
      this.release(automatic);
      throw error;
    }
    return automatic;
  }

  /** The results of a view that are to be stored, without those that are. */
  #missing({ view, length, results }: Storing): number[] {
    const automatic = this.#keptOf(view, length);
    return [...results].filter((result) => !automatic?.results.has(result));
  }

  /** Where a view of so many rows is stored, if it is. */
  #keptOf({ automatic }: View, length: Column['length']): Automatic | undefined {
    if (automatic === undefined || automatic.hasPassed || !this.#kept.has(automatic)) return undefined;
    return sameLength(automatic.length, length) ? automatic : undefined;
  }

  #automaticOf({ view, length, operations }: Storing): Automatic {
    const known = this.#keptOf(view, length);
    if (known !== undefined) return known;
    const sources = memoriesUnder([view]);
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
    const stored: [number, ReturnType<typeof arrayOf>][] = [];
    for (const result of results) {
      const memory = automatic.results.get(result);
      if (memory === undefined) return undefined;
      stored.push([result, arrayOf(memory, types[result]!, length)]);
    }
    return new Map(stored);
  }

  /** Notes which of the views that a program is given need which columns. */
  #noteUsers(fusion: Fusion): void {
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

  /** Bytes of memory that columns can be stored in; without a bound where memory can be spilled. */
  #roomBytes(): number {
    const { counters, limits } = this.#context.backend;
    return counters.spilling === undefined ? limits.memoryBytes - counters.liveBytes + this.#bytes : Infinity;
  }

  /** Gives columns back until they take no more bytes, but for what the programs of the command at hand read. */
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

function arrayOf(
  memory: Memory,
  type: Column['type'],
  length: Column['length'],
): {
  readonly memory: Memory;
  readonly storage: ReturnType<typeof storageOf>;
  readonly offset: number;
  readonly length: Column['length'];
} {
  return { memory, storage: storageOf(type), offset: 0, length };
}

/** The stored views that a program reads through an input. */
function storedUnder(input: ViewInput, isStored: IsStored): View[] {
  const stored = new Set<View>();
  const seen = new Set<View>();
  const open = [input];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (isStored(next)) stored.add(next.view);
    else if (!seen.has(next.view)) {
      seen.add(next.view);
      open.push(...next.view.inputs);
    }
  }
  return [...stored];
}

/** For every cut the number of the last cut that reads what it stores; that of the command is behind all others. */
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
