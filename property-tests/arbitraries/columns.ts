import fc from 'fast-check';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aNumber, anInstance, aRecord, aWhole, aWord, type Kind } from '../../primitives/checks/kinds.ts';
import { bitsOfF32 } from '../../primitives/ir/semantics.ts';
import { aHostKind, type HostKind, type HostKinds, someFields } from './host-kinds.ts';
import { edgeWords } from './integers.ts';

/** Numbers of rows: small ones, and values around every size at which a backend switches its method. */
export const rowCount: fc.Arbitrary<number> = fc.oneof(
  { arbitrary: fc.integer({ min: 0, max: 70 }), weight: 12 },
  { arbitrary: fc.constantFrom(0, 1, 3, 4, 5, 31, 32, 33, 63, 64, 65, 255, 256, 257), weight: 8 },
  { arbitrary: fc.constantFrom(1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096, 4097), weight: 6 },
  { arbitrary: fc.constantFrom(65535, 65536, 65537), weight: 1 },
);

/** Numbers of rows up to 4097, for laws whose plain loop takes long per row. */
export const fewRows: fc.Arbitrary<number> = fc.oneof(
  { arbitrary: fc.integer({ min: 0, max: 40 }), weight: 8 },
  { arbitrary: fc.constantFrom(63, 64, 65, 255, 256, 257, 1023, 1024, 1025), weight: 7 },
  { arbitrary: fc.constantFrom(2049, 4097), weight: 1 },
);

/** The patterns that a column's values can follow. */
const patterns = ['zeros', 'small', 'ascending', 'descending', 'runs', 'equal', 'edges', 'random'] as const;
type Pattern = (typeof patterns)[number];

/**
 * A pattern and a seed, which together determine a column. So even a long column prints and shrinks as a small recipe.
 */
export interface Recipe {
  readonly pattern: Pattern;
  readonly seed: number;
}

const aRecipe: Kind = aRecord<Recipe>({ pattern: aWord(patterns), seed: aNumber });

/** Draws a pattern and a seed. */
export const recipe: fc.Arbitrary<Recipe> = fc.record({
  pattern: fc.constantFrom(...patterns),
  seed: fc.nat({ max: 0xffff }),
});

export type HostRows<F extends { readonly [name: string]: HostKind }> = {
  readonly [K in keyof F]: HostKinds[F[K]];
};

/**
 * Columns of equal length, generated from recipes. A counterexample prints as its recipes.
 *
 * @example
 * const [rows] = fc.sample(rowsOf({ key: 'u32', flag: 'bool' }, fc.constant(3)), 1);
 * [rows.key.length, rows.flag.length]; // [3, 3]
 */
export function rowsOf<const F extends { readonly [name: string]: HostKind }>(
  fields: F,
  size: fc.Arbitrary<number> = rowCount,
): fc.Arbitrary<HostRows<F>> {
  requireArguments('rowsOf', { fields, size }, { fields: someFields, size: anInstance(fc.Arbitrary) });
  const names = Object.keys(fields);
  return fc.tuple(size, ...names.map(() => recipe)).map(([rows, ...recipes]) => {
    const columns = names.map((name, i) => [name, hostColumn(fields[name]!, rows, recipes[i]!)]);
    const text = names.map((name, i) => `${name}: ${fields[name]} ${recipes[i]!.pattern} (seed ${recipes[i]!.seed})`);
    return Object.defineProperty(Object.fromEntries(columns), fc.toStringMethod, {
      value: () => `${rows} rows of { ${text.join(', ')} }`,
    });
  });
}

/**
 * Generates one column of a kind from its recipe.
 *
 * @example
 * hostColumn('i16', 4, { pattern: 'zeros', seed: 1 }); // Int16Array [0, 0, 0, 0]
 */
export function hostColumn<K extends HostKind>(kind: K, rows: number, recipe: Recipe): HostKinds[K] {
  requireArguments('hostColumn', { kind, rows, recipe }, { kind: aHostKind, rows: aWhole(), recipe: aRecipe });
  const { pattern, seed } = recipe;
  const words = wordsOf(pattern, rows, randomWords(seed));
  switch (kind as HostKind) {
    case 'u32':
      return words as HostKinds[K];
    case 'i32':
      return new Int32Array(words.buffer) as HostKinds[K];
    case 'tiny':
      return words.map((word) => word % 4) as HostKinds[K];
    case 'f32':
      return new Float32Array(words.map((word) => floatBits(pattern, word)).buffer) as HostKinds[K];
    case 'normal':
      return new Float32Array(words.map((word) => withoutSubnormals(floatBits(pattern, word))).buffer) as HostKinds[K];
    case 'calm':
      return new Float32Array(words.map(calmBits).buffer) as HostKinds[K];
    case 'sign':
      return Float32Array.from(words, (word) => (word % 2) * 2 - 1) as HostKinds[K];
    case 'u8':
      return Uint8Array.from(words) as HostKinds[K];
    case 'i8':
      return Int8Array.from(words) as HostKinds[K];
    case 'u16':
      return Uint16Array.from(words) as HostKinds[K];
    case 'i16':
      return Int16Array.from(words) as HostKinds[K];
    default:
      return Array.from(words, (word) => word % 2 === 1) as HostKinds[K];
  }
}

function wordsOf(pattern: Pattern, rows: number, next: () => number): Uint32Array {
  const equal = next();
  let run = next() % 4;
  const value: Record<Pattern, (i: number) => number> = {
    zeros: () => 0,
    small: () => next() % 4,
    ascending: (i) => i,
    descending: (i) => rows - i,
    runs: () => (next() % 8 === 0 ? ++run : run),
    equal: () => equal,
    edges: () => edgeWords[next() % edgeWords.length]!,
    random: next,
  };
  return Uint32Array.from({ length: rows }, (_, i) => value[pattern](i));
}

/**
 * The bits of special f32: ±0, ±1, quiet and signalling NaNs, infinities, and the smallest and largest normal and
 * subnormal numbers.
 */
const edgeFloats: readonly number[] = [
  0, 0x80000000, 0x3f800000, 0xbf800000, 0x7fc00000, 0xffc00000, 0x7fc00001, 0x7f800001, 0x7f800000, 0xff800000, 1,
  0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x80800000, 0x7f7fffff, 0xff7fffff, 0x4b800000, 0x3dcccccd,
];

function floatBits(pattern: Pattern, word: number): number {
  if (pattern === 'random') return word;
  if (pattern === 'edges' || pattern === 'equal') return edgeFloats[word % edgeFloats.length]!;
  return bitsOfF32(pattern === 'descending' ? word - 32.5 : word);
}

function withoutSubnormals(bits: number): number {
  const isSubnormal = (bits & 0x7f800000) === 0 && (bits & 0x7fffff) !== 0;
  return isSubnormal ? (bits | 0x00800000) >>> 0 : bits;
}

/**
 * Derives the bits of an f32 from a random word. The f32 is zero, or of either sign with a magnitude between 2⁻²⁰ and
 * 2²⁰.
 */
function calmBits(word: number): number {
  return word % 7 === 0 ? 0 : ((word & 0x80000000) | (((word % 40) + 107) << 23) | ((word >>> 8) & 0x7fffff)) >>> 0;
}

/**
 * A 32-bit SplitMix generator (Steele, Lea and Flood). A seed gives the same words on every machine.
 *
 * @example
 * [randomWords(1)(), randomWords(2)()]; // [1580013426, 140556409]
 */
export function randomWords(seed: number): () => number {
  requireArguments('randomWords', { seed }, { seed: aNumber });
  let state = seed;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let z = state;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return (z ^ (z >>> 15)) >>> 0;
  };
}
