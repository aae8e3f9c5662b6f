import type { Code } from './wasm-code.ts';
import { I32 } from './wasm-encoder.ts';
import type { Int32 } from './wasm-expressions.ts';
import type { Int32Local } from './wasm-locals.ts';
import { block, br, brIf, forRounds, lower, loop as repeat, when, whileTrue } from './wasm-statements.ts';

/** A loop over a range of indices, which processes several indices at a time if possible. */
export interface IndexLoop {
  /** The range. Both bounds must be cheap, because they are computed more than once. */
  readonly from: Int32;
  readonly to: Int32;
  /** Local of the current index; in a vector round, of its first index. */
  readonly index: Int32Local;
  /** Processes one index. */
  readonly scalar: () => void;
  readonly vector?: VectorPart | undefined;
}

export interface VectorPart {
  /** Indices per round. */
  readonly step: number;
  /** Narrows the range in the given locals to indices for which the vector code is valid. */
  readonly narrow: (from: Int32Local, to: Int32Local) => void;
  /** Processes `step` indices. */
  readonly round: () => void;
  /** Code before and after the rounds, for values carried from index to index. */
  readonly enter?: () => void;
  readonly leave?: () => void;
}

/**
 * Emits the loop. The scalar code is emitted once and runs before and after the vector rounds. Its first pass ends
 * where vector rounds can start, its second at the end of the range.
 */
export function emitIndexLoop(code: Code, loop: IndexLoop): void {
  const { from, to, index, scalar, vector } = loop;
  index.set(from);
  if (vector === undefined) {
    forRounds(code, index, to, 1, scalar);
    return;
  }
  const first = code.local(I32);
  const last = code.local(I32);
  emitVectorRange(code, loop, vector, first, last);
  const pause = code.local(I32);
  pause.set(first);
  block(code, (done) =>
    repeat(code, (again) => {
      forRounds(code, index, pause, 1, scalar);
      brIf(code, done, pause.eq(to).and(first.eq(last)));
      when(code, index.ltU(last), () => {
        vector.enter?.();
        forRounds(code, index, last, vector.step, vector.round);
        vector.leave?.();
      });
      first.set(last);
      pause.set(to);
      br(code, again);
    }),
  );
  for (const local of [first, last, pause]) code.release(local);
}

/**
 * Sets `first` and `last` to the subrange for vectors, a whole number of rounds. If narrowing leaves no indices, both
 * are set to `to`.
 */
function emitVectorRange(
  code: Code,
  { from, to }: IndexLoop,
  { step, narrow }: VectorPart,
  first: Int32Local,
  last: Int32Local,
): void {
  first.set(from);
  last.set(to);
  narrow(first, last);
  when(
    code,
    first.geU(last),
    () => last.set(first.tee(to)),
    () => last.set(first.add(last.sub(first).and(-step))),
  );
}

/**
 * Processes the range from `from` to `to` in parts of at most `size` indices. In the body, `from` is the first index of
 * the part, and `count` is its number of indices.
 */
export function emitParts(
  code: Code,
  from: Int32Local,
  to: Int32,
  size: number,
  body: (count: Int32Local) => void,
): void {
  const count = code.local(I32);
  whileTrue(code, from.ltU(to), () => {
    count.set(to.sub(from));
    lower(code, count, size);
    body(count);
    from.set(from.add(count));
  });
  code.release(count);
}
