import { QuadrilleError } from '../../../primitives/checks/errors.ts';
import { type OnWarning, QuadrilleWarning, warn } from '../../../primitives/checks/warnings.ts';
import type { ArrayBinding, Limits, Program } from '../../../primitives/contract/backend.ts';
import { createCounters } from '../../../primitives/contract/counters.ts';
import { CLOSE_LIMIT, endsWithin } from '../../common/close-limit.ts';
import { createWatchdog } from '../../common/watchdog.ts';
import { forEach } from '../kernels/rows/for-each.ts';
import { type CommandPlans, createCommandPlans } from '../launches/command-plans.ts';
import { createCompiler } from '../launches/compile.ts';
import type { Engine } from '../launches/engine.ts';
import { createRecorder } from '../launches/recorder.ts';
import { createMemoryPool } from '../memory/memory.ts';
import type { BufferPart } from '../memory/part.ts';
import { createSpine } from '../memory/spine.ts';
import type { StagingSize } from '../transfers/staging-size.ts';
import { createTransfers, type Transfers } from '../transfers/transfers.ts';
import { requireUsable } from '../tuning/tuning-check.ts';
import type { TuningChoice } from '../tuning/tuning-choice.ts';
import { tuningFor } from '../tuning/tuning-tables.ts';
import { plainArithmetic } from './arithmetic.ts';
import { lowered, type OpenDevice } from './device.ts';
import { createExplanation, createFailure, type Failure, hangError, lostError } from './failure.ts';
import { onLoss } from './losses.ts';
import type { ProbeRun } from './probe.ts';
import { createTimer, type Timer } from './timer.ts';
import { usage } from './usage.ts';

/** A device with the services that compile commands, record them and wait for them. */
export interface GpuMachine {
  readonly failure: Failure;
  readonly transfers: Transfers;
  /**
   * An engine whose `arithmetic` is plain WGSL. The probe of the device and the backend use copies of this engine, with
   * the arithmetic that the probe tests or has chosen.
   */
  readonly engine: Engine;
  /**
   * Cached plans (lists of dispatches) of commands. The plans are valid only for the arithmetic that the probe has
   * chosen.
   */
  readonly plans: CommandPlans;
  /** Runs a test module on the device, for the probe. */
  readonly run: ProbeRun;
  readonly timer: Timer;
  readonly reserved: ReservedMemory;
  /** Submits all recorded commands and waits until the device has executed them. */
  finish(): Promise<void>;
  close(): Promise<void>;
}

/**
 * The owner of reserved memory (memory that prepared pipelines keep between calls). The memory pool and the recorder
 * call these methods.
 */
export interface ReservedMemory {
  /** Frees the reserved memory. Called when memory runs short. */
  giveUp(): void;
  /** Drops all cached objects that refer to a GPU buffer. Called when the buffer is destroyed or no longer borrowed. */
  forgetPart(part: BufferPart): void;
  /** Frees the reserved memory and drops all cached tapes (recorded launches of prepared pipelines). */
  clear(): void;
}

export interface MachineOptions {
  readonly limits?: Partial<Limits> | undefined;
  readonly tuning?: TuningChoice | undefined;
  readonly hangLimit?: number | undefined;
  readonly closeLimit?: number | undefined;
  readonly staging?: StagingSize | undefined;
  readonly onWarning?: OnWarning | undefined;
}

export function startMachine(open: OpenDevice, options: MachineOptions, gpu: GPU | undefined): GpuMachine {
  const { device, adapter, info, shared } = open;
  const limits = lowered(open.limits, options.limits ?? {});
  const tuning = requireUsable(tuningFor(info, options.tuning), open.subgroups);
  const watchdog = createWatchdog({ limit: options.hangLimit, giveUp: (limit) => failure.fail(hangError(limit)) });
  const failure = createFailure(watchdog);
  const counters = createCounters(() => pool.live);
  const { commandsPerSubmission } = tuning;
  const explain = createExplanation(device, failure);
  const plans = createCommandPlans();
  const reserved: ReservedMemory = { giveUp() {}, forgetPart() {}, clear() {} };
  const onShortage = (): void => {
    compiler.clear();
    plans.clear();
    transfers.trim();
    reserved.clear();
  };
  const recorder = createRecorder({ device, shared, failure, counters, commandsPerSubmission, onShortage, explain });
  const compiler = createCompiler(device, counters, recorder);
  const pool = createMemoryPool({
    device,
    counters,
    bindingBytes: limits.bindingBytes,
    // The owner of a shared device may use results as vertex, index or indirect buffers.
    usage: shared ? usage.vertex | usage.index | usage.indirect : 0,
    watched: recorder.watched,
    madePart: recorder.made,
    forgetPart(part) {
      compiler.forget(part);
      reserved.forgetPart(part);
    },
    giveUpReserved: () => reserved.giveUp(),
    destroyPart(part) {
      compiler.forget(part);
      reserved.forgetPart(part);
      recorder.destroyLater(part);
    },
  });
  const transfers = createTransfers({
    ...{ device, shared, recorder, failure, counters, explain },
    size: options.staging,
  });
  const spine = createSpine(device, recorder, counters);
  const engine: Engine = {
    limits,
    pool,
    recorder,
    compiler,
    arithmetic: plainArithmetic,
    tuning,
    counters,
    spine,
    subgroups: tuning.subgroups ? open.subgroups : undefined,
    shared: device.limits.maxComputeWorkgroupStorageSize,
    threads: Math.min(device.limits.maxComputeInvocationsPerWorkgroup, device.limits.maxComputeWorkgroupSizeX),
  };
  // Dawn in Node requires that these objects stay referenced while they are in use. They are dropped once the device is
  // destroyed.
  let alive: readonly unknown[] | undefined = [gpu, adapter, device];
  const forgetDevice = onLoss(device, (reason) => failure.fail(lostError(reason)));
  // On a shared device, an uncaptured error may come from other code, so it must not end this backend.
  if (!shared) {
    device.addEventListener('uncapturederror', ({ error }) => {
      failure.fail(
        new QuadrilleError('device/error', `The device reported an error: ${error.message}`, { cause: error }),
      );
    });
  }

  const finish = (): Promise<void> =>
    failure.guarded(
      recorder
        .flushSoon()
        .then(() => Promise.all([device.queue.onSubmittedWorkDone(), recorder.accepted()]))
        .then(
          () => {},
          async (cause: unknown) => {
            throw await explain(cause);
          },
        ),
    );
  const timer = createTimer(device, open.features, recorder, transfers, finish);

  return {
    failure,
    transfers,
    reserved,
    engine,
    plans,
    timer,
    finish,
    run: (module, columns, arithmetic) => runProbe({ ...engine, arithmetic }, transfers, module, columns),
    async close() {
      if (alive === undefined) return;
      recorder.drop();
      timer.destroy();
      transfers.destroy();
      spine.destroy();
      recorder.destroy();
      pool.destroy();
      forgetDevice();
      const destroy = async (): Promise<void> => {
        if (!shared) {
          device.destroy();
          await device.lost;
        }
        alive = undefined;
      };
      // Dawn's destroy() blocks the calling thread while the device works, so wait for the work first.
      const done = shared ? undefined : Promise.race([device.queue.onSubmittedWorkDone(), device.lost]);
      const idle = Promise.all([done, transfers.quiet()]);
      const { closeLimit = CLOSE_LIMIT, onWarning } = options;
      if (await endsWithin(closeLimit, idle)) return destroy();
      warn(deviceLeft(closeLimit), onWarning);
      void idle.then(destroy, destroy);
    },
  };
}

function deviceLeft(limit: number): QuadrilleWarning {
  const sentence = `The device, or a reader that fills its memory, did not finish within ${limit} ms of closing; it was left running.`;
  return new QuadrilleWarning('warning/device-left', sentence, {
    remedy:
      'Make sure that every loop of a functor and every read of a reader ends. If one does not, end the process: until then the device is not freed.',
  });
}

async function runProbe(
  engine: Engine,
  transfers: Transfers,
  module: Parameters<ProbeRun>[0],
  columns: ReadonlyMap<string, Uint32Array>,
): Promise<readonly Uint32Array[]> {
  const { pool, recorder, counters } = engine;
  recorder.begin();
  const inputs = [...module.arrays].map(([name, type]): [string, ArrayBinding] => {
    const data = columns.get(name)!;
    const buffer = pool.allocate(data.length);
    transfers.write(buffer, 0, data);
    return [name, { buffer, storage: type === 'bool' ? 'u32' : type, offset: 0, length: data.length }];
  });
  const length = inputs[0]![1].length as number;
  const { results } = module.functions.at(-1)!;
  const output = pool.allocate(results.length * length);
  const program: Program = { module, arrays: new Map(inputs), uniforms: new Map() };
  const stores = results.map((_, value) => ({ buffer: output, offset: value * length, capacity: length, value }));
  forEach(engine, length, program, stores);
  const words = await transfers.read(output, 0, results.length * length);
  for (const buffer of [output, ...inputs.map(([, binding]) => binding.buffer)]) pool.release(buffer);
  Object.assign(counters, {
    submissions: 0,
    dispatches: 0,
    readbacks: 0,
    compilations: 0,
    allocations: 0,
    bindGroups: 0,
  });
  return results.map((_, i) => words.subarray(i * length, (i + 1) * length));
}
