import type { QuadrilleError } from '../../../primitives/errors.ts';

/** One GPU buffer of the pool. */
export interface BufferPart {
  readonly id: number;
  readonly gpu: GPUBuffer;
  readonly bytes: number;
  /** The submission whose commands used it last. */
  lastUse: number;
  /** Why it does not hold what was written to it, if it does not. */
  spoiled?: QuadrilleError;
  /** Called before commands write to it, or it is destroyed: reads of it that have not begun begin then. */
  beforeWrite?: (() => void) | undefined;
  /** Where it begins in its GPU buffer, which is somebody else's then: it is only read, and neither kept nor destroyed. */
  readonly borrowedAt?: number;
  /** On a tape: the number of what stands for it in a call. It has no GPU buffer then. */
  readonly stand?: number;
}
