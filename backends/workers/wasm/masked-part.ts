import type { Program } from '../../../primitives/contract/backend.ts';
import { largestOf } from '../../../primitives/host/extremes.ts';
import type { Module } from '../../../primitives/ir/ir.ts';
import { memoized } from '../../../primitives/ir/memo.ts';
import { Graph, NotStraight } from '../../analyses/straight-line.ts';
import type { KernelInputs } from '../commands/kernel-arguments.ts';
import { MIN_CELLS } from '../kernels/rows/row-loop.ts';
import { emitVectorStores, narrowToStores } from '../kernels/shared/stores.ts';
import { FRAME_BYTES } from '../threads/queue.ts';
import { MaskedCode, type MaskedSources } from './emit-masked.ts';
import { VectorCode } from './emit-simd.ts';
import type { VectorPart } from './index-loop.ts';
import { VECTOR_BYTES } from './lane-arrays.ts';
import { type LaneKinds, laneKinds } from './lane-kinds.ts';
import { blocksOf, type LaneProgram, type LaneStatement, laneProgram } from './lane-statements.ts';
import { bytesOf } from './local-arrays.ts';
import type { Code } from './wasm-code.ts';
import { I32 } from './wasm-encoder.ts';
import { type Int32, i32 } from './wasm-expressions.ts';
import { asInt32, type Int32Local, type VectorLocal } from './wasm-locals.ts';
import { block, br, brIf, forRounds } from './wasm-statements.ts';

/** A plan for evaluating a functor with loops and branches by masked vector code. */
export interface MaskedPlan {
  readonly program: LaneProgram;
  readonly kinds: LaneKinds;
  /** Number of vectors that are processed together; each has four indices. */
  readonly vectors: number;
  /** Whether loops may have different numbers of rounds in different lanes. */
  readonly hasDivergentLoops: boolean;
}

/**
 * Plans the vector code of a module whose first parameter is the index. Throws {@link NotStraight} if vectors cannot
 * evaluate the module.
 */
export function planMasked(module: Module): MaskedPlan {
  const program = laneProgram(module);
  const kinds = laneKinds(program);
  return {
    program,
    kinds,
    vectors: Math.min(vectorsAtOnce(program, kinds), vectorsInFrame(program)),
    hasDivergentLoops: [...kinds.divergent].some(isLoop),
  };
}

/**
 * Plans the vector code of a program. Undefined if vectors cannot evaluate the program, or if its row size (the divisor
 * of the index) is a uniform below {@link MIN_CELLS}. Because this function is called at every launch, plans are
 * memoized.
 */
export function maskedPlan({ module, uniforms }: Program): MaskedPlan | undefined {
  const plan = planOrNone(module);
  const row = plan?.kinds.row;
  if (row === undefined) return plan;
  return row.kind !== 'uniform' || Number(uniforms.get(row.name)) >= MIN_CELLS ? plan : undefined;
}

const planOrNone = memoized((module: Module): MaskedPlan | undefined => {
  try {
    return planMasked(module);
  } catch (error) {
    if (error instanceof NotStraight) return undefined;
    throw error;
  }
});

/**
 * Maximum number of vector-valued statements in an innermost loop for which four vectors (`ofFour`) or two vectors
 * (`ofTwo`) are processed together. The values of more statements would not fit in registers. If lanes leave loops in
 * different rounds, the more lanes there are, the more of them wait for the last. Four vectors then pay only for loops
 * that mostly wait for memory, as those that follow pointers, and two only for loops whose ends are not found by a
 * search.
 */
const EVEN = { ofFour: 32, ofTwo: 64 };
const DIVERGENT = { ofFour: 16, ofTwo: 128 };

function vectorsAtOnce({ body }: LaneProgram, { kinds, divergent }: LaneKinds): number {
  const innermost = innermostLoops(body);
  const values = largestOf((innermost.length > 0 ? innermost : [body]).map((each) => valuesIn(each, kinds)));
  const differ = innermost.filter(([loop]) => divergent.has(loop!));
  const { ofFour, ofTwo } = differ.length > 0 ? DIVERGENT : EVEN;
  if (values <= ofFour) return 4;
  return values <= ofTwo && !differ.some(isSearch) ? 2 : 1;
}

/** How many vectors the frame has room for, with the arrays of all their lanes. */
function vectorsInFrame({ body }: LaneProgram): number {
  const bytes = frameBytesOf(body);
  if (bytes > FRAME_BYTES) throw new NotStraight('its local arrays are too long for four indices at a time');
  return 4 * bytes <= FRAME_BYTES ? 4 : 2 * bytes <= FRAME_BYTES ? 2 : 1;
}

/** Bytes of the frame that the arrays of one vector take. */
function frameBytesOf(block: readonly LaneStatement[]): number {
  return block.reduce((sum, statement) => {
    const own = statement.kind === 'localArray' ? bytesOf(statement.localArray, VECTOR_BYTES) : 0;
    return blocksOf(statement).reduce((all, inner) => all + frameBytesOf(inner), sum + own);
  }, 0);
}

/** The loops that contain no other loops, each as a block of its own. */
function innermostLoops(block: readonly LaneStatement[]): readonly (readonly LaneStatement[])[] {
  return block.flatMap((statement) => {
    const inside = blocksOf(statement).flatMap(innermostLoops);
    return inside.length === 0 && isLoop(statement) ? [[statement]] : inside;
  });
}

function isLoop(statement: LaneStatement): boolean {
  return statement.kind === 'loop' && !statement.once;
}

/** The number of statements in a block that compute vectors. */
function valuesIn(block: readonly LaneStatement[], kinds: LaneKinds['kinds']): number {
  return block.reduce((sum, statement) => {
    const isVector = 'local' in statement && kinds.get(statement.local.id) === 'varying';
    return blocksOf(statement).reduce((all, inner) => all + valuesIn(inner, kinds), sum + Number(isVector));
  }, 0);
}

/** Whether a loop has other exits than the one at its head. */
function isSearch(block: readonly LaneStatement[]): boolean {
  const exits = (statements: readonly LaneStatement[]): number =>
    statements.reduce((sum, each) => {
      return blocksOf(each).reduce((all, inner) => all + exits(inner), sum + Number(each.kind === 'break'));
    }, 0);
  return exits(block) > 1;
}

/** The row size of the plan as an expression. Undefined if the plan has no row size. */
export function rowSizeOf({ kinds: { row } }: MaskedPlan, inputs: KernelInputs): Int32 | undefined {
  if (row === undefined) return undefined;
  return row.kind === 'uniform'
    ? asInt32(inputs.environments[0]!.uniforms.get(row.name)!)
    : i32(Number((row as { readonly value: number }).value));
}

interface MaskedRange extends Pick<MaskedSources, 'row' | 'pause'> {
  readonly index: Int32Local;
  readonly scalar: () => void;
}

/**
 * Returns vector code that evaluates a program and stores its results. Each round of the code processes several vectors
 * of indices. If a read of consecutive elements is out of bounds, scalar code processes the indices of the round one by
 * one. If a round leaves most lanes idle in loops, so does scalar code with the indices of the next rounds.
 */
export function maskedPart(
  code: Code,
  plan: MaskedPlan,
  inputs: KernelInputs,
  { index, scalar, row, pause }: MaskedRange,
): VectorPart {
  const step = 4 * plan.vectors;
  return {
    step,
    narrow: (_from, to) => narrowToStores(code, inputs.stores, to),
    round: () =>
      block(code, (done) => {
        block(code, (elsewhere) => {
          if (pause !== undefined) brIf(code, elsewhere, pause.tee(pause.sub(1)).gtS(0));
          const environment = inputs.environments[0]!;
          const sources = { environment, index, row, vectors: plan.vectors, elsewhere, pause };
          const masked = new MaskedCode(code, plan.program, plan.kinds, sources);
          emitStores(code, masked.run(), plan, inputs, index);
          masked.release();
          br(code, done);
        });
        emitOneByOne(code, index, step, scalar);
      }),
  };
}

function emitStores(
  code: Code,
  results: readonly (readonly VectorLocal[])[],
  { program }: MaskedPlan,
  inputs: KernelInputs,
  index: Int32,
): void {
  const graph = new Graph();
  const nodes = program.results.map(({ type }, i) => graph.parameter(type, `${i}`));
  const lanes = new VectorCode(code, { ...inputs, index });
  for (const [u, locals] of results.entries()) {
    lanes.begin(4 * u);
    for (const [i, node] of nodes.entries()) lanes.bind(node, locals[i]!);
    emitVectorStores(code, lanes, inputs.stores, index, 4 * u, nodes, graph.index());
  }
  lanes.begin(0);
}

/** Emits scalar code for the `step` indices of a round. Afterwards `index` has its old value. */
function emitOneByOne(code: Code, index: Int32Local, step: number, scalar: () => void): void {
  const end = code.local(I32);
  end.set(index.add(step));
  forRounds(code, index, end, 1, scalar);
  index.set(end.sub(step));
  code.release(end);
}
