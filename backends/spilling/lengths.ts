import type { ArrayBinding, Backend, Cell, Length, Program } from '../../primitives/contract/backend.ts';
import type { BufferPlaces, Spillable } from './places.ts';

/** A program whose arrays have known lengths. `cells` holds the contents of the arrays that consist of one u32. */
export interface KnownProgram extends Program {
  readonly arrays: ReadonlyMap<string, ArrayBinding & { readonly length: number }>;
  readonly cells: ReadonlyMap<string, number>;
}

/**
 * Determines the lengths of commands and arrays, even if the lengths are stored in buffers. Reads every word at most
 * once.
 */
export interface WordReader {
  length(length: Length): Promise<number>;
  program(program: Program): Promise<KnownProgram>;
}

/** A word reader for buffers that are on the device or the host. */
export function wordReaderOf(inner: Backend, places: BufferPlaces): WordReader {
  return createWordReader(async (buffer, word) =>
    buffer.resident ? (await inner.read(buffer, word, 1))[0]! : places.hostOf(buffer).get(word),
  );
}

function createWordReader(read: (buffer: Spillable, word: number) => Promise<number>): WordReader {
  const asked = new Map<string, Promise<number>>();
  const ask = ({ buffer, word }: Cell): Promise<number> => {
    const key = `${buffer.id} ${word}`;
    const known = asked.get(key) ?? read(buffer as Spillable, word);
    asked.set(key, known);
    return known;
  };
  const length = async (of: Length): Promise<number> =>
    typeof of === 'number' ? of : Math.min(of.limit, Math.max(0, (await ask(of)) - of.minus));
  return {
    length,
    async program(program) {
      const arrays = new Map<string, ArrayBinding & { readonly length: number }>();
      const cells = new Map<string, number>();
      for (const [name, binding] of program.arrays) {
        const known = { ...binding, length: await length(binding.length) };
        arrays.set(name, known);
        if (known.length !== 1 || known.storage !== 'u32' || program.module.arrays.get(name) !== 'u32') continue;
        cells.set(name, await ask({ buffer: binding.buffer, word: binding.offset }));
      }
      return { ...program, arrays, cells };
    },
  };
}

/** Number of elements that a storage type packs into a word. */
export function perWord(storage: ArrayBinding['storage']): number {
  return storage === 'u8' || storage === 'i8' ? 4 : storage === 'u16' || storage === 'i16' ? 2 : 1;
}
