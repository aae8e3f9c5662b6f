import type { WebGpuBackend } from '../../backends/webgpu/index.ts';
import type { Column, Table } from '../../primitives/columns/column.ts';
import { columnsIn, memoriesIn } from '../../primitives/columns/reachable.ts';
import type { Context } from '../../primitives/context/context.ts';
import { ArgumentError, plus, reduce, sequence, u32 } from '../../primitives/index.ts';
import { type Candidate, hostRound, hostTime, IDLE_MS, type Prepared, type Round } from './candidate.ts';
import { type Job, readResult, uploadInputs } from './job.ts';

/** Makes a backend of this library a candidate. Its context stays open until the candidate is closed. */
export function backendCandidate(name: string, context: Context, description: string): Candidate {
  const { backend } = context;
  const gpu = backend.name === 'webgpu' ? (backend as WebGpuBackend) : undefined;
  const hasClock = gpu?.features.has('timestamp-query') === true;
  const heat = hasClock && !gpu.info.isFallbackAdapter ? heater(context, gpu) : undefined;
  return {
    name,
    kind: 'backend',
    hardware: gpu === undefined || gpu.info.isFallbackAdapter ? 'cpu' : 'gpu',
    description,
    prepare: (job) => prepare(job, context, hasClock ? gpu : undefined, heat),
    close: () => context.close(),
  };
}

/**
 * A function that returns work to keep the GPU busy before a measurement. An idle GPU gets a quarter of a second of
 * work to raise its clock frequency, and any other GPU gets one short pass. `warm` says that the GPU is not idle.
 */
type Heater = (warm: boolean) => Promise<() => void>;

const HEATER_ROWS = 2 ** 24;
const HEATING_MS = 250;

function heater(context: Context, gpu: WebGpuBackend): Heater {
  let passes = 0;
  let lastUse = 0;
  const heating = (times: number) => (): void =>
    context.scope(() => {
      const column = context.materialize(sequence(HEATER_ROWS));
      for (let pass = 0; pass < times; pass++) context.scope(() => void reduce(column, plus(u32)));
    });
  return async (warm) => {
    if (passes === 0) {
      const [, sample] = await gpu.time([heating(100), heating(100)]);
      passes = Math.ceil((HEATING_MS / sample!) * 100);
    }
    const idle = !warm && performance.now() - lastUse > IDLE_MS;
    lastUse = performance.now();
    return heating(idle ? passes : 1);
  };
}

async function prepare(job: Job, context: Context, gpu: WebGpuBackend | undefined, heat?: Heater): Promise<Prepared> {
  const { experiment, inputs, n, type } = job;
  const at = { n, type, context };
  // These columns are created outside a scope, so no scope frees them: `close` does.
  const columns = await uploadInputs(experiment, inputs, at);
  const inputMemories = new Set(memoriesIn(columns));
  let waits = false;

  /** Frees the columns of a result, except columns that share memory with the inputs. */
  const free = (result: Table): void => {
    const isOwn = (column: Column): boolean => !memoriesIn(column).some((memory) => inputMemories.has(memory));
    context.dispose(columnsIn(result).filter(isOwn));
  };

  /**
   * Runs the experiment and stores its result, because a view alone would do no work. If the experiment returns a
   * promise, `atOnce` returns the promise unchanged, and the enclosing scope throws `context/async-scope`.
   */
  const atOnce = (): Table => {
    const result = experiment.run(columns, at);
    return result instanceof Promise ? (result as never) : context.materialize(result);
  };
  const awaited = async (): Promise<Table> => context.materialize(await experiment.run(columns, at));

  /**
   * Runs the experiment and returns its result. The first run shows whether the experiment is asynchronous: if so, the
   * scope throws `context/async-scope`, and the experiment runs again, as in all later calls, without a scope.
   */
  const first = async (): Promise<Table> => {
    if (waits) return awaited();
    try {
      return context.scope(atOnce);
    } catch (error) {
      if (!(error instanceof ArgumentError) || error.code !== 'context/async-scope') throw error;
      waits = true;
      return awaited();
    }
  };

  /** Runs the experiment once and frees its result; returns a promise only if the experiment is asynchronous. */
  const once = (): void | Promise<void> => {
    if (waits) return awaited().then(free);
    context.scope(() => void atOnce());
  };
  /** Awaits every call, because consecutive calls over the same rows could otherwise be fused. */
  const untilDone = async (): Promise<void> => {
    const running = once();
    if (running !== undefined) await running;
    await context.sync();
  };

  const byDevice = async (calls: number, warm: boolean): Promise<Round> => {
    const first = (await heat?.(warm)) ?? (() => undefined);
    const batch = (): void => {
      for (let call = 0; call < calls; call++) once();
    };
    const [, milliseconds] = await gpu!.time([first, batch]);
    return { time: (milliseconds! * 1e6) / calls, latency: await hostTime(untilDone), clock: 'device' };
  };

  return {
    async answer() {
      const result = await first();
      try {
        return await readResult(context, result);
      } finally {
        free(result);
      }
    },
    round: (calls, warm = false) => (gpu === undefined || waits ? hostRound(untilDone, calls) : byDevice(calls, warm)),
    async close() {
      context.dispose(columns);
    },
  };
}
