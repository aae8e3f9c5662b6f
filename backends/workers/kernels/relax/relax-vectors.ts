import type { MonoidProgram, RelaxCommand } from '../../../../primitives/contract/backend.ts';
import type { ScalarType } from '../../../../primitives/ir/ir.ts';
import type { Node } from '../../../analyses/straight-line.ts';
import type { KernelInputs } from '../../commands/kernel-arguments.ts';
import { VectorCode } from '../../wasm/emit-simd.ts';
import { emitRounds } from '../../wasm/index-loop.ts';
import { emitExtract, emitWords, lanesOf } from '../../wasm/vector-operations.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { I32, op, simd, V128 } from '../../wasm/wasm-encoder.ts';
import {
  emitCombine,
  emitVectorIdentity,
  releaseAll,
  stateLocals,
  vectorCombine,
  vectorLocals,
} from '../shared/monoid-code.ts';
import { emitAdvance, emitLeaf, emitRows, type GridForm, type GridLocals } from './relax-grid.ts';

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
  total: readonly number[],
): void {
  const { change } = command;
  const index = code.local(I32);
  const lanes = new VectorCode(code, { ...inputs, index });
  lanes.prepare([...step.after, ...step.changes]);
  const combine = vectorCombine(code, change)!;
  const folded = vectorLocals(code, change);
  emitVectorIdentity(code, change, folded);
  const row = rowOf(code, form, command, step, grid, lanes);
  const vectors = vectorsOf(code, grid.width, step.size > UNROLLED_VALUES ? 1 : UNROLLED);
  code.get(grid.first);
  code.set(index);
  emitRows(code, grid.height, () => {
    vectors.emit((at, ahead, chosen) => {
      row.begin(at, ahead, index);
      row.store();
      const changes = vectorLocals(code, change);
      for (const [leaf, node] of step.changes.entries()) {
        lanes.push(node);
        if (chosen !== undefined) emitChosen(code, change, leaf, chosen);
        code.set(changes[leaf]!);
      }
      combine(folded, folded, changes);
      releaseAll(code, changes);
    });
    row.next();
    emitAdvance(code, [index], () => code.get(grid.width));
  });
  foldLanes(code, change, folded, total);
  releaseAll(code, [index, ...folded]);
  row.release();
  vectors.release();
}

/** Leaves the changes on the stack only of the chosen lanes; the others change nothing. */
function emitChosen(code: Code, { types, identity }: MonoidProgram, leaf: number, chosen: number): void {
  const neutral = lanesOf(types[leaf]!, identity[leaf]!);
  const isZero = neutral.every((word) => word === 0);
  if (!isZero) code.v128(neutral);
  code.get(chosen);
  code.simd(isZero ? simd.and : simd.bitselect);
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
  const addressOf = (origin: number, leaf: number): number => {
    const address = code.local(I32);
    emitLeaf(code, origin, leafBytes, leaf, address);
    return address;
  };
  /** Of every row that a step looks at, the leftmost cell around the grid, leaf by leaf. */
  const rows = new Map(
    [...new Set([0, ...neighbours.map(({ dy }) => dy)])].map((dy) => {
      const addresses = states.map((_, leaf) => addressOf(from, leaf));
      emitAdvance(code, addresses, () => {
        code.get(rowBytes);
        code.i32(dy);
        code.op(op.i32Mul);
        code.i32(4 * left);
        code.op(op.i32Sub);
      });
      return [dy, addresses];
    }),
  );
  const targets = states.map((_, leaf) => addressOf(to, leaf));
  const others = owns.map((_, leaf) => addressOf(own, leaf));
  const all = [...rows.values(), targets, others].flat();
  let [at, ahead] = [-1, 0];
  const load = (address: number, type: ScalarType, bytes: number): void => {
    code.get(address);
    code.get(at);
    code.op(op.i32Add);
    code.simdMemory(simd.load, ahead + bytes);
    if (type === 'bool') code.simd(simd.i32x4Neg);
  };
  const pushNumbers = (first: number): void => {
    code.get(first);
    code.get(at);
    code.i32(2);
    code.op(op.i32ShrU, op.i32Add);
    code.simd(simd.i32x4Splat);
    code.v128([0, 1, 2, 3].map((lane) => lane + ahead / 4) as [number, number, number, number]);
    code.simd(simd.i32x4Add);
  };
  return {
    /** Starts the code for the four cells that lie so many bytes behind the beginning of the row, whose first cell is given. */
    begin(bytes: number, more: number, first: number): void {
      [at, ahead] = [bytes, more];
      lanes.begin(0);
      lanes.supply(step.index, () => pushNumbers(first));
      for (const [leaf, type] of states.entries()) {
        lanes.supply(step.before[leaf]!, () => load(rows.get(0)![leaf]!, type, 4 * left));
        for (const [k, { dx, dy }] of neighbours.entries()) {
          const node = step.around[k * states.length + leaf]!;
          lanes.supply(node, () => load(rows.get(dy)![leaf]!, type, 4 * (left + dx)));
        }
      }
      for (const [leaf, type] of owns.entries()) {
        lanes.supply(step.owns[leaf]!, () => load(others[leaf]!, type, 0));
      }
    },
    /** Stores the states after the step. */
    store(): void {
      for (const [leaf, type] of states.entries()) {
        code.get(targets[leaf]!);
        code.get(at);
        code.op(op.i32Add);
        lanes.push(step.after[leaf]!);
        emitWords(code, type);
        code.simdMemory(simd.store, ahead);
      }
    },
    next(): void {
      emitAdvance(code, all, () => code.get(rowBytes));
    },
    release(): void {
      releaseAll(code, all);
    },
  };
}

/** Writes the code for the vector that begins `ahead` bytes behind a local; of some, only the chosen lanes are folded. */
type VectorBody = (at: number, ahead: number, chosen: number | undefined) => void;

/**
 * The vectors of a row: whole ones first, then one that ends where the row does, of which only the cells that are left are
 * folded. In rows of fewer than four cells it begins where the row does, and what it writes beyond is filled anew.
 */
function vectorsOf(code: Code, width: number, unrolled: number) {
  const [at, end, bytes] = [code.local(I32), code.local(I32), code.local(I32)];
  const [chosen, rest] = [code.local(V128), code.local(V128)];
  code.get(width);
  code.i32(2);
  code.op(op.i32Shl);
  code.set(bytes);
  emitRest(code, width, rest);
  const setEnd = (vectors: number): void => {
    code.get(bytes);
    code.i32(-VECTOR_BYTES * vectors);
    code.op(op.i32And);
    code.set(end);
  };
  /** Sets the range to the last vector of the row. */
  const setLast = (): void => {
    code.get(bytes);
    code.i32(VECTOR_BYTES);
    code.get(bytes);
    code.i32(VECTOR_BYTES);
    code.op(op.i32GtU, op.select);
    code.tee(end);
    code.i32(VECTOR_BYTES);
    code.op(op.i32Sub);
    code.set(at);
    code.get(rest);
    code.set(chosen);
  };
  return {
    emit(body: VectorBody): void {
      code.i32(0);
      code.set(at);
      if (unrolled > 1) {
        setEnd(unrolled);
        emitRounds(code, at, end, VECTOR_BYTES * unrolled, () => {
          for (let vector = 0; vector < unrolled; vector++) body(at, VECTOR_BYTES * vector, undefined);
        });
      }
      setEnd(1);
      code.v128([-1, -1, -1, -1]);
      code.set(chosen);
      const done = code.block();
      const again = code.loop();
      emitRounds(code, at, end, VECTOR_BYTES, () => body(at, 0, chosen));
      code.get(end);
      code.get(bytes);
      code.op(op.i32GeU);
      code.brIf(done);
      setLast();
      code.br(again);
      code.end();
      code.end();
    },
    release(): void {
      releaseAll(code, [at, end, bytes, chosen, rest]);
    },
  };
}

/** The lanes of the last vector of a row that no other has: those from −width mod 4 on; in short rows, those below the width. */
function emitRest(code: Code, width: number, into: number): void {
  code.v128([0, 1, 2, 3]);
  code.i32(0);
  code.get(width);
  code.op(op.i32Sub);
  code.i32(3);
  code.op(op.i32And);
  code.simd(simd.i32x4Splat);
  code.simd(simd.i32x4GeU);
  code.v128([0, 1, 2, 3]);
  code.get(width);
  code.simd(simd.i32x4Splat);
  code.simd(simd.i32x4LtU);
  code.get(width);
  code.i32(4);
  code.op(op.i32GeU, op.select);
  code.set(into);
}

function foldLanes(code: Code, change: MonoidProgram, folded: readonly number[], total: readonly number[]): void {
  const state = stateLocals(code, change);
  for (const lane of [0, 1, 2, 3]) {
    for (const [leaf, type] of change.types.entries()) {
      code.get(folded[leaf]!);
      emitExtract(code, type, lane);
      code.set(state[leaf]!);
    }
    emitCombine(code, change, total, total, state);
  }
  releaseAll(code, state);
}
