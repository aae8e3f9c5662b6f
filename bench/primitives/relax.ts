import { FIELD_BITS } from '../../algorithms/cell-tracking/field-units.ts';
import { flowChange, flowStep } from '../../algorithms/cell-tracking/flow.ts';
import { largestOf, smallestOf } from '../../primitives/host/extremes.ts';
import {
  bool,
  type Column,
  type Context,
  f32,
  fn,
  input,
  neighbours,
  plus,
  relax,
  round,
  select,
  u32,
  uniform,
} from '../../primitives/index.ts';
import { flowRound, roundEven } from '../leukocyte/leukocyte-plain.ts';
import { printHead } from '../shared/markdown-table.ts';
import { keepBusy, machine, median, timesUntilDone } from '../shared/measuring.ts';
import { BACKEND_OPTIONS, openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';
import { congruential } from '../shared/random.ts';
import { deviceTime } from '../shared/webgpu-timing.ts';

/**
 * Times `relax` over many small grids together, each grid until its own stop rule holds. The tasks are: the motion
 * gradient vector flow (Ray and Acton, 2004) that cell tracking uses, in integers (`flow`) and in f32 (`flow-f32`);
 * heat diffusion; and Conway's Life. Prints the times of ordinary calls, of prepared calls, and of plain JavaScript on
 * one thread. If the device has a clock, also prints the time of prepared calls by that clock. `relax` and plain
 * JavaScript must give the same numbers of rounds and the same bytes.
 *
 * node --import tsx bench/primitives/relax.ts [--backend webgpu|workers] [--adapter hardware|software] [--workers 2] [--rounds 15]
 *   [--grids 1,36,84,264] [--width 81] [--height 41] [--only flow,flow-f32,heat,life]
 */
const options = programOptions({
  ...BACKEND_OPTIONS,
  ...{ rounds: 15, grids: [1, 36, 84, 264], width: 81, height: 41 },
  only: 'flow,flow-f32,heat,life',
});
const { width: WIDTH, height: HEIGHT, rounds: repeats } = options;
const CELLS = WIDTH * HEIGHT;

/**
 * Offsets of the neighbours ahead of a cell and behind it, as seen along the flow's direction (1, 1). `ACROSS` has the
 * neighbours to the left and right of the flow. A step sums over `SIDES` and then `ACROSS`; f32 sums depend on the
 * order.
 */
const SIDES = [
  [1, 0],
  [0, 1],
  [1, 1],
  [-1, 0],
  [0, -1],
  [-1, -1],
] as const;
const ACROSS = [
  [1, -1],
  [-1, 1],
] as const;
const [MU, INVERSE_LAMBDA] = [Math.fround(0.1), Math.fround(0.2)];

/**
 * One step of the flow along (1, 1) in f32. Neighbours ahead of a cell contribute only if they are larger than the
 * cell, neighbours behind it only if they are smaller.
 */
const flowInF32 = fn({ u: neighbours(f32), image: f32 }, f32, ({ u, image }) => {
  const own = u.at(0);
  const drawn = SIDES.map(([dx, dy]) => {
    const difference = u.at(dx, dy).sub(own);
    return dx + dy > 0 ? difference.max(0) : difference.min(0);
  });
  const across = ACROSS.map(([dx, dy]) => u.at(dx, dy).sub(own).mul(0.5));
  const sum = [...drawn, ...across].reduce((a, b) => a.add(b));
  const h = own.add(sum.mul(MU));
  return h.sub(image.mul(INVERSE_LAMBDA).mul(h.sub(image)));
});
const heat = fn({ u: neighbours(f32), image: f32 }, f32, ({ u, image }) =>
  u.at(-1).add(u.at(1)).add(u.at(0, -1)).add(u.at(0, 1)).mul(0.125).add(u.at(0).mul(0.25)).add(image.mul(0.25)),
);
const change = fn({ before: f32, after: f32 }, u32, ({ before, after }) =>
  u32(
    round(
      after
        .sub(before)
        .abs()
        .mul(2 ** 20),
    ),
  ),
);
const isStill = fn({ total: u32, bound: uniform(u32) }, bool, ({ total, bound }) => total.le(bound));
const BOUND = Math.round(1e-5 * CELLS * 2 ** 20);

const life = fn({ u: neighbours(u32) }, u32, ({ u }) => {
  const around = [...SIDES, ...ACROSS].map(([dx, dy]) => u.at(dx, dy)).reduce((a, b) => a.add(b));
  return select(u32(around.eq(3)), u32(1), around.eq(2).and(u.at(0).eq(1)));
});
const flips = fn({ before: u32, after: u32 }, u32, ({ before, after }) => before.xor(after));

type Cells = Float32Array | Uint32Array;

interface Task {
  readonly maxRounds: number;
  readonly start: (cells: number) => { readonly state: Cells; readonly image: Float32Array };
  readonly relax: (state: Column, image: Column, sizes: Sizes) => { readonly state: Column; readonly rounds: Column };
  /** Computes one round of one grid: writes the cells' new states to `next`, and returns the sum of their changes. */
  readonly plain: (u: Cells, image: Float32Array, next: Cells) => number;
  readonly bound: number;
}

type Run = () => { readonly state: Column; readonly rounds: Column };

/** Milliseconds of warm-up before measuring. Only GPUs need it: an idle GPU first has to raise its clock frequency. */
const HEAT_MS = options.backend === 'webgpu' && options.adapter === 'hardware' ? 400 : 0;

interface Sizes {
  readonly width: Column<'u32'>;
  readonly height: Column<'u32'>;
}

const RULE = { change, total: plus(u32), until: isStill, captures: { bound: BOUND } };
const SIZE = { maxRounds: 500, maxWidth: WIDTH, maxHeight: HEIGHT };
/** Returns a function that calls `relax` with the given step, whose arguments are an f32 state and an f32 image. */
function inF32(step: typeof heat, changeOfCell: typeof change = change): Task['relax'] {
  return (u, image, sizes) => {
    const args = { u: u as Column<'f32'>, image: image as Column<'f32'> };
    return relax(sizes, step, args, { ...RULE, change: changeOfCell }, SIZE);
  };
}

const tasks: { readonly [name: string]: Task } = {
  flow: {
    maxRounds: 500,
    start: (cells) => {
      const image = windows(cells).image.map((value) => roundEven(value * 2 ** FIELD_BITS));
      return { state: image.slice(), image };
    },
    relax: inF32(flowStep({ x: 1, y: 1 }), flowChange),
    plain: plainFlow,
    bound: BOUND,
  },
  'flow-f32': { maxRounds: 500, start: windows, relax: inF32(flowInF32), plain: plainFlowInF32, bound: BOUND },
  heat: { maxRounds: 500, start: windows, relax: inF32(heat), plain: plainHeat, bound: BOUND },
  life: {
    maxRounds: 200,
    start: (cells) => {
      const { image } = windows(cells);
      return { state: Uint32Array.from(image, (value) => Number(value > 0.45)), image };
    },
    relax: (u, _, sizes) =>
      relax(
        sizes,
        life,
        { u: u as Column<'u32'> },
        { ...RULE, change: flips, captures: { bound: 0 } },
        { maxRounds: 200, maxWidth: WIDTH, maxHeight: HEIGHT, boundary: 'wrap' },
      ),
    plain: plainLife,
    bound: 0,
  },
};

await using context = await openNamed(options);
console.log(`${machine()}; ${context.backend.name}, grids of ${WIDTH} × ${HEIGHT}, medians of ${repeats}\n`);
printHead(
  'task | grids | mean rounds | max rounds | ordinary call, ms | prepared call, ms | device, ms | µs per round | plain JavaScript, ms | plain ÷ prepared',
);
for (const name of options.only.split(',')) {
  for (const grids of options.grids) await compare(name, tasks[name]!, grids);
}

async function compare(name: string, task: Task, grids: number): Promise<void> {
  const { state, image } = task.start(grids);
  const columns = { u: context.column(state), image: context.column(image) };
  const sizes = { width: filled(context, grids, WIDTH), height: filled(context, grids, HEIGHT) };
  const run = () => task.relax(columns.u, columns.image, sizes);
  const given = {
    cells: input({ u: typeOf(state), image: typeOf(image) }, grids * CELLS),
    sizes: input({ width: u32, height: u32 }, grids),
  };
  const prepared = context.prepare(given, ({ cells, sizes }) => ({ ...task.relax(cells.u, cells.image, sizes) }));
  const replay = () => prepared({ cells: columns, sizes });
  const called = await timeOf(run);
  const played = await timeOf(replay);
  const found = run();
  const { state: bytes, rounds } = await context.read({ ...found });
  const from = performance.now();
  const expected = plain(task, state, image, grids);
  const alone = performance.now() - from;
  requireSame(name, bytes as Cells, expected.state, rounds as Uint32Array, expected.rounds);
  const max = largestOf(expected.rounds);
  const mean = expected.rounds.reduce((sum, each) => sum + each, 0) / grids;
  await warmUp(replay);
  const device = await deviceTime(context, replay).catch(() => undefined);
  const fastest = device ?? played;
  const cell = (value: number | undefined, digits = 3): string => value?.toFixed(digits) ?? '–';
  console.log(
    `| ${[name, grids, mean.toFixed(0), max, cell(called), cell(played), cell(device), cell((1e3 * fastest) / max, 2), cell(alone, 1), cell(alone / played, 1)].join(' | ')} |`,
  );
  context.dispose(found, columns, sizes);
  prepared.dispose();
}

function typeOf(data: Cells): typeof f32 | typeof u32 {
  return data instanceof Float32Array ? f32 : u32;
}

function filled(on: Context, length: number, value: number): Column<'u32'> {
  return on.column(new Uint32Array(length).fill(value));
}

function warmUp(run: Run): Promise<void> {
  const often = async (): Promise<void> => {
    for (let i = 0; i < 50; i++) context.dispose(run());
    await context.sync();
  };
  return keepBusy(often, HEAT_MS);
}

/** Milliseconds from a call until the device is done. */
async function timeOf(run: Run): Promise<number> {
  await warmUp(run);
  return median(await timesUntilDone(context, run, { rounds: repeats, warmUps: 3 }));
}

/** Gradient magnitudes, scaled from 0 to 1, of synthetic images of cells with soft edges and noise. */
function windows(grids: number): { readonly state: Float32Array; readonly image: Float32Array } {
  const random = congruential(7);
  const image = new Float32Array(grids * CELLS);
  for (let g = 0; g < grids; g++) {
    const [radius, contrast] = [9 + 2 * random(), 35 + 35 * random()];
    const seen = Float32Array.from({ length: CELLS }, (_, place) => {
      const distance = Math.hypot((place % WIDTH) - WIDTH / 2, Math.floor(place / WIDTH) - HEIGHT / 2) - radius;
      return contrast / (1 + Math.exp(distance / 1.2)) + 5 * (random() + random() + random() + random() - 2);
    });
    const steep = seen.map((_, place) => {
      const [x, y] = [place % WIDTH, Math.floor(place / WIDTH)];
      const at = (dx: number, dy: number): number =>
        seen[Math.min(HEIGHT - 1, Math.max(0, y + dy)) * WIDTH + Math.min(WIDTH - 1, Math.max(0, x + dx))]!;
      return Math.hypot(at(1, 0) - at(-1, 0), at(0, 1) - at(0, -1)) / 2;
    });
    const [min, max] = [smallestOf(steep), largestOf(steep)];
    image.set(
      steep.map((value) => (value - min) / (max - min)),
      g * CELLS,
    );
  }
  return { state: image.slice(), image };
}

function plain({ plain, bound, maxRounds }: Task, state: Cells, image: Float32Array, grids: number) {
  const result = state.slice();
  const rounds = new Uint32Array(grids);
  for (let g = 0; g < grids; g++) {
    let u = result.slice(g * CELLS, (g + 1) * CELLS);
    let next = u.slice();
    const own = image.subarray(g * CELLS, (g + 1) * CELLS);
    while (rounds[g]! < maxRounds) {
      const total = plain(u, own, next);
      [u, next] = [next, u];
      rounds[g]!++;
      if (total <= bound) break;
    }
    result.set(u, g * CELLS);
  }
  return { state: result, rounds };
}

function plainFlow(u: Cells, image: Float32Array, next: Cells): number {
  const weights = Float32Array.from(image, (value) => value * Math.fround(0.2 * 2 ** -FIELD_BITS));
  return flowRound(u as Float32Array, image, weights, next as Float32Array, WIDTH);
}

function plainFlowInF32(u: Cells, image: Float32Array, next: Cells): number {
  const f = Math.fround;
  let total = 0;
  for (let y = 0, i = 0; y < HEIGHT; y++) {
    const [above, here, below] = [Math.max(0, y - 1) * WIDTH, y * WIDTH, Math.min(HEIGHT - 1, y + 1) * WIDTH];
    for (let x = 0; x < WIDTH; x++, i++) {
      const [left, right] = [Math.max(0, x - 1), Math.min(WIDTH - 1, x + 1)];
      const own = u[i]!;
      let sum = f(Math.max(f(u[here + right]! - own), 0) + Math.max(f(u[below + x]! - own), 0));
      sum = f(sum + Math.max(f(u[below + right]! - own), 0));
      sum = f(sum + Math.min(f(u[here + left]! - own), 0));
      sum = f(sum + Math.min(f(u[above + x]! - own), 0));
      sum = f(sum + Math.min(f(u[above + left]! - own), 0));
      sum = f(sum + f(f(u[above + right]! - own) * 0.5));
      sum = f(sum + f(f(u[below + left]! - own) * 0.5));
      const h = f(own + f(sum * MU));
      const after = f(h - f(f(image[i]! * INVERSE_LAMBDA) * f(h - image[i]!)));
      next[i] = after;
      total += roundEven(f(Math.abs(f(after - own)) * 2 ** 20));
    }
  }
  return total;
}

function plainHeat(u: Cells, image: Float32Array, next: Cells): number {
  const f = Math.fround;
  let total = 0;
  for (let y = 0, i = 0; y < HEIGHT; y++) {
    const [above, here, below] = [Math.max(0, y - 1) * WIDTH, y * WIDTH, Math.min(HEIGHT - 1, y + 1) * WIDTH];
    for (let x = 0; x < WIDTH; x++, i++) {
      const [left, right] = [Math.max(0, x - 1), Math.min(WIDTH - 1, x + 1)];
      const sides = f(f(f(u[here + left]! + u[here + right]!) + u[above + x]!) + u[below + x]!);
      const after = f(f(f(sides * 0.125) + f(u[i]! * 0.25)) + f(image[i]! * 0.25));
      next[i] = after;
      total += roundEven(f(Math.abs(f(after - u[i]!)) * 2 ** 20));
    }
  }
  return total;
}

function plainLife(u: Cells, _image: Float32Array, next: Cells): number {
  let total = 0;
  for (let y = 0, i = 0; y < HEIGHT; y++) {
    const [above, here, below] = [((y + HEIGHT - 1) % HEIGHT) * WIDTH, y * WIDTH, ((y + 1) % HEIGHT) * WIDTH];
    for (let x = 0; x < WIDTH; x++, i++) {
      const [left, right] = [x === 0 ? WIDTH - 1 : x - 1, x === WIDTH - 1 ? 0 : x + 1];
      const rows = u[above + left]! + u[above + x]! + u[above + right]! + u[below + left]! + u[below + x]!;
      const around = rows + u[below + right]! + u[here + left]! + u[here + right]!;
      const after = around === 3 || (around === 2 && u[i] === 1) ? 1 : 0;
      next[i] = after;
      total += after ^ u[i]!;
    }
  }
  return total;
}

function requireSame(name: string, state: Cells, expected: Cells, rounds: Uint32Array, counts: Uint32Array): void {
  const differing = counts.findIndex((count, g) => count !== rounds[g]);
  if (differing >= 0)
    throw new Error(`${name}: grid ${differing} has ${rounds[differing]} rounds, not ${counts[differing]}`);
  const cell = expected.findIndex((value, i) => !Object.is(value, state[i]));
  if (cell >= 0) throw new Error(`${name}: cell ${cell} is ${state[cell]}, not ${expected[cell]}`);
}
