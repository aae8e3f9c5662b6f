/**
 * The backend on WebGPU: in browsers, and in Node with the `GPU` object of `quadrille/backends/webgpu-node`.
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
} from '../../primitives/gpu-types.ts';
export type { Arithmetic, ArithmeticChoice } from './arithmetic.ts';
export { createWebGpuBackend, type WebGpuBackend, type WebGpuOptions } from './backend.ts';
export type { CommandTime } from './command-time.ts';
export type { AdapterChoice } from './device.ts';
export { deviceDescriptor } from './device-descriptor.ts';
export type { StagingSize } from './staging-size.ts';
export { defaultTuning, type LookBackTuning, type ReduceTuning, type SweepTuning, type Tuning } from './tuning.ts';
export { requireTuning } from './tuning-check.ts';
export type { TuningChoice } from './tuning-choice.ts';
export { type TuningTable, tuningTables } from './tuning-tables.ts';
