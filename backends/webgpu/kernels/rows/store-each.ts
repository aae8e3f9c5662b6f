import type { Extent, Program, Store } from '../../../../primitives/contract/backend.ts';
import { entryOf } from '../../../../primitives/ir/ir.ts';
import type { Engine } from '../../launches/engine.ts';
import { dispatchWord, GROUP_NUMBER, lengthExpression } from '../../launches/parameters.ts';
import { resultType } from '../../wgsl/emit-wgsl.ts';
import { isLight } from '../../wgsl/module-size.ts';
import { lines } from '../shared/lines.ts';
import { emitStores } from '../shared/stores.ts';
import { runStoring } from '../shared/storing.ts';

/** Runs a `forEach` command with one kernel. A thread evaluates several indices if the program's code is short. */
export function storeEach(engine: Engine, extent: Extent, program: Program, stores: readonly Store[]): void {
  const { threads, groups } = engine.tuning.forEach;
  const items = isLight(program.module) ? engine.tuning.forEach.items : 1;
  const { results } = entryOf(program.module);
  const ofGroup = threads * items;
  const emitted = emitItems(threads, items, 'p_', (i, r) => `put(${i}, ${r})`);
  const isKnown = typeof extent === 'number';
  runStoring(engine, extent, new Map([['p_', program]]), stores, {
    key: isKnown ? 'each' : `each ${groups}`,
    threads,
    items,
    ...(!isKnown && { groups: (indices) => Math.min(groups, Math.ceil(indices / ofGroup)) }),
    text: (length, bound) => ({
      declarations: `fn put(i: u32, r: ${resultType('p_', 'entry', results)}) {
${emitStores(bound, results)}
}`,
      main: `let n = min(${lengthExpression(length)}, ${dispatchWord(1)});
var base = ${dispatchWord(0)} + ${GROUP_NUMBER} * ${ofGroup}u + t;
if (base >= n) { return; }
${isKnown ? emitted : repeated(emitted, groups, ofGroup)}`,
    }),
  });
}

/**
 * WGSL that repeats statements for each range of `ofGroup` indices that a workgroup takes, from `base` on. Ends
 * workgroups that a grid has beyond `groups`.
 */
function repeated(statements: string, groups: number, ofGroup: number): string {
  const stride = `${groups * ofGroup}u`;
  return `if (${GROUP_NUMBER} >= ${groups}u) { return; }
loop {
${statements}
if (n - base <= ${stride}) { break; }
base += ${stride};
}`;
}

/**
 * WGSL that evaluates a program for a thread's elements and passes each result to `put`. The elements start at index
 * `base`; elements at index `n` or above are left out. The program is evaluated for all elements before the first
 * result is stored, so that the program's loads overlap.
 */
export function emitItems(
  threads: number,
  items: number,
  prefix: string,
  put: (index: string, result: string) => string,
): string {
  return [
    lines(items, (k) => `let i${k} = base + ${k * threads}u; let r${k} = ${prefix}entry(min(i${k}, n - 1u));`),
    lines(items, (k) => (k === 0 ? `${put('i0', 'r0')};` : `if (i${k} < n) { ${put(`i${k}`, `r${k}`)}; }`)),
  ].join('\n');
}
