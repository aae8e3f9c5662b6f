import { wrongArgument } from '../arguments.ts';
import type { DeviceBuffer } from '../backend.ts';
import { Column, type DeviceLength, sameLength, type Table } from '../columns/column.ts';
import { ArgumentError, CapacityError } from '../errors.ts';
import { aFunction, aSignal, aWhole, type FieldKinds } from '../kinds.ts';
import { requireOptions } from '../options.ts';
import type { PreparedArguments, PreparedInputs } from './inputs.ts';
import { playCommands } from './play.ts';
import {
  callOf,
  type GivenArguments,
  lengthOf,
  type Prepared,
  type PreparedParts,
  partsOfPrepared,
  tableOf,
} from './prepare.ts';
import { type LoopScript, loopScriptOf, NEWS_WORDS } from './round-news.ts';
import type { ScriptCall } from './script.ts';

export interface IterateOptions {
  /** Rounds at most, 1 at least. */
  readonly most: number;
  /**
   * After how many rounds the host looks whether the loop is over, 64 by default. The result does not depend on it. On WebGPU
   * rounds that were issued beyond the last one do nothing and take next to no time; other backends look after each.
   */
  readonly batch?: number | undefined;
  /** Ends the loop between two looks: it rejects with the reason. */
  readonly signal?: AbortSignal | undefined;
  /** Is told at every look how many rounds are done. */
  readonly onProgress?: ((rounds: number) => void) | undefined;
}

/** How a loop ended. */
export interface Iterated<R extends Table> {
  /** What the last round returned. */
  readonly result: R;
  /** Rounds that were done. */
  readonly rounds: number;
}

const OPTIONS: FieldKinds<IterateOptions> = {
  most: aWhole(1),
  batch: aWhole(1),
  signal: aSignal,
  onProgress: aFunction,
};
const BATCH = 64;
/** Rounds after which commands are handed over, so that the device is at work while further ones are issued. */
const ROUNDS_AT_ONCE = 32;

/** Calls a prepared step again and again; see {@link Context.iterate}. */
export async function iterate<I extends PreparedInputs, R extends Table>(
  step: Prepared<I, R>,
  args: PreparedArguments<I>,
  options: IterateOptions,
): Promise<Iterated<R>> {
  const parts = partsOfPrepared(step);
  if (parts === undefined) throw wrongArgument('iterate', 'step', step, 'a pipeline that context.prepare made');
  requireOptions('iterate', OPTIONS, options);
  if (options?.most === undefined) throw wrongArgument('iterate', 'options.most', undefined, 'a whole number from 1');
  const first = parts.read(args);
  if (first === 'recording') throw loopInPipeline();
  const loop = beginLoop(parts, first);
  try {
    const rounds = await runRounds(loop, options);
    return { result: loop.finish(rounds) as R, rounds };
  } catch (error) {
    loop.giveUp();
    throw error;
  } finally {
    loop.end();
  }
}

/** A loop under way. Rounds are counted from 0. */
interface Loop extends PreparedParts {
  readonly script: LoopScript['script'];
  readonly hasNews: boolean;
  callOf(round: number): ScriptCall;
  newsOf(round: number): DeviceBuffer;
  finish(rounds: number): Table;
  giveUp(): void;
  end(): void;
}

/** Two sets of results take turns: a round reads one and writes the other. */
function beginLoop(parts: PreparedParts, first: GivenArguments): Loop {
  const { home, recorded, ring } = parts;
  const { backend } = home;
  const { script, hasNews, state } = loopScriptOf(recorded, parts.inputs);
  const sets = [ring.take(), ring.take()];
  const memories = sets.map((set) => ring.hand(set));
  const news = hasNews ? [0, 1].map(() => home.allocate(NEWS_WORDS)) : [];
  if (hasNews) backend.write(news[1]!, 0, new Uint32Array(NEWS_WORDS));
  /** The arguments of every round, and of the last two the calls. */
  const given: GivenArguments[] = [first];
  const calls: ScriptCall[] = [];

  /** The arguments of a round, out of those of the one before and its results. */
  const next = (round: number): GivenArguments => {
    const before = given[round - 1]!;
    const from = memories[(round - 1) % 2]!;
    const lengths = [...before.lengths];
    const columns = [...first.columns];
    const block = first.block.slice();
    for (const { word, inputs, results } of state) {
      const length = lengthOf(recorded.results[results[0]!]!.length, before, from);
      lengths[word] = length;
      block[word] = typeof length === 'number' ? length : 0;
      for (const [leaf, at] of results.entries()) {
        const { at: result, type, storage, offset } = recorded.results[at]!;
        const memory = from[result]!;
        columns[inputs[leaf]!] = new Column(home.context, type, length, { kind: 'stored', memory, storage, offset });
      }
    }
    return { columns, lengths, block, stored: [] };
  };
  const make = (round: number): ScriptCall => {
    const call = callOf(recorded, given[round]!, sets[round % 2]!);
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
      const twoBefore = round > 2 ? given[round - 2] : undefined;
      if (round > 0) given[round] = stays(state, recorded, given, round) ? twoBefore! : next(round);
      if (twoBefore === undefined || given[round] !== twoBefore) calls[round % 2] = make(round);
      return calls[round % 2]!;
    },
    newsOf: (round) => news[round % 2]!,
    finish(rounds) {
      const last = (rounds - 1) % 2;
      for (const memory of memories[last]!) home.own(memory);
      for (const memory of memories[1 - last]!) home.release(memory);
      const sources = first.columns.flatMap(({ source }) => (source.kind === 'stored' ? [source.memory.buffer] : []));
      home.checks.derive(
        sources,
        memories[last]!.map(({ buffer }) => buffer),
      );
      return tableOf(home.context, recorded, given[rounds - 1]!, memories[last]!);
    },
    giveUp() {
      // As many are left as there were.
      for (const set of sets) set.isGivenUp = set.isNew;
      for (const memory of memories.flat()) home.release(memory);
    },
    end() {
      for (const buffer of news) backend.release(buffer);
      for (const memory of first.stored) home.release(memory);
    },
  };
}

/** Whether the lengths of a round are those of two rounds before; then so are its arguments. */
function stays(
  state: LoopScript['state'],
  { results }: PreparedParts['recorded'],
  given: readonly GivenArguments[],
  round: number,
): boolean {
  if (round <= 2) return false;
  const [before, last] = [given[round - 3]!, given[round - 1]!];
  return state.every(({ results: [column] }) => {
    const { length } = results[column!]!;
    if (typeof length === 'number' || 'result' in length || 'memory' in length) return true;
    return sameLength(lengthIn(before, length.table), lengthIn(last, length.table));
  });
}

function lengthIn({ lengths }: GivenArguments, table: number): number | DeviceLength {
  return lengths[table]!;
}

/** Issues rounds until the loop is over; resolves to how many were done. */
async function runRounds(loop: Loop, { most, batch = BATCH, signal, onProgress }: IterateOptions): Promise<number> {
  const { backend } = loop.home;
  let isGated = true;
  let issued = 0;
  /** The look at the batch before: what the device does meanwhile is the batch that follows. */
  let look: Promise<Look> | undefined;
  const lookAt = async (rounds: number): Promise<Look> => {
    if (!loop.hasNews) {
      await backend.sync();
      return { isOver: false, rounds };
    }
    const words = await backend.read(loop.newsOf(rounds - 1), 0, NEWS_WORDS);
    return readNews(loop, words);
  };
  while (issued < most) {
    signal?.throwIfAborted();
    const end = Math.min(most, issued + batch);
    while (issued < end) {
      const call = loop.callOf(issued);
      if (!backend.play?.(loop.script, call)) {
        // A round that is issued command by command must not come behind the last one.
        if (loop.hasNews && issued > 0) {
          const before = await lookAt(issued);
          if (before.isOver) return before.rounds;
        }
        isGated = false;
        playCommands(backend, loop.script, call);
      }
      issued++;
      if (issued % ROUNDS_AT_ONCE === 0) backend.submit?.();
    }
    const latest = lookAt(issued);
    latest.catch(() => {});
    const seen = await (look ?? (isGated ? undefined : latest));
    look = latest;
    if (seen === undefined) continue;
    onProgress?.(seen.rounds);
    if (seen.isOver) return seen.rounds;
  }
  const last = await look!;
  onProgress?.(last.rounds);
  return last.rounds;
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
    'iterate waits for the device, and cannot be part of a prepared pipeline.',
    {
      remedy: 'Call it outside, with the step that is prepared.',
    },
  );
}
