// The program that runs inside the page in the page tests. It imports the entry points for pages.

import { createReferenceBackend } from '../../backends/reference/index.ts';
import { createWebGpuBackend } from '../../backends/webgpu/index.ts';
import { createWorkersBackend, type WorkersOptions } from '../../backends/workers/page.ts';
import {
  type Backend,
  Context,
  type DeviceReport,
  fn,
  histogram,
  listDevices,
  map,
  type OpenOptions,
  open,
  plus,
  QuadrilleError,
  reduce,
  reduceByKey,
  sort,
  sortByKey,
  u32,
  Var,
  While,
} from '../../page.ts';
import { digestsOf, type Trial } from './laws-program.ts';

/** What happened when a context was opened and used. */
export interface Outcome {
  /** The name of the backend that computed the result. */
  readonly ran: string;
  readonly warnings: readonly string[];
  readonly sorted: readonly number[];
}

/** An error in the form in which a page reports it to a test. */
export interface Told {
  readonly error: string;
  readonly code: string;
  readonly message: string;
}

/** All workers that the page has started so far. */
const started: Worker[] = [];
const PageWorker = globalThis.Worker;
globalThis.Worker = class extends PageWorker {
  constructor(...args: ConstructorParameters<typeof PageWorker>) {
    super(...args);
    started.push(this);
  }
};

/** The backends that pages can use. */
export type PageBackend = 'workers' | 'webgpu' | 'reference';

const openWorkers = (options: WorkersOptions = {}): Promise<Backend> =>
  createWorkersBackend({ workers: 2, inlineNanoseconds: 0, ...options });

const backends: Readonly<Record<PageBackend, () => Promise<Backend>>> = {
  workers: openWorkers,
  webgpu: () => createWebGpuBackend({ adapter: 'software' }),
  reference: async () => createReferenceBackend(),
};

const tests = {
  isIsolated: (): boolean => globalThis.crossOriginIsolated,

  /** Opens a context, sorts a column with it, and closes it. */
  async use(options: OpenOptions): Promise<Outcome> {
    const warnings: string[] = [];
    await using context = await open({ ...options, onWarning: ({ code, message }) => warnings.push(code, message) });
    const column = context.column(Uint32Array.of(3, 1, 2));
    const sorted = [...(await context.read(sort(column)))];
    return { ran: context.backend.name, warnings, sorted };
  },

  devices: (): Promise<DeviceReport> => listDevices(),

  digests: async (backend: PageBackend, trial: Trial): Promise<Record<string, string>> =>
    digestsOf(await backends[backend](), createReferenceBackend(), trial),

  /**
   * Computes histograms of runs of equal values. This keeps every worker busy, so often that most reads have to wait.
   */
  async busy(options: OpenOptions, rounds: number): Promise<number[]> {
    await using context = await open(options);
    const rows = Uint32Array.from({ length: 300_000 }, (_, i) => (i * 7919) % 1009);
    const sums: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const column = context.column(rows);
      const { keys, values } = sortByKey(column, column);
      const counted = histogram(reduceByKey(keys, values, plus(u32)).values, 64);
      const [sum] = await context.read(reduce(counted, plus(u32)));
      sums.push(sum!);
      context.dispose(column);
    }
    return sums;
  },

  /** Runs more kernels than the kernel cache holds; each has a different result. */
  async manyKernels(kernels: number): Promise<number[]> {
    await using context = new Context(await openWorkers({ keptKernels: 8 }));
    const column = context.column(Uint32Array.from({ length: 5000 }, (_, i) => i));
    const sums: number[] = [];
    for (let k = 0; k < kernels; k++) {
      const add = fn(`add${k}`, { x: u32 }, u32, ({ x }) => x.add(k));
      const [sum] = await context.read(reduce(map(add, { x: column }), plus(u32)));
      sums.push(sum!);
    }
    return sums;
  },

  /** Runs an endless loop on workers, which the backend terminates after a while. */
  async endless(options: OpenOptions): Promise<number> {
    const endless = fn('endless', { x: u32 }, u32, ({ x }) => {
      const sum = Var(x);
      While(
        () => sum.and(1).lt(2),
        () => sum.set(sum.add(2)),
      );
      return sum;
    });
    await using context = await open({ backend: 'workers', workers: 2, ...options });
    const [first] = await context.read(map(endless, { x: context.column(new Uint32Array(5000)) }));
    return first!;
  },

  /** Makes a worker throw by sending it an invalid message. The options decide what happens after that. */
  async faulty(options: OpenOptions): Promise<Outcome> {
    const before = started.length;
    const over: string[] = [];
    await using context = await open({
      backend: 'workers',
      workers: 1,
      onFailover: ({ from, to, reason }) => over.push(`${from} to ${to}: ${(reason as QuadrilleError).code}`),
      ...options,
    });
    started[before]!.postMessage({ kind: 'forget', functions: [], phase: 0 });
    // This column is too large to be sorted on the calling thread, so the faulty worker is needed.
    const column = context.column(Uint32Array.from({ length: 300_000 }, (_, i) => 300_000 - i));
    const sorted = await context.read(sort(column));
    return { ran: context.backend.name, warnings: over, sorted: [...sorted.slice(0, 3)] };
  },

  /** Returns the source location of an error in a functor. */
  place(): unknown {
    try {
      return fn('wrong', { x: u32 }, u32, ({ x }) => (x as unknown as { sin(): typeof x }).sin()).module;
    } catch (error) {
      return (error as QuadrilleError).place ?? 'unknown';
    }
  },
};

export type Tests = typeof tests;

/** Runs one of these functions for a test. An error of the library is returned as data. */
async function run(name: keyof Tests, args: readonly unknown[]): Promise<unknown> {
  // Waits first, because a page's security policy does not apply to code that a debugger calls synchronously.
  await new Promise((resolve) => setTimeout(resolve));
  try {
    return await (tests[name] as (...args: readonly unknown[]) => unknown)(...args);
  } catch (error) {
    if (!(error instanceof QuadrilleError)) throw error;
    return { error: error.name, code: error.code, message: error.message };
  }
}

Object.assign(globalThis, { run });

// If this program runs as a worker, the URL says which function to run.
const { searchParams } = new URL(globalThis.location.href);
const asked = searchParams.get('test');
if (asked !== null) {
  const post = globalThis.postMessage as (message: unknown) => void;
  void run(asked as keyof Tests, JSON.parse(searchParams.get('args')!)).then(post);
}
