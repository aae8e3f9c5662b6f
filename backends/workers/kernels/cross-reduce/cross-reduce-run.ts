import type { CrossReduceCommand } from '../../../../primitives/contract/backend.ts';
import { entryOf, type ScalarType } from '../../../../primitives/ir/ir.ts';
import { Graph, type Node } from '../../../analyses/straight-line.ts';
import { emitInputs, emitOwnWord, type KernelInputs, type KernelShape } from '../../commands/kernel-arguments.ts';
import { VectorCode } from '../../wasm/emit-simd.ts';
import { inlineEntry } from '../../wasm/emit-wasm.ts';
import { straightFunctor } from '../../wasm/program-graph.ts';
import { extracted, lanesOf, splatOf, wordsOf } from '../../wasm/vector-operations.ts';
import { Code } from '../../wasm/wasm-code.ts';
import { type FunctionBody, I32, V128 } from '../../wasm/wasm-encoder.ts';
import {
  fourFrom,
  type Int32,
  loadSplat,
  loadVector,
  parameter,
  type Vector,
  v128,
} from '../../wasm/wasm-expressions.ts';
import type { Int32Local, VectorLocal } from '../../wasm/wasm-locals.ts';
import { forRounds, store, when } from '../../wasm/wasm-statements.ts';
import {
  copyAll,
  emitVectorIdentity,
  releaseAll,
  type VectorCombine,
  vectorCombine,
  vectorLocals,
} from '../shared/monoid-code.ts';
import { crossWords, LANES, ROWS, TILE } from './cross-reduce-block.ts';

/**
 * Number of rows of the right table that are processed together. Each of these rows is paired with the left rows of a
 * tile (two vectors), and the sums of all these pairs fit in registers.
 */
const AT_ONCE = 4;
/** Number of dimensions per round of the unrolled loop. */
const UNROLLED = 4;
/** Number of vectors per tile. */
const VECTORS = TILE / LANES;

/** Parameter: address of the packed tile. Parameter 0 is the address of the kernel's arguments. */
const TILE_AT = parameter(1);
/** Parameter: address of the results of `leftOwn` for the tile. */
const OWN_AT = parameter(2);
/** Parameter: index of the first left row of the tile. */
const FIRST = parameter(3);
/**
 * Parameter: number of left rows from the first row of the tile to the end of the block, without padding. May exceed
 * the size of a tile.
 */
const COUNT = parameter(4);
/** Parameter: index of the first right row of the run (range of right rows). */
const FROM = parameter(5);
/** Parameter: end of the run of right rows, exclusive. */
const TO = parameter(6);
/** Parameter: byte offset of the tile's first result from the start of a result column. */
const OFFSET = parameter(7);
/** Parameter: the number of the worker. */
const WORKER = parameter(8);

/** A functor as a graph of straight-line code, with the code generator that evaluates the graph in vectors. */
interface Line {
  readonly parameters: readonly Node[];
  readonly results: readonly Node[];
  readonly lanes: VectorCode;
}

/**
 * Emits the function that pairs a tile of left rows with a run (range) of right rows. For each left row, the function
 * folds the values of all pairs into one result.
 */
export function emitRun(shape: KernelShape, command: CrossReduceCommand): FunctionBody {
  const code = new Code([I32, I32, I32, I32, I32, I32, I32, I32, I32], WORKER);
  const inputs = emitInputs(code, shape);
  const { monoid, left, right, results } = command;
  const [step, value] = [2, 3].map((program) => lineOf(code, inputs, program)) as [Line, Line];
  const combine = vectorCombine(code, monoid)!;
  const folded = Array.from({ length: VECTORS }, () => vectorLocals(code, monoid));
  for (const state of folded) emitVectorIdentity(monoid, state);
  const rights = right.map((_, leaf) => emitOwnWord(code, crossWords.vectors + left.length + leaf));
  const run: CrossRun = { code, inputs, command, step, value, combine, folded, rights };
  const [j, whole] = [code.local(I32), code.local(I32)];
  whole.set(j.tee(FROM).add(TO.sub(FROM).and(-AT_ONCE)));
  forRounds(code, j, whole, AT_ONCE, () => emitPairs(run, j, AT_ONCE));
  forRounds(code, j, TO, 1, () => emitPairs(run, j, 1));
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
  readonly folded: readonly (readonly VectorLocal[])[];
  /** Addresses of the columns of the right rows. */
  readonly rights: readonly Int32[];
}

/**
 * The sums that `step` computes for pairs of a left and a right row. The first index selects the right row, the second
 * the vector of left rows, and the third the leaf (scalar component) of the sum.
 */
type Sums = readonly (readonly (readonly VectorLocal[])[])[];

function lineOf(code: Code, inputs: KernelInputs, program: number): Line {
  const functor = straightFunctor(new Graph(), inputs.shape, program)!;
  const lanes = new VectorCode(code, { ...inputs, index: undefined });
  lanes.prepare(functor.results);
  return { ...functor, lanes };
}

/** Pairs a tile with `count` right rows from row j on, and folds the values of these pairs. */
function emitPairs(run: CrossRun, j: Int32, count: number): void {
  const { code, command, inputs, combine, folded } = run;
  const { start, step, rightOwn } = command;
  const types = entryOf(step.module).results;
  const sums = Array.from({ length: count }, () =>
    Array.from({ length: VECTORS }, () => start.map((leaf, k) => localWith(code, v128(lanesOf(types[k]!, leaf))))),
  );
  if (start.length > 0) emitSums(run, j, sums);
  const row = code.local(I32);
  for (const [k, ofRow] of sums.entries()) {
    row.set(j.add(k));
    const right = emitRightOwn(code, inputs, entryOf(rightOwn.module).results, row);
    for (const [vector, sum] of ofRow.entries()) {
      const worth = emitWorth(run, vector, sum, right);
      combine(folded[vector]!, folded[vector]!, worth);
      releaseAll(code, worth);
    }
    releaseAll(code, right);
  }
  releaseAll(code, [row, ...sums.flat(2)]);
}

/**
 * Emits code that pairs one right row with each left row of a vector, and computes the values of these pairs. The
 * caller must release the returned locals.
 */
function emitWorth(
  { command: { leftOwn }, value: { lanes, parameters, results } }: CrossRun,
  vector: number,
  sum: readonly VectorLocal[],
  right: readonly VectorLocal[],
): VectorLocal[] {
  lanes.begin(0);
  lanes.supply(parameters[0]!, FIRST.splat().add(fourFrom(LANES * vector)));
  const given = parameters.slice(1);
  for (const [leaf, local] of sum.entries()) lanes.bind(given[leaf]!, local);
  for (const [leaf, type] of entryOf(leftOwn.module).results.entries()) {
    const own = loadVector(OWN_AT, 4 * (ROWS * leaf + LANES * vector));
    lanes.supply(given[sum.length + leaf]!, type === 'bool' ? own.neg() : own);
  }
  for (const [leaf, local] of right.entries()) lanes.bind(given[given.length - right.length + leaf]!, local);
  return results.map((node) => lanes.copy(node));
}

/**
 * Computes `rightOwn` for a row and broadcasts each result to all lanes. The caller must release the returned locals.
 */
function emitRightOwn(
  code: Code,
  { environments }: KernelInputs,
  types: readonly ScalarType[],
  row: Int32Local,
): VectorLocal[] {
  const own = inlineEntry(code, environments[1]!, [row]);
  const lanes = types.map((type, leaf) => localWith(code, splatOf(type, own[leaf]!)));
  releaseAll(code, own);
  return lanes;
}

/** Computes the sums of pairs: applies `step` to each sum, once per dimension. */
function emitSums({ code, command, step, rights }: CrossRun, j: Int32, sums: Sums): void {
  const { dimensions, right } = command;
  const [d, end, a] = [code.local(I32), code.local(I32), code.local(I32)];
  const b = right.map(() => code.local(I32));
  d.set(0);
  a.set(TILE_AT);
  for (const [leaf, address] of b.entries()) address.set(rights[leaf]!.add(j.mul(4 * dimensions)));
  const round = (unrolled: number): void => {
    for (let ahead = 0; ahead < unrolled; ahead++) emitStep(code, command, step, { d, a, b, ahead }, sums);
    a.set(a.add(4 * TILE * unrolled));
    for (const address of b) address.set(address.add(4 * unrolled));
  };
  const whole = dimensions - (dimensions % UNROLLED);
  if (whole > 0) {
    end.set(whole);
    forRounds(code, d, end, UNROLLED, () => round(UNROLLED));
  }
  if (whole < dimensions) {
    end.set(dimensions);
    forRounds(code, d, end, 1, () => round(1));
  }
  releaseAll(code, [d, end, a, ...b]);
}

interface Place {
  /** The first dimension that this round of the unrolled loop processes. */
  readonly d: Int32;
  /** Address of the values of dimension d in the tile, for the first left column. */
  readonly a: Int32;
  /** For each right column, the address of element d in the first of the right rows. */
  readonly b: readonly Int32[];
  /** The dimension to process is `d + ahead`. */
  readonly ahead: number;
}

function emitStep(
  code: Code,
  { dimensions, left }: CrossReduceCommand,
  { lanes, parameters, results }: Line,
  { d, a, b, ahead }: Place,
  sums: Sums,
): void {
  const lefts = Array.from({ length: VECTORS }, (_, vector) =>
    left.map((_, leaf) => localWith(code, loadVector(a, 4 * TILE * (leaf * dimensions + ahead) + 16 * vector))),
  );
  for (const [k, ofRow] of sums.entries()) {
    const right = b.map((address) => localWith(code, loadSplat(address, 4 * (k * dimensions + ahead))));
    for (const [vector, sum] of ofRow.entries()) {
      lanes.begin(0);
      lanes.supply(parameters[0]!, d.add(ahead).splat());
      const bound = [...sum, ...lefts[vector]!, ...right];
      for (const [i, local] of bound.entries()) lanes.bind(parameters[1 + i]!, local);
      setAll(code, lanes, results, sum);
    }
    releaseAll(code, right);
  }
  releaseAll(code, lefts.flat());
}

/** Sets locals to the values of nodes. The nodes may depend on the previous values of these locals. */
function setAll(code: Code, lanes: VectorCode, results: readonly Node[], into: readonly VectorLocal[]): void {
  if (results.length === 1) {
    into[0]!.set(lanes.value(results[0]!));
    return;
  }
  const next = results.map((node) => lanes.copy(node));
  copyAll(into, next);
  releaseAll(code, next);
}

function localWith(code: Code, value: Vector): VectorLocal {
  const local = code.local(V128);
  local.set(value);
  return local;
}

/** Stores the results of one vector of left rows. Lanes of padding rows are not stored. */
function emitStore(
  code: Code,
  types: readonly ScalarType[],
  into: readonly Int32[],
  state: readonly Vector[],
  vector: number,
): void {
  const storeAll = (): void => {
    for (const [leaf, type] of types.entries()) {
      store(code, into[leaf]!.add(OFFSET), wordsOf(type, state[leaf]!), 16 * vector);
    }
  };
  const storeLane = (lane: number): void => {
    for (const [leaf, type] of types.entries()) {
      store(code, into[leaf]!.add(OFFSET), extracted(type, state[leaf]!, lane), 16 * vector + 4 * lane);
    }
  };
  when(code, COUNT.geU(LANES * (vector + 1)), storeAll, () => {
    for (let lane = 0; lane < LANES; lane++) {
      when(code, COUNT.gtU(LANES * vector + lane), () => storeLane(lane));
    }
  });
}
