import { requireOptions, wrongArgument } from '../checks/arguments.ts';
import { ArgumentError, CapacityError } from '../checks/errors.ts';
import { aFunction, aSignal, aWhole, type FieldKinds } from '../checks/kinds.ts';
import { Column, type DeviceLength, sameLength, type Table } from '../columns/column.ts';
import type { DeviceBuffer } from '../contract/backend.ts';
import type { AbortSignal } from '../host/platform-types.ts';
import { turn } from '../host/turn.ts';
import type { PreparedArguments, PreparedInputs } from './inputs.ts';
import { playCommands } from './play.ts';
import {
  buffersRead,
  callOf,
  type GivenArguments,
  keepCounts,
  lengthOf,
  type Prepared,
  type PreparedParts,
  partsOfPrepared,
  tableOf,
} from './prepare.ts';
import type { ResultSet } from './result-ring.ts';
import { type LoopScript, loopScriptOf, NEWS_WORDS } from './round-news.ts';
import type { ScriptCall } from './script.ts';

export interface IterateOptions {
  /** Maximum number of rounds, at least 1. */
  readonly maxRounds: number;
  /**
   * Number of rounds after which the host checks whether the loop has ended; 64 by default. The result does not depend
   * on this number. On WebGPU and on workers, rounds issued after the end of the loop do nothing and take almost no
   * time. The reference backend checks after every round.
   */
  readonly batch?: number | undefined;
  /**
   * Cancels the loop at the next check. The promise that `iterate` returned then rejects with the reason of the signal.
   */
  readonly signal?: AbortSignal | undefined;
  /** Called at every check with the number of rounds that are done. */
  readonly onProgress?: ((rounds: number) => void) | undefined;
}

/** The result of {@link Context.iterate}. */
export interface Iterated<R extends Table> {
  /** The table that the step returned in the last round. */
  readonly result: R;
  /** The number of rounds that were done. */
  readonly rounds: number;
}

const OPTIONS: FieldKinds<IterateOptions> = {
  maxRounds: aWhole(1),
  batch: aWhole(1),
  signal: aSignal,
  onProgress: aFunction,
};
const BATCH = 64;
/**
 * Number of rounds after which the commands issued so far are submitted, so that the device can work while the host
 * issues further rounds.
 */
const ROUNDS_AT_ONCE = 32;
/** Milliseconds for which the loop may run before it yields to timers and events of the thread. */
const TURN = 8;
/**
 * Number of rounds for which arguments are kept. Before round r, the argument lengths of rounds r − 1 and r −
 * `LOOKED_BACK` are compared, to find out whether arguments repeat.
 */
const LOOKED_BACK = 3;

/** Calls a prepared step repeatedly; see {@link Context.iterate}. */
export async function iterate<I extends PreparedInputs, R extends Table>(
  step: Prepared<I, R>,
  args: PreparedArguments<I>,
  options: IterateOptions,
): Promise<Iterated<R>> {
  const parts = partsOfPrepared(step);
  if (parts === undefined) throw wrongArgument('iterate', 'step', step, 'a pipeline returned by context.prepare');
  requireOptions('iterate', OPTIONS, options);
  if (options?.maxRounds === undefined)
    throw wrongArgument('iterate', 'options.maxRounds', undefined, 'a whole number from 1');
  const first = parts.read(args);
  if (first === 'recording') throw loopInPipeline();
  try {
    return (await iterateFrom(parts, first, options)) as Iterated<R>;
  } finally {
    for (const memory of first.stored) parts.home.memory.release(memory);
  }
}

async function iterateFrom(
  parts: PreparedParts,
  first: GivenArguments,
  options: IterateOptions,
): Promise<Iterated<Table>> {
  const loop = beginLoop(parts, first);
  try {
    const rounds = await runRounds(loop, options);
    return { result: loop.finish(rounds), rounds };
  } catch (error) {
    loop.giveUp();
    throw error;
  } finally {
    loop.end();
  }
}

/** A loop that is running. Rounds are numbered from 0. */
interface Loop extends PreparedParts {
  readonly script: LoopScript['script'];
  readonly hasNews: boolean;
  callOf(round: number): ScriptCall;
  newsOf(round: number): DeviceBuffer;
  /**
   * Drops arguments that are no longer needed. Called when a check has found that the loop is still running after
   * `rounds` rounds.
   */
  wentOn(rounds: number): void;
  finish(rounds: number): Table;
  giveUp(): void;
  end(): void;
}

/**
 * Starts a loop with two sets of result memory, which are used alternately: each round reads one set and writes the
 * other.
 */
function beginLoop(parts: PreparedParts, first: GivenArguments): Loop {
  const { home, recorded, ring } = parts;
  const { memory: owner, backend } = home;
  const { script, hasNews, state } = loopScriptOf(recorded, parts.inputs);
  const { sets, news } = takeMemory(parts, hasNews);
  const memories = sets.map((set) => ring.hand(set));
  parts.beginLoop(script);
  for (const each of memories) keepCounts(owner, recorded, first, each);
  /**
   * Maps the number of a round to the arguments of the round. Arguments are kept as long as their round may turn out to
   * be the last, or will be compared with a later round. `calls` contains the calls of the last two rounds.
   */
  const given = new Map([[0, first]]);
  const calls: ScriptCall[] = [];
  let oldest = 0;

  /** Makes the arguments of a round from the arguments and results of the previous round. */
  const next = (round: number): GivenArguments => {
    const before = given.get(round - 1)!;
    const from = memories[(round - 1) % 2]!;
    const lengths = [...before.lengths];
    const columns = [...first.columns];
    const block = first.block.slice();
    for (const { word, inputs, results } of state) {
      const length = lengthOf(recorded.results[results[0]!]!.length, before, from);
      lengths[word] = length;
      block[word] = typeof length === 'number' ? length : 0;
      for (const [leaf, at] of results.entries()) {
        const { at: result, type, storage, offset, grid } = recorded.results[at]!;
        const source = { kind: 'stored', memory: from[result]!, storage, offset } as const;
        columns[inputs[leaf]!] = new Column(owner.context, type, length, source, grid);
      }
    }
    return { columns, lengths, block, stored: [] };
  };
  const make = (round: number): ScriptCall => {
    const call = callOf(recorded, given.get(round)!, sets[round % 2]!);
    if (!hasNews) return { ...call, isRepeated: true };
    const before = { buffer: news[(round + 1) % 2]!, offset: 0, capacity: NEWS_WORDS };
    const results = [...call.results, news[round % 2]!];
    return { ...call, inputs: [...call.inputs, before], results, isRepeated: true };
  };

  return {
    ...parts,
    script,
    hasNews,
    callOf(round) {
      const twoBefore = round > 2 ? given.get(round - 2) : undefined;
      if (round > 0) given.set(round, stays(state, recorded, given, round) ? twoBefore! : next(round));
      if (twoBefore === undefined || given.get(round) !== twoBefore) calls[round % 2] = make(round);
      return calls[round % 2]!;
    },
    newsOf: (round) => news[round % 2]!,
    wentOn(rounds) {
      for (; oldest < rounds - LOOKED_BACK; oldest++) given.delete(oldest);
    },
    finish(rounds) {
      const last = (rounds - 1) % 2;
      for (const memory of memories[last]!) owner.own(memory);
      keepCounts(owner, recorded, given.get(rounds - 1)!, memories[last]!);
      // The row counts of the last round's results may be stored in memory of the previous round. Such memory must be
      // kept.
      const counts = new Set(memories[last]!.map(({ allocation }) => allocation.count));
      for (const memory of memories[1 - last]!) {
        memory.goesWithLast = true;
        if (counts.has(memory)) owner.own(memory);
        else owner.release(memory);
      }
      home.checks.derive(
        [...buffersRead(recorded, first).values()],
        memories[last]!.map(({ buffer }) => buffer),
      );
      return tableOf(owner.context, recorded, given.get(rounds - 1)!, memories[last]!);
    },
    giveUp() {
      // Sets of result memory that were allocated for this loop are freed after use, so that the pipeline keeps as
      // many sets as before.
      for (const set of sets) set.isGivenUp = set.isNew;
      for (const memory of memories.flat()) owner.release(memory);
    },
    end() {
      for (const buffer of news) backend.release(buffer);
      parts.endLoop();
    },
  };
}

/**
 * Allocates the memory of a loop: two sets for results, and two buffers for the news (status words) of rounds.
 * Initially, the news says that the loop has not ended.
 */
function takeMemory(
  { home, ring }: PreparedParts,
  hasNews: boolean,
): { readonly sets: readonly ResultSet[]; readonly news: readonly DeviceBuffer[] } {
  const sets: ResultSet[] = [];
  const news: DeviceBuffer[] = [];
  try {
    for (let i = 0; i < 2; i++) sets.push(ring.take());
    for (let i = 0; hasNews && i < 2; i++) news.push(home.memory.allocateBuffer(NEWS_WORDS));
    if (hasNews) home.backend.write(news[1]!, 0, new Uint32Array(NEWS_WORDS));
    return { sets, news };
  } catch (error) {
    for (const buffer of news) home.backend.release(buffer);
    for (const set of sets) ring.drop(set);
    throw error;
  }
}

/**
 * Whether the argument lengths of rounds `round − 1` and `round − 3` are equal. If so, round `round` has the same
 * arguments as round `round − 2`, and the call of round `round − 2` can be reused.
 */
function stays(
  state: LoopScript['state'],
  { results }: PreparedParts['recorded'],
  given: ReadonlyMap<number, GivenArguments>,
  round: number,
): boolean {
  if (round < LOOKED_BACK) return false;
  const [before, last] = [given.get(round - LOOKED_BACK)!, given.get(round - 1)!];
  return state.every(({ results: [column] }) => {
    const { length } = results[column!]!;
    if (typeof length === 'number' || 'result' in length || 'memory' in length) return true;
    return sameLength(lengthIn(before, length.table), lengthIn(last, length.table));
  });
}

function lengthIn({ lengths }: GivenArguments, table: number): number | DeviceLength {
  return lengths[table]!;
}

/**
 * Issues rounds until the loop ends, and resolves to the number of rounds that were done. When the promise rejects, no
 * check is pending.
 */
async function runRounds(loop: Loop, options: IterateOptions): Promise<number> {
  let last: Promise<unknown> | undefined;
  const look = (rounds: number): Promise<Look> => {
    const latest = lookAt(loop, rounds);
    last = latest.catch(() => {});
    return latest;
  };
  try {
    return await issueRounds(loop, look, options);
  } catch (error) {
    await last;
    throw error;
  }
}

async function lookAt(loop: Loop, rounds: number): Promise<Look> {
  const { backend } = loop.home;
  if (loop.hasNews) return readNews(loop, await backend.read(loop.newsOf(rounds - 1), 0, NEWS_WORDS));
  await backend.sync();
  return { isOver: false, rounds };
}

async function issueRounds(
  loop: Loop,
  lookAt: (rounds: number) => Promise<Look>,
  { maxRounds: max, batch = BATCH, signal, onProgress }: IterateOptions,
): Promise<number> {
  const { backend } = loop.home;
  const mayTurn = createTurns();
  let isGated = true;
  let issued = 0;
  /** The pending check that was started after the previous batch. It overlaps with the rounds of the next batch. */
  let look: Promise<Look> | undefined;
  while (issued < max) {
    // The caller may dispose of the arguments as soon as the call returns. So the first round, which reads them, is
    // issued before any wait.
    if (issued > 0) await mayTurn();
    signal?.throwIfAborted();
    const end = Math.min(max, issued + batch);
    while (issued < end) {
      const call = loop.callOf(issued);
      const played = backend.play?.(loop.script, call);
      if (played === 'over') {
        const last = await lookAt(issued);
        onProgress?.(last.rounds);
        return last.rounds;
      }
      if (!played) {
        // If the backend does not accept the script for `play`, the commands of a round run even if the loop has ended.
        // So the host checks before each round.
        if (loop.hasNews && issued > 0) {
          const before = await lookAt(issued);
          if (before.isOver) return before.rounds;
          await mayTurn();
          signal?.throwIfAborted();
        }
        isGated = false;
        playCommands(backend, loop.script, call);
      }
      issued++;
      if (issued % ROUNDS_AT_ONCE === 0) backend.submit?.();
    }
    const latest = lookAt(issued);
    const seen = await (look ?? (isGated ? undefined : latest));
    look = latest;
    if (seen === undefined) continue;
    onProgress?.(seen.rounds);
    if (seen.isOver) return seen.rounds;
    loop.wentOn(seen.rounds);
  }
  const last = await look!;
  onProgress?.(last.rounds);
  return last.rounds;
}

/**
 * Makes a function that yields the thread at intervals of `TURN` milliseconds. If rounds run on this thread, or finish
 * before the host checks, awaiting a check does not let timers and events run. An abort by a timer, or the events of a
 * page, would then wait until the loop ends.
 */
function createTurns(): () => Promise<void> | undefined {
  let began = performance.now();
  return () => {
    if (performance.now() - began < TURN) return undefined;
    return turn().then(() => {
      began = performance.now();
    });
  };
}

interface Look {
  readonly isOver: boolean;
  readonly rounds: number;
}

function readNews({ recorded }: Loop, [stopped, rounds, check, needed]: Uint32Array): Look {
  if (check !== 0) throw outgrown(recorded.checks[check! - 1]!, rounds!, needed!);
  return { isOver: stopped !== 0, rounds: rounds! };
}

function outgrown(
  { primitive, count }: PreparedParts['recorded']['checks'][number],
  round: number,
  needed: number,
): CapacityError {
  return new CapacityError('capacity/outgrown', `${primitive} made more rows than its capacity in round ${round}.`, {
    expected: `at most ${count.limit} rows`,
    got: needed,
    remedy: 'Prepare the step with a larger capacity.',
  });
}

function loopInPipeline(): ArgumentError {
  return new ArgumentError(
    'prepare/waits',
    'iterate waits for the device, so it cannot be part of a prepared pipeline.',
    {
      remedy: 'Call it outside, with a prepared step.',
    },
  );
}
