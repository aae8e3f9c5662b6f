import type { Program } from '../../../primitives/contract/backend.ts';
import { largestOf } from '../../../primitives/host/extremes.ts';
import type { Module } from '../../../primitives/ir/ir.ts';
import { memoized } from '../../../primitives/ir/memo.ts';
import { Graph, NotStraight } from '../../analyses/straight-line.ts';
import type { KernelInputs } from '../commands/kernel-arguments.ts';
import { MIN_CELLS } from '../kernels/rows/row-loop.ts';
import { emitVectorStores, narrowToStores } from '../kernels/shared/stores.ts';
import { MaskedCode } from './emit-masked.ts';
import { VectorCode } from './emit-simd.ts';
import type { VectorPart } from './index-loop.ts';
import { type LaneKinds, laneKinds } from './lane-kinds.ts';
import { blocksOf, type LaneProgram, type LaneStatement, laneProgram } from './lane-statements.ts';
import type { Code } from './wasm-code.ts';
import { I32 } from './wasm-encoder.ts';
import { type Int32, i32 } from './wasm-expressions.ts';
import { asInt32, type Int32Local, type VectorLocal } from './wasm-locals.ts';
import { block, br, forRounds } from './wasm-statements.ts';

/** A plan for evaluating a functor with loops and branches by masked vector code. */
export interface MaskedPlan {
  readonly program: LaneProgram;
  readonly kinds: LaneKinds;
  /** Number of vectors that are processed together; each has four indices. */
  readonly vectors: number;
}

/**
 * Plans the vector code of a module whose first parameter is the index. Throws {@link NotStraight} if vectors cannot
 * evaluate the module.
 */
export function planMasked(module: Module): MaskedPlan {
  const program = laneProgram(module);
  const kinds = laneKinds(program);
  return { program, kinds, vectors: vectorsAtOnce(program, kinds) };
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
 * Maximum number of vector-valued statements in an innermost loop for which four vectors (`MAX_OF_FOUR`) or two vectors
 * (`MAX_OF_TWO`) are processed together. The values of more statements would not fit in registers.
 */
const [MAX_OF_FOUR, MAX_OF_TWO] = [32, 64];

function vectorsAtOnce(program: LaneProgram, kinds: LaneKinds): number {
  const count = (statements: readonly LaneStatement[]): number =>
    statements.reduce((sum, statement) => {
      const isVector = 'local' in statement && kinds.kinds.get(statement.local.id) === 'varying';
      return blocksOf(statement).reduce((all, block) => all + count(block), sum + Number(isVector));
    }, 0);
  /** The maximum number of vector-valued statements over all innermost loops; 0 if there is no loop. */
  const max = (statements: readonly LaneStatement[]): number =>
    largestOf(
      statements.map((statement) => {
        const inside = blocksOf(statement).map(max);
        const own = statement.kind === 'loop' && largestOf(inside) === 0 ? count([statement]) : 0;
        return largestOf(inside, own);
      }),
      0,
    );
  const values = max(program.body) || count(program.body);
  return values <= MAX_OF_FOUR ? 4 : values <= MAX_OF_TWO ? 2 : 1;
}

/** The row size of the plan as an expression. Undefined if the plan has no row size. */
export function rowSizeOf({ kinds: { row } }: MaskedPlan, inputs: KernelInputs): Int32 | undefined {
  if (row === undefined) return undefined;
  return row.kind === 'uniform'
    ? asInt32(inputs.environments[0]!.uniforms.get(row.name)!)
    : i32(Number((row as { readonly value: number }).value));
}

/**
 * Returns vector code that evaluates a program and stores its results. Each round of the code processes several vectors
 * of indices. If a read of consecutive elements is out of bounds, scalar code processes the indices of the round one by
 * one.
 */
export function maskedPart(
  code: Code,
  plan: MaskedPlan,
  inputs: KernelInputs,
  { index, scalar }: { readonly index: Int32Local; readonly scalar: () => void },
  row: Int32 | undefined,
): VectorPart {
  const step = 4 * plan.vectors;
  return {
    step,
    narrow: (_from, to) => narrowToStores(code, inputs.stores, to),
    round: () =>
      block(code, (done) => {
        block(code, (elsewhere) => {
          const environment = inputs.environments[0]!;
          const sources = { environment, index, row, vectors: plan.vectors, elsewhere };
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
