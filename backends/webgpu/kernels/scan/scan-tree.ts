import { type Cell, capacityOf, type Extent, type MonoidProgram } from '../../../../primitives/contract/backend.ts';
import { createBindings } from '../../launches/bindings.ts';
import type { Engine } from '../../launches/engine.ts';
import { parameter } from '../../launches/parameters.ts';
import type { ParameterSlot } from '../../launches/recorder.ts';
import { isLight } from '../../wgsl/module-size.ts';
import {
  allocateTotals,
  higherLevel,
  type Level,
  launchLevel,
  lowestLevel,
  reduceProgram,
  reduceTotals,
  type Tree,
} from '../reduce/reduce.ts';
import { emitBlockScan, levelsOf } from '../shared/blocks.ts';
import { type Destination, linkCell, type States } from '../shared/destination.ts';
import { emitEvaluation, emitStateLoad, emitStateStore } from '../shared/record.ts';
import type { KernelSource } from '../shared/source.ts';
import { bindScan, emitConsume, type PlacedSink } from './scan-sink.ts';

/**
 * Number of storage buffers that the last kernel of a scan binds in addition to the buffers of the program and the sink
 * (consumer of the prefixes): the prefixes of blocks and the total.
 */
export const TREE_BINDINGS = 2;

/** A scan along the combination tree. */
export interface TreeScan {
  readonly tree: Tree;
  readonly source: KernelSource;
  /** States of the blocks of each level, the lowest first: their totals, and the exclusive prefixes of these totals. */
  readonly totals: readonly States[];
  readonly prefixes: readonly States[];
  /** The destination of the total of all elements, if it is wanted. */
  readonly cell: Destination | undefined;
  release(): void;
}

export function createTreeScan(
  extent: Extent,
  monoid: MonoidProgram,
  source: KernelSource,
  total: Cell | undefined,
): TreeScan {
  const { parameters, length } = source;
  const cell = total && linkCell(parameters, total, monoid.types.length);
  const levels = levelsOf(capacityOf(extent)).slice(1);
  const totals = allocateTotals(parameters, levels, monoid.types);
  const prefixes = allocateTotals(parameters, levels, monoid.types);
  return {
    ...{ tree: { monoid, parameters, length }, source, totals, prefixes, cell },
    release: () => {
      for (const { memory } of [...totals, ...prefixes]) parameters.pool.release(memory);
    },
  };
}

/** Reduces every block of elements to its total. */
export function upsweep(engine: Engine, { tree, source, totals }: TreeScan): ParameterSlot {
  return reduceProgram(engine, tree, source, totals[0]!);
}

/**
 * Scans the totals of the blocks: reduces blocks of totals, level by level up to one block, then writes the prefixes of
 * the totals, level by level down.
 */
export function spine(engine: Engine, { tree, totals, prefixes, cell }: TreeScan, slot: ParameterSlot): void {
  const top = totals.length - 1;
  for (let i = 1; i <= top; i++) reduceTotals(engine, tree, slot, i, totals[i - 1]!, totals[i]!);
  for (let i = top; i >= 0; i--) {
    const ends = { before: prefixes[i + 1], total: i === top ? cell : undefined };
    scanTotals(engine, tree, slot, i + 1, totals[i]!, prefixes[i]!, ends);
  }
}

/** Scans within every block, starting from the block's prefix, and gives the results to the sinks. */
export function downsweep(engine: Engine, scan: TreeScan, sinks: readonly PlacedSink[]): void {
  const { tree, source, prefixes, cell } = scan;
  const rounds = sinks.flatMap(({ sink, windows }) => windows.map((window) => ({ sink, window })));
  for (const [round, { sink, window }] of rounds.entries()) {
    const { bindings, stores, key, code } = bindScan(source, sink, window);
    const level: Level = {
      ...lowestLevel(window),
      bindings,
      slot: undefined,
      light: isLight(source.program.module) && isLight(sink.emit.module),
      key,
      code: (shader) => `${code(shader)}\n${emitConsume(stores)}\n${emitEvaluation(source.program)}`,
    };
    const total = prefixes.length === 0 && round === 0 ? cell : undefined;
    scanLevel(engine, tree, level, { before: prefixes[0], total });
  }
}

/** Launches a scan that reads the totals of a level and writes the exclusive prefixes of these totals. */
function scanTotals(
  engine: Engine,
  tree: Tree,
  slot: ParameterSlot,
  level: number,
  from: States,
  into: States,
  ends: ScanEnds,
): void {
  const bindings = createBindings(tree.parameters);
  const { types } = tree.monoid;
  const [read, write] = [bindings.bind(from.memory, 'read'), bindings.bind(into.memory, 'write')];
  const totals: Level = {
    ...higherLevel(from.memory, level, types),
    bindings,
    slot,
    key: `t${read}.${from.strideWord}.${write}.${into.strideWord}`,
    code: () => `${emitStateLoad('evaluate', read, parameter(from.strideWord), types)}
${emitStateStore('write_prefix', write, parameter(into.strideWord), types)}
fn consume(i: u32, x: S, y: S) { write_prefix(i, x); }`,
  };
  scanLevel(engine, tree, totals, ends);
}

/** Where a level's blocks begin, and where the total goes. */
interface ScanEnds {
  /** The prefixes before the blocks; undefined if the level has only one block. */
  readonly before: States | undefined;
  /** The destination of the total if the level has only one block; else undefined. */
  readonly total: Destination | undefined;
}

/** Launches a scan of a level whose `code` also has `consume(i, exclusive, inclusive)`, which stores the results. */
function scanLevel(engine: Engine, tree: Tree, level: Level, { before, total }: ScanEnds): void {
  const { bindings } = level;
  const { types } = tree.monoid;
  const prefixSlot = before === undefined ? undefined : bindings.bind(before.memory, 'read');
  const totalSlot =
    total === undefined ? undefined : bindings.bind(total.memory, 'write', total.cell!.first, total.cell!.count);
  const writeTotal = (state: string): string => `write_total(${parameter(total!.cell!.word)}, ${state});`;
  launchLevel(engine, tree, level, {
    key: `scan ${[prefixSlot, before?.strideWord, totalSlot, total?.cell?.word].join('.')}`,
    declarations: `${prefixSlot === undefined ? '' : emitStateLoad('prefix_of', prefixSlot, parameter(before!.strideWord), types)}
${totalSlot === undefined ? '' : emitStateStore('write_total', totalSlot, parameter(total!.strideWord), types)}`,
    main: (form) =>
      emitBlockScan(
        form,
        prefixSlot === undefined ? undefined : (block) => `prefix_of(${block})`,
        total === undefined ? undefined : writeTotal,
      ),
  });
}
