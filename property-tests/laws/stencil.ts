import fc from 'fast-check';
import type { Boundary } from '../../primitives/contract/backend.ts';
import { bool, fn, i32, u32, uniform } from '../../primitives/functors/functor.ts';
import { type Neighbours, neighbours } from '../../primitives/functors/neighbours.ts';
import type { Scalar } from '../../primitives/functors/shapes.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import type { U32 } from '../../primitives/functors/value.ts';
import { plus } from '../../primitives/monoid.ts';
import { reduce } from '../../primitives/reduce.ts';
import { stencil } from '../../primitives/stencil.ts';
import { hostColumn, recipe, rowCount, rowsOf } from '../arbitraries/columns.ts';
import { present, presentation } from '../arbitraries/presentations.ts';
import { assertSame } from './compare.ts';
import { type Law, law } from './law.ts';

const boundary = fc.constantFrom<Boundary[]>('clamp', 'wrap', 'reflect', 'constant');
const near = fc.integer({ min: -3, max: 3 });
/** Offsets of neighbours. Some are larger than any grid. */
const offset = fc.oneof(
  { arbitrary: near, weight: 6 },
  { arbitrary: fc.integer({ min: -70, max: 70 }), weight: 3 },
  { arbitrary: fc.constantFrom(2 ** 31 - 1, 1 - 2 ** 31, 65536, -4097), weight: 1 },
);
const offsets = fc.array(fc.tuple(offset, offset), { minLength: 1, maxLength: 4 });
const OUTSIDE = { value: -5, flag: true };

/**
 * Maps a position to a position inside a row or column of `size` cells, as the boundary rule says. Returns undefined if
 * the rule gives no position.
 */
function placeOn(size: number, place: number, rule: Boundary): number | undefined {
  if (place >= 0 && place < size) return place;
  const period = 2 * (size - 1);
  switch (rule) {
    case 'clamp':
      return Math.min(size - 1, Math.max(0, place));
    case 'wrap':
      return modulo(place, size);
    case 'reflect': {
      const turned = period === 0 ? 0 : modulo(place, period);
      return turned < size ? turned : period - turned;
    }
    case 'constant':
      return undefined;
  }
}

const modulo = (a: number, b: number): number => ((a % b) + b) % b;

type Cells = { readonly value: ArrayLike<number>; readonly flag: readonly boolean[] };
type Rule = { readonly x: Boundary; readonly y: Boundary };

/** The expected value that a stencil reads at an offset from a cell. */
function seen(cells: Cells, width: number, rule: Rule, cell: number, [dx, dy]: readonly [number, number]): number {
  const rows = Math.ceil(cells.value.length / width);
  const column = placeOn(width, (cell % width) + dx, rule.x);
  const row = placeOn(rows, Math.floor(cell / width) + dy, rule.y);
  if (column === undefined || row === undefined) return OUTSIDE.flag ? ~OUTSIDE.value : OUTSIDE.value;
  const place = row * width + column;
  const value = cells.value[place] ?? 0;
  return cells.flag[place] ? ~value : value;
}

/**
 * The expected results. A result is the cell's own value plus the weighted values at all offsets. The weight of offset
 * i in the list is i + `scale`.
 */
function expected(
  cells: Cells,
  width: number,
  rule: Rule,
  list: readonly (readonly [number, number])[],
  scale: number,
): Uint32Array {
  return Uint32Array.from(cells.value, (own, cell) =>
    list.reduce((sum, each, i) => sum + Math.imul(seen(cells, width, rule, cell, each), i + scale), Number(own)),
  );
}

type Around = Neighbours<{ readonly value: Scalar<'i32'>; readonly flag: Scalar<'bool'> }>;

const signed = (around: Around, dx: number, dy: number): U32 => {
  const { value, flag } = around.at(dx, dy);
  return u32(select(value, value.not(), flag));
};

const weighted = (list: readonly (readonly [number, number])[]) =>
  fn({ around: neighbours({ value: i32, flag: bool }), own: i32, scale: uniform(u32) }, u32, ({ around, own, scale }) =>
    list.reduce((sum, [dx, dy], i) => sum.add(signed(around, dx, dy).mul(scale.add(i))), u32(own)),
  );

const cells = rowsOf({ value: 'i32', flag: 'bool' });

/** Grids without incomplete rows: their width, and their number of cells. */
const grid = fc
  .tuple(fc.oneof(fc.constantFrom(1, 2, 3, 64), fc.integer({ min: 1, max: 300 })), rowCount)
  .map(([width, about]) => [width, width * Math.ceil(Math.min(about, 5000) / width)] as const);

export const stencilLaws: readonly Law[] = [
  law(
    'a stencil over a row reads neighbours by their offset, under the boundary rule',
    [cells, presentation, fc.array(offset, { minLength: 1, maxLength: 4 }), boundary, fc.nat(9)],
    async (run, host, how, along, rule, scale) => {
      const list = along.map((dx) => [dx, 0] as const);
      const functor = weighted(list);
      const result = await run((context) => {
        const around = present(context, host, how);
        return stencil(functor, { around, own: around.value, scale }, { boundary: rule, outside: { around: OUTSIDE } });
      });
      const rules = { x: rule, y: rule };
      assertSame(result, expected(host, Math.max(1, host.value.length), rules, list, scale));
    },
  ),
  law(
    'a stencil over a grid reads neighbours by their offset in columns and rows',
    [grid, recipe, presentation, offsets, boundary, boundary],
    async (run, [width, length], made, how, list, x, y) => {
      const host = { value: hostColumn('i16', length, made), flag: hostColumn('bool', length, made) };
      const functor = weighted(list);
      const rule = x === y ? x : { x, y };
      const result = await run((context) => {
        const around = present(context, host, how);
        const options = { width, boundary: rule, outside: { around: OUTSIDE } };
        return stencil(functor, { around, own: around.value, scale: 1 }, options);
      });
      assertSame(result, expected(host, width, { x, y }, list, 1));
    },
  ),
  law(
    'a stencil over a grid reads zeros in a last row truncated by a device count',
    [cells, fc.integer({ min: 1, max: 70 }), offsets, fc.constantFrom<Boundary[]>('clamp', 'wrap', 'reflect')],
    async (run, host, width, list, rule) => {
      const functor = weighted(list);
      const result = await run((context) => {
        const around = present(context, host, 'device count');
        return stencil(functor, { around, own: around.value, scale: 1 }, { width, boundary: rule });
      });
      assertSame(result, expected(host, width, { x: rule, y: rule }, list, 1));
    },
  ),
  law(
    'stencils of stencils compose, and fuse into a reduction',
    [cells, presentation, near, near, boundary],
    async (run, host, how, first, second, rule) => {
      const [a, b] = [first, second].map((dx) => fn({ x: neighbours(i32) }, i32, ({ x }) => x.at(dx).add(x.at(0))));
      const result = await run((context) => {
        const { value } = present(context, host, how);
        const twice = stencil(b!, { x: stencil(a!, { x: value }, { boundary: rule }) }, { boundary: rule });
        return { twice, total: reduce(twice, plus(i32)) };
      });
      const size = host.value.length;
      const apply = (values: Int32Array, dx: number): Int32Array =>
        values.map((value, i) => value + (values[placeOn(size, i + dx, rule) ?? -1] ?? 0));
      const twice = apply(apply(host.value, first), second);
      assertSame(result, { twice, total: Int32Array.of(twice.reduce((sum, value) => (sum + value) | 0, 0)) });
    },
  ),
];
