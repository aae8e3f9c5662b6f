import { requireOneOf, requireOptions } from '../../primitives/checks/arguments.ts';
import { ArgumentError, DeviceLostError } from '../../primitives/checks/errors.ts';
import {
  aFunction,
  aNumber,
  anything,
  aRecord,
  aWhole,
  type FieldKinds,
  someRecord,
  where,
} from '../../primitives/checks/kinds.ts';
import type { OnWarning } from '../../primitives/checks/warnings.ts';
import { type Backend, capacityOf, type Limits } from '../../primitives/contract/backend.ts';
import type { Gpu, GpuAdapterInfo, GpuDevice } from '../../primitives/contract/gpu-types.ts';
import { mapPrograms } from '../../primitives/contract/visit-command.ts';
import type { Module } from '../../primitives/ir/ir.ts';
import { requireHangLimit, requireLimits } from '../common/backend-options.ts';
import { inRange } from '../common/memory-errors.ts';
import type { Arithmetic } from './device/arithmetic.ts';
import { type AdapterChoice, type OpenDevice, openDevice, shareDevice } from './device/device.ts';
import { aDevice } from './device/device-kind.ts';
import { type GpuMachine, startMachine } from './device/machine.ts';
import { probe, type Verdict } from './device/probe.ts';
import { shareBuffers, withoutUsage } from './device/shared-device.ts';
import { usage } from './device/usage.ts';
import { kernelOf } from './kernels/kernels.ts';
import { runPlanned } from './launches/command-plans.ts';
import { CommandSignature } from './launches/command-signature.ts';
import type { CommandTime } from './launches/command-time.ts';
import type { Engine } from './launches/engine.ts';
import type { Memory } from './memory/memory.ts';
import type { BufferPart } from './memory/part.ts';
import { createTapes } from './tape/tapes.ts';
import type { StagingSize } from './transfers/staging-size.ts';
import type { Tuning } from './tuning/tuning.ts';
import type { TuningChoice } from './tuning/tuning-choice.ts';

export interface WebGpuOptions {
  /**
   * The `GPU` object from which adapters are requested; by default the browser's `navigator.gpu`. In Node, pass the
   * result of `openNodeGpu()` from `backends/webgpu-node`.
   */
  readonly gpu?: Gpu | undefined;
  readonly adapter?: AdapterChoice | undefined;
  /**
   * An existing device, which your program can use at the same time. The backend never destroys this device. By default
   * the backend opens its own device. The WGSL features of `gpu` or `navigator.gpu` show whether kernels can use the
   * device's subgroups; if neither object exists, the backend compiles a test kernel to find out.
   */
  readonly device?: GpuDevice | undefined;
  /** Limits that are lower than the device's limits, for example to bound the memory that the backend takes. */
  readonly limits?: Partial<Limits> | undefined;
  /**
   * Overrides some of the tuning parameters that the backend has chosen for the device's class. Tuning parameters
   * affect the speed of kernels, never their results.
   */
  readonly tuning?: TuningChoice | undefined;
  /**
   * Maximum time in milliseconds that a caller may wait for the device without any progress of the device. After this
   * time, the device counts as lost. The limit must exceed the longest wait of normal work. Unlimited by default.
   */
  readonly hangLimit?: number | undefined;
  /**
   * Maximum time in milliseconds that `close()` waits for the device to finish its work. If the time is up, `close()`
   * issues the warning `warning/device-left` and resolves; the device is destroyed once its work is finished. 4,000 by
   * default.
   */
  readonly closeLimit?: number | undefined;
  /**
   * Size of the staging memory for transfers: `buffers` mappable buffers of `bytes` bytes each for uploads, and the
   * same number for reads. By default 4 buffers of 16 MiB each. The buffers are allocated on demand and kept until
   * memory runs short.
   */
  readonly staging?: StagingSize | undefined;
  /** Receives warnings. By default they go to the console or, in Node, to `process.emitWarning`. */
  readonly onWarning?: OnWarning | undefined;
  /** Overrides the WGSL forms of f32 operations that the probe of the device has chosen. */
  readonly arithmetic?: Partial<Arithmetic> | undefined;
}

const ADAPTERS: readonly AdapterChoice[] = ['auto', 'hardware', 'software'];
const OPTIONS: FieldKinds<WebGpuOptions> = {
  gpu: anything,
  adapter: anything,
  device: aDevice,
  limits: someRecord,
  tuning: someRecord,
  hangLimit: aNumber,
  closeLimit: aNumber,
  staging: aRecord<StagingSize>({
    buffers: aWhole(1),
    bytes: where('a multiple of 256 that is at least 256', isStagingBytes),
  }),
  onWarning: aFunction,
  arithmetic: someRecord,
};

/** A backend on WebGPU, with information about its device and methods that measure commands. */
export interface WebGpuBackend extends Backend {
  readonly name: 'webgpu';
  readonly info: GpuAdapterInfo;
  readonly features: ReadonlySet<string>;
  readonly arithmetic: Arithmetic;
  readonly tuning: Tuning;
  /**
   * Measures the milliseconds that the device takes for commands, by the device's timestamps; time on the host does not
   * count. First waits for all earlier commands. If several groups of commands are given, they run without pauses
   * between groups, and each group is measured separately. An idle device starts slowly, so the first group should be a
   * warm-up.
   *
   * @throws ArgumentError `device/no-timestamps`
   */
  time(commands: () => void): Promise<number>;
  time(groups: readonly (() => void)[]): Promise<readonly number[]>;
  /**
   * Measures each command separately. Returns the kernel, the functors and the milliseconds of each command, in the
   * order in which the commands were issued. Only the first 4,095 launches are measured. Profiled commands do not
   * overlap, so they take longer than commands that {@link time} measures.
   *
   * @throws ArgumentError `device/no-timestamps`
   */
  profile(commands: () => void): Promise<readonly CommandTime[]>;
}

/**
 * Opens a backend on WebGPU.
 *
 * Commands are recorded, and submitted when somebody waits for them or a batch is full. A column that exceeds the
 * maximum size of a binding is split over several GPU buffers, which kernels address as one array. A command that reads
 * and writes the same buffer reads the contents that the buffer had before the command.
 *
 * @throws DeviceLostError `device/no-adapter` if there is no adapter of the requested kind; `device/lost` if the given
 * device is lost.
 * @throws ArgumentError `device/limits` if the given device was made with limits too low for the kernels.
 * @throws ArgumentError `tuning/member` if the tuning has members that would make kernels wrong.
 *
 * @example
 * ```ts
 * const gpu = await openTestGpu(); // in a browser: navigator.gpu
 * await using context = new Context(await createWebGpuBackend({ gpu, adapter: testAdapter() }));
 * await context.read(sort(context.column(Uint32Array.of(3, 1, 2)))); // Uint32Array [1, 2, 3]
 * ```
 */
export async function createWebGpuBackend(options: WebGpuOptions = {}): Promise<WebGpuBackend> {
  requireOptions('createWebGpuBackend', OPTIONS, options);
  requireLimits(options.limits);
  requireHangLimit(options.hangLimit);
  if (options.adapter !== undefined)
    requireOneOf('createWebGpuBackend', 'the option adapter', options.adapter, ADAPTERS);
  const gpu = options.gpu ?? globalThis.navigator?.gpu;
  const { device, adapter } = options;
  if (device !== undefined && adapter !== undefined) throw adapterOfDevice();
  const open = device === undefined ? await openDevice(gpu, adapter ?? 'auto') : await shareDevice(device, gpu);
  const machine = machineOf(open, options, gpu);
  try {
    return backendOf(machine, open, await probe(open.info, machine.run, options.arithmetic));
  } catch (error) {
    await machine.close();
    throw error;
  }
}

function adapterOfDevice(): ArgumentError {
  return new ArgumentError('open/device', 'The options device and adapter exclude each other.', {
    remedy: 'Omit the option adapter: the device already has one.',
  });
}

/** Starts the machine of a device. If the start fails, destroys the device, except a device that the caller passed. */
function machineOf(open: OpenDevice, options: WebGpuOptions, gpu: GPU | undefined): GpuMachine {
  try {
    return startMachine(open, options, gpu);
  } catch (error) {
    if (!open.shared) open.device.destroy();
    throw error;
  }
}

function backendOf(
  machine: GpuMachine,
  { device, info, features, shared }: OpenDevice,
  { arithmetic, determinism }: Verdict,
): WebGpuBackend {
  const engine: Engine = { ...machine.engine, arithmetic };
  const { failure, transfers, plans } = machine;
  const { pool, recorder, counters, limits } = engine;
  // The memory limit applies from here on; the probe of the device must not be limited.
  pool.keepWithin(limits.memoryBytes);
  const tapes = createTapes(engine);
  Object.assign(machine.reserved, { giveUp: tapes.giveUp, forgetPart: tapes.forgetPart, clear: tapes.clear });
  let closed = false;
  const signature = new CommandSignature(pool);
  const time = async (commands: (() => void) | readonly (() => void)[]): Promise<number | readonly number[]> => {
    failure.guard();
    if (typeof commands !== 'function') return machine.timer.time(commands);
    const [milliseconds] = await machine.timer.time([commands]);
    return milliseconds!;
  };

  return {
    name: 'webgpu',
    limits,
    determinism,
    walkRows: engine.tuning.walkRows,
    counters,
    info,
    features,
    arithmetic,
    tuning: engine.tuning,
    allocate(words) {
      recorder.begin();
      return pool.allocate(words);
    },
    release(buffer) {
      if (!closed) pool.release(buffer);
    },
    write(buffer, word, data) {
      failure.guard();
      transfers.write(inRange(pool.resolve(buffer), word, data.length), word, data);
      recorder.endCommand();
    },
    async upload(buffer, source) {
      failure.guard();
      const memory = inRange(pool.resolve(buffer), 0, Math.ceil(source.bytes / 4));
      await transfers.upload(memory, source);
    },
    async read(buffer, word, words, take) {
      failure.guard();
      const memory = inRange(pool.resolve(buffer), word, words);
      requireCopyable(memory);
      counters.readbacks++;
      if (take === undefined) return transfers.read(memory, word, words);
      await transfers.readTo(memory, word, words, take);
      return new Uint32Array();
    },
    async sync() {
      failure.guard();
      await machine.finish();
    },
    time: time as WebGpuBackend['time'],
    async profile(commands) {
      failure.guard();
      return machine.timer.profile(commands);
    },
    run(command) {
      const kernel = kernelOf(command);
      const layout = kernel.layout?.(engine, command);
      if (kernel.layout !== undefined && !layout) return false;
      recorder.begin();
      pool.attempt(() => {
        if (capacityOf(command.extent) === 0) kernel.launch(engine, command, layout);
        else {
          signature.clear();
          signature.command(command);
          runPlanned(engine, plans, signature, (on, traced) =>
            kernel.launch(on, traced === undefined ? command : mapPrograms(command, traced), layout),
          );
        }
      });
      machine.timer.mark(() => `${command.kind} ${namesIn(kernel.named(command).module)}`);
      recorder.endCommand();
      return true;
    },
    play(script, call) {
      failure.guard();
      // Returning false makes the caller issue the commands one by one, which profiling requires.
      if (machine.timer.isProfiling || !tapes.play(script, call)) return false;
      recorder.endCommand();
      return true;
    },
    prepareScript(script) {
      failure.guard();
      tapes.prepare(script);
    },
    forgetScript: tapes.forget,
    scriptBytes: tapes.bytesOf,
    isLost: pool.isLost,
    submit() {
      if (!failure.failed) recorder.flush();
      return true;
    },
    ...(shared && { shared: shareBuffers(device, engine, failure) }),
    abort(reason) {
      recorder.drop();
      failure.fail(reason);
    },
    async close() {
      if (closed) return;
      closed = true;
      failure.fail(new DeviceLostError('device/closed', 'The backend was closed.'));
      await machine.close();
    },
  };
}

function isStagingBytes(given: unknown): boolean {
  return Number.isInteger(given) && (given as number) > 0 && (given as number) % 256 === 0;
}

function requireCopyable({ parts }: Memory): void {
  const isCopyable = ({ gpu, borrowedAt }: BufferPart): boolean =>
    borrowedAt === undefined || (gpu.usage & usage.copySource) !== 0;
  if (!parts.every(isCopyable)) throw withoutUsage('COPY_SRC', 'be copied to the host');
}

/** The text for a program in a profile: the user's name of the entry functor, then the names of the called functors. */
function namesIn({ functions }: Module): string {
  const [entry, ...called] = new Set(functions.map(({ name }) => name.replace(/^m\d+_/, '')).reverse());
  return called.length === 0 ? entry! : `${entry}: ${called.join(', ')}`;
}
