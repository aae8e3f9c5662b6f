import type { DeviceLength } from '../columns/column.ts';
import type { Context } from '../context-type.ts';

/** What a context records for, in which a pipeline is prepared. */
export interface Recording {
  /** The context that the pipeline is prepared for. Its columns can be read. */
  readonly outer: Context;
  /** Is told of a device count that may be above its limit. */
  expectCapacity(length: DeviceLength, primitive: string): void;
}
