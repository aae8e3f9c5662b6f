import type { RunStatus } from './queue-status.ts';

/** A run as others see it. Times are milliseconds since 1970 by the clock of the server. */
export interface RunRecord extends Omit<RunStatus, 'id' | 'isAlive'> {
  /** The member that is the parent. */
  readonly parent: string;
}
