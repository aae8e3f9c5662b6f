/** A run as others see it. Times are milliseconds since 1970 by the clock of the server. */
export interface RunRecord {
  readonly title: string;
  readonly host: string;
  readonly pid: number;
  /** The member that is the parent. */
  readonly parent: string;
  /** The folder of the queue, as the parent calls it. */
  readonly folder: string;
  readonly started: number;
  readonly seen: number;
  readonly jobs: number;
  readonly done: number;
  readonly failed: number;
}
