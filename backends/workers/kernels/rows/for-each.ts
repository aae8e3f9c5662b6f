import { capacityOf, type ForEachCommand, type Program } from '../../../../primitives/contract/backend.ts';
import type { Module, Statement } from '../../../../primitives/ir/ir.ts';
import { memoized } from '../../../../primitives/ir/memo.ts';
import { someStatement } from '../../../../primitives/ir/visit.ts';
import { Graph, type Node, type Slots } from '../../../analyses/straight-line.ts';
import { costOf } from '../../commands/cost.ts';
import {
  argumentWords,
  beginKernel,
  emitChunk,
  type KernelInputs,
  type KernelShape,
  lengthWords,
  resultsOf,
  shapeKey,
  shapeOf,
  usesOf,
} from '../../commands/kernel-arguments.ts';
import { chunkSizeOf, type Launch, type Launcher, unevenChunkSizeOf } from '../../commands/launch.ts';
import { LaneCode } from '../../wasm/emit-lanes.ts';
import { VectorCode } from '../../wasm/emit-simd.ts';
import { inlineEntry } from '../../wasm/emit-wasm.ts';
import { explainStraight } from '../../wasm/explain-vectorization.ts';
import { emitIndexLoop, type IndexLoop, type VectorPart } from '../../wasm/index-loop.ts';
import { type MaskedPlan, maskedPart, maskedPlan, rowSizeOf } from '../../wasm/masked-part.ts';
import { slotsOf, storedNodes, straightProgram } from '../../wasm/program-graph.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { type FunctionBody, I32 } from '../../wasm/wasm-encoder.ts';
import type { Int32 } from '../../wasm/wasm-expressions.ts';
import type { Int32Local } from '../../wasm/wasm-locals.ts';
import { releaseAll } from '../shared/monoid-code.ts';
import {
  bitStoresOf,
  emitBits,
  emitBitWords,
  emitLaneStores,
  emitStores,
  emitVectorStores,
  narrowToStores,
} from '../shared/stores.ts';
import { type GridRows, gridRows, hasWideRows, scalarRows } from './grid-rows.ts';
import { emitTiles, isTiled, TILE_WORDS, tilePhase } from './grid-tiles.ts';
import { emitRowLoop, emitRows } from './row-loop.ts';

/** Evaluates `program(index)` for every index and stores the results, in one parallel phase. */
export function launchForEach(launcher: Launcher, command: ForEachCommand): Launch {
  const { extent, program, stores } = command;
  const tiled = isTiled(command);
  const shape = shapeOf([program], tiled ? TILE_WORDS : 0, stores);
  const byRows = hasWideRows(program);
  const masked = byRows || isStraight(program.module) ? undefined : maskedPlan(program);
  const key = `forEach ${tiled ? 'tiled ' : ''}${byRows ? 'rows ' : masked ? 'masked ' : ''}${shapeKey(shape)}`;
  const build = (): FunctionBody[] => [emitForEach(shape, { tiled, byRows, masked })];
  const kernel = launcher.compile(key, build);
  if (tiled) {
    const { phase, words } = tilePhase(kernel.functions[0]!, capacityOf(extent), command.across!);
    return { words: argumentWords(shape, launcher.addresses, phase.length, 1, words), phases: [phase] };
  }
  const length = lengthWords(extent, launcher.addresses);
  // A loop without a bound may take long for some rows, and end at once for others.
  const isUneven = costOf(program.module) === Number.POSITIVE_INFINITY;
  const chunkSize = (isUneven ? unevenChunkSizeOf : chunkSizeOf)(length[2], launcher.workers);
  return {
    words: argumentWords(shape, launcher.addresses, length, chunkSize, []),
    phases: [{ run: kernel.functions[0]!, length, chunkSize, minimum: 0 }],
    tiles: { key, build, anySize: true, uses: () => usesOf(shape, launcher.addresses, extent, []) },
  };
}

/**
 * Whether a program compiles to straight-line vector code, without masks. Such code computes both sides of a branch, so
 * one that is long, and may be rare, is better skipped where no lane takes it.
 */
const isStraight = memoized((module: Module): boolean => !hasLongBranch(module) && explainStraight(module).vectorizes);

/** From how many operations on a branch is long: skipping it then mostly pays for a wrong guess of the processor. */
const LONG_BRANCH = 64;

function hasLongBranch(module: Module): boolean {
  const sizes = new Map<string, number>();
  const sizeOf = (block: readonly Statement[]): number =>
    block.reduce((sum, statement) => {
      if (statement.kind === 'call') return sum + sizes.get(statement.callee)!;
      return statement.kind === 'if' ? sum + sizeOf(statement.consequent) + sizeOf(statement.alternative) : sum + 1;
    }, 0);
  const isLong = (statement: Statement): boolean =>
    statement.kind === 'if' && Math.max(sizeOf(statement.consequent), sizeOf(statement.alternative)) >= LONG_BRANCH;
  return module.functions.some(({ name, body }) => {
    sizes.set(name, sizeOf(body));
    return someStatement(body, isLong);
  });
}

/** Whether vectors evaluate a program, but only row by row of a grid, or with masks. */
export function takesRowsOrMasks(program: Program): boolean {
  return hasWideRows(program) || (!isStraight(program.module) && maskedPlan(program) !== undefined);
}

/** How a kernel evaluates its program. */
interface Way {
  readonly tiled: boolean;
  readonly byRows: boolean;
  readonly masked: MaskedPlan | undefined;
}

function emitForEach(shape: KernelShape, way: Way): FunctionBody {
  const { code, inputs } = beginKernel(shape, resultsOf(shape.programs[0]!));
  const visit = (range: Pick<IndexLoop, 'from' | 'to'>): void => emitVisits(code, inputs, way, range);
  if (way.tiled) emitTiles(code, inputs, visit);
  else visit(emitChunk(code, inputs.extent));
  return code.finish();
}

/** Evaluates the program for a range of indices and stores its results. */
function emitVisits(code: Code, inputs: KernelInputs, way: Way, bounds: Pick<IndexLoop, 'from' | 'to'>): void {
  const { masked } = way;
  const index = code.local(I32);
  const scalar = (): void => {
    const results = inlineEntry(code, inputs.environments[0]!, [index]);
    emitStores(code, inputs.stores, index, results);
    releaseAll(code, results);
  };
  const range = { ...bounds, index, scalar };
  const [module, slots] = [inputs.shape.programs[0]!.module, slotsOf(inputs.shape, 0)];
  const rows = way.byRows ? gridRows(module, slots) : undefined;
  const scalars = way.tiled && !way.byRows ? scalarRowsOf(module, slots) : undefined;
  if (masked !== undefined) {
    emitMasked(code, masked, inputs, range);
  } else if (rows !== undefined) {
    emitRowLoop(code, inputs, rows, range, (bind) => storingPart(code, inputs, index, rows.graph, rows.results, bind));
  } else if (scalars !== undefined) {
    const { graph, results } = scalars;
    emitRowLoop(code, inputs, scalars, range, (bind) => lanePart(code, inputs, index, graph, results, bind));
  } else {
    emitStraightRange(code, inputs, range, 0);
  }
}

/** The program specialized to the cells of one row, whose number then needs no division. */
function scalarRowsOf(module: Module, slots: Slots): GridRows | undefined {
  const rows = branches(module) ? undefined : scalarRows(module, slots);
  return rows && rows.graph.size <= UNROLLED_VALUES ? rows : undefined;
}

function emitMasked(code: Code, plan: MaskedPlan, inputs: KernelInputs, range: Omit<IndexLoop, 'vector'>): void {
  const size = rowSizeOf(plan, inputs);
  const pause = plan.hasDivergentLoops ? code.local(I32) : undefined;
  pause?.set(0);
  const part = (row: Int32 | undefined): VectorPart => maskedPart(code, plan, inputs, { ...range, row, pause });
  if (size === undefined) emitIndexLoop(code, { ...range, vector: part(undefined) });
  else emitRows(code, { size, before: 0, after: 0 }, range, part);
}

/**
 * Maximum number of values in a program whose rounds process sixteen indices. Rounds of larger programs process four
 * indices, because the unrolled code would not fit in the cache.
 */
export const UNROLLED_VALUES = 48;

/**
 * Evaluates one of the kernel's programs for a range of indices and stores its results. The programs of the kernel have
 * the same results.
 */
export function emitStraightRange(
  code: Code,
  inputs: KernelInputs,
  range: Pick<IndexLoop, 'from' | 'to'> & { readonly index: Int32Local },
  program: number,
): void {
  const { index } = range;
  const vector = vectorPart(code, inputs, index, program) ?? plainLanes(code, inputs, index, program);
  const scalar = (): void => {
    const results = inlineEntry(code, inputs.environments[program]!, [index]);
    emitStores(code, inputs.stores, index, results);
    releaseAll(code, results);
  };
  emitIndexLoop(code, { ...range, scalar, vector });
}

function vectorPart(code: Code, inputs: KernelInputs, index: Int32Local, program: number): VectorPart | undefined {
  const graph = new Graph('aligned');
  const results = straightProgram(graph, inputs.shape, program);
  return results && storingPart(code, inputs, index, graph, results);
}

/** Vector code that evaluates a graph and stores its results, for four or sixteen indices per round. */
function storingPart(
  code: Code,
  inputs: KernelInputs,
  index: Int32Local,
  graph: Graph,
  results: readonly Node[],
  bind?: (lanes: VectorCode) => void,
): VectorPart {
  const lanes = new VectorCode(code, { ...inputs, index });
  bind?.(lanes);
  const bits = bitStoresOf(code, inputs.stores, results);
  const others = inputs.stores.filter((store) => !bits.some((each) => each.store === store));
  lanes.prepare(storedNodes(inputs.stores, results));
  const offsets = graph.size > UNROLLED_VALUES ? [0] : [0, 4, 8, 12];
  return {
    step: 4 * offsets.length,
    narrow: (from, to) => {
      lanes.narrow(from, to);
      narrowToStores(code, inputs.stores, to);
    },
    round: () => {
      for (const offset of offsets) {
        lanes.begin(offset);
        emitBits(lanes, bits, offset);
        emitVectorStores(code, lanes, others, index, offset, results, graph.index());
      }
      emitBitWords(code, bits, index);
    },
  };
}

/** Number of indices per round. With fewer instructions between two random reads, the processor overlaps more reads. */
const LANES = 8;

/**
 * Scalar code that processes eight indices per round and evaluates common subexpressions once. Used for programs with
 * reads or divisions that vectors cannot evaluate. Undefined if the program is not suitable.
 */
function plainLanes(code: Code, inputs: KernelInputs, index: Int32Local, program: number): VectorPart | undefined {
  const graph = new Graph('scalars');
  // A program with branches is excluded, because straight-line code would perform the reads of both branches.
  const branching = branches(inputs.environments[program]!.module);
  const results = branching ? undefined : straightProgram(graph, inputs.shape, program);
  return results && graph.size <= UNROLLED_VALUES ? lanePart(code, inputs, index, graph, results) : undefined;
}

/** Scalar code that evaluates a graph and stores its results, for eight indices per round. */
function lanePart(
  code: Code,
  inputs: KernelInputs,
  index: Int32Local,
  graph: Graph,
  results: readonly Node[],
  bind?: (lanes: LaneCode | VectorCode) => void,
): VectorPart {
  const lanes = new LaneCode(code, { ...inputs, index }, true);
  bind?.(lanes);
  lanes.prepare([graph.index(), ...storedNodes(inputs.stores, results)]);
  const range = new VectorCode(code, { ...inputs, index });
  bind?.(range);
  range.prepare(lanes.contiguousReads);
  return {
    step: LANES,
    narrow: (from, to) => {
      range.narrow(from, to);
      narrowToStores(code, inputs.stores, to);
    },
    round: () => {
      for (let offset = 0; offset < LANES; offset++) {
        lanes.begin(offset);
        emitLaneStores(code, lanes, inputs.stores, index, offset, results, graph.index());
      }
    },
  };
}

function branches({ functions }: Module): boolean {
  return functions.some(({ body }) => body.some(({ kind }) => kind === 'if'));
}
