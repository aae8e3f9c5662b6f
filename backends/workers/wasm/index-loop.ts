import type { Code } from './wasm-code.ts';
import { I32 } from './wasm-encoder.ts';
import type { Int32 } from './wasm-expressions.ts';
import type { Int32Local } from './wasm-locals.ts';
import { block, br, brIf, forRounds, lower, loop as repeat, when, whileTrue } from './wasm-statements.ts';

/** A loop over a range of indices. If `vector` is given, rounds of the loop process several indices at a time. */
export interface IndexLoop {
  /**
   * The range of indices; `to` is exclusive. Both expressions must be cheap, because their code is emitted more than
   * once.
   */
  readonly from: Int32;
  readonly to: Int32;
  /** Local with the current index. In the vector code, the index is the first index of the round. */
  readonly index: Int32Local;
  /** Emits the code for one index. */
  readonly scalar: () => void;
  readonly vector?: VectorPart | undefined;
}

export interface VectorPart {
  /** Number of indices per round. */
  readonly step: number;
  /** Narrows the range in the locals `from` and `to` to the indices for which the vector code is valid. */
  readonly narrow: (from: Int32Local, to: Int32Local) => void;
  /** Emits the code of a round, which processes `step` indices. */
  readonly round: () => void;
  /**
   * Functions that emit code before the first round (`enter`) and after the last round (`leave`), for values that are
   * carried from index to index.
   */
  readonly enter?: () => void;
  readonly leave?: () => void;
}

/**
 * Emits the loop. The scalar code is emitted once but runs twice: for the indices before the vector rounds, and for the
 * indices after them.
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
 * Emits code that sets `first` and `last` to the bounds of the vector rounds. The range between these bounds is a whole
 * number of rounds. If the vector code is valid for no index, both bounds are set to `to`.
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
 * Emits a loop that processes the range `from … to − 1` in parts of at most `size` indices. The loop advances `from`:
 * while `body` runs, `from` is the first index of a part, and `count` is the number of indices in the part.
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
