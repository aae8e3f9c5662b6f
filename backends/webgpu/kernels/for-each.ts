import type { Extent, Program, Store } from '../../../primitives/backend.ts';
import { ArgumentError } from '../../../primitives/errors.ts';
import { entryOf } from '../../../primitives/functors/ir.ts';
import { storesAlone } from '../../../primitives/store-alone.ts';
import { resultType } from '../emit-wgsl.ts';
import type { Engine } from '../engine.ts';
import { isLight } from '../module-size.ts';
import { dispatchWord, GROUP_NUMBER, lengthExpression } from '../parameters.ts';
import { emitStores } from './stores.ts';
import { runStoring } from './storing.ts';

/** Evaluates a program for every index and stores its results; see the contract. */
export function forEach(engine: Engine, extent: Extent, program: Program, stores: readonly Store[]): void {
  try {
    engine.pool.attempt(() => storeTogether(engine, extent, program, stores));
  } catch (error) {
    if (!(error instanceof ArgumentError && error.code === 'device/bindings')) throw error;
    // One by one, results need fewer of the arrays.
    const alone = storesAlone(program, stores);
    if (alone === undefined) throw error;
    for (const each of alone) storeTogether(engine, extent, each.program, [each.store]);
  }
}

function storeTogether(engine: Engine, extent: Extent, program: Program, stores: readonly Store[]): void {
  const { threads } = engine.tuning.forEach;
  const items = isLight(program.module) ? engine.tuning.forEach.items : 1;
  const { results } = entryOf(program.module);
  runStoring(engine, extent, new Map([['p_', program]]), stores, {
    key: 'each',
    threads,
    items,
    text: (length, bound) => ({
      declarations: `fn put(i: u32, r: ${resultType('p_', 'entry', results)}) {
${emitStores(bound, results)}
}`,
      main: `let n = min(${lengthExpression(length)}, ${dispatchWord(1)});
let base = ${dispatchWord(0)} + ${GROUP_NUMBER} * ${threads * items}u + t;
if (base >= n) { return; }
${emitItems(threads, items)}`,
    }),
  });
}

/** Evaluates all items before it stores any: what they read is then under way at the same time. */
function emitItems(threads: number, items: number): string {
  const numbers = Array.from({ length: items }, (_, k) => k);
  return [
    ...numbers.map((k) => `let i${k} = base + ${k * threads}u; let r${k} = p_entry(min(i${k}, n - 1u));`),
    ...numbers.map((k) => (k === 0 ? 'put(i0, r0);' : `if (i${k} < n) { put(i${k}, r${k}); }`)),
  ].join('\n');
}
