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

/** A step as a graph: what it is given of a cell, and what it returns. */
export interface StepGraph {
  readonly index: Node;
  readonly before: readonly Node[];
  readonly owns: readonly Node[];
  readonly around: readonly Node[];
  readonly after: readonly Node[];
  readonly changes: readonly Node[];
  /** How many values it computes. */
  readonly size: number;
}

const VECTOR_BYTES = 16;
/** Vectors that one round of the loop over a row takes … */
const UNROLLED = 4;
/** … of steps that compute at most so many values: of others, the loop itself costs nothing beside them. */
const UNROLLED_VALUES = 96;

/** Takes the step of four cells of a row at once, and folds their changes into the locals. */
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

/** The changes of the chosen lanes; the others change nothing. */
function chosenOf({ types, identity }: MonoidProgram, leaf: number, changes: Vector, chosen: Vector): Vector {
  const neutral = lanesOf(types[leaf]!, identity[leaf]!);
  return neutral.every((word) => word === 0) ? changes.and(chosen) : changes.bitselect(v128(neutral), chosen);
}

/** Addresses of a row's cells, and the values of four of them. */
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
  /** Of every row that a step looks at, the leftmost cell around the grid, leaf by leaf. */
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
    /** Starts the code for the four cells that lie so many bytes behind the beginning of the row, whose first cell is given. */
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
    /** Stores the states after the step. */
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

/** Writes the code for the vector that begins `ahead` bytes behind `at`; of some, only the chosen lanes are folded. */
type VectorBody = (at: Int32, ahead: number, chosen: Vector | undefined) => void;

/**
 * The vectors of a row: whole ones first, then one that ends where the row does, of which only the cells that are left are
 * folded. In rows of fewer than four cells it begins where the row does, and what it writes beyond is filled anew.
 */
function vectorsOf(code: Code, width: Int32, unrolled: number) {
  const [at, end, bytes] = [code.local(I32), code.local(I32), code.local(I32)];
  const [chosen, rest] = [code.local(V128), code.local(V128)];
  bytes.set(width.shl(2));
  rest.set(restOf(width));
  const setEnd = (vectors: number): void => end.set(bytes.and(-VECTOR_BYTES * vectors));
  /** Sets the range to the last vector of the row. */
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

/** The lanes of the last vector of a row that no other has: those from −width mod 4 on; in short rows, those below the width. */
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
