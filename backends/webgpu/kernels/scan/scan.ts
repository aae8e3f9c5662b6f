import { capacityOf, type ScanCommand } from '../../../../primitives/contract/backend.ts';
import { BLOCK } from '../../../../primitives/contract/combination-tree.ts';
import { type Engine, tooManyBindings } from '../../launches/engine.ts';
import { separate } from '../../memory/snapshot.ts';
import { forEach } from '../rows/for-each.ts';
import { linkSource } from '../shared/source.ts';
import { prepareSource } from '../shared/stored-source.ts';
import { LOOK_BACK_BINDINGS, lookBackTile, scanByLookBack } from './scan-look-back.ts';
import { linkSink, placeSinks, splitScan } from './scan-sink.ts';
import { scanByTree, TREE_BINDINGS } from './scan-tree.ts';

/** Runs a scan command; see `Backend.scan`. */
export function scan(engine: Engine, command: ScanCommand): void {
  const { stores, total } = command;
  const written = [...stores, ...(total === undefined ? [] : [total])].map(({ buffer }) => buffer);
  const inputs = separate(engine, command.extent, [command.program, command.emit] as const, written);
  const [program, emit] = inputs.programs;
  runScan(engine, { ...command, extent: inputs.extent, program, emit });
  inputs.release();
}

function runScan(engine: Engine, command: ScanCommand): void {
  if (scanInOnePass(engine, command) || scanFused(engine, command, TREE_BINDINGS)) return;
  const { extent, monoid, emit, stores } = command;
  const split = splitScan(engine, extent, monoid, emit);
  const others = TREE_BINDINGS + 1;
  if (!scanFused(engine, { ...command, ...split.first, form: undefined }, others)) {
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
  const sink = linkSink(engine, source, extent, emit, stores);
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
function scanFused(engine: Engine, command: ScanCommand, others: number): boolean {
  const { extent, monoid, program, emit, stores, total } = command;
  const source = prepareSource(engine, extent, program, BLOCK, others);
  const sink = linkSink(engine, source, extent, emit, stores);
  const sinks = placeSinks(engine, capacityOf(extent), source, sink, BLOCK, TREE_BINDINGS);
  if (sinks !== undefined) scanByTree(engine, extent, monoid, source, sinks, total);
  source.release();
  return sinks !== undefined;
}
