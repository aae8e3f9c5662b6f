import { describe, expect } from 'vitest';
import { type BqTreeOptions, type CellFormat, decodeBqTrees, encodeBqTrees } from '../../algorithms/bq-tree/index.ts';
import { type Context, copyIf, sequence } from '../../primitives/index.ts';
import { onEveryBackend } from '../backends.ts';
import { scaledCount, someOf, THOROUGH } from '../cases.ts';
import { fc, test } from '../law-test.ts';
import { bqTreeByHand } from '../support/bq-trees-by-hand.ts';
import { expectRefusal, openReference } from '../support/reference-context.ts';

interface Tiles {
  readonly options: BqTreeOptions;
  /** The cells of each tile. */
  readonly tiles: readonly (readonly number[])[];
}

const ARRAYS = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array };
const SIDES = [4, 8, 16, 32, 64, 128, 256];
const formats: readonly CellFormat[] = ['u8', 'u16', 'u32'];
const maxOf = (as: CellFormat): number => 2 ** Number(as.slice(1)) - 1;

/** Cells from constant to noise, in squares of equal values, on slopes. */
function cellsOf(side: number, max: number): fc.Arbitrary<number[]> {
  const value = fc.oneof(fc.integer({ min: 0, max }), fc.constantFrom(0, 1, 3, max));
  return fc
    .record({
      ...{ base: value, noise: value, square: fc.constantFrom(1, 2, 4, 8, side) },
      ...{ slope: fc.constantFrom(0, 0, 1, 100), seed: fc.integer() },
    })
    .map(({ base, noise, square, slope, seed }) =>
      Array.from({ length: side ** 2 }, (_, i) => {
        const [row, column] = [Math.floor(i / side), i % side];
        const place = Math.floor(row / square) * 1009 + Math.floor(column / square);
        const random = Math.imul(Math.imul(place ^ seed, 0x9e3779b1) ^ (place << 7), 0x85ebca6b);
        return (((base ^ ((random ^ (random >>> 15)) & noise)) >>> 0) + slope * (row + column)) % (max + 1);
      }),
    );
}

/** Up to `cells` cells, but always room for one tile. */
function someTiles(sides: readonly number[], cells: number): fc.Arbitrary<Tiles> {
  return fc.record({ side: fc.constantFrom(...sides), as: fc.constantFrom(...formats) }).chain((options) => {
    const maxLength = Math.max(1, Math.floor(cells / options.side ** 2));
    return fc.array(cellsOf(options.side, maxOf(options.as)), { maxLength }).map((tiles) => ({ options, tiles }));
  });
}

/** Encodes and decodes tiles. */
function thereAndBack(context: Context, { options, tiles }: Tiles) {
  return context.scope(() => {
    const trees = encodeBqTrees(context, context.column(ARRAYS[options.as].from(tiles.flat())), options);
    return { ...trees, ...decodeBqTrees(context, trees, options) };
  });
}

function expectRight({ options, tiles }: Tiles, read: Record<'words' | 'lengths' | 'cells' | 'isSound', object>): void {
  const byHand = tiles.map((tile) => bqTreeByHand(tile, options.side, Number(options.as.slice(1))));
  expect(read.lengths).toEqual(Uint32Array.from(byHand, ({ length }) => length));
  expect(read.words).toEqual(Uint32Array.from(byHand.flatMap((tree) => [...tree])));
  expect(read.cells).toEqual(Uint32Array.from(tiles.flat()));
  expect(read.isSound).toEqual(new Uint8Array(tiles.length).fill(1));
}

describe('BQ-trees', () => {
  onEveryBackend((opened, { runs }) => {
    test.prop([someTiles(SIDES.slice(0, 4), 2 ** 11)], { numRuns: scaledCount(runs, 4, 2) })(
      'are those of a recursive encoder, node by node, and decode to the cells',
      async (tiles) => expectRight(tiles, await opened().run((context) => thereAndBack(context, tiles))),
    );

    test.prop(
      [
        fc.record({ side: fc.constantFrom(4, 16, 64), as: fc.constantFrom(...formats) }),
        fc.uint32Array({ maxLength: 200 }),
        fc.array(fc.oneof(fc.nat({ max: 40 }), fc.integer({ min: 0, max: 2 ** 32 - 1 })), { maxLength: 4 }),
      ],
      { numRuns: scaledCount(runs, 4, 1) },
    )('of any words and lengths decode to cells, the same on every backend', async (options, words, lengths) => {
      const { cells, isSound } = await opened().run((context) => {
        const trees = { words: context.column(words), lengths: context.column(Uint32Array.from(lengths)) };
        return { ...decodeBqTrees(context, trees, options) };
      });
      expect(cells.length).toBe(lengths.length * options.side ** 2);
      expect(cells.every((cell) => cell <= maxOf(options.as))).toBe(true);
      let end = 0;
      for (const [tile, length] of lengths.entries()) {
        end += length;
        if (end > words.length) expect(isSound[tile]).toBe(0);
      }
    });
  });

  const reference = openReference();
  const read = (tiles: Tiles) => reference.read(reference.scope(() => thereAndBack(reference, tiles)));

  test.prop([fc.constantFrom(...someOf([64, 128, 256], 1)).chain((side) => someTiles([side], 0))], {
    numRuns: scaledCount(2, 8, 1),
  })('of large tiles are those of a recursive encoder', async (tiles) => expectRight(tiles, await read(tiles)));

  test('of adversarial tiles of all sides and formats decode to the cells', async () => {
    for (const options of someOf(
      (THOROUGH ? SIDES : SIDES.slice(0, 4)).flatMap((side) => formats.map((as) => ({ side, as }))),
      2,
    )) {
      const [{ side }, max] = [options, maxOf(options.as)];
      const fill = (value: (row: number, column: number) => number): number[] =>
        Array.from({ length: side ** 2 }, (_, i) => value(Math.floor(i / side), i % side));
      const tiles = [
        fill(() => 0),
        fill(() => max),
        // No quadrant of any plane is uniform: the largest tree there is.
        fill((row, column) => ((row + column) % 2 === 0 ? max : 0)),
        fill((row, column) => (row === side - 1 && column === side - 1 ? max : 0)),
        fill((row, column) => (row === 0 && column === 0 ? 0 : max)),
        fill((row) => (row < side / 2 ? 1 : max - 1)),
      ];
      expectRight({ options, tiles }, await read({ options, tiles }));
    }
  });

  test.prop([someTiles([4, 8, 32], 2 ** 11), fc.nat(), fc.constantFrom(1, -1)])(
    'that are cut off or too long are not sound',
    async ({ options, tiles }, which, by) => {
      fc.pre(tiles.length > 0);
      const sound = await reference.read(
        reference.scope(() => {
          const cells = reference.column(ARRAYS[options.as].from(tiles.flat()));
          const { words, lengths } = encodeBqTrees(reference, cells, options);
          const at = sequence(tiles.length);
          return { words, lengths, at };
        }),
      );
      const wrong = which % tiles.length;
      sound.lengths[wrong]! += by;
      const { isSound } = await reference.read(
        reference.scope(() => {
          const trees = { words: reference.column(sound.words), lengths: reference.column(sound.lengths) };
          return { ...decodeBqTrees(reference, trees, options) };
        }),
      );
      expect(isSound[wrong]).toBe(0);
      expect([...isSound].slice(0, wrong).every((each) => each === 1)).toBe(true);
    },
  );

  test('with a plane that is uniform and mixed at once are not sound', async () => {
    // A root of 8 × 8 cells whose plane 0 is mixed: its node has four states, of which one is the wrong state 3.
    const words = Uint32Array.of(0x0100, 0x03, 0x0101, 0);
    const trees = { words: reference.column(words), lengths: reference.column(Uint32Array.of(2, 2)) };
    const decoded = reference.scope(() => ({ ...decodeBqTrees(reference, trees, { side: 8, as: 'u8' }) }));
    expect((await reference.read(decoded)).isSound).toEqual(Uint8Array.of(0, 0));
    reference.dispose(decoded);
  });

  test('take whole tiles, whose number the host knows', () => {
    const options = { side: 4, as: 'u8' } as const;
    const cells = reference.column(new Uint8Array(24));
    expectRefusal(reference, 'bq-tree/cells', () => encodeBqTrees(reference, cells, options));
    const counted = copyIf(cells, reference.column(Array.from({ length: 24 }, () => true)));
    expectRefusal(reference, 'bq-tree/length', () => encodeBqTrees(reference, counted, options));
    const trees = { words: cells, lengths: counted };
    expectRefusal(reference, 'bq-tree/length', () => decodeBqTrees(reference, trees, options));
    expectRefusal(reference, 'column/size', () => encodeBqTrees(reference, sequence(2 ** 31), options));
  });
});
