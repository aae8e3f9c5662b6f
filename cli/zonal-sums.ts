import { checkPartCounts } from '../algorithms/zonal/part-counts.ts';
import { createPartSums, type PartSums } from '../algorithms/zonal/surface-parts.ts';
import type { TotalsOptions } from '../algorithms/zonal/totals.ts';
import { anArrayOf, anything, aRecord, aText, aWhole, type Kind, where } from '../primitives/checks/kinds.ts';
import type { CountedPartition } from './zonal-partition.ts';
import type { PlannedPartition } from './zonal-partitions.ts';
import type { RunRecord } from './zonal-record.ts';

/** How often checkpoints are written. */
export interface Checkpoints {
  /** Minimum milliseconds between two. */
  readonly every: number;
  /** The next one is written once this many times the duration of the last have passed. */
  readonly share: number;
}

const CHECKPOINTS: Checkpoints = { every: 3000, share: 40 };

/** What the file `sums` holds: all that was added, except of surfaces that have files of their own. */
interface Checkpoint {
  readonly done: readonly string[];
  readonly backends: readonly string[];
  readonly sums: readonly (readonly [surface: number, counts: unknown])[];
  /** The surfaces that have files of their own. */
  readonly whole: readonly number[];
}

const someCheckpoint: Kind = aRecord<Checkpoint>({
  done: anArrayOf(aText),
  backends: anArrayOf(aText),
  whole: anArrayOf(aWhole()),
  sums: anArrayOf(where('a surface and its counts', (pair) => Array.isArray(pair) && Number.isInteger(pair[0]))),
});

/**
 * The sums of the surfaces of a run. Each partition enters them once. What was added is kept in the run's record from
 * time to time. The sums of a surface whose partitions are all there are kept in a file and not in memory.
 */
export class SurfaceSums {
  readonly backends: Set<string> = new Set();
  readonly #surfaces: number;
  readonly #checkpoints: Checkpoints;
  /** Is told of a checkpoint that cannot be written. The run goes on, as only a later one would miss it. */
  readonly #onMissed: (error: unknown) => void;
  readonly #countedOf: (surface: number) => TotalsOptions;
  readonly #record: RunRecord;
  readonly #done = new Set<string>();
  readonly #sums = new Map<number, PartSums>();
  /** For each surface with partitions that are not there yet, their number. */
  readonly #waiting = new Map<number, number>();
  /** The surfaces whose sums are in files. */
  readonly #whole = new Set<number>();
  readonly #planned = new Set<number>();
  #written = performance.now();
  #cost = 0;

  constructor(
    surfaces: number,
    countedOf: (surface: number) => TotalsOptions,
    record: RunRecord,
    onMissed: (error: unknown) => void,
    checkpoints: Checkpoints = CHECKPOINTS,
  ) {
    this.#onMissed = onMissed;
    this.#checkpoints = checkpoints;
    this.#surfaces = surfaces;
    this.#countedOf = countedOf;
    this.#record = record;
  }

  /** Takes over what a killed run had added. */
  async resume(): Promise<void> {
    const saved = (await this.#record.read('sums', someCheckpoint)) as Checkpoint | undefined;
    if (saved === undefined) return;
    for (const id of saved.done) this.#done.add(id);
    for (const backend of saved.backends) this.backends.add(backend);
    for (const surface of saved.whole) this.#whole.add(surface);
    for (const [surface, counts] of saved.sums) this.#add(surface, counts);
  }

  isDone(id: string): boolean {
    return this.#done.has(id);
  }

  /** Must be called before a partition is handed out. */
  expect({ surface }: PlannedPartition): void {
    this.#waiting.set(surface, (this.#waiting.get(surface) ?? 0) + 1);
  }

  /** Must be called when all partitions of a surface are planned. */
  async planned(surface: number): Promise<void> {
    this.#planned.add(surface);
    await this.#keepIfWhole(surface);
  }

  /** Adds what a worker counted. */
  async take({ surface, partition }: PlannedPartition, { counts, backend }: CountedPartition): Promise<void> {
    this.#add(surface, counts);
    this.#done.add(partition.id);
    this.backends.add(backend);
    this.#waiting.set(surface, this.#waiting.get(surface)! - 1);
    await this.#keepIfWhole(surface);
    await this.#checkpoint();
  }

  /** The sums of a surface, when all of its partitions were added. */
  async sumsOf(surface: number): Promise<PartSums> {
    const kept = this.#sums.get(surface);
    if (kept !== undefined) return kept;
    const sums = createPartSums(this.#countedOf(surface));
    if (this.#whole.has(surface)) {
      const saved = await this.#record.read(fileOf(surface), anything);
      sums.add(checkPartCounts(saved, this.#countedOf(surface)));
    }
    return sums;
  }

  #add(surface: number, counts: unknown): void {
    const counted = this.#countedOf(surface);
    const sums = this.#sums.get(surface) ?? createPartSums(counted);
    sums.add(checkPartCounts(counts, counted));
    this.#sums.set(surface, sums);
  }

  /**
   * Moves the sums of a surface from memory to a file, unless it is the only one. One with a partition that was left out
   * stays in memory.
   */
  async #keepIfWhole(surface: number): Promise<void> {
    const isWhole = this.#planned.has(surface) && (this.#waiting.get(surface) ?? 0) === 0;
    const sums = this.#sums.get(surface);
    if (!isWhole || this.#surfaces === 1 || sums === undefined) return;
    await this.#record.write(fileOf(surface), sums.counts());
    // Not before, as a checkpoint may be written meanwhile.
    this.#whole.add(surface);
    this.#sums.delete(surface);
  }

  async #checkpoint(): Promise<void> {
    const began = performance.now();
    const { every, share } = this.#checkpoints;
    if (began - this.#written < Math.max(every, share * this.#cost)) return;
    const checkpoint: Checkpoint = {
      done: [...this.#done],
      backends: [...this.backends],
      whole: [...this.#whole],
      sums: Array.from(this.#sums, ([surface, sums]) => [surface, sums.counts()] as const),
    };
    try {
      await this.#record.write('sums', checkpoint);
    } catch (error) {
      this.#onMissed(error);
    }
    this.#written = performance.now();
    this.#cost = this.#written - began;
  }
}

const fileOf = (surface: number): string => `surface-${surface}`;
