/** The host memory that a device maps for transfers. */
export interface StagingSize {
  /** Number of buffers that uploads use in turn. Pending reads may use the same number of bytes in addition. */
  readonly buffers: number;
  /** Bytes of each buffer; longer transfers are split into pieces of this size. */
  readonly bytes: number;
}

/** 64 MiB each way. Larger buffers are slower; with fewer, readers of files wait for the device. */
export const STAGING: StagingSize = { buffers: 4, bytes: 2 ** 24 };
