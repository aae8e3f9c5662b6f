import { ArgumentError, OutOfMemoryError } from '../checks/errors.ts';
import type { AutomaticColumns } from '../columns/automatic-columns.ts';
import { type Allocation, Column, type ColumnOwner, Memory, type View } from '../columns/column.ts';
import { runIn } from '../columns/current-context.ts';
import { viewsBorn } from '../columns/program.ts';
import { memoriesOf, partsIn, promisesIn } from '../columns/reachable.ts';
import type { DeviceBuffer } from '../contract/backend.ts';
import type { ForgottenNotes } from './forgotten.ts';

/**
 * The memory of a context, grouped by scopes. When a scope ends, its memory is freed, except what the result of the
 * scope needs. The outermost scope lives as long as the context; its memory is also freed when nothing refers to it any
 * more and it is garbage-collected. If memory is released while pending operations hold the memory, it is freed when
 * the last hold ends.
 */
export interface ContextMemory {
  /** The context whose memory this is. */
  readonly context: ColumnOwner;
  /** Whether the context was closed. */
  readonly closed: boolean;
  /**
   * Allocates memory that is freed with the innermost scope. If only the device knows the number of rows, `count` is
   * the memory that stores this number.
   */
  allocate(words: number, count?: Memory): Memory;
  /** Allocates memory that lives until it is released or the context is closed. */
  allocateOutermost(words: number): Memory;
  /**
   * Allocates memory that is freed with the scope in which a view was made. If that scope has ended, the memory is
   * freed with the nearest enclosing scope that is still open.
   */
  allocateFor(view: View, words: number): Memory;
  /**
   * Allocates a buffer, which the caller must release. If memory is short, frees memory whose contents can be computed
   * again.
   */
  allocateBuffer(words: number): DeviceBuffer;
  /** Memory of its own for a buffer that is kept as long as either is in use. The innermost scope frees it. */
  share(kept: Memory): Memory;
  /** Adds memory to the innermost scope, so that the memory is freed when this scope ends. */
  own(memory: Memory): void;
  /**
   * Frees memory. If pending operations hold the memory, it is freed when the last hold ends. Releasing twice has no
   * effect.
   */
  release(memory: Memory): void;
  /** Keeps a buffer from being freed until `letGo` is called. */
  hold(allocation: Allocation): void;
  letGo(allocation: Allocation): void;
  /**
   * Decreases `count.dependents`, the number of users of a row count that is stored in `count`. If no user is left and
   * `count.goesWithLast` is true, releases `count`.
   */
  endDependence(count: Memory): void;
  /**
   * Runs a pipeline (a function that calls primitives) in a new scope. Then frees all memory of the scope, except what
   * the result needs.
   */
  scope<R>(pipeline: () => R): R;
  /**
   * Frees the memory of columns: that of their elements or, for views, what only they need. A row count is freed with
   * the last column that needs it.
   */
  dispose(columns: readonly Column[]): void;
  /** Frees all memory, even if operations hold it, because the context is closed. */
  close(): void;
}

/** What else happens when memory is freed, or is needed. */
interface MemoryHooks {
  /** Called for all memory that is released, including memory that is still held. */
  readonly onRelease: (allocation: Allocation) => void;
  /**
   * Copies to the host, at once, the released columns that pending reads still need. Returns whether this freed any
   * memory.
   */
  readonly readReleased: () => boolean;
  /** Told of memory that was garbage-collected, if the program is being developed. */
  readonly forgotten: ForgottenNotes | undefined;
}

/** An open scope except the outermost: its memory, and the serial number of the first view that was made in it. */
interface Scope {
  readonly memories: Set<Memory>;
  readonly since: number;
}

export function createMemory(
  context: ColumnOwner & { readonly automatic: AutomaticColumns },
  { onRelease, readReleased, forgotten }: MemoryHooks,
): ContextMemory {
  const { automatic } = context;
  let closed = false;
  const scopes: Scope[] = [];
  /** The allocations of the outermost scope. Their memory may be garbage-collected, which no open scope outlasts. */
  const outermost = new Set<Allocation>();
  const heldBack = new Set<Allocation>();
  const collected = new FinalizationRegistry<Allocation>((allocation) => {
    if (allocation.released) return;
    free(allocation);
    forgotten?.tell(allocation);
  });

  const addTo = (scope: Scope | undefined, memory: Memory): Memory => {
    const { allocation } = memory;
    if (scope !== undefined) scope.memories.add(memory);
    else if (!outermost.has(allocation)) {
      outermost.add(allocation);
      collected.register(memory, allocation, allocation);
      forgotten?.note(allocation);
    }
    return memory;
  };
  const allocateIn = (scope: Scope | undefined, words: number, count?: Memory): Memory =>
    addTo(scope, new Memory(context, allocateBuffer(Math.max(1, words)), count));

  const allocateBuffer = (words: number): DeviceBuffer => {
    try {
      return context.backend.allocate(words);
    } catch (error) {
      if (!(error instanceof OutOfMemoryError)) throw error;
      if (automatic.releaseUnused()) return allocateBuffer(words);
      if (!readReleased()) throw error;
      return context.backend.allocate(words);
    }
  };

  const release = (memory: Memory): void => {
    if (memory.released) return;
    if (memory.context !== context) {
      memory.context.free(memory);
      return;
    }
    memory.allocation.released = true;
    automatic.freed(memory);
    for (const { memories } of scopes) memories.delete(memory);
    free(memory.allocation);
  };

  const free = (allocation: Allocation): void => {
    allocation.released = true;
    if (outermost.delete(allocation)) collected.unregister(allocation);
    if (allocation.holds > 0) heldBack.add(allocation);
    else giveBack(allocation);
    onRelease(allocation);
    if (allocation.count !== undefined) endDependence(allocation.count);
  };

  const endDependence = (count: Memory): void => {
    count.dependents--;
    if (count.dependents === 0 && count.goesWithLast) release(count);
  };

  const letGo = (allocation: Allocation): void => {
    allocation.holds--;
    if (allocation.holds === 0 && heldBack.delete(allocation)) giveBack(allocation);
  };

  // A function of its own, because the memory that shares must not be reachable from here; see `Allocation`.
  const lettingGo = (allocation: Allocation) => (): void => letGo(allocation);

  const giveBack = ({ giveBack, buffer }: Allocation): void => {
    if (giveBack === undefined) context.backend.release(buffer);
    else giveBack();
  };

  const endScope = ({ memories, since }: Scope, result: unknown): void => {
    const parts = partsIn(result);
    const kept = memoriesOf(parts, since);
    const views = parts.filter((part): part is Column => part instanceof Column && part.source.kind === 'view');
    if (views.length > 0) {
      entrust(views, memoriesOf(parts.filter((part) => !views.includes(part as Column))), memories, since);
      for (const memory of automatic.memoriesUnder(views, since)) kept.add(memory);
    }
    for (const memory of memories) {
      if (kept.has(memory)) addTo(scopes.at(-1), memory);
      else release(memory);
    }
  };

  return {
    context,
    get closed() {
      return closed;
    },
    allocate: (words, count) => allocateIn(scopes.at(-1), words, count),
    allocateOutermost: (words) => allocateIn(undefined, words),
    allocateFor: (view, words) =>
      allocateIn(
        scopes.findLast(({ since }) => since <= view.born),
        words,
      ),
    allocateBuffer,
    share(kept) {
      const memory = new Memory(context, kept.buffer);
      kept.allocation.holds++;
      memory.allocation.giveBack = lettingGo(kept.allocation);
      return addTo(scopes.at(-1), memory);
    },
    own: (memory) => void addTo(scopes.at(-1), memory),
    release,
    hold(allocation) {
      allocation.holds++;
    },
    letGo,
    endDependence,
    scope(pipeline) {
      const scope: Scope = { memories: new Set(), since: viewsBorn() };
      scopes.push(scope);
      let result: unknown;
      try {
        const returned = runIn(context, false, pipeline);
        requireNoPromises(returned);
        result = returned;
        return returned;
      } finally {
        scopes.pop();
        if (scope.memories.size > 0) endScope(scope, result);
      }
    },
    dispose(columns) {
      for (const { source } of columns) {
        for (const memory of source.kind === 'stored' ? [source.memory] : source.view.owned) release(memory);
        if (source.kind === 'view') automatic.disposeUnder(source.view);
      }
      for (const { length } of columns) {
        if (typeof length === 'number') continue;
        if (length.memory.dependents === 0) release(length.memory);
        else length.memory.goesWithLast = true;
      }
    },
    close() {
      closed = true;
      automatic.releaseUnused();
      for (const { memories } of scopes) for (const memory of memories) release(memory);
      for (const allocation of outermost) free(allocation);
      for (const allocation of heldBack) giveBack(allocation);
      heldBack.clear();
    },
  };
}

/**
 * Makes the returned views the owners of the scope's memory that no other part of the result needs, so that this memory
 * is freed when the views are disposed of.
 */
function entrust(
  views: readonly Column[],
  elsewhere: ReadonlySet<Memory>,
  owned: ReadonlySet<Memory>,
  since: number,
): void {
  for (const column of views) {
    if (column.source.kind === 'stored') continue;
    for (const memory of memoriesOf([column], since)) {
      if (owned.has(memory) && !elsewhere.has(memory)) column.source.view.owned.add(memory);
    }
  }
}

/**
 * Throws if the result contains promises, because such promises would wait for columns that are freed when the scope
 * ends.
 */
function requireNoPromises(returned: unknown): void {
  const promises = promisesIn(returned);
  if (promises.size === 0) return;
  // The promises will reject, because their columns are freed. The error below explains the reason, so the rejections
  // are ignored here.
  for (const promise of promises.values()) promise.then(undefined, () => {});
  const [path] = promises.keys();
  throw new ArgumentError('context/async-scope', 'A scope was given an asynchronous pipeline.', {
    expected: 'a pipeline that returns columns',
    got: path === '' ? 'a promise' : `a promise as ${path} of its result`,
    remedy: 'Return the columns from the scope and await context.read(…) outside of it.',
  });
}
