/** Milliseconds of work that a job should have. Handing out a job takes some 8 ms of all processes with Redis. */
const JOB_MILLISECONDS = 300;
/** Maximum number of items in a job. */
export const MAX_GROUP = 256;
/** Maximum number of bytes of a job with several items. */
export const MAX_GROUP_BYTES: number = 2 ** 20;
/** Share of the newest job in the averages. */
const NEWEST = 1 / 4;

/**
 * Decides how many items make a job, and admits as many items to a stage as its jobs can hold. The sizes follow from
 * the items so far; the first jobs have one item each.
 */
export class Admission {
  /** Number of items that may be in progress if jobs are as large as can be. */
  readonly most: number;
  /** Number of items in a job. */
  group = 1;
  readonly #lanes: number;
  readonly #maxGroup: number;
  #milliseconds: number | undefined;
  #bytes = 0;
  #inside = 0;
  #wake: (() => void) | undefined;

  constructor(lanes: number, maxGroup: number) {
    this.#lanes = lanes;
    this.#maxGroup = maxGroup;
    this.most = lanes * maxGroup;
  }

  /** Resolves when another item may begin. There may be one caller at a time. */
  async enter(): Promise<void> {
    while (this.#inside >= this.#lanes * this.group) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#inside++;
  }

  /** Must be called when an item that entered has been delivered or skipped. */
  leave(): void {
    this.#inside--;
    this.#wake?.();
  }

  /** Learns from a job of `count` items, their working time and their bytes. */
  learn(count: number, milliseconds: number, bytes: number): void {
    const isFirst = this.#milliseconds === undefined;
    const mix = (known: number, newest: number): number => (isFirst ? newest : known + (newest - known) * NEWEST);
    this.#milliseconds = mix(this.#milliseconds ?? 0, Math.max(0, milliseconds / count));
    this.#bytes = mix(this.#bytes, bytes / count);
    const wanted = Math.min(JOB_MILLISECONDS / this.#milliseconds, MAX_GROUP_BYTES / this.#bytes, this.#maxGroup);
    this.group = Math.max(1, Math.ceil(wanted));
    this.#wake?.();
  }
}
