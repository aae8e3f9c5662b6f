import { createReferenceBackend } from '../../backends/reference/index.ts';
import { createWorkersBackend } from '../../backends/workers/index.ts';
import { Context } from '../../primitives/context/context.ts';
import type { Backend } from '../../primitives/contract/backend.ts';
import { type Column, fn, inclusiveScan, map, plus, reduce, sequence, sort, u32 } from '../../primitives/index.ts';
import { programOptions } from '../shared/program-options.ts';

/**
 * Measures how much memory a context keeps for functors or pipelines that are used only once. Prints the resident
 * memory and the heap of the process whenever another tenth of the `--count` functors or pipelines has run, after the
 * context is closed, and after the closed context is released. With `--backend workers`, the calling thread does the
 * work, as it does by default for small work. With `--backend threads`, the worker threads do the work.
 *
 * node --expose-gc --import tsx bench/primitives/kept-memory.ts [--backend workers|threads|reference] [--kind functors|pipelines] [--count 30000]
 */
const options = programOptions({ backend: 'workers', kind: 'functors', count: 30000 });
const { count } = options;
const ROWS = 100;

function openBackend(): Promise<Backend> | Backend {
  if (options.backend === 'reference') return createReferenceBackend();
  return createWorkersBackend({ workers: 2, ...(options.backend === 'threads' && { inlineNanoseconds: 0 }) });
}

/** Runs a map with a new functor. */
function useFunctor(context: Context, k: number): Column {
  const functor = fn({ x: u32 }, u32, ({ x }) => x.add(k).mul(3));
  return context.materialize(map(functor, { x: sequence(ROWS) }));
}

/** Runs a pipeline of several primitives, with functors that no earlier call has used. */
function usePipeline(context: Context, k: number): Column {
  const hash = fn({ x: u32 }, u32, ({ x }) => x.mul(2654435761).xor(k));
  const smaller = fn({ x: u32 }, u32, ({ x }) => u32(x.lt(k)));
  const hashed = map(hash, { x: context.column(new Uint32Array(ROWS)) });
  return reduce(sort(inclusiveScan(map(smaller, { x: hashed }), plus(u32))), plus(u32));
}

async function measure(label: string): Promise<void> {
  for (let i = 0; i < 4; i++) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const { rss, heapUsed } = process.memoryUsage();
  console.log(
    `${label.padStart(10)}  ${(rss / 1e6).toFixed(0).padStart(6)} MB resident  ${(heapUsed / 1e6).toFixed(1).padStart(6)} MB heap`,
  );
}

let context: Context | undefined = new Context(await openBackend());
const use = options.kind === 'pipelines' ? usePipeline : useFunctor;
await measure('opened');
const started = performance.now();
for (let k = 1; k <= count; k++) {
  const made = context.scope(() => use(context!, k));
  await context.read(made);
  context.dispose(made);
  if (k % Math.ceil(count / 10) === 0) await measure(`${k}`);
}
console.log(`${((performance.now() - started) / count).toFixed(3)} ms each`);
await context.close();
await measure('closed');
context = undefined;
await measure('released');
