import type { QuadrilleError } from '../../../primitives/checks/errors.ts';

/** A GPU buffer. Long device buffers consist of several parts. */
export interface BufferPart {
  readonly id: number;
  readonly gpu: GPUBuffer;
  readonly bytes: number;
  /** Number of the last submission that used the buffer. */
  lastUse: number;
  /** The reason why the contents are lost; undefined if the contents are not lost. */
  spoiled?: QuadrilleError;
  /**
   * Called before a command writes to the buffer and before the buffer is destroyed, so that pending reads of the old
   * contents start first.
   */
  beforeWrite?: (() => void) | undefined;
  /**
   * Only for borrowed memory: the first byte in the user's GPU buffer. Borrowed memory is only read, and neither pooled
   * nor destroyed.
   */
  readonly borrowedAt?: number;
  /**
   * Only on a tape (recorded launches of a prepared pipeline): the number that represents a buffer that is known only
   * when the tape is played; see `TapePlace`. The part is then a placeholder without a GPU buffer.
   */
  readonly stand?: number;
}
