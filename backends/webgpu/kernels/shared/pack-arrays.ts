import type { Engine } from '../../launches/engine.ts';
import { boundArrays, type LinkedArray, type LinkedProgram, packing } from '../../launches/link.ts';
import type { Memory } from '../../memory/memory.ts';
import type { IndexRange, Placement, Placements } from './windows.ts';

/**
 * Copies arrays into one buffer, so that they need only one binding. Of an array that is read at the launch index, only
 * the elements of the window are copied; all other arrays are copied completely. Arrays that do not fit into the common
 * binding keep separate bindings.
 *
 * @returns the buffer, to be released after the launch.
 */
export function packArrays(
  engine: Engine,
  program: LinkedProgram,
  window: IndexRange,
  placements: Placements,
): Memory | undefined {
  const slices = boundArrays(program)
    .map((array) => sliceOf(array, placements.get(array.name)!, window))
    .filter((slice) => slice !== undefined)
    .sort((a, b) => a.words - b.words);
  let words = 0;
  const packed = slices.filter((slice) => {
    const fits = words + slice.words <= engine.pool.partWords;
    if (fits) words += slice.words;
    return fits;
  });
  if (packed.length < 2) return undefined;
  const memory = engine.pool.allocate(words);
  let at = 0;
  for (const { array, part, word, words: length, offset } of packed) {
    engine.recorder.copy(part, word * 4, memory.parts[0]!, at * 4, length * 4);
    const moved = (at - word) * 2 ** packing(array.storage);
    placements.set(array.name, { memory, first: 0, count: 1, offset: offset + moved });
    at += length;
  }
  return memory;
}

interface Slice {
  readonly array: LinkedArray;
  readonly part: Memory['parts'][number];
  readonly word: number;
  readonly words: number;
  readonly offset: number;
}

/**
 * The words that a window (range of indices) may read from an array; undefined if they are not in one part (GPU
 * buffer).
 */
function sliceOf(array: LinkedArray, placement: Placement, { from, to }: IndexRange): Slice | undefined {
  const { memory, first, count, offset } = placement;
  if (count > 1) return undefined;
  const part = memory.parts[first]!;
  const held = Math.min(part.bytes / 4, memory.words - first * 2 ** memory.shift);
  if (array.pattern.kind !== 'index') return { array, part, word: 0, words: held, offset };
  const perWord = 2 ** packing(array.storage);
  const word = Math.min(held, Math.floor((offset + from) / perWord));
  const end = Math.min(held, Math.ceil((offset + to) / perWord));
  return { array, part, word, words: end - word, offset };
}
