import fc from 'fast-check';
import type { Boundary } from '../../primitives/contract/backend.ts';
import { f32, fn, u32 } from '../../primitives/functors/functor.ts';
import { neighbours } from '../../primitives/functors/neighbours.ts';
import { asGrid } from '../../primitives/grid.ts';
import { map } from '../../primitives/map.ts';
import { stencil } from '../../primitives/stencil.ts';
import { transpose } from '../../primitives/transpose.ts';
import { hostColumn, recipe } from '../arbitraries/columns.ts';
import { assertSameBytes } from './compare.ts';
import { countedPresentation, presentGrid } from './grid.ts';
import { type Law, law } from './law.ts';

/** Numbers of rows and of columns around the edges of tiles, strips and the smallest grids that are visited by tiles. */
const sides = fc.oneof(
  { arbitrary: fc.constantFrom(63, 64, 65, 79, 80, 81, 96, 127, 128, 129), weight: 6 },
  { arbitrary: fc.constantFrom(0, 1, 15, 16, 17, 33), weight: 2 },
);
const shape = fc.oneof(
  { arbitrary: fc.tuple(sides, sides), weight: 4 },
  { arbitrary: fc.tuple(fc.constantFrom(256, 257, 271), fc.constantFrom(256, 257, 273, 320)), weight: 3 },
  { arbitrary: fc.tuple(fc.constantFrom(511, 513, 1030), sides), weight: 1 },
  { arbitrary: fc.tuple(sides, fc.constantFrom(511, 513, 1030)), weight: 1 },
);

const boundary = fc.constantFrom<Boundary[]>('clamp', 'wrap', 'reflect', 'constant');

const plusTwice = fn({ a: u32, b: u32 }, u32, ({ a, b }) => a.add(b.mul(2)));
const aroundIt = fn({ cell: neighbours(u32) }, u32, ({ cell }) => cell.at(0, -1).sub(cell.at(1, 0)).add(cell.x));
const around = fn({ cell: neighbours(u32) }, u32, ({ cell }) => cell.at(1, 0).add(cell.at(0, -1)));
const half = fn({ a: f32 }, f32, ({ a }) => a.mul(0.5));

export const transposeLaws: readonly Law[] = [
  law(
    'transposed cells are the same inside of other views, around them and twice, of every width of elements',
    [shape, recipe, recipe, countedPresentation],
    async (run, [rows, columns], made, other, how) => {
      const n = rows * columns;
      const [u, f] = [hostColumn('u32', n, made), hostColumn('calm', n, other)];
      const [bytes, shorts] = [hostColumn('u8', n, other), hostColumn('i16', n, made)];
      const results = await run((context) => {
        const cells = presentGrid(context, { u, f, bytes, shorts }, how, { rows, columns });
        const once = transpose(cells);
        const sums = map(plusTwice, { a: once.u, b: once.bytes });
        return {
          ...once,
          sums,
          halves: map(half, { a: once.f }),
          ofMap: transpose(map(plusTwice, { a: cells.u, b: cells.bytes })),
          around: stencil(aroundIt, { cell: once.u }, { boundary: 'clamp' }),
          twice: transpose(once),
        };
      });
      const from = (i: number): number => (i % rows) * columns + Math.floor(i / rows);
      const turned = <A extends { [i: number]: number; slice(): A; fill(value: number): A }>(cells: A): A => {
        const made = cells.slice();
        for (let i = 0; i < n; i++) made[i] = cells[from(i)]!;
        return made;
      };
      const once = { u: turned(u), f: turned(f), bytes: turned(bytes), shorts: turned(shorts) };
      const sums = once.u.map((a, i) => a + 2 * once.bytes[i]!);
      const around = once.u.map((_, i) => {
        const [x, y] = [i % rows, Math.floor(i / rows)];
        return once.u[Math.max(0, y - 1) * rows + x]! - once.u[y * rows + Math.min(rows - 1, x + 1)]! + x;
      });
      const expected = { ...once, sums, halves: once.f.map((a) => a * 0.5), ofMap: sums, around };
      assertSameBytes(results, { ...expected, twice: { u, f, bytes, shorts } }, 'cells');
    },
  ),
  law(
    'transposed cells are stored in one pass with neighbours of cells, of every boundary',
    [shape, recipe, boundary],
    async (run, [rows, columns], made, rule) => {
      const cells = hostColumn('u8', rows * columns, made);
      const { beside } = await run((context) => {
        const given = context.column(cells, { rows, columns });
        const turned = transpose(given);
        return { beside: asGrid(stencil(around, { cell: given }, { boundary: rule }), turned.grid!), turned };
      });
      const alone = await run((context) =>
        stencil(around, { cell: context.column(cells, { rows, columns }) }, { boundary: rule }),
      );
      assertSameBytes({ beside }, { beside: alone }, 'cells');
    },
  ),
];
