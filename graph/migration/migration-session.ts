import type { Occupancy } from '../run/channel.ts';
import {
  decideMigration,
  initialMigrationState,
  type MigrationDecision,
  type MigrationPolicy,
  type MigrationState,
  type StageLoad,
} from './migration-policy.ts';

/**
 * The role of a stage in migration. The home side, on which a stage normally runs, is the CPU for `upstream` and the
 * GPU for `downstream`.
 */
export type MigrationRole = 'upstream' | 'downstream';

/** A stage as its migration session sees it. The session decides which items the stage moves. */
export interface Migratable {
  readonly edge: { readonly depth: number; readonly bytes: number; readonly capacity: Required<Occupancy> };
  /** Whether the edge into the stage is full, or an item waits to enter the edge. */
  readonly blocked: boolean;
  /** Whether no more items will arrive at the stage. */
  readonly ending: boolean;
  /** Total size of the items that have arrived at the edge, and of the items that have left the stage. */
  readonly arrivedSize: number;
  readonly finishedSize: number;
  load(): StageLoad;
  /** Size per millisecond that one lane of the home side processes; undefined while unknown. */
  homeRate(): number | undefined;
  readonly homeLanes: number;
  move(decision: MigrationDecision): void;
  mark(name: string, detail?: Readonly<Record<string, unknown>>): void;
}

/**
 * What the stages of a migrator share during one run: the state of the migration policy, and whether the GPU is lost.
 */
export class MigrationSession {
  /** Total number of attempts to process an item that the two stages have finished, failed attempts included. */
  finished = 0;
  gpuLost = false;

  readonly #policy: MigrationPolicy;
  readonly #enabled: boolean;
  readonly #stages: Map<MigrationRole, Migratable> = new Map();
  #state: MigrationState = initialMigrationState;
  #deciding = false;
  #changed = false;

  constructor(policy: MigrationPolicy, enabled: boolean) {
    this.#policy = policy;
    this.#enabled = enabled;
  }

  has(role: MigrationRole): boolean {
    return this.#stages.has(role);
  }

  enter(role: MigrationRole, stage: Migratable): void {
    this.#stages.set(role, stage);
  }

  leave(role: MigrationRole): void {
    this.#stages.delete(role);
  }

  isOver(): boolean {
    return this.#stages.size === 0;
  }

  itemFinished(): void {
    this.finished++;
    this.decide();
  }

  loseGpu(): void {
    if (this.gpuLost) return;
    this.gpuLost = true;
    for (const stage of this.#stages.values()) stage.mark('migrate/gpu-lost');
    this.decide();
  }

  /**
   * Asks the policy for a decision and makes its moves. Must be called after every change of a stage. A move is also
   * such a change, so a call from within a decision only requests another decision.
   */
  decide(): void {
    this.#changed = true;
    if (this.#deciding) return;
    this.#deciding = true;
    while (this.#changed) {
      this.#changed = false;
      this.#decideOnce();
    }
    this.#deciding = false;
  }

  #decideOnce(): void {
    const downstream = this.#stages.get('downstream');
    if (downstream === undefined || !(this.#enabled || this.gpuLost)) return;
    const upstream = this.#stages.get('upstream');
    const { depth, bytes, capacity } = downstream.edge;
    const input = {
      occupancy: { items: depth, bytes },
      capacity,
      blocked: downstream.blocked,
      ending: downstream.ending,
      downstream: downstream.load(),
      upstream: upstream?.load(),
      supply: upstream && supplyOf(upstream, downstream),
      demand: throughput(downstream),
      finished: this.finished,
    };
    const decision = decideMigration(input, this.#state, this.#policy);
    if (decision.state.mode !== this.#state.mode) downstream.mark(`migrate/${decision.state.mode}`);
    this.#state = decision.state;
    if (decision.moves.length > 0) (decision.reason === 'starved' ? upstream : downstream)?.move(decision);
  }
}

/**
 * Returns the rate at which the home lanes of `upstream` deliver work to `downstream`, or `undefined` if it is unknown.
 * The unit is size per millisecond, in item sizes of `downstream`.
 */
function supplyOf(upstream: Migratable, downstream: Migratable): number | undefined {
  const rate = throughput(upstream);
  if (rate === undefined || upstream.finishedSize === 0 || downstream.arrivedSize === 0) return undefined;
  return (rate * downstream.arrivedSize) / upstream.finishedSize;
}

function throughput(stage: Migratable): number | undefined {
  const rate = stage.homeRate();
  return rate === undefined ? undefined : rate * stage.homeLanes;
}
