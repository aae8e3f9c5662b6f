import { capacityOf, type Extent, type Program, type Store } from '../../../../primitives/contract/backend.ts';
import { entryOf } from '../../../../primitives/ir/ir.ts';
import type { Engine } from '../../launches/engine.ts';
import { dispatchWord, GROUP_NUMBER, lengthExpression } from '../../launches/parameters.ts';
import { resultType } from '../../wgsl/emit-wgsl.ts';
import { isLight } from '../../wgsl/module-size.ts';
import { lines } from '../shared/lines.ts';
import { emitStores } from '../shared/stores.ts';
import { runStoring } from '../shared/storing.ts';

/** Columns of a tile. A workgroup has a multiple of 64 threads: 8 × 4 cells for each 32 of them, in pairs. */
const COLUMNS = 16;
const UNIT = 64;

/** Minimum number of rows and of columns. Lines of narrower grids are in the cache as they are. */
const MIN_SIDE = 256;

/** Whether to visit the cells of a grid by tiles. */
export function isTiled({ threads }: Engine, extent: Extent, across: number): boolean {
  return threads >= UNIT && across >= MIN_SIDE && capacityOf(extent) >= MIN_SIDE * across;
}

/**
 * Runs a `forEach` command whose program reads cells beside each other for cells below each other. Cells of a workgroup
 * are a tile, so that memory is read in runs as it is written in runs.
 */
export function storeTiles(
  engine: Engine,
  extent: Extent,
  program: Program,
  stores: readonly Store[],
  across: number,
): void {
  const threads = engine.threads >= 4 * UNIT ? 4 * UNIT : UNIT;
  const items = isLight(program.module) ? 4 : 1;
  const { results } = entryOf(program.module);
  const rows = threads / COLUMNS;
  const tiles = Math.ceil(across / COLUMNS);
  runStoring(engine, extent, new Map([['p_', program]]), stores, {
    key: 'tiles',
    threads,
    items,
    words: [across, tiles],
    groups: (indices) => Math.ceil(Math.ceil(indices / across) / (rows * items)) * tiles,
    text: (length, bound) => ({
      declarations: `fn put(i: u32, r: ${resultType('p_', 'entry', results)}) {
${emitStores(bound, results)}
}`,
      main: `let n = min(${lengthExpression(length)}, ${dispatchWord(1)});
let across = ${dispatchWord(2)};
let band = ${GROUP_NUMBER} / ${dispatchWord(3)};
let x = (${GROUP_NUMBER} - band * ${dispatchWord(3)}) * ${COLUMNS}u + (t & 7u) + ((t >> 5u) & 1u) * 8u;
let y = band * ${rows * items}u + ((t >> 3u) & 3u) + (t >> 6u) * 4u;
let base = ${dispatchWord(0)} + y * across + x;
if (x >= across || base >= n) { return; }
${lines(items, (k) => `let i${k} = base + ${k * rows}u * across; let r${k} = p_entry(min(i${k}, n - 1u));`)}
${lines(items, (k) => `if (i${k} < n) { put(i${k}, r${k}); }`)}`,
    }),
  });
}
