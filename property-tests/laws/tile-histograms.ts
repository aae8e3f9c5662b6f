import fc from 'fast-check';
import type { Context } from '../../primitives/context/context.ts';
import { For, Var } from '../../primitives/functors/control.ts';
import { array, type FunctorDescription, fn, u32, uniform } from '../../primitives/functors/functor.ts';
import { tileHistograms } from '../../primitives/tile-histograms.ts';
import { type Presentation, present, presentation } from '../arbitraries/presentations.ts';
import { assertSameBytes } from './compare.ts';
import { decodeByHand, type RandomTile, randomTiles, wordsOf } from './decode-tiles.ts';
import { type Law, law } from './law.ts';

/** Tiles of the law: usual ones, one row, and widths for which vectors and kernels have other paths. */
const shapes = fc.constantFrom(
  ...([
    [64, 64],
    [64, 48],
    [128, 16],
    [256, 32],
    [32, 1],
    [32, 7],
    [96, 5],
    [64, 3],
  ] as const),
);

interface Part {
  readonly histogram: number;
  /** Words between the bits of two rows. */
  readonly apart: number;
  /** Words between the bits of the part before and those of this one. */
  readonly gap: number;
  readonly seed: number;
}

const part: fc.Arbitrary<Part> = fc.record({
  histogram: fc.nat(4),
  apart: fc.nat(2),
  gap: fc.nat(3),
  seed: fc.nat(),
});

/** Numbers of bins around those of usual cells, few and many. */
const binCounts = fc.constantFrom(1, 3, 64, 256, 5000);

type Binning = 'cell' | 'scaled' | 'table' | 'steps';

/** How cells are binned: with bins that are out of range, by a table, and by code with a loop. */
const FUNCTORS: Readonly<Record<Binning, FunctorDescription>> = {
  cell: fn('cellItself', { cell: u32 }, u32, ({ cell }) => cell),
  scaled: fn('scaledCell', { cell: u32, by: uniform(u32) }, u32, ({ cell, by }) => cell.mul(by).shr(21)),
  table: fn('binInTable', { cell: u32, table: array(u32) }, u32, ({ cell, table }) => table.at(cell.and(0xff))),
  steps: fn('stepsToCell', { cell: u32, table: array(u32) }, u32, ({ cell, table }) => {
    const bin = Var(u32(0));
    For(0, cell.and(3), (k) => bin.set(bin.add(table.at(k))));
    return bin;
  }),
};

const BY = 0x9e3779b9;
/** Fewer entries than the functor asks for, so that some are past the end, and some that no histogram has. */
const TABLE: Uint32Array = Uint32Array.from({ length: 250 }, (_, i) => (i % 9 === 8 ? 5001 : (i * i) % 300));
const CAPTURES = { cell: [], scaled: ['by'], table: ['table'], steps: ['table'] } as const;

function binByHand(binning: Binning, cell: number): number {
  if (binning === 'cell') return cell;
  if (binning === 'scaled') return Math.imul(cell, BY) >>> 21;
  if (binning === 'table') return TABLE[cell & 0xff] ?? 0;
  return TABLE.subarray(0, cell & 3).reduce((sum, step) => sum + step, 0);
}

/** Words of masks: all cells, none, most, few or any of them, in turn of a random sequence. */
function maskWords(count: number, seed: number): number[] {
  let state = seed;
  const random = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state ^ (state << 13)) >>> 0;
  };
  return Array.from({ length: count }, () => {
    const kind = (random() >>> 20) % 5;
    if (kind < 2) return kind === 0 ? 0 : 0xffffffff;
    if (kind === 2) return random();
    const few = (random() & random() & random()) >>> 0;
    return kind === 3 ? few : ~few >>> 0;
  });
}

interface Case {
  readonly tiles: readonly RandomTile[];
  /** The parts of each tile, and before those the parts of none. */
  readonly parts: readonly (readonly Part[])[];
  readonly hidden: { readonly apart: number; readonly bin: number; readonly seed: number } | undefined;
  readonly as: 'u8' | 'u16' | 'u32';
  readonly bins: number;
  readonly histograms: number;
  readonly binning: Binning;
  /** Words that are missing at the ends of the tiles, of the masks and of the hidden bits. */
  readonly cut: readonly [number, number, number];
  readonly how: readonly [tiles: Presentation, parts: Presentation, words: Presentation];
}

const cases: fc.Arbitrary<Case> = fc.record({
  tiles: randomTiles,
  parts: fc.array(fc.array(part, { maxLength: 3 }), { minLength: 4, maxLength: 4 }),
  hidden: fc.option(fc.record({ apart: fc.nat(2), bin: fc.nat(300), seed: fc.nat() }), { nil: undefined }),
  as: fc.constantFrom('u8', 'u16', 'u32'),
  bins: binCounts,
  histograms: fc.integer({ min: 1, max: 4 }),
  binning: fc.constantFrom<Binning>('cell', 'scaled', 'table', 'steps'),
  cut: fc.oneof(fc.constant([0, 0, 0] as const), fc.tuple(fc.nat(40), fc.nat(40), fc.nat(40))),
  how: fc.oneof(
    fc.constant(['stored', 'stored', 'stored'] as const),
    fc.tuple(presentation, presentation, presentation),
  ),
});

/** The columns of a case, and its counts by the definition. */
function byHand(given: Case, columns: number, rows: number) {
  const { tiles, parts, hidden, as, bins, histograms, binning, cut } = given;
  const [size, perRow] = [columns * rows, columns / 32];
  const { words, start } = wordsOf(tiles, size);
  words.splice(Math.max(0, words.length - cut[0]));
  const first = tiles.map(({ first }) => first);
  const [offsets, listed, masks]: [number[], { histogram: number; word: number; pitch: number }[], number[]] = [
    [],
    [],
    [],
  ];
  for (const ofTile of parts.slice(0, tiles.length + 1)) {
    for (const { histogram, apart, gap, seed } of ofTile) {
      const pitch = perRow + apart;
      listed.push({ histogram, word: masks.length + gap, pitch });
      for (const word of maskWords(gap + pitch * rows, seed)) masks.push(word);
    }
    offsets.push(listed.length);
  }
  masks.splice(Math.max(0, masks.length - cut[1]));
  const hiddenPitch = perRow * tiles.length + (hidden?.apart ?? 0);
  const hiddenWords = maskWords(hiddenPitch * rows, hidden?.seed ?? 0);
  hiddenWords.splice(Math.max(0, hiddenWords.length - cut[2]));
  const counts = new Uint32Array(bins * histograms);
  const cells = decodeByHand(words, start, first, columns, rows, as);
  const isSet = (words: readonly number[], from: number, pitch: number, cell: number): boolean => {
    const column = cell % columns;
    const word = words[from + Math.floor(cell / columns) * pitch + (column >> 5)] ?? 0;
    return ((word >>> (column & 31)) & 1) === 1;
  };
  for (let t = 0; t < tiles.length; t++) {
    for (const { histogram, word, pitch } of listed.slice(offsets[t], offsets[t + 1])) {
      for (let cell = 0; cell < size; cell++) {
        if (!isSet(masks, word, pitch, cell)) continue;
        const isHidden = hidden !== undefined && isSet(hiddenWords, perRow * t, hiddenPitch, cell);
        const bin = isHidden ? hidden.bin : binByHand(binning, cells[t * size + cell]!);
        if (bin < bins && histogram < histograms) counts[histogram * bins + bin]!++;
      }
    }
  }
  const pick = (name: 'histogram' | 'word' | 'pitch'): Uint32Array => Uint32Array.from(listed, (part) => part[name]);
  return {
    counts,
    words: Uint32Array.from(words),
    masks: Uint32Array.from(masks),
    offsets: Uint32Array.from(offsets),
    tiles: {
      start: Uint32Array.from(start),
      first: Uint32Array.from(first),
      hidden: Uint32Array.from(start, (_, t) => perRow * t),
    },
    parts: { histogram: pick('histogram'), word: pick('word'), pitch: pick('pitch') },
    hidden: hidden && { bits: Uint32Array.from(hiddenWords), pitch: hiddenPitch, bin: hidden.bin },
  };
}

function countTiles(
  context: Context,
  given: Case,
  columns: number,
  rows: number,
  columnsOf: ReturnType<typeof byHand>,
) {
  const { as, bins, histograms, binning, how } = given;
  const { hidden: word, ...tiles } = present(context, columnsOf.tiles, how[0]);
  const { hidden } = columnsOf;
  const all: { readonly [name: string]: unknown } = { by: BY, table: context.column(TABLE) };
  const bitsAs = (bits: Uint32Array) => present(context, { bits }, how[2]).bits;
  return tileHistograms(
    // With a device count, words past the last are 0, so that a tile that was cut may end within the capacity.
    given.cut[0] === 0 ? bitsAs(columnsOf.words) : context.column(columnsOf.words),
    tiles,
    {
      ...present(context, columnsOf.parts, how[1]),
      offsets: context.column(columnsOf.offsets),
      masks: bitsAs(columnsOf.masks),
    },
    FUNCTORS[binning],
    {
      ...{ columns, rows, as, bins, histograms },
      captures: Object.fromEntries(CAPTURES[binning].map((name) => [name, all[name]])) as never,
      hidden: hidden && { ...hidden, bits: bitsAs(hidden.bits), word },
    },
  );
}

export const tileHistogramsLaws: readonly Law[] = [
  law(
    'tileHistograms counts the cells of parts, and hidden ones in their bin',
    [cases, shapes],
    async (run, given, [columns, rows]) => {
      const expected = byHand(given, columns, rows);
      const found = await run((context) => countTiles(context, given, columns, rows, expected));
      assertSameBytes(found, expected.counts, 'counts');
    },
  ),
];
