import type { WalkCommand } from '../../../../primitives/contract/backend.ts';
import { entryOf } from '../../../../primitives/ir/ir.ts';
import type { Engine } from '../../launches/engine.ts';
import { dispatchWord, GROUP_NUMBER, lengthExpression } from '../../launches/parameters.ts';
import { resultOf } from '../../wgsl/emit-wgsl.ts';
import { emitStores } from '../shared/stores.ts';
import { runStoring } from '../shared/storing.ts';

/** Runs a walk command, with one thread per index; see `WalkCommand`. */
export function walk(engine: Engine, { extent, start, step, changing, stores }: WalkCommand): void {
  const { threads } = engine.tuning.forEach;
  const programs = new Map([
    ['s_', start],
    ['p_', step],
  ]);
  const { results } = entryOf(step.module);
  const states = entryOf(start.module).results.length;
  runStoring(engine, extent, programs, stores, {
    key: `walk ${changing}`,
    threads,
    items: 1,
    text: (length, bound) => ({
      declarations: '',
      main: `let n = min(${lengthExpression(length)}, ${dispatchWord(1)});
let i = ${dispatchWord(0)} + ${GROUP_NUMBER} * ${threads}u + t;
if (i >= n) { return; }
let s = s_entry(i);
${variables(states, 's').join('\n')}
while (v0) {
  let r = p_entry(${['i', ...names(states).slice(1)].join(', ')});
  ${emitStores(bound, results)}
  ${assignments(1 + changing, results.length).join('\n  ')}
}`,
    }),
  });
}

/**
 * Names of the WGSL variables: first the flag that says whether the walk continues, then the leaves (scalar components)
 * of the state.
 */
function names(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `v${i}`);
}

function variables(count: number, from: string): string[] {
  return names(count).map((name, i) => `var ${name} = ${resultOf(from, i, count)};`);
}

function assignments(count: number, results: number): string[] {
  return names(count).map((name, i) => `${name} = ${resultOf('r', i, results)};`);
}
