import { describe, expect } from 'vitest';
import { connectedComponents, NO_COMPONENT } from '../../algorithms/components/index.ts';
import { labelsByEdges } from '../../algorithms/components/runs.ts';
import { labelsByStrips } from '../../algorithms/components/strips.ts';
import { asGrid, type Column, type Context, copyIf } from '../../primitives/index.ts';
import { onEveryBackend } from '../backends.ts';
import { scaledCount, someOf, THOROUGH } from '../cases.ts';
import { fc, test } from '../law-test.ts';
import { expectRefusal, openReference } from '../support/reference-context.ts';

type Connectivity = 4 | 8;

interface Grid {
  readonly width: number;
  readonly cells: readonly boolean[];
}

/** Labels cells by union-find. The root of each set is the first cell of the set. */
function labelsByUnion({ width, cells }: Grid, connectivity: Connectivity): number[] {
  const parents = cells.map((_, i) => i);
  const rootOf = (i: number): number => {
    while (parents[i] !== i) i = parents[i]!;
    return i;
  };
  const offsets = connectivity === 4 ? [[1, 0], [0, 1]] : [[1, 0], [0, 1], [1, 1], [-1, 1]]; // biome-ignore format: one line
  for (const [i, isSet] of cells.entries()) {
    for (const [right, down] of offsets as [number, number][]) {
      const x = (i % width) + right;
      const other = i + right + down * width;
      if (!isSet || x < 0 || x >= width || other >= cells.length || !cells[other]) continue;
      const [a, b] = [rootOf(i), rootOf(other)];
      parents[Math.max(a, b)] = Math.min(a, b);
    }
  }
  return cells.map((isSet, i) => (isSet ? rootOf(i) : NO_COMPONENT));
}

const connectivities: readonly Connectivity[] = [4, 8];
const connectivity = fc.constantFrom(...connectivities);

/**
 * Grids from nearly empty to nearly full. Grids that are about half full have large components, with other components
 * in their holes.
 */
const grid: fc.Arbitrary<Grid> = fc
  .record({
    width: fc.oneof(fc.integer({ min: 1, max: 24 }), fc.constantFrom(31, 32, 33, 64, 65, 97)),
    height: fc.integer({ min: 0, max: 24 }),
    share: fc.constantFrom(10, 40, 50, 60, 70, 90),
  })
  .chain(({ width, height, share }) =>
    fc
      .array(fc.nat({ max: 99 }), { minLength: width * height, maxLength: width * height, size: 'max' })
      .map((numbers) => ({ width, cells: numbers.map((number) => number < share) })),
  );

/** A grid from text, one row per string: a space is an empty cell, any other character a set cell. */
function drawn(...rows: readonly string[]): Grid {
  return { width: rows[0]!.length, cells: rows.flatMap((row) => [...row].map((cell) => cell !== ' ')) };
}

/** A spiral path, one cell wide, from the outside to the middle. The gap between its turns is also one cell wide. */
function spiral(size: number): Grid {
  const cells = new Array<boolean>(size * size).fill(false);
  let [x, y, dx, dy] = [0, 0, 1, 0];
  const isFree = (toX: number, toY: number): boolean =>
    toX >= 0 && toY >= 0 && toX < size && toY < size && !cells[toY * size + toX];
  for (;;) {
    cells[y * size + x] = true;
    const goesOn = (): boolean =>
      isFree(x + dx, y + dy) &&
      (isFree(x + 2 * dx, y + 2 * dy) || x + 2 * dx < 0 || x + 2 * dx >= size || y + 2 * dy < 0 || y + 2 * dy >= size);
    if (!goesOn()) [dx, dy] = [-dy, dx];
    if (!goesOn()) return { width: size, cells };
    [x, y] = [x + dx, y + dy];
  }
}

/** The grid turned by 90 degrees. */
function turned({ width, cells }: Grid): Grid {
  const height = cells.length / width;
  return {
    width: height,
    cells: Array.from(
      { length: cells.length },
      (_, i) => cells[(height - 1 - (i % height)) * width + Math.floor(i / height)]!,
    ),
  };
}

/** How components are labelled: as the backend does by itself, by edges, or by strips of about so many cells. */
type Way = 'chosen' | 'edges' | number;

const way = fc.constantFrom<Way[]>('chosen', 'edges', 1, 40, 100, 300);

function labelled(context: Context, cells: Column<'bool'>, width: number, connectivity: Connectivity, by: Way) {
  if (by === 'chosen') return connectedComponents(context, cells, { width, connectivity });
  return by === 'edges'
    ? labelsByEdges(context, cells, width, connectivity)
    : labelsByStrips(context, cells, width, connectivity, by);
}

const shapes: Record<string, Grid> = {
  'a ring around a ring': drawn('#######', '#     #', '# ### #', '# # # #', '# ### #', '#     #', '#######'),
  'two cells that share a corner': drawn('# ', ' #', '# '),
  'a hole that is open at a corner': drawn('### ', '#  #', '### '),
  'a comb with rising teeth': drawn('      #', '    # #', '  # # #', '# # # #', '#######'),
  'a comb with falling teeth': drawn('#      ', '# #    ', '# # #  ', '# # # #', '#######'),
  'a spiral': spiral(33),
  'a spiral long enough for three rounds': spiral(99),
  'a checkerboard': { width: 20, cells: Array.from({ length: 400 }, (_, i) => (i + Math.floor(i / 20)) % 2 === 0) },
  'all cells': { width: 20, cells: new Array(400).fill(true) },
  'no cells': { width: 20, cells: [] },
};

describe('connected components', () => {
  onEveryBackend((opened, { runs }) => {
    const labelsOf = async ({ width, cells }: Grid, connectivity: Connectivity, by: Way): Promise<number[]> => {
      const labels = await opened().run((context) =>
        context.scope(() => labelled(context, context.column([...cells]), width, connectivity, by)),
      );
      return [...labels];
    };

    test.prop([grid, connectivity, way], { numRuns: scaledCount(runs, 4, 2) })(
      'match a union-find',
      async (some, connectivity, by) => {
        expect(await labelsOf(some, connectivity, by)).toEqual(labelsByUnion(some, connectivity));
      },
    );

    test.each(Object.entries(shapes))('match a union-find for %s in every rotation', async (_, shape) => {
      // An empty grid has no turned variants to test.
      for (const turns of shape.cells.length === 0 ? [0] : someOf([0, 1, 2, 3], 1)) {
        let seen = shape;
        for (let turn = 0; turn < turns; turn++) seen = turned(seen);
        for (const connectivity of connectivities)
          for (const by of ['chosen', someOf<Way>(['edges', 1, 2 * seen.width, 5 * seen.width], 1)[0]!] as const)
            expect(await labelsOf(seen, connectivity, by)).toEqual(labelsByUnion(seen, connectivity));
      }
    });

    test.each([10, 11, 2 ** 16, 2 ** 31, 2 ** 32 - 4, 2 ** 32 - 1])(
      'of a partial row in a grid %i cells wide match a union-find',
      async (width) => {
        const cells = [...'## ### ###'].map((cell) => cell !== ' ');
        for (const connectivity of connectivities) {
          const labels = await opened().run((context) =>
            context.scope(() => {
              const all = context.column(cells.map(() => true));
              return connectedComponents(context, copyIf(context.column([...cells]), all), { width, connectivity });
            }),
          );
          expect([...labels]).toEqual(labelsByUnion({ width, cells }, connectivity));
        }
      },
    );

    test.prop([grid, connectivity, fc.nat(), way], { numRuns: runs })(
      'ignore cells beyond a count known only to the device',
      async ({ width, cells }, connectivity, many, by) => {
        const kept = many % (cells.length + 1);
        const labels = await opened().run((context) =>
          context.scope(() => {
            const isKept = context.column(cells.map((_, i) => i < kept));
            return labelled(context, copyIf(context.column([...cells]), isKept), width, connectivity, by);
          }),
        );
        expect([...labels]).toEqual(labelsByUnion({ width, cells: cells.slice(0, kept) }, connectivity));
      },
    );
  });

  const reference = openReference();

  test.each(connectivities.map((each, i) => [each, someOf<Way>(['edges', 1, 8, 12], 2)[i]!] as const))(
    'match a union-find for the grids of 4 by 4 cells, %i-connected, by %s',
    async (connectivity, by) => {
      // All 2^16 grids are stacked into one, with an empty row after each. By default, only every 16th grid is used,
      // beginning at a random one, so that repeated test runs try all grids.
      const step = THOROUGH ? 1 : 16;
      const [first] = fc.sample(fc.nat({ max: step - 1 }), 1) as [number];
      const cells = Array.from({ length: 2 ** 16 / step }, (_, i) => first + step * i).flatMap((bits) =>
        Array.from({ length: 20 }, (_, i) => i < 16 && ((bits >> i) & 1) === 1),
      );
      const labels = await reference.read(
        reference.scope(() => labelled(reference, reference.column(cells), 4, connectivity, by)),
      );
      expect(labels).toEqual(Uint32Array.from(labelsByUnion({ width: 4, cells }, connectivity)));
    },
  );

  test.each(connectivities)(
    'match a union-find for all counted grids of 8 cells in rows of 3, %i-connected',
    async (connectivity) => {
      for (let bits = 0; bits < 2 ** 8; bits++) {
        const cells = Array.from({ length: 8 }, (_, i) => ((bits >> i) & 1) === 1);
        const all = reference.column(cells.map(() => true));
        const counted = copyIf(reference.column(cells), all);
        const labels = await reference.read(labelled(reference, counted, 3, connectivity, 'edges'));
        expect([...labels]).toEqual(labelsByUnion({ width: 3, cells }, connectivity));
      }
    },
  );

  test('require whole rows, of the width of the shape', () => {
    const cells = reference.column([true, false, true, true, false, true]);
    const shaped = asGrid(cells, { rows: 2, columns: 3 });
    for (const width of [4, 5]) {
      expectRefusal(reference, 'components/width', () => connectedComponents(reference, cells, { width }));
    }
    for (const width of [1, 2, 6]) {
      expectRefusal(reference, 'components/width', () => connectedComponents(reference, shaped, { width }));
    }
    expectRefusal(reference, 'components/width', () => connectedComponents(reference, cells));
  });

  test.prop([grid, connectivity])('take the width of the shape, which labels keep', async (some, connectivity) => {
    const shape = { rows: some.cells.length / some.width, columns: some.width };
    const cells = asGrid(reference.column([...some.cells]), shape);
    for (const width of [undefined, some.width]) {
      const labels = connectedComponents(reference, cells, { width, connectivity });
      expect(labels.grid).toEqual(shape);
      expect([...(await reference.read(labels))]).toEqual(labelsByUnion(some, connectivity));
      reference.dispose(labels);
    }
  });

  test('of rows without cells are none', async () => {
    const cells = asGrid(reference.column([]) as Column as Column<'bool'>, { rows: 3, columns: 0 });
    expect(await reference.read(connectedComponents(reference, cells))).toEqual(new Uint32Array());
  });
});
