import type { QuadrilleError } from '../../../primitives/errors.ts';

/** One GPU buffer of the pool. */
export interface BufferPart {
  readonly id: number;
  readonly gpu: GPUBuffer;
  readonly bytes: number;
  /** The last submission that used it. */
  lastUse: number;
  /** The reason why its contents are lost, if they are. */
  spoiled?: QuadrilleError;
  /** Called before commands write to it and before it is destroyed: reads that still wait are then started. */
  beforeWrite?: (() => void) | undefined;
  /**
   * Where it starts in the user's GPU buffer, if it is borrowed; borrowed buffers are only read, and neither pooled nor
   * destroyed.
   */
  readonly borrowedAt?: number;
  /** Only on a tape: the index of the buffer that a call provides. There is no GPU buffer then. */
  readonly stand?: number;
}
