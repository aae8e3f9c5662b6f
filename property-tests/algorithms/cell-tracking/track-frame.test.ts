import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { trackFrame } from '../../../algorithms/cell-tracking/index.ts';
import type { Context } from '../../../primitives/context/context.ts';
import { onEveryBackend, testLaws } from '../../backends.ts';
import { assertSame } from '../../laws/compare.ts';
import { law } from '../../laws/law.ts';
import { expectRefusal, openReference } from '../../support/reference-context.ts';
import { type PlainCell, type PlainFrame, type PlainOptions, trackByHand } from './track-frame-by-hand.ts';

const f = Math.fround;

const DEFAULTS: PlainOptions = {
  direction: { x: 1, y: 0 },
  flow: { x: 1, y: 1 },
  maxRadius: 3,
  maxRounds: 500,
  maxSnakeRounds: 1000,
  snakeStep: 1,
  minMove: 0.1,
};

/** Pseudorandom grey values over a few soft discs. Equal seeds give equal values. */
function noisy(width: number, height: number, seed: number, discs: readonly PlainCell[], levels: number): number[] {
  let state = seed >>> 0;
  return Array.from({ length: width * height }, (_, i) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const [x, y] = [i % width, Math.floor(i / width)];
    const drawn = discs.map((disc) => 0.5 / (1 + Math.exp(2 * (Math.hypot(x - disc.x, y - disc.y) - disc.radius))));
    return Math.floor(levels * Math.min(0.99, drawn.reduce((a, b) => a + b, 0.2) + (0.2 * (state >>> 8)) / 2 ** 24));
  });
}

/** Makes a cell whose snake starts as a circle. */
function cellAt(x: number, y: number, radius: number, path = y): PlainCell {
  const kept = f(radius);
  return { x: f(x), y: f(y), path: f(path), radius: kept, radii: Array.from({ length: 20 }, () => kept) };
}

function given(
  context: Context,
  frame: PlainFrame & { readonly grey: Uint8Array | Uint16Array | Float32Array },
  cells: readonly PlainCell[],
) {
  const column = (of: (cell: PlainCell) => number) => context.column(Float32Array.from(cells, of));
  return {
    frame: { width: frame.width, height: frame.height, grey: context.column(frame.grey) },
    cells: {
      ...{ x: column(({ x }) => x), y: column(({ y }) => y), path: column(({ path }) => path) },
      ...{ radius: column(({ radius }) => radius) },
      radii: context.column(Float32Array.from(cells.flatMap(({ radii }) => radii))),
    },
  };
}

/** The expected result of {@link trackFrame}, computed by hand. */
function expected(frame: PlainFrame, cells: readonly PlainCell[], options: PlainOptions) {
  const found = cells.map((cell) => trackByHand(frame, cell, options));
  return {
    x: Float32Array.from(found, ({ x }) => x),
    y: Float32Array.from(found, ({ y }) => y),
    radius: Float32Array.from(found, ({ radius }) => radius),
    lost: Uint8Array.from(found, ({ lost }) => Number(lost)),
    radii: Float32Array.from(found.flatMap(({ radii }) => radii)),
    rounds: Uint32Array.from(found, ({ rounds }) => rounds),
    snakeRounds: Uint32Array.from(found, ({ snakeRounds }) => snakeRounds),
  };
}

const depth = fc.constantFrom('u8', 'u16', 'f32');
function greyOf(values: readonly number[], as: string): Uint8Array | Uint16Array | Float32Array {
  if (as === 'f32') return Float32Array.from(values, (value) => value / 7);
  return as === 'u8' ? Uint8Array.from(values) : Uint16Array.from(values);
}

const direction = fc
  .tuple(fc.integer({ min: -4, max: 4 }), fc.integer({ min: -4, max: 4 }))
  .filter(([x, y]) => x !== 0 || y !== 0)
  .map(([x, y]) => ({ x, y }));
/** Coordinates along an axis of `size` pixels. Some are at an edge of the frame, outside of the frame, or NaN. */
const coordinate = (size: number) =>
  fc.oneof(
    { arbitrary: fc.integer({ min: 0, max: 8 * size }).map((eighths) => eighths / 8), weight: 9 },
    { arbitrary: fc.constantFrom(0, size - 1, -0.25, size - 0.75, 1e6, Number.NaN), weight: 1 },
  );
const someCell = fc.record({ x: coordinate(40), y: coordinate(30), radius: fc.constantFrom(0, 1, 2, 2.5, 3, 5) });

/** A vector scaled to length 1 by the same operations as in the algorithm. */
function unit({ x, y }: { readonly x: number; readonly y: number }) {
  const scale = Math.max(Math.abs(x), Math.abs(y));
  const [a, b] = [x / scale, y / scale];
  const length = Math.sqrt(a * a + b * b);
  return { x: a / length, y: b / length };
}

testLaws([
  law(
    'cells equal those of a plain loop, for any depth of frame and any direction of vessel',
    [
      fc.array(someCell, { maxLength: 4 }),
      fc.nat(),
      depth,
      direction,
      fc.option(direction),
      fc.integer({ min: 0, max: 12 }),
    ],
    async (run, some, seed, as, along, flow, rounds) => {
      const options = {
        ...{ ...DEFAULTS, direction: unit(along), flow: flow ?? along },
        ...{ maxRounds: rounds, maxSnakeRounds: 12 - rounds },
      };
      const cells = some.map(({ x, y, radius }) => cellAt(x, y, radius, Number.isFinite(x + y) ? x - y : 0));
      const grey = greyOf(
        noisy(
          40,
          30,
          seed,
          cells.map((cell) => ({ ...cell, x: cell.x + 1 })),
          as === 'u16' ? 4000 : 250,
        ),
        as,
      );
      const frame = { width: 40, height: 30, grey };
      const result = await run((context) => {
        const { frame: seen, cells: before } = given(context, frame, cells);
        const {
          field: _field,
          windows: _windows,
          ...found
        } = trackFrame(seen, before, {
          ...{ direction: along, ...(flow === null ? {} : { flow }) },
          ...{ maxRadius: 3, maxRounds: rounds, maxSnakeRounds: 12 - rounds },
        });
        return found;
      });
      const finite = cells.map((cell) => ({
        ...cell,
        x: Number.isNaN(cell.x) ? 0 : cell.x,
        y: Number.isNaN(cell.y) ? 0 : cell.y,
      }));
      const byHand = expected(frame, cells, options);
      const lost = expected(frame, finite, options);
      // A cell whose position is NaN counts as lost, and its position becomes 0.
      const places = {
        x: byHand.x.map((x, i) => (Number.isNaN(x) ? lost.x[i]! : x)),
        y: byHand.y.map((y, i) => (Number.isNaN(y) ? lost.y[i]! : y)),
      };
      assertSame(result, { ...byHand, ...places });
    },
  ),
]);

onEveryBackend((opened, { name }) => {
  test('field and snake iterations run until they converge', async () => {
    const { context } = opened();
    const discs = [cellAt(21, 14, 3), cellAt(52.5, 13, 2.5), cellAt(60, 22, 3)];
    const frame = { width: 64, height: 26, grey: Uint8Array.from(noisy(64, 26, 5, discs, 250)) };
    const cells = [cellAt(20, 14, 3), cellAt(53, 14, 2.5), cellAt(59, 21.5, 3)];
    const { frame: seen, cells: before } = given(context, frame, cells);
    const tracked = trackFrame(seen, before, { maxRadius: 3 });
    const { field: _field, windows: _windows, ...found } = await context.read(tracked);
    context.dispose(tracked, seen.grey, before);
    assertSame(found, expected(frame, cells, DEFAULTS));
    expect(Math.min(...found.rounds), name).toBeGreaterThan(20);
    expect(Math.hypot(found.x[0]! - 21, found.y[0]! - 14)).toBeLessThan(0.7);
  });
});

describe('trackFrame', () => {
  test('refuses arguments that do not match', () => {
    const context = openReference();
    const frame = { width: 4, height: 3, grey: context.column(new Uint8Array(12)) };
    const column = (rows: number) => context.column(new Float32Array(rows));
    const cells = { x: column(2), y: column(2), path: column(2) };
    const [few, other] = [column(20), column(3)];
    expectRefusal(context, 'tracking/snaxels', () => trackFrame(frame, { ...cells, radii: few }));
    expectRefusal(context, 'frame/size', () => trackFrame({ ...frame, width: 5 }, cells));
    expectRefusal(context, 'tracking/direction', () => trackFrame(frame, cells, { direction: { x: 0, y: 0 } }));
    expectRefusal(context, 'tracking/radius', () => trackFrame(frame, cells, { maxRadius: 65 }));
    expectRefusal(context, 'column/length', () => trackFrame(frame, { ...cells, y: other }));
  });
});
