import { ArgumentError } from '../checks/errors.ts';
import { capacityOf, type Program } from '../contract/backend.ts';
import { array, bool, fn, u32, uniform } from '../functors/functor.ts';
import { select } from '../functors/standard/choose.ts';
import type { Bool, U32 } from '../functors/value.ts';
import type { Module } from '../ir/ir.ts';
import { isTableInput, type PreparedInputs, type TableInput } from './inputs.ts';
import type { RecordedPipeline, ResultColumn } from './record-pipeline.ts';
import type { Script, ScriptBuffer, ScriptStep } from './script.ts';

/**
 * The news of a round is its status, in four words of memory: whether the loop has stopped, the number of rounds done,
 * the number of the check that failed (from 1; 0 if none), and the capacity that this check needed. Once the loop has
 * stopped, the words no longer change.
 */
export const NEWS_WORDS = 4;

/** A table that a round passes to the next round, because a result field has the name of an input. */
export interface StateTable {
  /**
   * Index of the word of the block that contains the table's length. The block is the buffer of all lengths and
   * uniforms of a call.
   */
  readonly word: number;
  readonly inputs: readonly number[];
  readonly results: readonly number[];
}

/** The script for one round of a loop, made from the script of a prepared step. */
export interface LoopScript {
  /**
   * The commands of the round. If the loop can end early, the last command writes the news (see {@link NEWS_WORDS}).
   */
  readonly script: Script;
  readonly hasNews: boolean;
  readonly state: readonly StateTable[];
}

/** Name of the result field that says whether the loop ends. */
const DONE = 'done';

const known = new WeakMap<RecordedPipeline, LoopScript>();

/** The script for the rounds of a loop over a prepared step. The script is cached. */
export function loopScriptOf(recorded: RecordedPipeline, inputs: PreparedInputs): LoopScript {
  const made = known.get(recorded) ?? makeLoopScript(recorded, inputs);
  known.set(recorded, made);
  return made;
}

function makeLoopScript(recorded: RecordedPipeline, inputs: PreparedInputs): LoopScript {
  const fields = fieldsOf(recorded);
  const state = stateOf(recorded, inputs, fields);
  const done = Object.hasOwn(inputs, DONE) ? undefined : doneOf(recorded, fields.get(DONE));
  const hasNews = done !== undefined || recorded.checks.length > 0;
  return { script: hasNews ? withNews(recorded, done) : recorded.script, hasNews, state };
}

/** For every field of the result, the indices of its columns. */
function fieldsOf({ shape }: RecordedPipeline): Map<string, number[]> {
  const fields = new Map<string, number[]>();
  if (typeof shape === 'function') return fields;
  let next = 0;
  for (const [name, field] of Object.entries(shape)) {
    const columns: number[] = [];
    const count = (part: unknown): void => {
      if (typeof part === 'function') columns.push(next++);
      else Object.values(part as object).forEach(count);
    };
    count(field);
    fields.set(name, columns);
  }
  return fields;
}

function stateOf(
  { results }: RecordedPipeline,
  inputs: PreparedInputs,
  fields: ReadonlyMap<string, readonly number[]>,
): StateTable[] {
  const state: StateTable[] = [];
  let input = 0;
  for (const [word, [name, declared]] of Object.entries(inputs).entries()) {
    if (!isTableInput(declared)) continue;
    const own = declared.storages.map((_, leaf) => input + leaf);
    input += own.length;
    const made = fields.get(name);
    if (made === undefined) continue;
    requireState(
      name,
      declared,
      made.map((at) => results[at]!),
    );
    state.push({ word, inputs: own, results: made });
  }
  requireOwnCounts(state, Object.keys(inputs), results);
  if (state.length > 0) return state;
  const tables = Object.keys(inputs).filter((name) => isTableInput(inputs[name]!));
  throw new ArgumentError('iterate/state', 'A step must return a table under the name of one of its inputs.', {
    expected: `a record with a field named ${tables.join(' or ')}`,
    got: fields.size === 0 ? 'a column' : `fields named ${[...fields.keys()].join(', ')}`,
    remedy: 'Name each table for the next round after the input that it replaces.',
  });
}

/**
 * Requires that no table takes its row count from another table of the previous round, if the step counts the rows of
 * that other table. Each round overwrites the counts of the round two rounds earlier, so the table would get a wrong
 * length.
 */
function requireOwnCounts(
  state: readonly StateTable[],
  names: readonly string[],
  results: RecordedPipeline['results'],
): void {
  const lengthOf = ({ results: [first] }: StateTable) => (first === undefined ? 0 : results[first]!.length);
  const counted = new Set<number>();
  for (const table of state) {
    const length = lengthOf(table);
    if (typeof length === 'object' && 'result' in length) counted.add(table.word);
  }
  for (const table of state) {
    const length = lengthOf(table);
    if (typeof length === 'number' || !('table' in length) || !counted.has(length.table)) continue;
    const [name, other] = [names[table.word]!, names[length.table]!];
    throw new ArgumentError('iterate/state', `A step returns ${name} with the row count of the previous ${other}.`, {
      expected: `rows counted by the step itself, as those of ${other}`,
      got: `the row count of ${other} before the step`,
      remedy: `Give ${name} the length of the new ${other}, or make it with a primitive that counts rows, such as copyIf().`,
    });
  }
}

function requireState(name: string, { storages, capacity }: TableInput, made: readonly ResultColumn[]): void {
  const isFitting = made.every(
    ({ from, storage, length }, leaf) =>
      from === 'result' && storage === storages[leaf] && capacityOf(length) <= capacity,
  );
  if (isFitting && made.length === storages.length) return;
  throw new ArgumentError('iterate/state', `The field ${name} returned by a step does not fit its input ${name}.`, {
    expected: `${storages.join(', ')}, of at most ${capacity} rows, in columns that the step makes`,
    got: made
      .map(
        ({ from, storage, length }) =>
          `${storage} of at most ${capacityOf(length)} rows${from === 'result' ? '' : ' in a column that it was given'}`,
      )
      .join(', '),
    remedy: made.every(({ from }) => from === 'result')
      ? 'Prepare the step for the capacity of its result.'
      : `Leave ${name} out if it does not change. If it becomes another table, return a copy of that table: context.materialize(map(same, { x: other })) with the functor same = fn({ x: TYPE }, TYPE, ({ x }) => x).`,
  });
}

function doneOf({ results }: RecordedPipeline, columns: readonly number[] | undefined): ResultColumn | undefined {
  if (columns === undefined) return undefined;
  const [column, ...others] = columns.map((at) => results[at]!);
  if (column?.type === 'bool' && column.from === 'result' && column.length === 1 && others.length === 0) return column;
  throw new ArgumentError('iterate/done', 'The field done returned by a step must say whether the loop ends.', {
    expected: 'a bool column of one row',
    got: columns.map((at) => describeDone(results[at]!)).join(', '),
    remedy: 'Return the result of all() or any(), or rename the field.',
  });
}

function describeDone({ type, from, length }: ResultColumn): string {
  if (from === 'input') return 'a column that the step was given';
  const rows = typeof length === 'number' ? `${length} rows` : 'a number of rows that only the device knows';
  return `a column of ${type}${length === 1 ? '' : ` of ${rows}`}`;
}

/** The script of a step with one more command at the end, which writes the news (status words) of the round. */
function withNews({ script, checks }: RecordedPipeline, done: ResultColumn | undefined): Script {
  const before: ScriptBuffer = { id: -1, words: NEWS_WORDS, role: 'input', at: script.inputs.length };
  const after: ScriptBuffer = { id: -2, words: NEWS_WORDS, role: 'result', at: script.results.length };
  const arrayOf = (result: number, offset: number) =>
    ({ buffer: script.results[result]!, storage: 'u32', offset, length: 1 }) as const;
  const program: Program = {
    module: newsModule(done !== undefined, checks.length),
    arrays: new Map([
      ['news', { buffer: before, storage: 'u32', offset: 0, length: NEWS_WORDS }],
      ...(done === undefined ? [] : [['done', arrayOf(done.at, done.offset)] as const]),
      ...checks.map(({ count }, k) => [`count${k}`, arrayOf(count.result, count.word)] as const),
    ]),
    uniforms: new Map(checks.map(({ count }, k) => [`limit${k}`, count.limit] as const)),
  };
  const stores = Array.from({ length: NEWS_WORDS }, (_, value) => ({
    buffer: after,
    offset: value,
    capacity: 1,
    value,
  }));
  const last: ScriptStep = { kind: 'forEach', extent: 1, program, stores };
  return {
    ...script,
    steps: [...script.steps, last],
    inputs: [...script.inputs, before],
    results: [...script.results, after],
    gate: before.at,
  };
}

const modules = new Map<string, Module>();

function newsModule(hasRule: boolean, checks: number): Module {
  const key = `${hasRule} ${checks}`;
  const made = modules.get(key) ?? makeNewsModule(hasRule, checks);
  modules.set(key, made);
  return made;
}

interface Words {
  at(index: number): U32;
}

function makeNewsModule(hasRule: boolean, checks: number): Module {
  const numbers = Array.from({ length: checks }, (_, k) => k);
  const counts = numbers.flatMap((k) => [[`count${k}`, array(u32)] as const, [`limit${k}`, uniform(u32)] as const]);
  const parameters = { i: u32, news: array(u32), ...(hasRule && { done: array(bool) }), ...Object.fromEntries(counts) };
  const results = { stopped: u32, rounds: u32, check: u32, needed: u32 };
  const body = (args: { readonly news: Words; readonly done: { at(index: number): Bool } }): unknown => {
    const news = args.news;
    const isOn = news.at(0).eq(0);
    let [check, needed] = [u32(0) as U32, u32(0) as U32];
    for (const k of [...numbers].reverse()) {
      const { [`count${k}`]: counted, [`limit${k}`]: limit } = args as unknown as {
        readonly [name: string]: Words & U32;
      };
      const count = counted!.at(0);
      const isOver = count.gt(limit!);
      check = select(check, u32(k + 1), isOver) as U32;
      needed = select(needed, count, isOver) as U32;
    }
    const holds = hasRule ? u32(args.done.at(0)) : u32(0);
    return {
      stopped: select(news.at(0), holds.or(check), isOn),
      rounds: news.at(1).add(u32(isOn)),
      check: select(news.at(2), check, isOn),
      needed: select(news.at(3), needed, isOn),
    };
  };
  return fn('newsOfRound', parameters as never, results, body as never).module;
}
