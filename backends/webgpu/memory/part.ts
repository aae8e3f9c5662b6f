import type { QuadrilleError } from '../../../primitives/errors.ts';

/** A GPU buffer. Long device buffers consist of several parts. */
export interface BufferPart {
  readonly id: number;
  readonly gpu: GPUBuffer;
  readonly bytes: number;
  /** Number of the last submission that used the buffer. */
  lastUse: number;
  /** The reason why the contents are lost; undefined if they are not. */
  spoiled?: QuadrilleError;
  /**
   * Called before a command writes to the buffer and before the buffer is destroyed, to start pending reads of the old
   * contents.
   */
  beforeWrite?: (() => void) | undefined;
  /**
   * Only for borrowed memory: the first byte in the user's GPU buffer. Borrowed memory is only read, and neither pooled
   * nor destroyed.
   */
  readonly borrowedAt?: number;
  /**
   * Only on a tape (recorded launches of a prepared pipeline): the part is a placeholder without a GPU buffer, and this
   * is the index of the buffer that each call provides.
   */
  readonly stand?: number;
}
