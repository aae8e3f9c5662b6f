import type { Column, Context } from '../../../primitives/index.ts';
import type { WordMemory } from './word-memory.ts';

/** Words that are stored for a device. */
export interface StoredWords {
  /** The words as a column of the context in which they are used. */
  on(context: Context): Column<'u32'>;
  /** Gives the memory back. Commands issued before may still use it. */
  release(): void;
}

/**
 * Stores words that `fill` writes, and reads again as it goes. If the host has the memory of the context at hand, they are
 * written there, and never copied. Reading what a GPU has mapped is slow, so there, and without a context, they wait in
 * memory of the host until a command needs them.
 *
 * @param fill - May be called again, after a backend was lost, and must then write the same words.
 */
export async function storeWords(
  length: number,
  memory: WordMemory,
  context: Context | undefined,
  fill: (words: Int32Array) => Promise<void>,
): Promise<StoredWords> {
  if (context === undefined || context.backend.name === 'webgpu') {
    const words = await filled(length, memory, fill);
    const part = new Uint32Array(words.buffer, 0, length);
    return { on: (context) => context.column(part), release: () => memory.give(words) };
  }
  let whole: Promise<Int32Array> | undefined;
  const column = await context.upload({
    ...{ type: 'u32', length },
    async fill(into: Uint32Array, first: number) {
      if (into.length === length) return fill(new Int32Array(into.buffer, into.byteOffset, length));
      // A context that is short of memory asks for one piece after the other.
      whole ??= filled(length, memory, fill);
      into.set((await whole).subarray(first, first + into.length));
    },
  });
  return { on: () => column, release: () => context.dispose(column) };
}

async function filled(
  length: number,
  memory: WordMemory,
  fill: (words: Int32Array) => Promise<void>,
): Promise<Int32Array> {
  const words = memory.take(length);
  try {
    await fill(words);
  } catch (error) {
    memory.give(words);
    throw error;
  }
  return words;
}
