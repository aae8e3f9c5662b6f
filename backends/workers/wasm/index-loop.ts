import type { Code } from './wasm-code.ts';
import { I32 } from './wasm-encoder.ts';
import type { Int32 } from './wasm-expressions.ts';
import type { Int32Local } from './wasm-locals.ts';
import { block, br, brIf, forRounds, lower, loop as repeat, when, whileTrue } from './wasm-statements.ts';

/** A loop over a range of indices, with several at a time if possible. */
export interface IndexLoop {
  /** The range; cheap, as they are computed more than once. */
  readonly from: Int32;
  readonly to: Int32;
  /** Local of the current index, or of the first of the current indices. */
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
 * Emits the loop. The scalar code is emitted once and runs before and after the vectors: its first pass ends where
 * vectors can start, its second at the end of the range.
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

/** The subrange for vectors, a whole number of rounds; if there is none, it is empty and at the end of the range. */
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
 * Processes the range from `from` to `to` in parts of at most `size` indices: `from` advances, and `count` is the number of
 * indices of the part.
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
