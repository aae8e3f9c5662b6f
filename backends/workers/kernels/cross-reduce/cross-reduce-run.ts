import type { CrossReduceCommand } from '../../../../primitives/contract/backend.ts';
import { entryOf, type ScalarType } from '../../../../primitives/ir/ir.ts';
import { Graph, type Node, straightLine } from '../../../analyses/straight-line.ts';
import {
  emitInputs,
  emitOwnWord,
  type KernelInputs,
  type KernelShape,
  type Layout,
} from '../../commands/kernel-arguments.ts';
import { VectorCode } from '../../wasm/emit-simd.ts';
import { inlineEntry } from '../../wasm/emit-wasm.ts';
import { emitRounds } from '../../wasm/index-loop.ts';
import { slotsOf } from '../../wasm/program-graph.ts';
import { emitExtract, emitSplat, emitWords, lanesOf } from '../../wasm/vector-operations.ts';
import { Code } from '../../wasm/wasm-code.ts';
import { type FunctionBody, I32, op, simd, V128 } from '../../wasm/wasm-encoder.ts';
import {
  emitVectorIdentity,
  releaseAll,
  type VectorCombine,
  vectorCombine,
  vectorLocals,
} from '../shared/monoid-code.ts';
import { crossWords, LANES, ROWS, TILE } from './cross-reduce-block.ts';

/** Right rows that are taken at once: sums of so many, for two vectors of left rows, stay in registers. */
const AT_ONCE = 4;
/** Dimensions of one round of the loop over them. */
const UNROLLED = 4;
const VECTORS = TILE / LANES;

/** What the function is given, behind the arguments of the kernel. */
const [TILE_AT, OWN_AT, FIRST, COUNT, FROM, TO, OFFSET] = [1, 2, 3, 4, 5, 6, 7];

/** A functor as a graph, with its parameters. */
interface Line {
  readonly parameters: readonly Node[];
  readonly results: readonly Node[];
  readonly lanes: VectorCode;
}

/** Takes a run of right rows for a tile of left ones: the sums of each pair, what it is worth, and the fold of that. */
export function emitRun(shape: KernelShape, layout: Layout, command: CrossReduceCommand): FunctionBody {
  const code = new Code([I32, I32, I32, I32, I32, I32, I32, I32]);
  const inputs = emitInputs(code, shape, layout, []);
  const { monoid, left, right, results } = command;
  const [step, value] = [2, 3].map((program) => lineOf(code, shape, layout, inputs, program)) as [Line, Line];
  const combine = vectorCombine(code, monoid)!;
  const folded = Array.from({ length: VECTORS }, () => vectorLocals(code, monoid));
  for (const state of folded) emitVectorIdentity(code, monoid, state);
  const rights = right.map((_, leaf) => emitOwnWord(code, crossWords.vectors + left.length + leaf));
  const run: CrossRun = { code, inputs, command, step, value, combine, folded, rights };
  const [j, whole] = [code.local(I32), code.local(I32)];
  code.get(FROM);
  code.tee(j);
  code.get(TO);
  code.get(FROM);
  code.op(op.i32Sub);
  code.i32(-AT_ONCE);
  code.op(op.i32And, op.i32Add);
  code.set(whole);
  emitRounds(code, j, whole, AT_ONCE, () => emitPairs(run, j, AT_ONCE));
  emitRounds(code, j, TO, 1, () => emitPairs(run, j, 1));
  const into = results.map((_, leaf) => emitOwnWord(code, crossWords.vectors + left.length + right.length + leaf));
  for (const [vector, state] of folded.entries()) emitStore(code, monoid.types, into, state, vector);
  return code.finish();
}

interface CrossRun {
  readonly code: Code;
  readonly inputs: KernelInputs;
  readonly command: CrossReduceCommand;
  readonly step: Line;
  readonly value: Line;
  readonly combine: VectorCombine;
  readonly folded: readonly (readonly number[])[];
  /** Addresses of the right vectors. */
  readonly rights: readonly number[];
}

function lineOf(code: Code, { programs }: KernelShape, layout: Layout, inputs: KernelInputs, program: number): Line {
  const graph = new Graph();
  const { module } = programs[program]!;
  const parameters = entryOf(module).parameters.map(({ type }, k) => graph.parameter(type, `${k}`));
  const results = straightLine(graph, module, slotsOf(layout, program), parameters)!;
  const lanes = new VectorCode(code, { ...inputs, index: -1 });
  lanes.prepare(results);
  return { parameters, results, lanes };
}

/** Folds what the pairs of a tile with so many right rows, from row j on, are worth. */
function emitPairs(run: CrossRun, j: number, count: number): void {
  const { code, command, inputs, value, combine, folded } = run;
  const { start, step, leftOwn, rightOwn } = command;
  const types = entryOf(step.module).results;
  const sums = Array.from({ length: count }, () =>
    Array.from({ length: VECTORS }, () =>
      start.map((leaf, k) => {
        const local = code.local(V128);
        code.v128(lanesOf(types[k]!, leaf));
        code.set(local);
        return local;
      }),
    ),
  );
  if (start.length > 0) emitSums(run, j, sums);
  const row = code.local(I32);
  for (const [k, ofRow] of sums.entries()) {
    code.get(j);
    code.i32(k);
    code.op(op.i32Add);
    code.set(row);
    const right = emitRightOwn(code, inputs, entryOf(rightOwn.module).results, row);
    for (const [vector, sum] of ofRow.entries()) {
      const { lanes, parameters, results } = value;
      lanes.begin(0);
      lanes.supply(parameters[0]!, () => {
        code.get(FIRST);
        code.simd(simd.i32x4Splat);
        code.v128([0, 1, 2, 3].map((lane) => LANES * vector + lane) as [number, number, number, number]);
        code.simd(simd.i32x4Add);
      });
      const given = parameters.slice(1);
      for (const [leaf, local] of sum.entries()) lanes.bind(given[leaf]!, local);
      for (const [leaf, type] of entryOf(leftOwn.module).results.entries()) {
        lanes.supply(given[sum.length + leaf]!, () => {
          code.get(OWN_AT);
          code.simdMemory(simd.load, 4 * (ROWS * leaf + LANES * vector));
          if (type === 'bool') code.simd(simd.i32x4Neg);
        });
      }
      for (const [leaf, local] of right.entries()) {
        lanes.bind(given[given.length - right.length + leaf]!, local);
      }
      const worth = results.map((node) => lanes.copy(node));
      combine(folded[vector]!, folded[vector]!, worth);
      releaseAll(code, worth);
    }
    releaseAll(code, right);
  }
  releaseAll(code, [row, ...sums.flat(2)]);
}

/** What belongs to a right row, in all lanes. */
function emitRightOwn(code: Code, { environments }: KernelInputs, types: readonly ScalarType[], row: number): number[] {
  const own = inlineEntry(code, environments[1]!, [row]);
  const lanes = types.map((type, leaf) => {
    const local = code.local(V128);
    code.get(own[leaf]!);
    emitSplat(code, type);
    code.set(local);
    return local;
  });
  releaseAll(code, own);
  return lanes;
}

/** Takes the sums of pairs from dimension to dimension. */
function emitSums(
  { code, command, step, rights }: CrossRun,
  j: number,
  sums: readonly (readonly (readonly number[])[])[],
): void {
  const { dimensions, right } = command;
  const [d, end, a] = [code.local(I32), code.local(I32), code.local(I32)];
  const b = right.map(() => code.local(I32));
  code.i32(0);
  code.set(d);
  code.get(TILE_AT);
  code.set(a);
  for (const [leaf, address] of b.entries()) {
    code.get(rights[leaf]!);
    code.get(j);
    code.i32(4 * dimensions);
    code.op(op.i32Mul, op.i32Add);
    code.set(address);
  }
  const round = (unrolled: number): void => {
    for (let ahead = 0; ahead < unrolled; ahead++) emitStep(code, command, step, { d, a, b, ahead }, sums);
    code.get(a);
    code.i32(4 * TILE * unrolled);
    code.op(op.i32Add);
    code.set(a);
    for (const address of b) {
      code.get(address);
      code.i32(4 * unrolled);
      code.op(op.i32Add);
      code.set(address);
    }
  };
  const whole = dimensions - (dimensions % UNROLLED);
  if (whole > 0) {
    code.i32(whole);
    code.set(end);
    emitRounds(code, d, end, UNROLLED, () => round(UNROLLED));
  }
  if (whole < dimensions) {
    code.i32(dimensions);
    code.set(end);
    emitRounds(code, d, end, 1, () => round(1));
  }
  releaseAll(code, [d, end, a, ...b]);
}

interface Place {
  /** The dimension under way, and addresses of its elements of the tile and of the first right row. */
  readonly d: number;
  readonly a: number;
  readonly b: readonly number[];
  /** How many dimensions further. */
  readonly ahead: number;
}

function emitStep(
  code: Code,
  { dimensions, left }: CrossReduceCommand,
  { lanes, parameters, results }: Line,
  { d, a, b, ahead }: Place,
  sums: readonly (readonly (readonly number[])[])[],
): void {
  const lefts = Array.from({ length: VECTORS }, (_, vector) =>
    left.map((_, leaf) => {
      const local = code.local(V128);
      code.get(a);
      code.simdMemory(simd.load, 4 * TILE * (leaf * dimensions + ahead) + 16 * vector);
      code.set(local);
      return local;
    }),
  );
  for (const [k, ofRow] of sums.entries()) {
    const right = b.map((address) => {
      const local = code.local(V128);
      code.get(address);
      code.simdMemory(simd.load32Splat, 4 * (k * dimensions + ahead));
      code.set(local);
      return local;
    });
    for (const [vector, sum] of ofRow.entries()) {
      lanes.begin(0);
      lanes.supply(parameters[0]!, () => {
        code.get(d);
        code.i32(ahead);
        code.op(op.i32Add);
        code.simd(simd.i32x4Splat);
      });
      const bound = [...sum, ...lefts[vector]!, ...right];
      for (const [i, local] of bound.entries()) lanes.bind(parameters[1 + i]!, local);
      if (results.length === 1) {
        lanes.push(results[0]!);
        code.set(sum[0]!);
      } else {
        const next = results.map((node) => lanes.copy(node));
        for (const [leaf, local] of next.entries()) {
          code.get(local);
          code.set(sum[leaf]!);
        }
        releaseAll(code, next);
      }
    }
    releaseAll(code, right);
  }
  releaseAll(code, lefts.flat());
}

/** Stores the results of those of four rows that there are. */
function emitStore(
  code: Code,
  types: readonly ScalarType[],
  into: readonly number[],
  state: readonly number[],
  vector: number,
): void {
  const pushPlace = (leaf: number): void => {
    code.get(into[leaf]!);
    code.get(OFFSET);
    code.op(op.i32Add);
  };
  code.get(COUNT);
  code.i32(LANES * (vector + 1));
  code.op(op.i32GeU);
  code.when(
    () => {
      for (const [leaf, type] of types.entries()) {
        pushPlace(leaf);
        code.get(state[leaf]!);
        emitWords(code, type);
        code.simdMemory(simd.store, 16 * vector);
      }
    },
    () => {
      for (let lane = 0; lane < LANES; lane++) {
        code.get(COUNT);
        code.i32(LANES * vector + lane);
        code.op(op.i32GtU);
        code.when(() => {
          for (const [leaf, type] of types.entries()) {
            pushPlace(leaf);
            code.get(state[leaf]!);
            emitExtract(code, type, lane);
            code.memory(type === 'f32' ? op.f32Store : op.i32Store, 16 * vector + 4 * lane);
          }
        });
      }
    },
  );
}
