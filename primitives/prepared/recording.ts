import type { DeviceLength } from '../columns/column.ts';
import type { Context } from '../context-type.ts';

/** Marks a context that records a pipeline. */
export interface Recording {
  /** The context that the pipeline is prepared for. Its columns may be read. */
  readonly outer: Context;
  /** Called for a device count that may exceed its limit. */
  expectCapacity(length: DeviceLength, primitive: string): void;
}
