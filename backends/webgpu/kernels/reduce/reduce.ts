import {
  type Cell,
  capacityOf,
  type Extent,
  type MonoidProgram,
  type Program,
} from '../../../../primitives/contract/backend.ts';
import { BLOCK } from '../../../../primitives/contract/combination-tree.ts';
import type { ScalarType } from '../../../../primitives/ir/ir.ts';
import { combinesInAnyOrder } from '../../../analyses/monoid-shapes.ts';
import { type Bindings, createBindings } from '../../launches/bindings.ts';
import { type Engine, type KernelText, launch, placeParameters } from '../../launches/engine.ts';
import { emitProgram, programKey } from '../../launches/link.ts';
import { type LengthWords, type Parameters, parameter } from '../../launches/parameters.ts';
import type { ParameterSlot } from '../../launches/recorder.ts';
import { separate } from '../../memory/snapshot.ts';
import type { Shader } from '../../wgsl/emit-wgsl.ts';
import { isLight } from '../../wgsl/module-size.ts';
import {
  blockForm,
  blocksPerGroup,
  blockThreads,
  emitBlockFunctions,
  emitBlockTotals,
  emitLevelLength,
  levelsOf,
} from '../shared/blocks.ts';
import { bindDestination, type Destination, linkCell, type States } from '../shared/destination.ts';
import { emitEvaluation, emitMonoid, emitStateLoad, emitStateStore, monoidKey } from '../shared/record.ts';
import type { KernelSource } from '../shared/source.ts';
import { prepareSource } from '../shared/stored-source.ts';
import { bindProgram } from '../shared/windows.ts';
import { ANY_ORDER_BINDINGS, reduceInAnyOrder } from './reduce-any-order.ts';

/** Number of storage buffers that the kernel of a tree level binds in addition to the program's storage buffers. */
const TREE_BINDINGS = 1;

/** Runs a reduce command; see `ReduceCommand`. */
export function reduce(engine: Engine, extent: Extent, program: Program, monoid: MonoidProgram, into: Cell): void {
  const inputs = separate(engine, extent, [program] as const, [into.buffer]);
  const anyOrder = engine.tuning.blockBy === 'workgroup' && combinesInAnyOrder(monoid);
  const others = anyOrder ? ANY_ORDER_BINDINGS : TREE_BINDINGS;
  const source = prepareSource(engine, inputs.extent, inputs.programs[0], BLOCK, others);
  if (anyOrder && source.windows.length === 1) {
    reduceInAnyOrder(engine, inputs.extent, monoid, source, into);
  } else reduceByTree(engine, inputs.extent, monoid, source, into);
  source.release();
  inputs.release();
}

/** Folds in the order of the combination tree, level by level. */
function reduceByTree(engine: Engine, extent: Extent, monoid: MonoidProgram, source: KernelSource, into: Cell): void {
  const { pool } = engine;
  const { parameters, length } = source;
  const levels = levelsOf(capacityOf(extent));
  const cell = linkCell(parameters, pool.resolve(into.buffer), into.word, monoid.types.length);
  const totals = allocateTotals(engine, parameters, levels.slice(1), monoid.types);
  const destinations: Destination[] = [...totals, cell];
  const tree: Tree = { monoid, parameters, length };
  const slot = reduceProgram(engine, tree, source, destinations[0]!);
  for (const [i, states] of totals.entries()) {
    reduceTotals(engine, tree, slot, i + 1, states, destinations[i + 1]!);
  }
  for (const { memory } of totals) pool.release(memory);
}

/** The data that the launches of all levels share. */
export interface Tree {
  readonly monoid: MonoidProgram;
  readonly parameters: Parameters;
  readonly length: LengthWords;
}

/** Allocates memory for the totals of every level. `counts` lists the number of totals at each level. */
export function allocateTotals(
  { pool }: Engine,
  parameters: Parameters,
  counts: readonly number[],
  types: readonly ScalarType[],
): States[] {
  return counts.map((count) => ({
    memory: pool.allocate(count * types.length),
    strideWord: parameters.word(count),
  }));
}

/**
 * Launches the lowest level: writes the total of every block of a program's results. Returns the kernel parameters,
 * which the levels above use too.
 */
export function reduceProgram(engine: Engine, tree: Tree, source: KernelSource, into: Destination): ParameterSlot {
  const { program, windows, parameters } = source;
  let slot: ParameterSlot | undefined;
  for (const window of windows) {
    const bindings = createBindings();
    const elements = bindProgram(program, window, bindings, parameters);
    slot = placeParameters(engine, parameters);
    launchLevel(engine, tree, {
      level: 0,
      bindings,
      slot,
      into,
      first: window.from / BLOCK,
      blocks: Math.max(1, Math.ceil((window.to - window.from) / BLOCK)),
      end: window.to,
      light: isLight(program.module),
      key: programKey(elements),
      evaluation: (shader) => `${emitProgram(elements, shader)}\n${emitEvaluation(program)}`,
    });
  }
  return slot!;
}

/**
 * Launches a higher level: combines the totals of the level below block by block, and writes the total of every block.
 */
export function reduceTotals(
  engine: Engine,
  tree: Tree,
  slot: ParameterSlot,
  level: number,
  { memory, strideWord }: States,
  into: Destination,
): void {
  const bindings = createBindings();
  const from = bindings.bind(memory, 'read');
  const { types } = tree.monoid;
  launchLevel(engine, tree, {
    level,
    bindings,
    slot,
    into,
    first: 0,
    blocks: Math.ceil(memory.words / types.length / BLOCK),
    end: memory.words,
    light: true,
    key: `t${from}.${strideWord}`,
    evaluation: () => emitStateLoad('evaluate', from, parameter(strideWord), types),
  });
}

interface Level {
  readonly level: number;
  readonly bindings: Bindings;
  readonly slot: ParameterSlot;
  readonly into: Destination;
  readonly first: number;
  readonly blocks: number;
  /** Index after the last element that the launch processes. */
  readonly end: number;
  /** Whether the code of the evaluation is short enough to be repeated in the kernel. */
  readonly light: boolean;
  readonly key: string;
  /** Returns WGSL of `evaluate(i) -> S`, which computes an element. */
  readonly evaluation: (shader: Shader) => string;
}

function launchLevel(engine: Engine, { monoid, parameters, length }: Tree, level: Level): void {
  const { bindings, into, slot, first, blocks, end } = level;
  const out = bindDestination(into, bindings);
  const form = blockForm(engine, monoid.types.length, level.light);
  const code = (shader: Shader): KernelText => {
    const evaluation = level.evaluation(shader);
    const { cell } = into;
    const write = (block: string, state: string): string =>
      `write_total(${cell === undefined ? block : parameter(cell.word)}, ${state});`;
    return {
      threads: blockThreads(form),
      subgroups: form.lanes !== undefined,
      declarations: `${emitMonoid(monoid, shader)}
${evaluation}
${emitStateStore('write_total', out, parameter(into.strideWord), monoid.types)}
${emitLevelLength(length, level.level)}
${emitBlockFunctions(form, monoid.types)}`,
      main: emitBlockTotals(form, write, cell && ((state) => write('', state))),
    };
  };
  const place = [out, into.cell?.word, into.strideWord, length.raw].join('.');
  const key = `reduce ${Object.values(form).join()} ${monoidKey(monoid)} ${level.key} ${level.level} ${place}`;
  launch(engine, {
    key,
    parameters,
    slot,
    bindings,
    code,
    groups: Math.ceil(blocks / blocksPerGroup(form)),
    words: [first, end],
  });
}
