import { flowOfWindows } from '../../algorithms/cell-tracking/flow.ts';
import { type CellsInFrame, trackFrame, WINDOW_WORDS } from '../../algorithms/cell-tracking/index.ts';
import { evolveSnakes } from '../../algorithms/cell-tracking/snake.ts';
import { cutWindows, windowShape } from '../../algorithms/cell-tracking/windows.ts';
import { type Column, constant, f32, input, type Table, u32 } from '../../primitives/index.ts';
import { runLeukocyte } from '../peers/leukocyte.ts';
import { printHead } from '../shared/markdown-table.ts';
import { machine, median, timesOf } from '../shared/measuring.ts';
import { openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';
import { columnsOfCells, givenCells, windowsOf } from './tracked-cells.ts';

/**
 * Times the tracking of cells from one frame to the next, in a generated video of 640 × 480 pixels: each stage of
 * `trackFrame`; a whole prepared call, without and with upload and read; and a call in which each field starts from the
 * field of the previous frame. With `--rodinia`, Rodinia's functions run on the same windows. FOLDER is Rodinia's
 * folder openmp/leukocyte, in which you must have run `make`.
 *
 * node --import tsx bench/leukocyte/cell-tracking-step.ts [--backend webgpu|workers] [--adapter hardware|software] [--workers 2]
 *   [--rounds 15] [--cells 36] [--amplitude 10] [--seed 1] [--rodinia FOLDER] [--threads 2]
 */
const options = programOptions({
  ...{ backend: 'workers', adapter: undefined, workers: undefined, rounds: 15, cells: 36 },
  ...{ amplitude: 10, seed: 1, rodinia: undefined, threads: 2 },
});
const { rounds } = options;
const RADIUS = 10;
const ALONG = { x: 1, y: 0 };

const given = givenCells(options);
const { width, height } = given.frame;
const cells = given.x.length;

const workers = options.workers === undefined && options.backend === 'workers' ? '2' : options.workers;
await using context = await openNamed({ ...options, workers });
console.log(`${machine()}; ${context.backend.name}, ${cells} cells, medians of ${rounds}\n`);

const before = context.materialize(columnsOfCells(context, given));
const grey = context.column(given.frame.grey);
const frame = { width, height, grey };
const shape = windowShape(ALONG, RADIUS);
const radius = context.materialize(constant(f32, RADIUS, cells));
const cut = () => cutWindows(context, frame, { ...before, radius }, shape, { x: 0, y: 1 });
const { windows, image } = cut();
const flow = () =>
  flowOfWindows(image, windows, shape, { flow: { x: 1, y: 1 }, maxRounds: 500, cells, previous: undefined });
const { field } = flow();
const snakes = () =>
  evolveSnakes(field, windows, undefined, {
    ...{ cells, across: { x: 0, y: 1 }, step: 1, minChange: 0.1, maxRounds: 1000 },
  });

const inputs = {
  grey: input(u32, width * height, { storage: 'u8' }),
  cells: input({ x: f32, y: f32, path: f32 }, cells),
};
const prepared = context.prepare(inputs, ({ grey, cells }) => trackFrame({ width, height, grey }, cells));
const warmInputs = {
  ...inputs,
  field: input(f32, cells * shape.maxWidth * shape.maxHeight),
  windows: input(u32, cells * WINDOW_WORDS),
};
const warm = context.prepare(warmInputs, ({ grey, cells, field, windows }) =>
  trackFrame({ width, height, grey }, cells, { previous: { field, windows } }),
);
const first = prepared({ grey, cells: before }) as CellsInFrame;
const found = await context.read(first);

printHead('step | until done, ms');
row('windows', await timeOf(waited(cut)));
row('fields', await timeOf(waited(flow)));
row('snakes', await timeOf(waited(() => snakes() as unknown as Table)));
row('trackFrame, prepared', await timeOf(waited(() => prepared({ grey, cells: before }))));
const whole = await timeOf(() => followed(prepared, {}));
row('trackFrame, prepared, with upload and read', whole);
const last = prepared({ grey: context.column(given.frameBefore.grey), cells: before }) as CellsInFrame;
const { field: lastField, windows: lastWindows } = last;
const warmMade = warm({ grey, cells: before, field: lastField, windows: lastWindows }) as CellsInFrame;
const warmFound = await context.read({ rounds: warmMade.rounds });
row(
  'trackFrame with upload and read, fields from the last frame',
  await timeOf(() => followed(warm as typeof prepared, { field: lastField, windows: lastWindows })),
);
const { snakes: snakeMs, fields, whole: theirs } = options.rodinia === undefined ? noPeer() : peer(options.rodinia);
if (options.rodinia !== undefined) {
  row(`Rodinia, ${options.threads} threads`, theirs);
  row('fields in Rodinia, summed over threads', fields);
  row('snakes in Rodinia, summed over threads', snakeMs);
  console.log(`\nRodinia takes ${(theirs / whole).toFixed(1)} times as long.`);
}
const { counters } = context.backend;
const dispatches = counters.dispatches;
await waited(() => prepared({ grey, cells: before }))();
console.log(`\n${counters.dispatches - dispatches} launches per frame.`);
const mean = (values: Uint32Array) => (values.reduce((a, b) => a + b, 0) / cells).toFixed(1);
console.log(
  `Mean rounds of a field ${mean(found.rounds)}, from the last frame ${mean(warmFound.rounds)}, of a snake ${mean(found.snakeRounds)}.`,
);

function row(name: string, ms: number): void {
  console.log(`| ${name} | ${ms.toFixed(2)} |`);
}

function waited(run: () => unknown): () => Promise<void> {
  return async () => {
    const made = run() as Table;
    await context.sync();
    context.dispose(made);
  };
}

async function followed(run: typeof prepared, others: { readonly [name: string]: Column }): Promise<void> {
  const column = context.column(given.frame.grey);
  const made = run({ grey: column, cells: before, ...others } as never) as CellsInFrame;
  const { x, y, radius, lost } = made;
  await context.read({ x, y, radius, lost });
  context.dispose(made as unknown as Table, column);
}

/** Milliseconds from a call until the device is done. */
async function timeOf(run: () => Promise<void>): Promise<number> {
  return median(await timesOf(run, { rounds, warmUps: 3 }));
}

function peer(folder: string): { whole: number; fields: number; snakes: number } {
  return runLeukocyte(folder, windowsOf(given, found.windows), { threads: options.threads, rounds: 3 }).ms;
}

function noPeer(): { whole: number; fields: number; snakes: number } {
  return { whole: Number.NaN, fields: Number.NaN, snakes: Number.NaN };
}
