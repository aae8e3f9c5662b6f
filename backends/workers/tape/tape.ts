import type { Submission } from '../commands/launch.ts';

/**
 * The commands of a script as they go into the queue, except what differs from call to call: addresses of buffers,
 * lengths and uniforms. All launches of a call share one block of argument words, which starts with the call's own
 * values.
 *
 * Each of these is a numbered source; the words that depend on it are stored relative to it.
 */
export interface Tape {
  /** The sources that words are relative to. */
  readonly sources: readonly TapeSource[];
  /** Bytes of memory that lives within a call. */
  readonly arenaBytes: number;
  /** Parts that run as a whole, on the calling thread or on the workers. */
  readonly units: readonly Unit[];
  /** The launches for the calling thread alone, and for all workers. */
  readonly alone: TapedLaunches;
  readonly pooled: TapedLaunches;
  /** Index of the source that is the gate, if the script has one. */
  readonly gate: number | undefined;
  /** Indices of the call's values that only the device knows. */
  readonly counted: readonly number[];
  /** Number of words of a call's values: those of its block, and those for the counts. */
  readonly valueWords: number;
  readonly functions: ReadonlySet<number>;
}

export type TapeSource =
  /** The block of arguments. */
  | { readonly kind: 'arguments' }
  /** The memory for what lives within a call. */
  | { readonly kind: 'arena' }
  /** The first element of an input, where elements have so many bytes; of 0 bytes, its buffer. */
  | { readonly kind: 'input'; readonly at: number; readonly bytes: number }
  | { readonly kind: 'result'; readonly at: number }
  /** The word that holds a count. */
  | { readonly kind: 'count'; readonly number: number }
  /** A word of the values of a call. */
  | { readonly kind: 'value'; readonly word: number };

export interface Unit {
  readonly tasks: readonly TapedTask[];
  /** The first of its phases. */
  readonly alone: number;
  readonly pooled: number;
}

/** The cost of a command, by its length. */
export interface TapedTask {
  readonly cost: number;
  readonly fixedCost: number;
  readonly length: TapedLength;
}

export interface TapedLength {
  /** The address of the count, relative to a source; undefined if the length is a number, which is then the limit. */
  readonly count: { readonly source: number; readonly bytes: number } | undefined;
  readonly minus: number;
  readonly limit: number;
}

export interface TapedLaunches {
  readonly words: Uint32Array;
  /** Pairs of the index of a word and the index of the source that is added to it. */
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
 * A word that is unknown before the call: a source, and a byte offset from it. This encoding keeps different memories
 * apart, and offsets can be added to it.
 */
const SPAN = 2 ** 33;

export function symbolOf(source: number, bytes: number): number {
  return (source + 1) * SPAN + bytes;
}

/** The source and offset of a word in this encoding; undefined for other words. */
export function partsOfSymbol(word: number): { readonly source: number; readonly bytes: number } | undefined {
  return word < SPAN ? undefined : { source: Math.floor(word / SPAN) - 1, bytes: word % SPAN };
}

/** The phases of a call, which the queue may hold on to. */
export interface PlayedLaunches extends Submission {
  /** The values of the tape's sources in this call; that of the arguments is filled in when they are placed. */
  readonly sources: Uint32Array;
  readonly values: Uint32Array;
}

/** Memory for the calls of a tape, overwritten by every call. */
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
