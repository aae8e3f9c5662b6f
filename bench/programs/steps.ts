import {
  bool,
  type Column,
  constant,
  count,
  f32,
  fn,
  type Grid,
  gather,
  If,
  Let,
  map,
  neighbours,
  scatterReduce,
  select,
  sequence,
  sqrt,
  stencil,
  type Table,
  u32,
  uniform,
  Var,
} from '../../primitives/index.ts';
import { printHead, printRow } from '../shared/markdown-table.ts';
import { inTurns, machine, median, spread } from '../shared/measuring.ts';
import { BACKEND_OPTIONS, openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';
import { drainedAreas, NOWHERE, ROUNDS } from './flow.ts';
import { relief } from './relief.ts';

/**
 * Times the steps of `docs/guide/from-a-loop-to-a-pipeline.md`, in turns: a loop over neighbours of `--side` × `--side`
 * cells, and a loop that follows water over a quarter of them. Milliseconds of wall clock with their spread, and the
 * ratio of the loop's processor time to half of the step's, which is what two idle cores would give.
 *
 * node --import tsx bench/programs/steps.ts [--side 4096] [--rounds 7] [--backend workers] [--workers 2]
 */
const options = programOptions({ ...BACKEND_OPTIONS, side: 4096, rounds: 7 });

const smoothed = fn({ z: neighbours(f32) }, f32, ({ z }) =>
  z.at(-1, 0).add(z.at(1, 0)).add(z.at(0, -1)).add(z.at(0, 1)).div(4),
);
const slope = fn({ z: neighbours(f32) }, f32, ({ z }) => {
  const [dx, dy] = [Let(z.at(1, 0).sub(z.at(-1, 0))), Let(z.at(0, 1).sub(z.at(0, -1)))];
  return sqrt(dx.mul(dx).add(dy.mul(dy)));
});
const isSteep = fn({ slope: f32 }, bool, ({ slope }) => slope.gt(30));
const downhill = fn({ cell: u32, z: neighbours(f32), columns: uniform(u32) }, u32, ({ cell, z, columns }) => {
  const [lowest, next] = [Var(z.at(0, 0)), Var(u32(NOWHERE))];
  for (const [dx, dy] of [
    [0, -1],
    [-1, 0],
    [1, 0],
    [0, 1],
  ] as const) {
    If(z.at(dx, dy).lt(lowest), () => {
      lowest.set(z.at(dx, dy));
      next.set(cell.add(dx >>> 0).add(columns.mul(dy >>> 0)));
    });
  }
  return next;
});
const further = fn({ step: u32, ahead: u32 }, u32, ({ step, ahead }) => select(step, u32(NOWHERE), ahead.eq(NOWHERE)));

await using context = await openNamed(options);
console.log(`${machine()}\n`);

const { side } = options;
await time(`steep cells of ${side} × ${side}`, relief(side), { rows: side, columns: side }, steepLoop, {
  'every step stored': (z) => {
    const slopes = context.materialize(stencil(slope, { z: context.materialize(stencil(smoothed, { z })) }));
    const flags = context.materialize(map(isSteep, { slope: slopes }));
    return count(flags, flags);
  },
  'a chain': (z) => count(stencil(slope, { z: stencil(smoothed, { z }) }), isSteep),
});
const half = side / 2;
await time(`water over ${half} × ${half}`, relief(half), { rows: half, columns: half }, waterLoop, {
  'rounds over all cells': (z) => {
    const cell = sequence(z.length);
    const area = context.materialize(constant(u32, 1, z.length));
    let ahead = nextCells(z);
    for (let round = 0; round < ROUNDS; round++) {
      scatterReduce(context.materialize(gather(area, cell)), ahead, 'add', area);
      ahead = context.materialize(map(further, { step: gather(ahead, ahead), ahead }));
    }
    return area;
  },
  'rounds over moving cells': (z) => drainedAreas(context, nextCells(z)),
});

/** The lowest neighbour of every cell, or `NOWHERE`. */
function nextCells(z: Column<'f32'>): Column<'u32'> {
  const columns = Math.sqrt(z.length as number);
  const outside = { boundary: 'constant', outside: { z: Number.POSITIVE_INFINITY } } as const;
  return context.materialize(stencil(downhill, { cell: sequence(z.length), z, columns }, outside));
}

type Step = (z: Column<'f32'>) => Column<'u32'>;

/** Times a loop, the steps, and the last step prepared; all must answer what the loop answers. */
async function time(
  title: string,
  heights: Float32Array,
  grid: Grid,
  loop: (heights: Float32Array, grid: Grid) => Uint32Array,
  steps: { readonly [name: string]: Step },
): Promise<void> {
  const z = context.column(heights, grid);
  const [, last] = Object.entries(steps).at(-1)!;
  const step = context.prepare({}, () => last(z));
  const finish = async (made: Column<'u32'>): Promise<Column<'u32'>> => {
    await context.sync();
    return made;
  };
  const called = Object.entries(steps).map(([name, run]) => [name, () => finish(context.scope(() => run(z)))] as const);
  const expected = loop(heights, grid);
  const works = {
    'the loop': () => loop(heights, grid),
    ...Object.fromEntries(called),
    prepared: () => finish(step({})),
  };
  const checked = new Set<string>();
  const times = await inTurns<Uint32Array | Table>(works, options, async (result, name) => {
    if (result instanceof Uint32Array) return;
    if (!checked.has(name)) {
      const got = (await context.read(result as Column<'u32'>)) as Uint32Array;
      if (got.some((value, i) => value !== expected[i])) throw new Error(`${name}: the answer differs.`);
    }
    checked.add(name);
    context.dispose(result);
  });
  printHead(`${title} | ms | by processor time`);
  const processor = (name: string): number => median(times.get(name)!.map((took) => took.processor));
  for (const [name, took] of times) {
    const ratio = name === 'the loop' ? 1 : (2 * processor('the loop')) / processor(name);
    printRow([
      name,
      spread(
        took.map(({ wall }) => 1000 * wall),
        1,
      ),
      `${ratio.toFixed(1)} ×`,
    ]);
  }
  console.log();
  step.dispose();
  context.dispose(z);
}

function steepLoop(z: Float32Array, { rows, columns }: Grid): Uint32Array {
  const even = new Float32Array(z.length);
  let steep = 0;
  const inside = (at: number, size: number): number => (at < 0 ? 0 : at < size ? at : size - 1);
  for (let y = 0, i = 0; y < rows; y++) {
    const up = inside(y - 1, rows) * columns;
    const down = inside(y + 1, rows) * columns;
    const row = y * columns;
    for (let x = 0; x < columns; x++, i++) {
      even[i] = (z[row + inside(x - 1, columns)]! + z[row + inside(x + 1, columns)]! + z[up + x]! + z[down + x]!) / 4;
    }
  }
  for (let y = 0; y < rows; y++) {
    const up = inside(y - 1, rows) * columns;
    const down = inside(y + 1, rows) * columns;
    const row = y * columns;
    for (let x = 0; x < columns; x++) {
      const dx = even[row + inside(x + 1, columns)]! - even[row + inside(x - 1, columns)]!;
      const dy = even[down + x]! - even[up + x]!;
      if (Math.fround(Math.sqrt(dx * dx + dy * dy)) > 30) steep++;
    }
  }
  return Uint32Array.of(steep);
}

/** With a queue of cells all of whose upstream cells are done, in place of a sort by height. */
function waterLoop(z: Float32Array, { rows, columns }: Grid): Uint32Array {
  const [next, upstream, queue] = [new Uint32Array(z.length), new Uint8Array(z.length), new Uint32Array(z.length)];
  const area = new Uint32Array(z.length).fill(1);
  for (let y = 0, i = 0; y < rows; y++) {
    for (let x = 0; x < columns; x++, i++) {
      let to = i;
      if (y > 0 && z[i - columns]! < z[to]!) to = i - columns;
      if (x > 0 && z[i - 1]! < z[to]!) to = i - 1;
      if (x < columns - 1 && z[i + 1]! < z[to]!) to = i + 1;
      if (y < rows - 1 && z[i + columns]! < z[to]!) to = i + columns;
      next[i] = to;
      if (to !== i) upstream[to]!++;
    }
  }
  let end = 0;
  for (let i = 0; i < z.length; i++) if (upstream[i] === 0) queue[end++] = i;
  for (let at = 0; at < end; at++) {
    const cell = queue[at]!;
    const to = next[cell]!;
    if (to === cell) continue;
    area[to]! += area[cell]!;
    if (--upstream[to]! === 0) queue[end++] = to;
  }
  return area;
}
