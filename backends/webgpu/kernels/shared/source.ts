import { capacityOf, type Extent, type Program } from '../../../../primitives/contract/backend.ts';
import type { Engine } from '../../launches/engine.ts';
import { type LinkedProgram, linkProgram } from '../../launches/link.ts';
import { createParameters, type LengthWords, type Parameters } from '../../launches/parameters.ts';
import { type IndexRange, windowsOf } from './windows.ts';

/**
 * A linked program and the kernel parameters of its command. A kernel processes the results of the program tile by
 * tile.
 */
export interface KernelSource {
  readonly parameters: Parameters;
  readonly length: LengthWords;
  readonly program: LinkedProgram;
  /** Ranges of indices, one launch each, in which every array read at the launch index is in one GPU buffer. */
  readonly windows: readonly IndexRange[];
  release(): void;
}

/** Links a program for kernels that evaluate the program themselves instead of reading stored results. */
export function linkSource({ pool }: Engine, extent: Extent, program: Program): KernelSource {
  const parameters = createParameters(pool);
  const length = parameters.length(extent);
  const linked = linkProgram('p_', program, parameters, extent);
  const windows = windowsOf(capacityOf(extent), [linked], []);
  return { parameters, length, program: linked, windows, release: () => {} };
}
