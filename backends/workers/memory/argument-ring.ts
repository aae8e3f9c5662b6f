import { ArgumentError } from '../../../primitives/checks/errors.ts';
import { fixed } from '../threads/queue.ts';

/** A ring buffer for the argument blocks of queued phases. */
export interface ArgumentRing {
  /**
   * Reserves a block of `words` words until phase `last` is completed, and returns its address. Returns undefined if
   * the blocks of unfinished phases leave too little room.
   */
  place(words: number, last: number, completed: number): number | undefined;
}

export function createArgumentRing(start: number = fixed.arguments, bytes: number = fixed.argumentBytes): ArgumentRing {
  const inUse: { readonly from: number; readonly to: number; readonly last: number }[] = [];
  let head = 0;

  return {
    place(words, last, completed) {
      const size = 64 * Math.ceil(words / 16);
      if (size > bytes) throw tooMany(words, bytes / 4);
      while (inUse.length > 0 && inUse[0]!.last <= completed) inUse.shift();
      const tail = inUse[0]?.from;
      if (tail === undefined) head = 0;
      let from = head;
      if (tail === undefined || tail < head) {
        if (head + size > bytes) from = 0;
        if (from === 0 && tail !== undefined && size >= tail) return undefined;
      } else if (head + size >= tail) {
        return undefined;
      }
      inUse.push({ from, to: from + size, last });
      head = from + size;
      return start + from;
    },
  };
}

function tooMany(words: number, max: number): ArgumentError {
  return new ArgumentError('program/arguments', 'A launch has too many arrays, uniforms and stores.', {
    expected: `at most ${max} words of arguments`,
    got: words,
    remedy: 'Split the functor.',
  });
}
