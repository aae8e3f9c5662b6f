import { usage } from '../device/usage.ts';

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
