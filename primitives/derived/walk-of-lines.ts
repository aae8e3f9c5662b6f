import type { MonoidProgram, ScanLinesCommand, WalkCommand } from '../contract/backend.ts';
import { Let } from '../functors/control.ts';
import { bool, u32 } from '../functors/functor.ts';
import { literal } from '../functors/recorder.ts';
import { type U32, Value } from '../functors/value.ts';
import { createCache } from '../host/cache.ts';
import { type Module, moduleNumber, type ScalarType } from '../ir/ir.ts';
import { LineTree, statesOf } from '../rows/line-tree.ts';
import { assemble } from './assembled-program.ts';

type Values = Value<ScalarType>[];

const steps = createCache<string, Module>({ max: 64 });

/** Scans lines by walks, one for each line, in the order of the canonical tree of its length. */
export function walkOfLines(command: ScanLinesCommand): WalkCommand {
  const { rows, columns, axis, program, monoid, inclusive, stores } = command;
  const { types } = monoid;
  const [count, length, step, apart] = axis === 'rows' ? [rows, columns, 1, columns] : [columns, rows, columns, 1];
  const states = Array.from({ length: statesOf(length) }, () => types).flat();
  const zeros = states.map((type) => new Value(literal(type, type === 'bool' ? false : 0)));
  const start = assemble('startOfLine', ['bool', 'u32', ...states], {}, () => [bool(u32(1)), u32(0), ...zeros]);
  const given = { programs: { element: program }, uniforms: { step, apart }, parameters: ['u32', ...states] as const };
  const key = `${moduleNumber(program.module)} ${monoidNumber(monoid)} ${length} ${inclusive}`;
  const walk = assemble(
    'stepOfLine',
    ['bool', 'u32', ...states, 'u32', ...types],
    given,
    (line, { programs, uniforms, parameters: [at, ...before] }): Values => {
      const [cell, tree] = [at as U32, new LineTree(monoid, length, before)];
      const place = Let(line.mul(uniforms.apart!).add(cell.mul(uniforms.step!)));
      const { exclusive, inclusive: upTo } = tree.add(cell, programs.element!([place]).map(Let));
      const next = cell.add(1);
      return [next.lt(length), next, ...tree.states(), place, ...(inclusive ? upTo : exclusive)];
    },
    { get: () => steps.get(key), set: (module) => steps.set(key, module) },
  );
  const index = 2 + states.length;
  return {
    ...{ kind: 'walk', extent: count, start, step: walk, steps: length, changing: 1 + states.length },
    sideBySide: axis === 'columns',
    stores: stores.map((store) => ({ ...store, index, value: index + 1 + store.value })),
  };
}

function monoidNumber({ module, identity }: MonoidProgram): string {
  return `${moduleNumber(module)} ${identity.map((value) => (Object.is(value, -0) ? '-0' : value))}`;
}
