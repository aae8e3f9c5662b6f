import {
  type Backend,
  type CrossReduceCommand,
  capacityOf,
  type ForEachCommand,
  type Length,
  type Program,
} from '../contract/backend.ts';
import { For, If, Let, Var } from '../functors/control.ts';
import { literal } from '../functors/recorder.ts';
import { type U32, Value } from '../functors/value.ts';
import { entryOf, type ScalarType } from '../ir/ir.ts';
import { addTo, assemble, type BoundArray, neutral } from './assembled-program.ts';

type Values = Value<ScalarType>[];

/** Runs a cross reduction as the command of {@link rowsOf}. */
export function crossReduceByRows(backend: Backend, command: CrossReduceCommand): void {
  const rows = rowsOf(command);
  if (capacityOf(rows.extent) > 0) backend.run(rows);
}

/**
 * A cross reduction as a `forEach`. Each index stands for one row of the left table and one run (consecutive rows) of
 * the right table, and loops over the rows of the run.
 */
export function rowsOf(command: CrossReduceCommand): ForEachCommand {
  const stores = command.results.map((result, value) => ({ ...result, value }));
  const extent = capacityOf(command.extent) * runsOf(command);
  return { kind: 'forEach', extent, program: runProgram(command), stores };
}

/**
 * The number of runs (groups of consecutive rows) into which the right table is split. Each row of the left table has
 * one result for each run.
 */
export function runsOf({ others, run }: Pick<CrossReduceCommand, 'others' | 'run'>): number {
  return Math.ceil(capacityOf(others) / run);
}

function runProgram(command: CrossReduceCommand): Program {
  const { extent, others, left, right, start, step, leftOwn, rightOwn, value, monoid } = command;
  const arrays: { [name: string]: BoundArray } = {};
  for (const [k, { type, array }] of left.entries()) arrays[`left${k}`] = { type, binding: array };
  for (const [k, { type, array }] of right.entries()) arrays[`right${k}`] = { type, binding: array };
  const lengthOf = (name: string, length: Length): void => {
    if (typeof length === 'number') return;
    const { buffer, word } = length;
    arrays[name] = { type: 'u32', binding: { buffer, storage: 'u32', offset: word, length: 1 } };
  };
  lengthOf('rows', extent);
  lengthOf('others', others);
  const given = { arrays, uniforms: numbersOf(command), programs: { step, leftOwn, rightOwn, value } };
  const sumTypes = entryOf(step.module).results;
  return assemble('crossReduce', monoid.types, given, (index, { arrays, uniforms, programs }) => {
    const vectorAt = (side: string, count: number, at: U32): Values =>
      Array.from({ length: count }, (_, k) => arrays[`${side}${k}`]!.at(at));
    const length = (name: 'rows' | 'others'): U32 => {
      const count = arrays[name];
      const limit = uniforms[name]!;
      if (count === undefined) return limit;
      const [all, minus] = [count.at(0) as U32, uniforms[`${name}Minus`]!];
      return all.max(minus).sub(minus).min(limit);
    };
    const run = Let(index.div(uniforms.capacity!));
    const i = Let(index.sub(run.mul(uniforms.capacity!)));
    const folded = neutral(monoid);
    If(i.lt(length('rows')), () => {
      const own = programs.leftOwn!([i]);
      const first = Let(run.mul(uniforms.run!));
      const end = Let(length('others'));
      For(first, first.add(uniforms.run!.min(end.max(first).sub(first))), (j) => {
        const sums = start.map((leaf, k) => Var(new Value(literal(sumTypes[k]!, leaf))));
        if (sums.length > 0) {
          For(0, uniforms.dimensions!, (d) => {
            const elements = [
              ...vectorAt('left', left.length, i.mul(uniforms.dimensions!).add(d)),
              ...vectorAt('right', right.length, j.mul(uniforms.dimensions!).add(d)),
            ];
            const next = programs.step!([d, ...sums.map(Let), ...elements]);
            for (const [k, sum] of sums.entries()) sum.set(next[k] as never);
          });
        }
        const worth = programs.value!([i, ...sums.map(Let), ...own, ...programs.rightOwn!([j])]);
        addTo(folded, worth, monoid);
      });
    });
    return folded.map(Let);
  });
}

/**
 * The uniforms of the program of {@link runProgram}. Lengths are uniforms, so that a command that differs only in its
 * lengths needs no new compilation.
 */
function numbersOf({ extent, others, run, dimensions }: CrossReduceCommand): { readonly [name: string]: number } {
  const lengths = Object.entries({ rows: extent, others }).flatMap(([name, length]): [string, number][] =>
    typeof length === 'number'
      ? [[name, length]]
      : [
          [name, length.limit],
          [`${name}Minus`, length.minus],
        ],
  );
  return { ...Object.fromEntries(lengths), capacity: capacityOf(extent), run, dimensions };
}
