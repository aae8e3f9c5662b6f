import { GraphError } from '../../primitives/errors.ts';
import { aNumber, type Kind, optional, someOptions } from '../../primitives/kinds.ts';
import type { Occupancy } from '../run/channel.ts';

/** Load of one side of a stage that both sides can run. */
export interface SideLoad {
  /** Maximum number of items in progress on this side; 0 if the side is lost. */
  readonly lanes: number;
  /** Remaining size of each item in progress, one entry per busy lane. */
  readonly underWay: readonly number[];
  /** Measured rate of one lane, in size per millisecond; undefined if unknown. */
  readonly rate?: number | undefined;
}

/** Load of a stage that both sides can run, at one moment. */
export interface StageLoad {
  /** Sizes of the items on the edge into the stage, oldest first. */
  readonly waiting: readonly number[];
  readonly gpu: SideLoad;
  readonly cpu: SideLoad;
}

/** Everything that a migration decision depends on. */
export interface MigrationInput {
  /** Contents of the edge into the GPU stage, and its capacity. */
  readonly occupancy: Occupancy;
  readonly capacity: Required<Occupancy>;
  /** Whether an item waits to enter that edge. If so, the edge counts as full. */
  readonly blocked: boolean;
  /** Whether no more items will arrive at that edge. */
  readonly ending: boolean;
  /** The stage whose home is the GPU. */
  readonly downstream: StageLoad;
  /** An earlier stage whose home is the CPU and which the GPU can run, if there is one. */
  readonly upstream?: StageLoad | undefined;
  /** Size per millisecond that the CPU lanes of `upstream` deliver, in sizes of the GPU stage; undefined if unknown. */
  readonly supply?: number | undefined;
  /** Size per millisecond that the GPU lanes of the GPU stage process; undefined if unknown. */
  readonly demand?: number | undefined;
  /** Number of items that the two stages have finished since the start, on both sides. */
  readonly finished: number;
}

/** `full`: the GPU stage is congested; `starved`: the GPU has nothing to do; else `balanced`. */
export type MigrationMode = 'balanced' | 'full' | 'starved';

/** State carried from one decision to the next. */
export interface MigrationState {
  readonly mode: MigrationMode;
  /** Value of `finished` when the mode was entered. */
  readonly since: number;
}

/** What to move now. */
export interface MigrationDecision {
  readonly state: MigrationState;
  /** Why items move. `starved` moves items from CPU to GPU; the other reasons move items from GPU to CPU. */
  readonly reason: 'full' | 'starved' | 'ending' | 'lost';
  /** Positions in the `waiting` list of `downstream` (of `upstream` if starved), in the order to take them. */
  readonly moves: readonly number[];
}

/** Thresholds of migration. Levels are fractions of the capacity of the edge into the GPU stage, from 0 to 1. */
export interface MigrationPolicy {
  /** At or above this level the GPU stage becomes congested. Default 1. */
  readonly fullFrom: number;
  /** The stage stays congested down to this level. Default 0.5. */
  readonly fullUntil: number;
  /** At or below this level the GPU starves if one of its lanes is idle. Default 0. */
  readonly starvedFrom: number;
  /** The GPU stays starved up to this level. Default 0.25. */
  readonly starvedUntil: number;
  /** Number of items that must finish between two changes of mode. Default 4. */
  readonly dwell: number;
  /** Fraction by which `supply` and `demand` must differ before anything moves. Default 0.1. */
  readonly margin: number;
}

export const defaultMigrationPolicy: MigrationPolicy = {
  fullFrom: 1,
  fullUntil: 0.5,
  starvedFrom: 0,
  starvedUntil: 0.25,
  dwell: 4,
  margin: 0.1,
};

/** State at the start of a run. The first change of mode is not delayed by `dwell`. */
export const initialMigrationState: MigrationState = { mode: 'balanced', since: Number.NEGATIVE_INFINITY };

/**
 * Decides what to migrate between the GPU and the CPU. A pure function without a clock; its only memory is `state`.
 *
 * - The mode follows the level of the edge into the GPU stage, with separate thresholds for entering and leaving, and
 *   changes only after `dwell` items have finished since it last did.
 * - `full`: waiting items of the GPU stage go to idle CPU lanes. `starved`: waiting items of the upstream stage go to
 *   idle GPU lanes, once the GPU stage has been measured. A pipeline that is still filling does not starve.
 * - Only items that would finish sooner on the other side, by the measured rates, are moved, the smallest first. So
 *   moving delays neither the moved items nor those left behind.
 * - Moving items from a congested GPU gains at most `supply / demand - 1`. Moving items to a starving GPU gains at most
 *   `demand / supply - 1`. While the gain is within `margin`, nothing moves.
 * - While a rate is unknown, a single item, the smallest, is moved to measure it.
 * - When no more items will arrive, items that would finish sooner on the CPU go there in any mode, if rates are known.
 * - If the GPU is lost (no lanes), all its items go to the CPU in any mode, oldest first.
 *
 * Work is O(moves · waiting · lanes), where `waiting` is bounded by the edge.
 *
 * Source: Wang, Huai, Lee, Wang, Zhang and Saltz, Accelerating Pathology Image Data Cross-Comparison on CPU-GPU Hybrid
 * Systems, 2012, section 4.2; rates, margin and hysteresis are additions to it.
 */
export function decideMigration(
  input: MigrationInput,
  state: MigrationState = initialMigrationState,
  policy: MigrationPolicy = defaultMigrationPolicy,
): MigrationDecision {
  const { downstream, upstream } = input;
  const next = nextState(input, state, policy);
  if (downstream.gpu.lanes === 0) return { state: next, reason: 'lost', moves: oldest(downstream) };
  if (input.ending) {
    const { waiting, gpu, cpu } = downstream;
    const isKnown = gpu.rate !== undefined && cpu.rate !== undefined;
    return { state: next, reason: 'ending', moves: isKnown ? movesThatPay(waiting, gpu, cpu) : [] };
  }
  if (next.mode === 'full' && isWorth(input.supply, input.demand, policy.margin)) {
    return { state: next, reason: 'full', moves: movesThatPay(downstream.waiting, downstream.gpu, downstream.cpu) };
  }
  if (next.mode === 'starved' && upstream !== undefined && isWorth(input.demand, input.supply, policy.margin)) {
    return { state: next, reason: 'starved', moves: movesThatPay(upstream.waiting, upstream.cpu, upstream.gpu) };
  }
  return { state: next, reason: next.mode === 'starved' ? 'starved' : 'full', moves: [] };
}

/** Thresholds that differ from the default. */
export const somePolicy: Kind = someOptions<MigrationPolicy>({
  fullFrom: optional(aNumber),
  fullUntil: optional(aNumber),
  starvedFrom: optional(aNumber),
  starvedUntil: optional(aNumber),
  dwell: optional(aNumber),
  margin: optional(aNumber),
});

function nextState(input: MigrationInput, state: MigrationState, policy: MigrationPolicy): MigrationState {
  const mode = modeAt(levelOf(input), isIdle(input.downstream.gpu), state.mode, policy);
  const settled = input.finished - state.since >= policy.dwell;
  return mode !== state.mode && settled ? { mode, since: input.finished } : state;
}

function modeAt(level: number, idle: boolean, mode: MigrationMode, policy: MigrationPolicy): MigrationMode {
  if (level >= policy.fullFrom || (mode === 'full' && level > policy.fullUntil)) return 'full';
  if (mode === 'starved' && level <= policy.starvedUntil) return 'starved';
  return level <= policy.starvedFrom && idle ? 'starved' : 'balanced';
}

function levelOf({ occupancy, capacity, blocked }: MigrationInput): number {
  return blocked ? 1 : Math.min(1, Math.max(occupancy.items / capacity.items, occupancy.bytes / capacity.bytes));
}

/** Whether a GPU that has worked before has an idle lane. */
function isIdle({ lanes, underWay, rate }: SideLoad): boolean {
  return rate !== undefined && underWay.length < lanes;
}

/** Whether moving items to the faster side gains more than `margin`. An unknown rate counts as a gain. */
function isWorth(faster: number | undefined, slower: number | undefined, margin: number): boolean {
  return faster === undefined || slower === undefined || faster > slower * (1 + margin);
}

function oldest({ waiting, cpu }: StageLoad): number[] {
  return Array.from({ length: Math.min(waiting.length, idleLanes(cpu)) }, (_, i) => i);
}

function idleLanes({ lanes, underWay }: SideLoad): number {
  return Math.max(0, lanes - underWay.length);
}

function movesThatPay(waiting: readonly number[], home: SideLoad, away: SideLoad): number[] {
  const smallestFirst = waiting.map((_, i) => i).sort((a, b) => waiting[a]! - waiting[b]! || a - b);
  const { rate } = away;
  if (rate === undefined || home.rate === undefined) {
    return away.underWay.length === 0 ? smallestFirst.slice(0, Math.min(1, idleLanes(away))) : [];
  }
  const moved: number[] = [];
  while (moved.length < idleLanes(away)) {
    const atHome = finishTimes(waiting, new Set(moved), home);
    const next = smallestFirst.find((i) => !moved.includes(i) && waiting[i]! / rate < atHome[i]!);
    if (next === undefined) break;
    moved.push(next);
  }
  return moved;
}

/** The time at which each item that stays would finish on its home side, if the first free lane takes the next item. */
function finishTimes(waiting: readonly number[], moved: ReadonlySet<number>, home: SideLoad): number[] {
  const rate = home.rate!;
  const free = Array.from({ length: home.lanes }, (_, lane) => (home.underWay[lane] ?? 0) / rate);
  return waiting.map((size, i) => {
    if (moved.has(i)) return Number.NEGATIVE_INFINITY;
    const start = Math.min(...free);
    const end = start + size / rate;
    free[free.indexOf(start)] = end;
    return end;
  });
}

/** `policy` with defaults filled in. Throws if its thresholds are out of order. */
export function checkedPolicy(policy: Partial<MigrationPolicy>, name: string): MigrationPolicy {
  const whole = { ...defaultMigrationPolicy, ...policy };
  const { fullFrom, fullUntil, starvedFrom, starvedUntil, dwell, margin } = whole;
  const inOrder =
    0 <= starvedFrom &&
    starvedFrom <= starvedUntil &&
    starvedUntil <= fullUntil &&
    fullUntil < fullFrom &&
    fullFrom <= 1 &&
    dwell >= 1 &&
    margin >= 0;
  if (inOrder) return whole;
  throw new GraphError('graph/bad-migration-policy', 'The thresholds of the migration policy are out of order.', {
    expected: '0 ≤ starvedFrom ≤ starvedUntil ≤ fullUntil < fullFrom ≤ 1, dwell from 1, margin from 0',
    got: JSON.stringify(whole),
    place: { node: name },
  });
}
