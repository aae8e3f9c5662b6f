import type { Occupancy } from '../run/channel.ts';
import {
  decideMigration,
  initialMigrationState,
  type MigrationDecision,
  type MigrationPolicy,
  type MigrationState,
  type StageLoad,
} from './migration-policy.ts';

/** The home side of `upstream` is the CPU; the home side of `downstream` is the GPU. */
export type MigrationRole = 'upstream' | 'downstream';

/** A stage as its session sees it. */
export interface Migratable {
  readonly edge: { readonly depth: number; readonly bytes: number; readonly capacity: Required<Occupancy> };
  /** Whether an item waits to enter the edge. */
  readonly blocked: boolean;
  /** Whether no more items will arrive. */
  readonly ending: boolean;
  /** Total size of all items that have arrived at the edge, and of all that have left the stage. */
  readonly arrivedSize: number;
  readonly finishedSize: number;
  load(): StageLoad;
  /** Size per millisecond of one lane on the home side; undefined while unknown. */
  homeRate(): number | undefined;
  readonly homeLanes: number;
  move(decision: MigrationDecision): void;
  mark(name: string, detail?: Readonly<Record<string, unknown>>): void;
}

/** State that the stages of a migrator share during a run: the state of the policy, and whether the GPU is lost. */
export class MigrationSession {
  /** Items that either stage has finished. */
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
   * Asks the policy and makes its moves. Called after every change. A move is itself a change, so nested calls only set
   * a flag.
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

/** Rate of the upstream stage's own lanes, measured in item sizes of the downstream stage. */
function supplyOf(upstream: Migratable, downstream: Migratable): number | undefined {
  const rate = throughput(upstream);
  if (rate === undefined || upstream.finishedSize === 0 || downstream.arrivedSize === 0) return undefined;
  return (rate * downstream.arrivedSize) / upstream.finishedSize;
}

function throughput(stage: Migratable): number | undefined {
  const rate = stage.homeRate();
  return rate === undefined ? undefined : rate * stage.homeLanes;
}
