/** The size of staging memory: mappable buffers for transfers between host and device. */
export interface StagingSize {
  /** Number of staging buffers for uploads. Pending reads may use another set of buffers of the same total size. */
  readonly buffers: number;
  /** Bytes per staging buffer. Longer transfers are split into pieces of this size. */
  readonly bytes: number;
}

/**
 * The default size: 64 MiB for uploads and 64 MiB for reads. Larger buffers are slower. With fewer buffers, reads of
 * files would wait for the device.
 */
export const STAGING: StagingSize = { buffers: 4, bytes: 2 ** 24 };
