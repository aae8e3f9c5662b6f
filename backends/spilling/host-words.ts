import { outOfHostMemory } from '../common/memory-errors.ts';

/** The words of a buffer in host memory, in chunks that are allocated at the first access. Unwritten words are 0. */
export interface HostWords {
  readonly words: number;
  write(word: number, data: Uint32Array): void;
  read(word: number, words: number): Uint32Array;
  /**
   * Views of a range of words, chunk by chunk, without copying. `at` is the offset in words from the start of the
   * range.
   */
  pieces(word: number, words: number): Iterable<{ readonly at: number; readonly data: Uint32Array }>;
  /** A view of at most `max` bytes from byte `at` on, up to the end of a chunk of the host memory. */
  bytes(at: number, max: number): Uint8Array;
  get(word: number): number;
  set(word: number, value: number): void;
  clone(): HostWords;
}

const CHUNK_BITS = 22;
export const CHUNK_WORDS: number = 2 ** CHUNK_BITS;
const CHUNK_BYTES = 4 * CHUNK_WORDS;

export function createHostWords(words: number): HostWords {
  return hostWords(words, new Array<Uint32Array | undefined>(Math.ceil(words / CHUNK_WORDS)));
}

function hostWords(words: number, chunks: (Uint32Array | undefined)[]): HostWords {
  const chunk = (number: number): Uint32Array => {
    const found = chunks[number] ?? allocate(Math.min(CHUNK_WORDS, words - number * CHUNK_WORDS));
    chunks[number] = found;
    return found;
  };
  function* pieces(word: number, length: number): Generator<{ at: number; data: Uint32Array }> {
    for (let at = 0; at < length; ) {
      const number = Math.floor((word + at) / CHUNK_WORDS);
      const inChunk = word + at - number * CHUNK_WORDS;
      const data = chunk(number).subarray(inChunk, inChunk + length - at);
      yield { at, data };
      at += data.length;
    }
  }
  return {
    words,
    pieces,
    write(word, source) {
      for (const { at, data } of pieces(word, source.length)) data.set(source.subarray(at, at + data.length));
    },
    read(word, length) {
      const result = allocate(length);
      for (const { at, data } of pieces(word, length)) result.set(data, at);
      return result;
    },
    bytes(at, max) {
      const { buffer } = chunk(Math.floor(at / CHUNK_BYTES));
      const from = at % CHUNK_BYTES;
      return new Uint8Array(buffer, from, Math.min(max, buffer.byteLength - from));
    },
    get: (word) => chunk(word >>> CHUNK_BITS)[word & (CHUNK_WORDS - 1)]!,
    set(word, value) {
      chunk(word >>> CHUNK_BITS)[word & (CHUNK_WORDS - 1)] = value;
    },
    clone: () =>
      hostWords(
        words,
        chunks.map((each) => each?.slice()),
      ),
  };
}

function allocate(words: number): Uint32Array {
  try {
    return new Uint32Array(words);
  } catch (cause) {
    throw outOfHostMemory(4 * words, cause);
  }
}
