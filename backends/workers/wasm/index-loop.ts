import { emitMinimum } from '../commands/kernel-arguments.ts';
import type { Code } from './wasm-code.ts';
import { I32, op } from './wasm-encoder.ts';

/** A loop over a range of indices, with several at a time if possible. */
export interface IndexLoop {
  /** Locals of the range. */
  readonly from: number;
  readonly to: number;
  /** Local of the current index, or of the first of the current indices. */
  readonly index: number;
  /** Processes one index. */
  readonly scalar: () => void;
  readonly vector?: VectorPart | undefined;
}

export interface VectorPart {
  /** Indices per round. */
  readonly step: number;
  /** Narrows the range in the given locals to indices for which the vector code is valid. */
  readonly narrow: (from: number, to: number) => void;
  /** Processes `step` indices. */
  readonly round: () => void;
  /** Code before and after the rounds, for values carried from index to index. */
  readonly enter?: () => void;
  readonly leave?: () => void;
}

/**
 * Emits the loop. The scalar code is emitted once and runs before and after the vectors: its first pass ends where
 * vectors can start, its second at the end of the range.
 */
export function emitIndexLoop(code: Code, loop: IndexLoop): void {
  code.get(loop.from);
  code.set(loop.index);
  if (loop.vector === undefined) {
    emitScalarRounds(code, loop, loop.to);
    return;
  }
  const { vector } = loop;
  const first = code.local(I32);
  const last = code.local(I32);
  emitVectorRange(code, loop, vector, first, last);
  const pause = code.local(I32);
  code.get(first);
  code.set(pause);
  const done = code.block();
  const again = code.loop();
  emitScalarRounds(code, loop, pause);
  code.get(pause);
  code.get(loop.to);
  code.op(op.i32Eq);
  code.get(first);
  code.get(last);
  code.op(op.i32Eq, op.i32And);
  code.brIf(done);
  code.get(loop.index);
  code.get(last);
  code.op(op.i32LtU);
  code.when(() => {
    vector.enter?.();
    emitRounds(code, loop.index, last, vector.step, vector.round);
    vector.leave?.();
  });
  code.get(last);
  code.set(first);
  code.get(loop.to);
  code.set(pause);
  code.br(again);
  code.end();
  code.end();
  for (const local of [first, last, pause]) code.release(local);
}

/** The subrange for vectors, a whole number of rounds; if there is none, it is empty and at the end of the range. */
function emitVectorRange(code: Code, loop: IndexLoop, vector: VectorPart, first: number, last: number): void {
  code.get(loop.from);
  code.set(first);
  code.get(loop.to);
  code.set(last);
  vector.narrow(first, last);
  code.get(first);
  code.get(last);
  code.op(op.i32GeU);
  code.when(
    () => {
      code.get(loop.to);
      code.tee(first);
      code.set(last);
    },
    () => {
      code.get(first);
      code.get(last);
      code.get(first);
      code.op(op.i32Sub);
      code.i32(-vector.step);
      code.op(op.i32And, op.i32Add);
      code.set(last);
    },
  );
}

function emitScalarRounds(code: Code, { index, scalar }: IndexLoop, end: number): void {
  emitRounds(code, index, end, 1, scalar);
}

/** Rounds from the index to the end. The test is at the end of a round, so that a round has one branch. */
export function emitRounds(code: Code, index: number, end: number, step: number, round: () => void): void {
  const more = (): void => {
    code.get(index);
    code.get(end);
    code.op(op.i32LtU);
  };
  more();
  code.when(() => {
    const again = code.loop();
    round();
    code.get(index);
    code.i32(step);
    code.op(op.i32Add);
    code.set(index);
    more();
    code.brIf(again);
    code.end();
  });
}

/**
 * Processes the range from `from` to `to`, both locals, in parts of at most `size` indices: `from` advances, and
 * `count` is the number of indices of the part.
 */
export function emitParts(code: Code, from: number, to: number, size: number, body: (count: number) => void): void {
  const count = code.local(I32);
  code.while(
    () => {
      code.get(from);
      code.get(to);
      code.op(op.i32LtU);
    },
    () => {
      code.get(to);
      code.get(from);
      code.op(op.i32Sub);
      code.set(count);
      emitMinimum(code, count, () => code.i32(size));
      body(count);
      code.get(from);
      code.get(count);
      code.op(op.i32Add);
      code.set(from);
    },
  );
  code.release(count);
}
