import { ArgumentError } from '../../../../primitives/checks/errors.ts';
import type { Extent, Program, Store } from '../../../../primitives/contract/backend.ts';
import { storesAlone } from '../../../analyses/store-alone.ts';
import type { Engine } from '../../launches/engine.ts';
import { gatherInWindows } from './gather.ts';
import { scatterByParts } from './scatter.ts';
import { storeEach } from './store-each.ts';
import { isTiled, storeTiles } from './store-tiles.ts';

/** Runs a `forEach` command; see `ForEachCommand`. */
export function forEach(
  engine: Engine,
  extent: Extent,
  program: Program,
  stores: readonly Store[],
  across?: number,
): void {
  if (scatterByParts(engine, extent, program, stores)) return;
  try {
    engine.pool.attempt(() => storeAll(engine, extent, program, stores, across));
  } catch (error) {
    if (!(error instanceof ArgumentError && error.code === 'device/bindings')) throw error;
    // The launch needs too many bindings. Try one launch per result, because each result alone may need fewer arrays.
    const alone = storesAlone(program, stores);
    if (alone === undefined) throw error;
    for (const each of alone) storeAll(engine, extent, each.program, [each.store], across);
  }
}

function storeAll(
  engine: Engine,
  extent: Extent,
  program: Program,
  stores: readonly Store[],
  across: number | undefined,
): void {
  if (across !== undefined && isTiled(engine, extent, across)) storeTiles(engine, extent, program, stores, across);
  else if (!gatherInWindows(engine, extent, program, stores)) storeEach(engine, extent, program, stores);
}
