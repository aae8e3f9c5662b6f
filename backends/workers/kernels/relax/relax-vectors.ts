import type { MonoidProgram, RelaxCommand } from '../../../../primitives/contract/backend.ts';
import type { ScalarType } from '../../../../primitives/ir/ir.ts';
import type { Node } from '../../../analyses/straight-line.ts';
import type { KernelInputs } from '../../commands/kernel-arguments.ts';
import { VectorCode } from '../../wasm/emit-simd.ts';
import { extracted, lanesOf, wordsOf } from '../../wasm/vector-operations.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { I32, V128 } from '../../wasm/wasm-encoder.ts';
import { fourFrom, type Int32, i32, loadVector, type Vector, v128 } from '../../wasm/wasm-expressions.ts';
import { assign, type Int32Local, type ScalarLocal } from '../../wasm/wasm-locals.ts';
import { block, br, brIf, forRounds, loop, store } from '../../wasm/wasm-statements.ts';
import {
  emitCombine,
  emitVectorIdentity,
  releaseAll,
  stateLocals,
  vectorCombine,
  vectorLocals,
} from '../shared/monoid-code.ts';
import { advance, forRows, type GridForm, type GridLocals, leafOf } from './relax-grid.ts';

/** The step of a relaxation as a graph: the nodes of its parameters and results. */
export interface StepGraph {
  readonly index: Node;
  readonly before: readonly Node[];
  readonly owns: readonly Node[];
  readonly around: readonly Node[];
  readonly after: readonly Node[];
  readonly changes: readonly Node[];
  /** Number of nodes in the graph. */
  readonly size: number;
}

const VECTOR_BYTES = 16;
/** Number of vectors per iteration of the unrolled loop over a row. */
const UNROLLED = 4;
/**
 * Maximum number of values that the program `step` may compute if the loop over a row is to be unrolled. For larger
 * programs, the loop overhead is negligible.
 */
const UNROLLED_VALUES = 96;

/** Evaluates the step for four cells of a row at a time, and folds the changes of the cells into `total`. */
export function emitVectorRound(
  code: Code,
  inputs: KernelInputs,
  form: GridForm,
  command: RelaxCommand,
  step: StepGraph,
  grid: GridLocals,
  total: readonly ScalarLocal[],
): void {
  const { change } = command;
  const index = code.local(I32);
  const lanes = new VectorCode(code, { ...inputs, index });
  lanes.prepare([...step.after, ...step.changes]);
  const combine = vectorCombine(code, change)!;
  const folded = vectorLocals(code, change);
  emitVectorIdentity(change, folded);
  const row = rowOf(code, form, command, step, grid, lanes);
  const vectors = vectorsOf(code, grid.width, step.size > UNROLLED_VALUES ? 1 : UNROLLED);
  index.set(grid.first);
  forRows(code, grid.height, () => {
    vectors.emit((at, ahead, chosen) => {
      row.begin(at, ahead, index);
      row.store();
      const changes = vectorLocals(code, change);
      for (const [leaf, node] of step.changes.entries()) {
        const lanesOfLeaf = lanes.value(node);
        changes[leaf]!.set(chosen === undefined ? lanesOfLeaf : chosenOf(change, leaf, lanesOfLeaf, chosen));
      }
      combine(folded, folded, changes);
      releaseAll(code, changes);
    });
    row.next();
    advance([index], grid.width);
  });
  foldLanes(code, change, folded, total);
  releaseAll(code, [index, ...folded]);
  row.release();
  vectors.release();
}

/** The changes in the lanes of the mask `chosen`, and the identity in all other lanes. */
function chosenOf({ types, identity }: MonoidProgram, leaf: number, changes: Vector, chosen: Vector): Vector {
  const neutral = lanesOf(types[leaf]!, identity[leaf]!);
  return neutral.every((word) => word === 0) ? changes.and(chosen) : changes.bitselect(v128(neutral), chosen);
}

/** Emits the loads and stores of a step for four cells of a row. */
function rowOf(
  code: Code,
  { states, owns, left }: GridForm,
  { neighbours }: RelaxCommand,
  step: StepGraph,
  { rowBytes, leafBytes, from, to, own }: GridLocals,
  lanes: VectorCode,
) {
  const addressOf = (origin: Int32, leaf: number): Int32Local => {
    const address = code.local(I32);
    address.set(leafOf(origin, leafBytes, leaf));
    return address;
  };
  /** For each row that a step reads, keyed by its offset dy: the addresses of column −`left` in all state columns. */
  const rows = new Map(
    [...new Set([0, ...neighbours.map(({ dy }) => dy)])].map((dy) => {
      const addresses = states.map((_, leaf) => addressOf(from, leaf));
      advance(addresses, rowBytes.mul(dy).sub(4 * left));
      return [dy, addresses];
    }),
  );
  const targets = states.map((_, leaf) => addressOf(to, leaf));
  const others = owns.map((_, leaf) => addressOf(own, leaf));
  const all = [...rows.values(), targets, others].flat();
  let [at, ahead]: [Int32, number] = [i32(0), 0];
  const loaded = (address: Int32, type: ScalarType, bytes: number): Vector => {
    const words = loadVector(address.add(at), ahead + bytes);
    return type === 'bool' ? words.neg() : words;
  };
  const numbers = (first: Int32): Vector =>
    first
      .add(at.shrU(2))
      .splat()
      .add(fourFrom(ahead / 4));
  return {
    /**
     * Supplies the parameters of the step for four cells, starting `bytes` + `more` bytes after the first cell of the
     * row. `first` is the index of the row's first cell.
     */
    begin(bytes: Int32, more: number, first: Int32): void {
      [at, ahead] = [bytes, more];
      lanes.begin(0);
      lanes.supply(step.index, numbers(first));
      for (const [leaf, type] of states.entries()) {
        lanes.supply(step.before[leaf]!, loaded(rows.get(0)![leaf]!, type, 4 * left));
        for (const [k, { dx, dy }] of neighbours.entries()) {
          lanes.supply(step.around[k * states.length + leaf]!, loaded(rows.get(dy)![leaf]!, type, 4 * (left + dx)));
        }
      }
      for (const [leaf, type] of owns.entries()) lanes.supply(step.owns[leaf]!, loaded(others[leaf]!, type, 0));
    },
    /** Stores the new states of the four cells. */
    store(): void {
      for (const [leaf, type] of states.entries()) {
        store(code, targets[leaf]!.add(at), wordsOf(type, lanes.value(step.after[leaf]!)), ahead);
      }
    },
    next(): void {
      advance(all, rowBytes);
    },
    release(): void {
      releaseAll(code, all);
    },
  };
}

/**
 * Emits the code for the vector at byte offset `at` + `ahead` of the row. If a mask `chosen` is given, only the changes
 * in the lanes of the mask are folded.
 */
type VectorBody = (at: Int32, ahead: number, chosen: Vector | undefined) => void;

/**
 * Loops over the vectors of a row of `width` cells.
 *
 * If the width is not a multiple of 4, the last vector ends with the row and overlaps the previous vector. A mask
 * excludes the overlapping lanes, which are folded already. If the row has fewer than four cells, its only vector
 * starts with the row. The vector then also overwrites padding, which is filled again before the next round.
 */
function vectorsOf(code: Code, width: Int32, unrolled: number) {
  const [at, end, bytes] = [code.local(I32), code.local(I32), code.local(I32)];
  const [chosen, rest] = [code.local(V128), code.local(V128)];
  bytes.set(width.shl(2));
  rest.set(restOf(width));
  const setEnd = (vectors: number): void => end.set(bytes.and(-VECTOR_BYTES * vectors));
  /** Sets the range and the mask for the last vector of the row, which overlaps the previous vector. */
  const setLast = (): void => {
    const max = bytes.gtU(VECTOR_BYTES).select(bytes, VECTOR_BYTES);
    at.set(end.tee(max).sub(VECTOR_BYTES));
    chosen.set(rest);
  };
  return {
    emit(body: VectorBody): void {
      at.set(0);
      if (unrolled > 1) {
        setEnd(unrolled);
        forRounds(code, at, end, VECTOR_BYTES * unrolled, () => {
          for (let vector = 0; vector < unrolled; vector++) body(at, VECTOR_BYTES * vector, undefined);
        });
      }
      setEnd(1);
      chosen.set(v128([-1, -1, -1, -1]));
      block(code, (done) =>
        loop(code, (again) => {
          forRounds(code, at, end, VECTOR_BYTES, () => body(at, 0, chosen));
          brIf(code, done, end.geU(bytes));
          setLast();
          br(code, again);
        }),
      );
    },
    release(): void {
      releaseAll(code, [at, end, bytes, chosen, rest]);
    },
  };
}

/**
 * The mask for the last vector of a row whose width is not a multiple of 4: the lanes from lane −width mod 4 on, which
 * the previous vector does not cover. If the row has fewer than four cells, the mask contains the lanes below the
 * width.
 */
function restOf(width: Int32): Vector {
  const places = v128([0, 1, 2, 3]);
  const ofLast = places.geU(i32(0).sub(width).and(3).splat());
  return width.geU(4).select(ofLast, places.ltU(width.splat()));
}

function foldLanes(code: Code, change: MonoidProgram, folded: readonly Vector[], total: readonly ScalarLocal[]): void {
  const state = stateLocals(code, change);
  for (const lane of [0, 1, 2, 3]) {
    for (const [leaf, type] of change.types.entries()) assign(state[leaf]!, extracted(type, folded[leaf]!, lane));
    emitCombine(code, change, total, total, state);
  }
  releaseAll(code, state);
}
