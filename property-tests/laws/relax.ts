import fc from 'fast-check';
import type { Boundary } from '../../primitives/contract/backend.ts';
import { bool, f32, fn, i32, u32, uniform } from '../../primitives/functors/functor.ts';
import { neighbours } from '../../primitives/functors/neighbours.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import { round } from '../../primitives/functors/standard/rounding.ts';
import { roundEven } from '../../primitives/ir/semantics.ts';
import { minimum, monoid, plus } from '../../primitives/monoid.ts';
import { relax } from '../../primitives/relax.ts';
import { present, presentation } from '../arbitraries/presentations.ts';
import { assertSame } from './compare.ts';
import { type Law, law } from './law.ts';

const boundary = fc.constantFrom<Boundary[]>('clamp', 'wrap', 'reflect', 'constant');
/** Widths and heights of grids. Some grids have no cells; some are too large to share a workgroup with other grids. */
const side = fc.oneof(
  { arbitrary: fc.integer({ min: 0, max: 9 }), weight: 12 },
  { arbitrary: fc.constantFrom(16, 17, 31, 32, 33), weight: 4 },
  { arbitrary: fc.constantFrom(1, 64), weight: 1 },
);
const grids = fc
  .array(fc.record({ width: side, height: side }), { maxLength: 12 })
  .map((sizes) => sizes.map(({ width, height }) => (width * height > 1100 ? { width, height: 1 } : { width, height })));
const near = fc.integer({ min: -3, max: 3 });
const offset = fc.oneof(
  { arbitrary: near, weight: 12 },
  { arbitrary: fc.constantFrom(-70, 8, 2 ** 31 - 1), weight: 1 },
);
const offsets = fc.uniqueArray(fc.tuple(offset, offset), { maxLength: 5, selector: ([x, y]) => `${x} ${y}` });
const rounds = fc.oneof(fc.integer({ min: 0, max: 7 }), fc.constantFrom(40));

interface Size {
  readonly width: number;
  readonly height: number;
}

type Rule = { readonly x: Boundary; readonly y: Boundary };

/** The arguments of {@link relaxed}, which computes the expected result by processing one grid after another. */
interface Plain<T> {
  readonly sizes: readonly Size[];
  readonly state: readonly T[];
  readonly rule: Rule;
  readonly outside: T;
  readonly maxRounds: number;
  readonly step: (at: (dx: number, dy: number) => T, cell: number) => T;
  readonly isDone: (before: readonly T[], after: readonly T[]) => boolean;
}

function relaxed<T>({ sizes, state, rule, outside, maxRounds, step, isDone }: Plain<T>) {
  const cells = [...state];
  const counts: number[] = [];
  let first = 0;
  for (const { width, height } of sizes) {
    const end = first + width * height;
    let [done, isOver] = [0, end === first];
    while (!isOver && done < maxRounds) {
      const before = cells.slice(first, end);
      const after = before.map((_, place) => {
        const at = (dx: number, dy: number): T => {
          const x = placeOn(width, (place % width) + dx, rule.x);
          const y = placeOn(height, Math.floor(place / width) + dy, rule.y);
          return x === undefined || y === undefined ? outside : before[y * width + x]!;
        };
        return step(at, first + place);
      });
      cells.splice(first, end - first, ...after);
      isOver = isDone(before, after);
      done++;
    }
    counts.push(done);
    first = end;
  }
  return { cells, counts };
}

function placeOn(size: number, place: number, rule: Boundary): number | undefined {
  if (place >= 0 && place < size) return place;
  if (rule === 'constant') return undefined;
  if (rule === 'clamp') return Math.min(size - 1, Math.max(0, place));
  const period = rule === 'wrap' ? size : 2 * (size - 1);
  const turned = period === 0 ? 0 : ((place % period) + period) % period;
  return turned < size ? turned : period - turned;
}

const total = (sizes: readonly Size[]): number => sizes.reduce((sum, { width, height }) => sum + width * height, 0);
const widths = (sizes: readonly Size[]) => Uint32Array.from(sizes, ({ width }) => width);
const heights = (sizes: readonly Size[]) => Uint32Array.from(sizes, ({ height }) => height);

/** Pseudorandom integers below `max`; equal seeds give equal numbers. */
function numbers(length: number, seed: number, max: number): number[] {
  let state = seed >>> 0;
  return Array.from({ length }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % max;
  });
}

/** The options that state the maximum width and height of the grids. */
const largest = (sizes: readonly Size[]) => ({
  maxWidth: Math.max(1, ...widths(sizes)),
  maxHeight: Math.max(1, ...heights(sizes)),
});

export const relaxLaws: readonly Law[] = [
  law(
    'relax of integers equals a plain loop over each grid',
    [grids, offsets, boundary, boundary, rounds, fc.nat(2 ** 20), presentation, fc.integer({ min: 1, max: 40 })],
    async (run, sizes, around, x, y, maxRounds, seed, how, bound) => {
      const length = total(sizes);
      const state = numbers(length, seed, 60);
      const weight = numbers(length, seed + 1, 3);
      const step = fn({ cell: neighbours(u32), weight: u32 }, u32, ({ cell, weight }) =>
        around.reduce((sum, [dx, dy]) => sum.add(cell.at(dx, dy).mul(weight)), cell.at(0)).rem(61),
      );
      const change = fn({ before: u32, after: u32 }, u32, ({ before, after }) => before.xor(after).and(31));
      const until = fn({ total: u32, cells: u32, bound: uniform(u32) }, bool, ({ total, cells, bound }) =>
        total.lt(cells.mul(bound)),
      );
      const outside = 7;
      const result = await run((context) => {
        const given = present(context, { cell: Uint32Array.from(state), weight: Uint32Array.from(weight) }, how);
        const columns = { width: context.column(widths(sizes)), height: context.column(heights(sizes)) };
        return relax(
          columns,
          step,
          { cell: given.cell, weight: given.weight },
          { change, total: plus(u32), until, captures: { bound } },
          { maxRounds, ...largest(sizes), boundary: { x, y }, outside },
        );
      });
      const { cells, counts } = relaxed({
        sizes,
        state,
        rule: { x, y },
        outside,
        maxRounds,
        step: (at, cell) => around.reduce((sum, [dx, dy]) => sum + at(dx, dy) * weight[cell]!, at(0, 0)) % 61,
        isDone: (before, after) =>
          before.reduce((sum, value, i) => sum + ((value ^ after[i]!) & 31), 0) < before.length * bound,
      });
      assertSame(result, { state: Uint32Array.from(cells), rounds: Uint32Array.from(counts) });
    },
  ),
  law(
    'relax of fractions rounds after every operation and stops each grid at the right round',
    [grids, boundary, fc.integer({ min: 0, max: 120 }), fc.nat(2 ** 20)],
    async (run, sizes, rule, maxRounds, seed) => {
      const state = numbers(total(sizes), seed, 1000).map((value) => Math.fround(value / 7));
      const spread = fn({ t: neighbours(f32) }, f32, ({ t }) =>
        t.at(-1).add(t.at(1)).add(t.at(0, -1)).add(t.at(0, 1)).mul(0.125).add(t.at(0).mul(0.5)),
      );
      const change = fn({ before: f32, after: f32 }, u32, ({ before, after }) =>
        u32(round(after.sub(before).abs().mul(16))),
      );
      const until = fn({ total: u32 }, bool, ({ total }) => total.eq(0));
      const result = await run((context) => {
        const columns = { width: context.column(widths(sizes)), height: context.column(heights(sizes)) };
        const t = context.column(Float32Array.from(state));
        const options = { maxRounds, ...largest(sizes), boundary: rule };
        return relax(columns, spread, { t }, { change, total: plus(u32), until }, options);
      });
      const { cells, counts } = relaxed({
        sizes,
        state,
        rule: { x: rule, y: rule },
        outside: 0,
        maxRounds,
        step: (at) => {
          const sides = Math.fround(Math.fround(Math.fround(at(-1, 0) + at(1, 0)) + at(0, -1)) + at(0, 1));
          return Math.fround(Math.fround(sides * 0.125) + Math.fround(at(0, 0) * 0.5));
        },
        isDone: (before, after) =>
          before.every((value, i) => roundEven(Math.fround(Math.abs(Math.fround(after[i]! - value)) * 16)) === 0),
      });
      assertSame(result, { state: Float32Array.from(cells), rounds: Uint32Array.from(counts) });
    },
  ),
  law(
    'relax supports records as states and changes',
    [grids, offsets, boundary, fc.integer({ min: 0, max: 9 }), fc.nat(2 ** 20)],
    async (run, sizes, around, rule, maxRounds, seed) => {
      const length = total(sizes);
      const levels = numbers(length, seed, 100).map((value) => value - 50);
      const flags = numbers(length, seed + 2, 2).map((value) => value === 1);
      const shape = { level: i32, flag: bool } as const;
      const step = fn({ cell: neighbours(shape) }, shape, ({ cell }) => {
        const own = cell.at(0);
        const raised = around.reduce((sum, [dx, dy]) => {
          const { level, flag } = cell.at(dx, dy);
          return sum.add(select(level, level.neg(), flag));
        }, own.level);
        return { level: raised.rem(97), flag: own.flag.ne(raised.gt(0)) };
      });
      const folded = monoid({
        of: { min: i32, count: u32 },
        identity: { min: 2 ** 31 - 1, count: 0 },
        combine: ({ a, b }) => ({ min: a.min.min(b.min), count: a.count.add(b.count) }),
        commutative: true,
      });
      const change = fn({ after: shape, before: shape }, { min: i32, count: u32 }, ({ before, after }) => ({
        min: after.level,
        count: u32(before.flag.ne(after.flag)),
      }));
      const until = fn({ total: { min: i32, count: u32 }, cells: u32 }, bool, ({ total, cells }) =>
        total.min.gt(-40).or(total.count.mul(4).lt(cells)),
      );
      const outside = { level: 3, flag: true };
      const result = await run((context) => {
        const columns = { width: context.column(widths(sizes)), height: context.column(heights(sizes)) };
        const cell = { level: context.column(Int32Array.from(levels)), flag: context.column(flags) };
        const options = { maxRounds, ...largest(sizes), boundary: rule, outside };
        return relax(columns, step, { cell }, { change, total: folded, until }, options);
      });
      const { cells, counts } = relaxed({
        sizes,
        state: levels.map((level, i) => ({ level, flag: flags[i]! })),
        rule: { x: rule, y: rule },
        outside,
        maxRounds,
        step: (at) => {
          const own = at(0, 0);
          const raised = around.reduce((sum, [dx, dy]) => {
            const { level, flag } = at(dx, dy);
            return sum + (flag ? -level : level);
          }, own.level);
          return { level: (raised % 97) + 0, flag: own.flag !== raised > 0 };
        },
        isDone: (before, after) =>
          Math.min(...after.map(({ level }) => level)) > -40 ||
          4 * after.filter(({ flag }, i) => flag !== before[i]!.flag).length < before.length,
      });
      const levelsAfter = Int32Array.from(cells, ({ level }) => level);
      const flagsAfter = cells.map(({ flag }) => Number(flag));
      assertSame(result, { state: { level: levelsAfter, flag: flagsAfter }, rounds: Uint32Array.from(counts) });
    },
  ),
  law(
    'relax with steps without branches and divisions equals a plain loop over the cells',
    [grids, offsets, boundary, boundary, fc.integer({ min: 0, max: 9 }), fc.nat(2 ** 20), presentation],
    async (run, sizes, around, x, y, maxRounds, seed, how) => {
      const length = total(sizes);
      const levels = numbers(length, seed, 2000).map((value) => Math.fround(value / 10 - 90));
      const flags = numbers(length, seed + 2, 2).map((value) => value === 1);
      const weights = numbers(length, seed + 3, 5);
      const shape = { level: f32, flag: bool } as const;
      const step = fn({ cell: neighbours(shape), weight: u32 }, shape, ({ cell, weight }) => {
        const own = cell.at(0);
        const drawn = around.reduce((sum, [dx, dy]) => {
          const { level, flag } = cell.at(dx, dy);
          return sum.add(select(level, level.mul(-0.5).max(-60), flag));
        }, f32(weight));
        const level = own.level.add(drawn.sub(own.level).mul(0.25)).min(70).max(-70);
        const flag = around.reduce((all, [dx, dy]) => all.xor(cell.at(dx, dy).flag), own.flag);
        return { level, flag: flag.and(weight.ne(0)) };
      });
      const folded = monoid({
        of: { max: i32, count: u32 },
        identity: { max: -(2 ** 31), count: 0 },
        combine: ({ a, b }) => ({ max: a.max.max(b.max), count: a.count.add(b.count) }),
        commutative: true,
      });
      const change = fn({ after: shape, before: shape }, { max: i32, count: u32 }, ({ before, after }) => ({
        max: i32(round(after.level)),
        count: u32(before.flag.ne(after.flag)),
      }));
      const until = fn({ total: { max: i32, count: u32 }, cells: u32 }, bool, ({ total, cells }) =>
        total.max.lt(20).or(total.count.mul(8).lt(cells)),
      );
      const outside = { level: -7.5, flag: true };
      const result = await run((context) => {
        const rows = { level: Float32Array.from(levels), flag: flags, weight: Uint32Array.from(weights) };
        const { weight, ...cell } = present(context, rows, how);
        const columns = { width: context.column(widths(sizes)), height: context.column(heights(sizes)) };
        const options = { maxRounds, ...largest(sizes), boundary: { x, y }, outside };
        return relax(columns, step, { cell, weight }, { change, total: folded, until }, options);
      });
      const f = Math.fround;
      const { cells, counts } = relaxed({
        sizes,
        state: levels.map((level, i) => ({ level, flag: flags[i]! })),
        rule: { x, y },
        outside,
        maxRounds,
        step: (at, i) => {
          const own = at(0, 0);
          const drawn = around.reduce((sum, [dx, dy]) => {
            const { level, flag } = at(dx, dy);
            return f(sum + (flag ? Math.max(f(level * -0.5), -60) : level));
          }, weights[i]!);
          const level = Math.max(Math.min(f(own.level + f(f(drawn - own.level) * 0.25)), 70), -70);
          const flag = around.reduce((all, [dx, dy]) => all !== at(dx, dy).flag, own.flag);
          return { level, flag: flag && weights[i] !== 0 };
        },
        isDone: (before, after) =>
          Math.max(...after.map(({ level }) => roundEven(level))) < 20 ||
          8 * after.filter(({ flag }, i) => flag !== before[i]!.flag).length < before.length,
      });
      const levelsAfter = Float32Array.from(cells, ({ level }) => level);
      const flagsAfter = cells.map(({ flag }) => Number(flag));
      assertSame(result, { state: { level: levelsAfter, flag: flagsAfter }, rounds: Uint32Array.from(counts) });
    },
  ),
  law(
    'relax of grids of one size equals grids with sizes in columns, and leaves cells after the last whole grid unchanged',
    [
      fc.record({ width: fc.integer({ min: 1, max: 20 }), height: fc.integer({ min: 1, max: 5 }) }),
      ...[fc.nat(7), fc.nat(30), offsets, boundary, fc.nat(9), fc.nat(2 ** 20)],
    ] as const,
    async (run, size, count, extra, around, rule, maxRounds, seed) => {
      const behind = extra % (size.width * size.height);
      const state = numbers(count * size.width * size.height + behind, seed, 60);
      const step = fn({ cell: neighbours(u32) }, u32, ({ cell }) =>
        around.reduce((sum, [dx, dy]) => sum.add(cell.at(dx, dy)), cell.at(0)).rem(61),
      );
      const change = fn({ before: u32, after: u32 }, u32, ({ before, after }) => before.xor(after));
      const until = fn({ total: u32 }, bool, ({ total }) => total.rem(3).eq(0));
      const result = await run((context) => {
        const cell = context.column(Uint32Array.from(state));
        return relax(size, step, { cell }, { change, total: plus(u32), until }, { maxRounds, boundary: rule });
      });
      const { cells, counts } = relaxed({
        ...{ sizes: Array.from({ length: count }, () => size), state, outside: 0, maxRounds },
        rule: { x: rule, y: rule },
        step: (at) => around.reduce((sum, [dx, dy]) => sum + at(dx, dy), at(0, 0)) % 61,
        isDone: (before, after) => before.reduce((sum, value, i) => sum + (value ^ after[i]!), 0) % 3 === 0,
      });
      assertSame(result, { state: Uint32Array.from(cells), rounds: Uint32Array.from(counts) });
    },
  ),
  law(
    'relax ends grids whose rounds change nothing, and can fold the minimum of the changes',
    [grids, fc.nat(2 ** 20)],
    async (run, sizes, seed) => {
      const state = numbers(total(sizes), seed, 9);
      const down = fn({ x: neighbours(u32) }, u32, ({ x }) => x.at(0).max(1).sub(1));
      const change = fn({ after: u32 }, u32, ({ after }) => after);
      const until = fn({ total: u32 }, bool, ({ total }) => total.eq(0));
      const result = await run((context) => {
        const columns = { width: context.column(widths(sizes)), height: context.column(heights(sizes)) };
        const x = context.column(Uint32Array.from(state));
        const rule = { change, total: minimum(u32), until };
        return relax(columns, down, { x }, rule, { maxRounds: 20, ...largest(sizes) });
      });
      let first = 0;
      const counts = sizes.map(({ width, height }) => {
        const own = state.slice(first, first + width * height);
        first += own.length;
        return own.length === 0 ? 0 : Math.max(1, Math.min(...own));
      });
      first = 0;
      const cells = sizes.flatMap(({ width, height }, g) => {
        const own = state.slice(first, first + width * height);
        first += own.length;
        return own.map((value) => Math.max(0, value - counts[g]!));
      });
      assertSame(result, { state: Uint32Array.from(cells), rounds: Uint32Array.from(counts) });
    },
  ),
];
