import { capacityOf, type Extent, type Program } from '../../../../primitives/contract/backend.ts';
import type { Engine } from '../../launches/engine.ts';
import { type LinkedProgram, linkProgram } from '../../launches/link.ts';
import { createParameters, type LengthWords, type Parameters } from '../../launches/parameters.ts';
import { type IndexRange, windowsOf } from './windows.ts';

/** A program that a kernel evaluates tile by tile; it comes first among the parameters of a command. */
export interface KernelSource {
  readonly parameters: Parameters;
  readonly length: LengthWords;
  readonly program: LinkedProgram;
  /** Ranges of complete tiles whose arrays can be bound. */
  readonly windows: readonly IndexRange[];
  release(): void;
}

/** Links a program without storing its results. */
export function linkSource({ pool }: Engine, extent: Extent, program: Program): KernelSource {
  const parameters = createParameters(pool);
  const length = parameters.length(extent);
  const linked = linkProgram('p_', program, parameters, pool, extent);
  const windows = windowsOf(capacityOf(extent), [linked], []);
  return { parameters, length, program: linked, windows, release: () => {} };
}
