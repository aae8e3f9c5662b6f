import type { Submission } from '../commands/launch.ts';

/**
 * The commands of a script as they go into the queue, but for what another call changes: addresses of buffers, lengths and
 * uniforms. All of a call's launches share one block of argument words, at whose beginning stand the call's own values.
 *
 * What changes is known by its number: the words that depend on it are kept as what is added to it.
 */
export interface Tape {
  /** What the words are added to. */
  readonly sources: readonly TapeSource[];
  /** Bytes for what lives within a call. */
  readonly arenaBytes: number;
  /** Parts that are run as a whole, here or by the workers. */
  readonly units: readonly Unit[];
  /** What is run on the calling thread alone, and by all workers. */
  readonly alone: TapedLaunches;
  readonly pooled: TapedLaunches;
  /** The source that is the gate, where a script has one. */
  readonly gate: number | undefined;
  /** Of the values of a call, those that the device knows: their words. */
  readonly counted: readonly number[];
  /** Words of a call's values: those of its block, and what belongs to the counts. */
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

/** What a command costs, by its length. */
export interface TapedTask {
  readonly cost: number;
  readonly fixedCost: number;
  readonly length: TapedLength;
}

export interface TapedLength {
  /** The source and what is added to it, of the address of the count; undefined of a number, which is the limit. */
  readonly count: { readonly source: number; readonly bytes: number } | undefined;
  readonly minus: number;
  readonly limit: number;
}

export interface TapedLaunches {
  readonly words: Uint32Array;
  /** Pairs: a word, and the number of what is added to it. */
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
 * A word that is not known before the call: a source, and bytes from it on. Numbers of that form keep apart what lies in different
 * memory, and bytes can be added to them.
 */
const SPAN = 2 ** 33;

export function symbolOf(source: number, bytes: number): number {
  return (source + 1) * SPAN + bytes;
}

/** What a word is made of, if it is one of those. */
export function partsOfSymbol(word: number): { readonly source: number; readonly bytes: number } | undefined {
  return word < SPAN ? undefined : { source: Math.floor(word / SPAN) - 1, bytes: word % SPAN };
}

/** Phases of a call, which the queue may keep. */
export interface PlayedLaunches extends Submission {
  /** The numbers of the tape's sources in this call; that of the arguments is filled in when they are placed. */
  readonly sources: Uint32Array;
  readonly values: Uint32Array;
}

/** Room for a call of a tape, which is written anew by every call. */
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
