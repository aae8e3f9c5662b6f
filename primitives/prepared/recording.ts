import type { DeviceLength } from '../columns/column.ts';
import type { Context } from '../context-type.ts';

/** What a context has in addition while a pipeline is being recorded in the context. */
export interface Recording {
  /** The context for which the pipeline is being prepared. The pipeline may read columns of this context. */
  readonly outer: Context;
  /** Called when a primitive declares that a row count, which only the device knows, may exceed its limit. */
  expectCapacity(length: DeviceLength, primitive: string): void;
}
