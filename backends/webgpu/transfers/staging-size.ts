/** The size of staging memory: mappable buffers for transfers between host and device. */
export interface StagingSize {
  /** Number of staging buffers for uploads. Pending reads may use the same number of bytes in addition. */
  readonly buffers: number;
  /** Bytes per staging buffer. Longer transfers are split into pieces of this size. */
  readonly bytes: number;
}

/**
 * The default: 64 MiB for uploads and as much for reads. Larger buffers are slower; with fewer buffers, reading files
 * would wait for the device.
 */
export const STAGING: StagingSize = { buffers: 4, bytes: 2 ** 24 };
