import type { WalkCommand } from '../../primitives/contract/backend.ts';
import { entryOf, type Module } from '../../primitives/ir/ir.ts';
import { worstCase } from '../analyses/worst-case.ts';
import { type ArrayReader, compileJavaScript, compilePausing, type PlainValue } from '../reference/emit-javascript.ts';
import { wordReaderOf } from './lengths.ts';
import { bringToHost, createClock, readersOf, STATEMENTS_BETWEEN_LOOKS, withoutLoops, writerOf } from './on-host.ts';
import type { WindowMachine } from './windows.ts';

/**
 * Runs a walk (a sequence of steps for each index) on the host, for walks that store to buffers too large for the
 * device. The time is proportional to the number of steps. For a buffer that is not on the device, host memory is
 * allocated only for the chunks that the walk reads or writes.
 *
 * As in `forEachOnHost`, the thread yields every few milliseconds, even in the middle of a walk.
 *
 * @throws DeviceLostError `device/hang`
 */
export async function walkOnHost({ inner, places, hangLimit }: WindowMachine, command: WalkCommand): Promise<void> {
  const { extent, stores, changing } = command;
  const reader = wordReaderOf(inner, places);
  const length = await reader.length(extent);
  const [start, step] = [await reader.program(command.start), await reader.program(command.step)];
  const targets = await bringToHost(places, [...start.arrays.values(), ...step.arrays.values()], stores);
  const pause = { roundsLeft: 0 };
  const [begin, advance] = [start, step].map(({ module, arrays, uniforms }) =>
    evaluatorOf(module, readersOf(places, module, arrays), uniforms, pause),
  ) as [Evaluator, Evaluator];
  const put = writerOf(entryOf(step.module).results, stores, targets);
  const clock = createClock(hangLimit, () => inner.sync());
  let reached = 0;
  for (const row of walks(length, begin, advance, changing, put)) {
    places.report.rowsOnHost += row - reached;
    await clock.look(row > reached);
    reached = row;
  }
  places.report.rowsOnHost += length - reached;
  for (const [buffer, words] of targets) places.keepOnHost(buffer, words);
}

type Results = readonly PlainValue[];

/** Evaluates a module once. Yields whenever it is time to look at the clock. */
interface Evaluator {
  evaluate(args: Results): Generator<undefined, Results, undefined>;
  /**
   * Approximate number of statements that one call of `evaluate` runs. For a call that can pause, the approximate
   * number of statements that run between two possible pauses.
   */
  readonly statements: number;
}

export function evaluatorOf(
  module: Module,
  readers: ReadonlyMap<string, ArrayReader>,
  uniforms: ReadonlyMap<string, PlainValue>,
  pause: { roundsLeft: number },
): Evaluator {
  const statements = Math.max(
    1,
    worstCase(module, () => 1),
  );
  if (statements <= STATEMENTS_BETWEEN_LOOKS) {
    const entry = compileJavaScript(module)(readers, uniforms);
    return {
      statements,
      // biome-ignore lint/correctness/useYield: this evaluator never has to pause.
      *evaluate(args) {
        return entry(...args);
      },
    };
  }
  const ofRound = Math.max(
    1,
    worstCase(withoutLoops(module), () => 1),
  );
  const rounds = Math.ceil(STATEMENTS_BETWEEN_LOOKS / ofRound);
  const entry = compilePausing(module)(readers, uniforms, pause);
  return {
    statements: ofRound,
    *evaluate(args) {
      pause.roundsLeft = rounds;
      const run = entry(...args);
      let each = run.next();
      for (; each.done !== true; each = run.next()) {
        yield undefined;
        pause.roundsLeft = rounds;
      }
      return each.value;
    },
  };
}

/** Walks from every index. Whenever it is time to look at the clock, yields the number of finished indices. */
function* walks(
  length: number,
  begin: Evaluator,
  advance: Evaluator,
  changing: number,
  put: (index: number, results: Results) => void,
): Generator<number, void, undefined> {
  let left = STATEMENTS_BETWEEN_LOOKS;
  for (let index = 0; index < length; index++) {
    let [more, ...leaves] = yield* at(index, begin.evaluate([index]));
    left -= begin.statements;
    while (more === true) {
      const made = yield* at(index, advance.evaluate([index, ...leaves]));
      put(index, made);
      more = made[0]!;
      leaves = [...made.slice(1, 1 + changing), ...leaves.slice(changing)];
      left -= advance.statements;
      if (left > 0) continue;
      yield index;
      left = STATEMENTS_BETWEEN_LOOKS;
    }
    if (left > 0) continue;
    yield index + 1;
    left = STATEMENTS_BETWEEN_LOOKS;
  }
}

/** Runs an evaluation to its end and returns its result. Yields the index whenever the evaluation pauses. */
function* at(index: number, run: Generator<undefined, Results, undefined>): Generator<number, Results, undefined> {
  let each = run.next();
  for (; each.done !== true; each = run.next()) yield index;
  return each.value;
}
