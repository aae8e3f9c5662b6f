import type { Submission } from '../commands/launch.ts';

/**
 * The launches of a script (the recorded commands of a prepared pipeline), captured once. Each call only fills in the
 * addresses of buffers, the lengths and the uniforms. All launches of a call share one argument block, which starts
 * with the values of the call.
 *
 * Each of these addresses, lengths and uniforms is called a source and has a number. If an argument word depends on a
 * source, the tape contains the difference between the word and the source. Each call adds the source's value.
 */
export interface Tape {
  /** The sources of the tape (recorded launches): addresses, lengths and uniforms that are only known at the call. */
  readonly sources: readonly TapeSource[];
  /** Bytes of memory for buffers that exist only during a call. */
  readonly arenaBytes: number;
  /** Groups of launches; each group runs either completely on the calling thread or completely on the workers. */
  readonly units: readonly Unit[];
  /** The launches in two variants: for the calling thread alone, and for all workers. */
  readonly alone: TapedLaunches;
  readonly pooled: TapedLaunches;
  /**
   * Index of the source with the gate's address; undefined if the script has no gate. A gate is a word that disables
   * phases if it is not 0.
   */
  readonly gate: number | undefined;
  /** Indices of the words in the call's block that hold lengths of tables known only to the device. */
  readonly counted: readonly number[];
  /**
   * Number of words at the start of the argument block that hold values of the call: first the words of the script's
   * block, then two words, `minus` and `limit`, for each length in `counted`.
   */
  readonly valueWords: number;
  readonly functions: ReadonlySet<number>;
}

export type TapeSource =
  /** The address of the argument block. */
  | { readonly kind: 'arguments' }
  /** The address of the memory for buffers that exist only during a call. */
  | { readonly kind: 'arena' }
  /**
   * The address of the first element of an input whose elements have `bytes` bytes; if `bytes` is 0, the address of the
   * input's buffer.
   */
  | { readonly kind: 'input'; readonly at: number; readonly bytes: number }
  | { readonly kind: 'result'; readonly at: number }
  /** The address of a count: a word on the device from which a length is computed. */
  | { readonly kind: 'count'; readonly number: number }
  /** A value of the call, such as a uniform. */
  | { readonly kind: 'value'; readonly word: number };

export interface Unit {
  readonly tasks: readonly TapedTask[];
  /** Index of the unit's first phase, in `alone.phases` and in `pooled.phases`. */
  readonly alone: number;
  readonly pooled: number;
}

/** The estimated cost of a command: nanoseconds per element, fixed nanoseconds, and the number of elements. */
export interface TapedTask {
  readonly cost: number;
  readonly fixedCost: number;
  readonly length: TapedLength;
}

export interface TapedLength {
  /**
   * The address of the count, as an offset from a source. A count is a word from which the length is computed:
   * `min(limit, max(0, count − minus))`. Undefined if the length is fixed; the length is then `limit`.
   */
  readonly count: { readonly source: number; readonly bytes: number } | undefined;
  readonly minus: number;
  readonly limit: number;
}

export interface TapedLaunches {
  readonly words: Uint32Array;
  /**
   * The words to complete at each call, as pairs of numbers: the index of a word, then the number of the source whose
   * value is added to this word.
   */
  readonly patches: Uint32Array;
  readonly phases: readonly TapedPhase[];
}

export interface TapedPhase {
  readonly run: number;
  readonly offset: number;
  readonly length: TapedLength;
  readonly chunkSize: number;
  readonly minimum: number;
  readonly gated: boolean;
}

/**
 * A symbol is a number that stands for an unknown address: (source + 1) · SPAN + byte offset. Offsets can be added to a
 * symbol. Symbols of different sources are too far apart to be confused.
 */
const SPAN = 2 ** 33;

export function symbolOf(source: number, bytes: number): number {
  return (source + 1) * SPAN + bytes;
}

/** The source and byte offset of a symbol; undefined if the word is an ordinary number. */
export function partsOfSymbol(word: number): { readonly source: number; readonly bytes: number } | undefined {
  return word < SPAN ? undefined : { source: Math.floor(word / SPAN) - 1, bytes: word % SPAN };
}

/**
 * The launches of one call. The queue may keep a reference to this object until all phases are written to the ring
 * buffer from which the workers read phases.
 */
export interface PlayedLaunches extends Submission {
  /** The value of each source in this call. Source 0, the address of the arguments, is set by `placed`. */
  readonly sources: Uint32Array;
  readonly values: Uint32Array;
}

/**
 * Allocates the words and phases of a call. Later calls overwrite these words and phases, unless the queue still refers
 * to them.
 */
export function createPlayed(tape: Tape, launches: TapedLaunches): PlayedLaunches {
  const { words: template, patches, phases: taped } = launches;
  const sources = new Uint32Array(tape.sources.length);
  const values = new Uint32Array(tape.valueWords);
  const words = template.slice();
  const phases = taped.map(({ length, gated, ...rest }) => ({
    ...rest,
    length: [0, length.minus, length.limit] as [number, number, number],
    gate: 0,
  }));
  const placed = (address: number): void => {
    sources[0] = address;
    words.set(template);
    words.set(values);
    for (let i = 0; i < patches.length; i += 2) {
      const at = patches[i]!;
      words[at] = template[at]! + sources[patches[i + 1]!]!;
    }
    const gate = tape.gate === undefined ? 0 : sources[tape.gate]!;
    for (const [k, { length, gated }] of taped.entries()) {
      const phase = phases[k]!;
      const { count } = length;
      if (count !== undefined) phase.length[0] = (sources[count.source]! + count.bytes) >>> 0;
      if (gated) phase.gate = gate;
    }
  };
  return { words, phases, sources, values, placed };
}
