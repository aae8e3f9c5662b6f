/** How much host memory a device maps for transfers. */
export interface StagingSize {
  /** Buffers that uploads are written to in turn; reads under way have as many bytes besides. */
  readonly buffers: number;
  /** Bytes of one of them: longer transfers go in pieces of this size. */
  readonly bytes: number;
}

/** 64 MiB each way. Larger buffers are slower, and fewer leave readers of files waiting for the device. */
export const STAGING: StagingSize = { buffers: 4, bytes: 2 ** 24 };
