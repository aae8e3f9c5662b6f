/**
 * For programs that choose their GPU: the backend on WebGPU. It runs in browsers and, with the `GPU` object of
 * `quadrille/backends/webgpu-node`, in Node.
 *
 * @packageDocumentation
 */

export type {
  Gpu,
  GpuAdapter,
  GpuAdapterInfo,
  GpuAdapterInfoLike,
  GpuAdapterLike,
  GpuBuffer,
  GpuBufferLike,
  GpuDevice,
  GpuDeviceDescriptor,
  GpuDeviceDescriptorLike,
  GpuDeviceLike,
  GpuFeaturesLike,
  GpuLike,
} from '../../primitives/contract/gpu-types.ts';
export { createWebGpuBackend, type WebGpuBackend, type WebGpuOptions } from './backend.ts';
export type { Arithmetic, ArithmeticChoice } from './device/arithmetic.ts';
export type { AdapterChoice } from './device/device.ts';
export { deviceDescriptor } from './device/device-descriptor.ts';
export type { CommandTime } from './launches/command-time.ts';
export type { StagingSize } from './transfers/staging-size.ts';
export {
  defaultTuning,
  type LookBackTuning,
  type ReduceTuning,
  type SetsTuning,
  type SweepTuning,
  type Tuning,
} from './tuning/tuning.ts';
export { requireTuning } from './tuning/tuning-check.ts';
export type { TuningChoice } from './tuning/tuning-choice.ts';
export { type TuningTable, tuningTables } from './tuning/tuning-tables.ts';
