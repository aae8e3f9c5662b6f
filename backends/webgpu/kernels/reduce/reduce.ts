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
import { type Engine, launch, placeParameters } from '../../launches/engine.ts';
import { emitProgram, programKey } from '../../launches/link.ts';
import { type LengthWords, type Parameters, parameter } from '../../launches/parameters.ts';
import type { ParameterSlot } from '../../launches/recorder.ts';
import type { Memory } from '../../memory/memory.ts';
import { separate } from '../../memory/snapshot.ts';
import type { Shader } from '../../wgsl/emit-wgsl.ts';
import { isLight } from '../../wgsl/module-size.ts';
import {
  type BlockForm,
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
import { bindProgram, type IndexRange } from '../shared/windows.ts';
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
  const { parameters, length } = source;
  const levels = levelsOf(capacityOf(extent));
  const cell = linkCell(parameters, into, monoid.types.length);
  const totals = allocateTotals(parameters, levels.slice(1), monoid.types);
  const destinations: Destination[] = [...totals, cell];
  const tree: Tree = { monoid, parameters, length };
  const slot = reduceProgram(engine, tree, source, destinations[0]!);
  for (const [i, states] of totals.entries()) {
    reduceTotals(engine, tree, slot, i + 1, states, destinations[i + 1]!);
  }
  for (const { memory } of totals) engine.pool.release(memory);
}

/** The data that the launches of all levels share. */
export interface Tree {
  readonly monoid: MonoidProgram;
  readonly parameters: Parameters;
  readonly length: LengthWords;
}

/** Allocates memory for the totals of every level. `counts` lists the number of totals at each level. */
export function allocateTotals(
  parameters: Parameters,
  counts: readonly number[],
  types: readonly ScalarType[],
): States[] {
  return counts.map((count) => ({
    memory: parameters.pool.allocate(count * types.length),
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
    const bindings = createBindings(parameters);
    const elements = bindProgram(program, window, bindings);
    slot = placeParameters(engine, parameters);
    const level: Level = {
      ...lowestLevel(window),
      bindings,
      slot,
      light: isLight(program.module),
      key: programKey(elements),
      code: (shader) => `${emitProgram(elements, shader)}\n${emitEvaluation(program)}`,
    };
    reduceLevel(engine, tree, level, into);
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
  const bindings = createBindings(tree.parameters);
  const from = bindings.bind(memory, 'read');
  const { types } = tree.monoid;
  const totals: Level = {
    ...higherLevel(memory, level, types),
    bindings,
    slot,
    key: `t${from}.${strideWord}`,
    code: () => emitStateLoad('evaluate', from, parameter(strideWord), types),
  };
  reduceLevel(engine, tree, totals, into);
}

/** The elements that a launch takes in blocks. */
export interface Level {
  readonly level: number;
  readonly bindings: Bindings;
  /** The kernel parameters, if they are shared with other levels. */
  readonly slot: ParameterSlot | undefined;
  readonly first: number;
  readonly blocks: number;
  /** Index after the last element that the launch processes. */
  readonly end: number;
  /** Whether the code that evaluates and consumes an element is short enough to be repeated in the kernel. */
  readonly light: boolean;
  readonly key: string;
  /** Returns WGSL of `evaluate(i) -> S`, which computes an element, and of what else the kernel needs. */
  readonly code: (shader: Shader) => string;
}

/** The blocks of a window of the elements. */
export function lowestLevel({ from, to }: IndexRange): Pick<Level, 'level' | 'first' | 'blocks' | 'end'> {
  return { level: 0, first: from / BLOCK, blocks: Math.max(1, Math.ceil((to - from) / BLOCK)), end: to };
}

/** The blocks of the totals of a level. */
export function higherLevel(
  { words }: Memory,
  level: number,
  types: readonly ScalarType[],
): Pick<Level, 'level' | 'first' | 'blocks' | 'end' | 'light'> {
  return { level, first: 0, blocks: Math.ceil(words / types.length / BLOCK), end: words, light: true };
}

function reduceLevel(engine: Engine, tree: Tree, level: Level, into: Destination): void {
  const out = bindDestination(into, level.bindings);
  const { cell } = into;
  const write = (block: string, state: string): string =>
    `write_total(${cell === undefined ? block : parameter(cell.word)}, ${state});`;
  launchLevel(engine, tree, level, {
    key: `reduce ${[out, cell?.word, into.strideWord].join('.')}`,
    declarations: emitStateStore('write_total', out, parameter(into.strideWord), tree.monoid.types),
    main: (form) => emitBlockTotals(form, write, cell && ((state) => write('', state))),
  });
}

/** A kernel that takes elements in blocks. */
export interface BlockKernel {
  readonly key: string;
  readonly declarations: string;
  main(form: BlockForm): string;
}

/** Launches a kernel for the elements of a level. */
export function launchLevel(
  engine: Engine,
  { monoid, length }: Tree,
  { level, bindings, slot, first, blocks, end, light, key, code }: Level,
  kernel: BlockKernel,
): void {
  const form = blockForm(engine, monoid.types.length, light);
  launch(engine, {
    key: `${kernel.key} ${Object.values(form).join()} ${monoidKey(monoid)} ${key} ${level} ${length.raw}`,
    slot,
    bindings,
    groups: Math.ceil(blocks / blocksPerGroup(form)),
    words: [first, end],
    code: (shader) => {
      const functions = code(shader);
      return {
        threads: blockThreads(form),
        subgroups: form.lanes !== undefined,
        declarations: `${emitMonoid(monoid, shader)}
${functions}
${kernel.declarations}
${emitLevelLength(length, level)}
${emitBlockFunctions(form, monoid.types)}`,
        main: kernel.main(form),
      };
    },
  });
}
