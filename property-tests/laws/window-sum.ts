import fc from 'fast-check';
import type { Boundary } from '../../primitives/contract/backend.ts';
import { transpose } from '../../primitives/transpose.ts';
import { windowSum } from '../../primitives/window-sum.ts';
import { hostColumn, recipe } from '../arbitraries/columns.ts';
import { assertSameBytes } from './compare.ts';
import { countedPresentation, presentGrid, side } from './grid.ts';
import { type Law, law } from './law.ts';

const window = fc.oneof(
  { arbitrary: fc.integer({ min: 1, max: 8 }), weight: 5 },
  { arbitrary: fc.constantFrom(15, 16, 17, 31, 32, 33, 34, 35, 48, 255, 256, 257, 300), weight: 3 },
);
const boundary = fc.constantFrom<Boundary[]>('clamp', 'wrap', 'reflect', 'constant');

const modulo = (a: number, b: number): number => ((a % b) + b) % b;

/** The place at which a boundary rule finds place `at` of a line; undefined outside. */
function placed(size: number, at: number, rule: Boundary): number | undefined {
  if (at >= 0 && at < size) return at;
  if (rule === 'constant') return undefined;
  if (rule === 'clamp') return at < 0 ? 0 : size - 1;
  if (rule === 'wrap') return modulo(at, size);
  const turned = size === 1 ? 0 : modulo(at, 2 * size - 2);
  return turned < size ? turned : 2 * size - 2 - turned;
}

/** The sum of numbers in the order that `windowSum` states: whole parts of 16, of these 16 and so on first. */
function inParts(values: readonly number[], add: (a: number, b: number) => number): number {
  const whole = (from: number, cells: number): number =>
    cells === 1
      ? values[from]!
      : Array.from({ length: 16 }, (_, i) => whole(from + (i * cells) / 16, cells / 16)).reduce(add);
  const sums: number[] = [];
  let from = 0;
  for (const cells of [4096, 256, 16, 1])
    for (; from + cells <= values.length; from += cells) sums.push(whole(from, cells));
  return sums.reduce(add);
}

interface Asked {
  readonly rows: number;
  readonly columns: number;
  readonly width: number;
  readonly height: number;
  readonly rule: Boundary;
  readonly outside: number;
}

type Cells = Uint32Array | Int32Array | Float32Array;

function byHand<A extends Cells>(cells: A, asked: Asked, add: (a: number, b: number) => number): A {
  const { rows, columns, width, height, rule, outside } = asked;
  const cell = (x: number, y: number): number => {
    const [column, row] = [placed(columns, x, rule), placed(rows, y, rule)];
    return column === undefined || row === undefined ? outside : cells[row * columns + column]!;
  };
  const line = (from: number, size: number): number[] =>
    Array.from({ length: size }, (_, i) => from - ((size - 1) >> 1) + i);
  const down = new Map<string, number>();
  const columnSum = (x: number, y: number): number => {
    const key = `${x} ${y}`;
    const known =
      down.get(key) ??
      inParts(
        line(y, height).map((each) => cell(x, each)),
        add,
      );
    down.set(key, known);
    return known;
  };
  return cells.map((_: number, i: number) => {
    const [x, y] = [i % columns, Math.floor(i / columns)];
    return inParts(
      line(x, width).map((each) => columnSum(each, y)),
      add,
    );
  }) as A;
}

export const windowSumLaws: readonly Law[] = [
  law(
    'windowSum adds up windows of cells, of f32 in the order that it states',
    [side.map((n) => n % 36), side, recipe, recipe, countedPresentation, window, window, boundary],
    async (run, rows, columns, made, other, how, width, height, rule) => {
      const [u, f] = [hostColumn('u32', rows * columns, made), hostColumn('calm', rows * columns, other)];
      const options = { width, height, boundary: rule };
      const results = await run((context) => {
        const cells = presentGrid(context, { u, i: new Int32Array(u), f }, how, { rows, columns });
        return {
          u: windowSum(cells.u, options),
          i: windowSum(cells.i, { ...options, outside: -3 }),
          f: windowSum(cells.f, { ...options, outside: 0.1 }),
        };
      });
      const asked = { rows, columns, width, height, rule };
      const expected = {
        u: byHand(u, { ...asked, outside: 0 }, (a, b) => (a + b) >>> 0),
        i: byHand(new Int32Array(u), { ...asked, outside: -3 }, (a, b) => (a + b) | 0),
        f: byHand(f, { ...asked, outside: Math.fround(0.1) }, (a, b) => Math.fround(a + b)),
      };
      assertSameBytes(results, expected, 'sums');
    },
  ),
  law(
    'transpose swaps rows and columns, and twice changes nothing',
    [side, side, recipe, recipe, countedPresentation],
    async (run, rows, columns, made, other, how) => {
      const [whole, flags] = [hostColumn('f32', rows * columns, made), hostColumn('bool', rows * columns, other)];
      const results = await run((context) => {
        const cells = presentGrid(context, { whole, flags }, how, { rows, columns });
        const once = transpose(cells);
        return { once, twice: transpose(context.materialize(once)) };
      });
      const from = Array.from(whole, (_, i) => (i % rows) * columns + Math.floor(i / rows));
      const once = { whole: Float32Array.from(from, () => 0), flags: Uint8Array.from(from, (i) => Number(flags[i])) };
      new Uint32Array(once.whole.buffer).set(from.map((i) => new Uint32Array(whole.buffer)[i]!));
      assertSameBytes(results, { once, twice: { whole, flags: Uint8Array.from(flags, Number) } }, 'cells');
    },
  ),
];
