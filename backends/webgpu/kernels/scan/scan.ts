import { capacityOf, type ScanCommand } from '../../../../primitives/contract/backend.ts';
import { BLOCK } from '../../../../primitives/contract/combination-tree.ts';
import { type Engine, tooManyBindings } from '../../launches/engine.ts';
import { separate } from '../../memory/snapshot.ts';
import { forEach } from '../rows/for-each.ts';
import { linkSource } from '../shared/source.ts';
import { prepareSource } from '../shared/stored-source.ts';
import { LOOK_BACK_BINDINGS, lookBackTile, scanByLookBack } from './scan-look-back.ts';
import { linkSink, placeSinks, splitScan } from './scan-sink.ts';
import { createTreeScan, downsweep, spine, TREE_BINDINGS, upsweep } from './scan-tree.ts';

/**
 * Runs a scan command; see `ScanCommand`. There are two ways:
 *
 * - By look-back, in one launch, in which a workgroup waits for the prefixes of the workgroups before it.
 * - Along the combination tree, in launches of three phases, in which no workgroup waits for another: the upsweep reduces
 *   blocks of elements to their totals, the spine scans these totals, and the downsweep scans within the blocks.
 *
 * Source: Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016, for both.
 */
export function scan(engine: Engine, command: ScanCommand): void {
  const { stores, total } = command;
  const written = [...stores, ...(total === undefined ? [] : [total])].map(({ buffer }) => buffer);
  const inputs = separate(engine, command.extent, [command.program, command.emit] as const, written);
  const [program, emit] = inputs.programs;
  runScan(engine, { ...command, extent: inputs.extent, program, emit });
  inputs.release();
}

function runScan(engine: Engine, command: ScanCommand): void {
  if (scanInOnePass(engine, command) || scanByTree(engine, command, TREE_BINDINGS)) return;
  const { extent, monoid, emit, stores } = command;
  const split = splitScan(engine, extent, monoid, emit);
  const others = TREE_BINDINGS + 1;
  if (!scanByTree(engine, { ...command, ...split.first, form: undefined }, others)) {
    throw tooManyBindings(others + 1, engine.limits.storageBuffers);
  }
  forEach(engine, extent, split.second, stores);
  split.release();
}

/**
 * Scans by look-back if the monoid is exact, the device supports look-back, and one launch can bind all buffers
 * completely. Returns false if nothing was launched.
 */
function scanInOnePass(engine: Engine, command: ScanCommand): boolean {
  const { extent, program, emit, stores } = command;
  const capacity = capacityOf(extent);
  if (engine.subgroups === undefined || !engine.tuning.scan.lookBack || !command.monoid.exact || capacity <= BLOCK)
    return false;
  const source = linkSource(engine, extent, program);
  const sink = linkSink(source, extent, emit, stores);
  const tile = lookBackTile(engine, command);
  const [placed, ...more] = placeSinks(engine, capacity, source, sink, tile.elements, LOOK_BACK_BINDINGS) ?? [];
  if (placed === undefined || more.length > 0 || placed.windows.length > 1) return false;
  scanByLookBack(engine, command, source, placed.sink, placed.windows[0]!, tile);
  return true;
}

/**
 * Scans along the combination tree if one launch can bind the program, a store and `others` more buffers. Returns false
 * if nothing was scanned.
 */
function scanByTree(engine: Engine, command: ScanCommand, others: number): boolean {
  const { extent, monoid, program, emit, stores, total } = command;
  const source = prepareSource(engine, extent, program, BLOCK, others);
  const sink = linkSink(source, extent, emit, stores);
  const sinks = placeSinks(engine, capacityOf(extent), source, sink, BLOCK, TREE_BINDINGS);
  if (sinks !== undefined) {
    const tree = createTreeScan(extent, monoid, source, total);
    if (tree.totals.length > 0) {
      const slot = upsweep(engine, tree);
      spine(engine, tree, slot);
    }
    downsweep(engine, tree, sinks);
    tree.release();
  }
  source.release();
  return sinks !== undefined;
}
