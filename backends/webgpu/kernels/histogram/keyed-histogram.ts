import {
  type ArrayBinding,
  capacityOf,
  type HistogramCommand,
  type Program,
} from '../../../../primitives/contract/backend.ts';
import { If, Var } from '../../../../primitives/functors/control.ts';
import { call, literal, operate, read, record } from '../../../../primitives/functors/recorder.ts';
import { Value } from '../../../../primitives/functors/value.ts';
import type { Operand, ScalarType } from '../../../../primitives/ir/ir.ts';
import type { Engine } from '../../launches/engine.ts';
import { rangesOf } from '../../memory/ranges.ts';
import { separate } from '../../memory/snapshot.ts';
import { forEach } from '../rows/for-each.ts';
import { countByRows } from './row-histogram.ts';

/** Runs a histogram command in which a key selects the histogram, or in which a row has several elements. */
export function countKeyed(engine: Engine, command: HistogramCommand): void {
  const { bins, histograms = 1, into, program, inner } = command;
  const { pool, recorder } = engine;
  const inputs = separate(
    engine,
    command.extent,
    [program, ...(inner === undefined ? [] : [inner.row])],
    [into.buffer],
  );
  const [element, row] = inputs.programs;
  const target = pool.resolve(into.buffer);
  for (const { part, word, words } of rangesOf(target, into.word, bins * histograms)) {
    recorder.clear(part, word * 4, words * 4);
  }
  const separated: HistogramCommand = {
    ...command,
    extent: inputs.extent,
    program: element!,
    inner: inner && { ...inner, row: row! },
  };
  const byRows = engine.tuning.histogram.ownBins > 0 || !bindsWhole(engine, separated);
  if (!byRows || !countByRows(engine, separated)) countByElements(engine, separated);
  inputs.release();
}

/** Whether one launch can bind all arrays completely, even those that are split over several GPU buffers. */
function bindsWhole({ limits, pool }: Engine, { program, inner }: HistogramCommand): boolean {
  const arrays = [program, ...(inner === undefined ? [] : [inner.row])].flatMap(({ arrays }) => [...arrays.values()]);
  const memories = new Set(arrays.map(({ buffer }) => pool.resolve(buffer)));
  return [...memories].reduce((sum, { parts }) => sum + parts.length, 0) < limits.storageBuffers;
}

/** Counts with one thread per element. Each thread increments the element's bin directly in global memory. */
function countByElements(engine: Engine, command: HistogramCommand): void {
  const { extent, bins, histograms = 1, into, inner } = command;
  forEach(engine, capacityOf(extent) * (inner?.ranks ?? 1), binProgram(command, histograms), [
    {
      buffer: into.buffer,
      offset: into.word,
      capacity: bins * histograms,
      guard: 0,
      index: 1,
      value: 2,
      combine: 'add',
    },
  ]);
}

/**
 * A program that returns for element `index`: whether the element is counted, its bin among the bins of all histograms,
 * and the increment 1.
 */
function binProgram({ extent, program, bins, inner }: HistogramCommand, histograms: number): Program {
  const arrays = new Map<string, ArrayBinding>();
  const types = new Map<string, ScalarType>();
  const uniforms = new Map<string, number | boolean>([['ranks', inner?.ranks ?? 1]]);
  const uniformTypes = new Map<string, ScalarType>([['ranks', 'u32']]);
  const include = (part: Program, prefix: string): ((args: readonly Operand[]) => Operand[]) => {
    for (const [name, binding] of part.arrays) arrays.set(prefix + name, binding);
    for (const [name, type] of part.module.arrays) types.set(prefix + name, type);
    for (const [name, value] of part.uniforms) uniforms.set(prefix + name, value);
    for (const [name, type] of part.module.uniforms) uniformTypes.set(prefix + name, type);
    const links = {
      arrays: new Map([...part.module.arrays.keys()].map((name) => [name, prefix + name])),
      uniforms: new Map(
        [...part.module.uniforms].map(([name, type]): [string, Operand] => [
          name,
          { kind: 'uniform', type, name: prefix + name },
        ]),
      ),
    };
    return (args) => call(part.module, links, args);
  };
  const element = include(program, 'element_');
  const row = inner && include(inner.row, 'row_');
  if (typeof extent !== 'number') {
    arrays.set('count', { buffer: extent.buffer, storage: 'u32', offset: extent.word, length: 1 });
    types.set('count', 'u32');
    uniforms.set('minus', extent.minus).set('limit', extent.limit);
    uniformTypes.set('minus', 'u32').set('limit', 'u32');
  }
  const uniform = (name: string): Operand => ({ kind: 'uniform', type: 'u32', name });
  const signature = {
    name: 'keyedBin',
    parameters: ['u32' as const],
    results: ['bool' as const, 'u32' as const, 'u32' as const],
    arrays: types,
    uniforms: uniformTypes,
  };
  const module = record(signature, ([index]) => {
    const at = operate('div', [index!, uniform('ranks')]);
    const rank = operate('sub', [index!, operate('mul', [at, uniform('ranks')])]);
    const counted = Var(new Value<'bool'>(literal('bool', false)));
    const word = Var(new Value<'u32'>(literal('u32', 0)));
    // This code must use branches: a selection would also run the program for missing or inactive rows, and for these
    // rows the program's loops might not end.
    const countRow = (): void => {
      const [active = literal('bool', true), ...leaves] = row === undefined ? [] : row([at]);
      If(new Value<'bool'>(active), () => {
        const [bin, histogram = literal('u32', 0)] = row === undefined ? element([at]) : element([at, rank, ...leaves]);
        const inRange = operate('and', [
          operate('lt', [bin!, literal('u32', bins)]),
          operate('lt', [histogram, literal('u32', histograms)]),
        ]);
        counted.set(new Value<'bool'>(inRange));
        word.set(new Value<'u32'>(operate('add', [operate('mul', [histogram, literal('u32', bins)]), bin!])));
      });
    };
    if (typeof extent === 'number') countRow();
    else If(new Value<'bool'>(rowExists(at)), countRow);
    return [counted.operand, word.operand, literal('u32', 1)];
  });
  return { module, arrays, uniforms };

  function rowExists(at: Operand): Operand {
    const count = read('count', 'u32', literal('u32', 0));
    const rest = operate('sub', [operate('max', [count, uniform('minus')]), uniform('minus')]);
    return operate('lt', [at, operate('min', [rest, uniform('limit')])]);
  }
}
