import { GraphError } from '../../primitives/checks/errors.ts';
import { aNumber, type Kind, optional, someOptions } from '../../primitives/checks/kinds.ts';
import { smallestOf } from '../../primitives/host/extremes.ts';
import type { Occupancy } from '../run/channel.ts';

/** The load of one side (CPU or GPU), for a stage that can run on both. */
export interface SideLoad {
  /** Maximum number of items that this side can process at the same time; 0 if the side was lost. */
  readonly lanes: number;
  /** For each item in progress, the part of its size that remains to be done. */
  readonly underWay: readonly number[];
  /** Measured speed of one lane, in size per millisecond; undefined if unknown. */
  readonly rate?: number | undefined;
}

/** The load of a stage that can run on both sides, at one moment. */
export interface StageLoad {
  /** Sizes of the items that wait on the edge into the stage, oldest first. */
  readonly waiting: readonly number[];
  readonly gpu: SideLoad;
  readonly cpu: SideLoad;
}

/** The input of a decision about migration. */
export interface MigrationInput {
  /** Contents of the edge into the GPU stage, and its capacity. */
  readonly occupancy: Occupancy;
  readonly capacity: Required<Occupancy>;
  /**
   * Whether the edge into the GPU stage is full, or an item waits to enter the edge. If true, the level counts as 1.
   */
  readonly blocked: boolean;
  /** Whether no more items will arrive at the edge into the GPU stage. */
  readonly ending: boolean;
  /** The stage whose home is the GPU. */
  readonly downstream: StageLoad;
  /** An earlier stage whose home is the CPU, if there is one. The GPU can run its items too. */
  readonly upstream?: StageLoad | undefined;
  /**
   * Size per millisecond that the CPU lanes of `upstream` deliver to the GPU stage, measured in item sizes of the GPU
   * stage. Undefined if unknown.
   */
  readonly supply?: number | undefined;
  /** Throughput of the GPU lanes of the GPU stage, in size per millisecond. Undefined if unknown. */
  readonly demand?: number | undefined;
  /** Total number of items that the two stages have finished since the start, on either side. */
  readonly finished: number;
}

/** `full` if the GPU stage is congested, `starved` if the GPU has nothing to do, else `balanced`. */
export type MigrationMode = 'balanced' | 'full' | 'starved';

/** The state that one decision about migration leaves for the next decision. */
export interface MigrationState {
  readonly mode: MigrationMode;
  /** The value of `finished` when the mode was last changed. */
  readonly since: number;
}

/** A decision about migration: the new state, and the items to move now. */
export interface MigrationDecision {
  readonly state: MigrationState;
  /** Why items move. With `starved`, items move from CPU to GPU; with any other reason, from GPU to CPU. */
  readonly reason: 'full' | 'starved' | 'ending' | 'lost';
  /**
   * The items to move, as positions in the list `waiting`, in the order in which to take them. The list belongs to
   * `upstream` if the reason is `starved`, else to `downstream`.
   */
  readonly moves: readonly number[];
}

/** Thresholds for migration. A level is the filled fraction of the edge into the GPU stage, from 0 to 1. */
export interface MigrationPolicy {
  /** The GPU stage becomes congested at this level or above. Default 1. */
  readonly fullFrom: number;
  /** A congested stage stays congested while the level is above this threshold. Default 0.5. */
  readonly fullUntil: number;
  /** The GPU starves at this level or below, if one of its lanes is idle. Default 0. */
  readonly starvedFrom: number;
  /** A starving GPU stays starved while the level is at most this threshold. Default 0.25. */
  readonly starvedUntil: number;
  /** Number of items that must finish before the mode can change again. Default 4. */
  readonly dwell: number;
  /** Fraction by which `supply` and `demand` must differ for items to move. Default 0.1. */
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

/**
 * The state at the start of a run. `since` allows the first change of mode at once, without waiting for `dwell` items.
 */
export const initialMigrationState: MigrationState = { mode: 'balanced', since: Number.NEGATIVE_INFINITY };

/**
 * Decides which items to move between GPU and CPU. A pure function without a clock; `state` is its only memory.
 *
 * - The mode depends on the level of the edge into the GPU stage. There are separate thresholds for entering and for
 *   leaving a mode. At least `dwell` items must finish between two changes of mode.
 * - In mode `full`, waiting items of the GPU stage move to idle CPU lanes. In mode `starved`, waiting items of the
 *   upstream stage move to idle GPU lanes. The mode becomes `starved` only once the speed of the GPU stage is known, so
 *   a pipeline that is still filling does not count as starved.
 * - If the rates of both sides are known, an item moves only if it would finish sooner on the other side. Of these
 *   items, the smallest move first. So a move delays neither the moved item nor the items that stay.
 * - Moving items from a congested GPU gains at most `supply / demand - 1`. Moving items to a starving GPU gains at most
 *   `demand / supply - 1`. Nothing moves if the gain would not exceed `margin`.
 * - While a rate is unknown, items move one at a time, the smallest first, so that the rate can be measured.
 * - When no more items will arrive, items that would finish sooner on the CPU move there in any mode, if the rates are
 *   known.
 * - If the GPU is lost (has no lanes), the waiting items of the GPU stage move to idle CPU lanes in any mode, the
 *   oldest first.
 *
 * Work is O(moves · waiting · lanes), where the edge bounds the number of waiting items.
 *
 * Source: Wang, Huai, Lee, Wang, Zhang and Saltz, Accelerating Pathology Image Data Cross-Comparison on CPU-GPU Hybrid
 * Systems, 2012, section 4.2. Rates, margin and hysteresis are not from this source.
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

/** Validator of an object with some of the thresholds of a policy. */
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

/** Whether the GPU has an idle lane. A GPU that has not finished any item yet does not count as idle. */
function isIdle({ lanes, underWay, rate }: SideLoad): boolean {
  return rate !== undefined && underWay.length < lanes;
}

/** Whether moving items to the faster side would gain more than `margin`. If a rate is unknown, the answer is yes. */
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

/**
 * Returns, for each waiting item, the time in milliseconds until the item would finish on its home side. Items in
 * `moved` get `-Infinity`. Each of the other items starts on the lane that is free first.
 */
function finishTimes(waiting: readonly number[], moved: ReadonlySet<number>, home: SideLoad): number[] {
  const rate = home.rate!;
  const free = Array.from({ length: home.lanes }, (_, lane) => (home.underWay[lane] ?? 0) / rate);
  return waiting.map((size, i) => {
    if (moved.has(i)) return Number.NEGATIVE_INFINITY;
    const start = smallestOf(free);
    const end = start + size / rate;
    free[free.indexOf(start)] = end;
    return end;
  });
}

/** Fills in the defaults of a policy. Throws if the thresholds are out of order. */
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
