import type { Counters } from '../../../primitives/contract/backend.ts';
import type { Failure } from '../device/failure.ts';
import { usage } from '../device/usage.ts';
import type { DispatchRecorder } from '../launches/recorder.ts';
import type { StagingSize } from './staging-size.ts';

/** The parts of a backend that transfers need. */
export interface TransferHost {
  readonly device: GPUDevice;
  readonly recorder: DispatchRecorder;
  readonly failure: Failure;
  readonly counters: Counters;
  /** Finds out why a call to the device failed, given the error of that call. */
  readonly explain: (cause: unknown) => Promise<unknown>;
}

/** What transfers through staging memory need. */
export interface StagingOptions extends TransferHost {
  readonly size: StagingSize;
  readonly mapped: Mapper;
}

/** Maps the first `bytes` bytes of a buffer. */
export type Mapper = (gpu: GPUBuffer, mode: number, bytes: number) => Promise<unknown>;

/**
 * Creates a function that maps buffers. A failed mapping rejects the promise and also raises a device error. On a
 * shared device, an error scope hides this error from the other users of the device.
 */
export function createMapper(device: GPUDevice, shared: boolean): Mapper {
  if (!shared) return (gpu, mode, bytes) => gpu.mapAsync(mode, 0, bytes);
  return (gpu, mode, bytes) => {
    device.pushErrorScope('validation');
    const mapping = gpu.mapAsync(mode, 0, bytes);
    device.popErrorScope().catch(() => {});
    return mapping;
  };
}

export const UPLOAD_USAGE: number = usage.mapWrite | usage.copySource;
export const DOWNLOAD_USAGE: number = usage.mapRead | usage.copyDestination;
