import { parseArgs } from 'node:util';
import { trackFrame } from '../algorithms/cell-tracking/index.ts';
import { open } from '../on-node.ts';
import type { OpenOptions } from '../open.ts';
import { machine } from './compare-input.ts';
import { runLeukocyte } from './peers/leukocyte.ts';
import { columnsOfCells, givenCells, windowsOf } from './tracked-cells.ts';

/**
 * Fields and snakes of cells beside those of Rodinia's program, on the same windows of generated videos: differences of fields,
 * rounds, centres and distances of snaxels.
 *
 * node --import tsx bench/cell-tracking-numerics.ts --rodinia FOLDER [--backend workers|webgpu|reference] [--seeds 5]
 *
 * FOLDER is openmp/leukocyte, in which `make` has been run.
 */
const { values: options } = parseArgs({
  options: {
    rodinia: { type: 'string' },
    backend: { type: 'string', default: 'workers' },
    seeds: { type: 'string', default: '5' },
  },
});
if (options.rodinia === undefined) throw new Error('Name the folder openmp/leukocyte of Rodinia with --rodinia.');

/** Beyond these, the process ends with an error. */
const BARS = { field: 1e-4, rounds: 0.02, snake: 0.01 };

await using context = await open({ backend: options.backend } as OpenOptions);
console.log(`${machine()}; ${context.backend.name}; snakeStep 0.2\n`);
console.log('| seed | cells | field | rounds, ours | Rodinia’s | most apart | centre, px | snaxel, px |');
console.log('| --- | --- | --- | --- | --- | --- | --- | --- |');
const worst = { field: 0, rounds: 0, snake: 0 };
for (let seed = 1; seed <= Number(options.seeds); seed++) await compare(seed, options.rodinia);
const within = worst.field <= BARS.field && worst.rounds <= BARS.rounds && worst.snake <= BARS.snake;
console.log(`\n${within ? 'Within' : 'BEYOND'} ${JSON.stringify(BARS)}`);
if (!within) process.exitCode = 1;

async function compare(seed: number, folder: string): Promise<void> {
  const given = givenCells({ seed, cells: 36, amplitude: 10 });
  const frame = { ...given.frame, grey: context.column(given.frame.grey) };
  const cells = columnsOfCells(context, given);
  const tracked = trackFrame(frame, cells, { snakeStep: 0.2 });
  const ours = await context.read(tracked);
  context.dispose(tracked, frame.grey, cells);
  const windows = windowsOf(given, ours.windows);
  const peer = runLeukocyte(folder, windows, { threads: 2, rounds: 1, count: true });
  const most = { field: 0, rounds: 0, centre: 0, snaxel: 0 };
  let first = 0;
  for (const [c, theirs] of peer.cells.entries()) {
    for (const [i, value] of theirs.field.entries()) {
      most.field = Math.max(most.field, Math.abs(value - ours.field[first + i]!));
    }
    first += theirs.field.length;
    most.rounds = Math.max(most.rounds, Math.abs(ours.rounds[c]! - theirs.rounds) / theirs.rounds);
    const { left, top } = windows[c]!;
    const centre = Math.hypot(ours.x[c]! - left - theirs.x, ours.y[c]! - top - theirs.y);
    most.centre = Math.max(most.centre, centre);
    for (const [k, radius] of theirs.radii.entries()) {
      most.snaxel = Math.max(most.snaxel, Math.abs(radius - ours.radii[c * theirs.radii.length + k]!));
    }
  }
  worst.field = Math.max(worst.field, most.field);
  worst.rounds = Math.max(worst.rounds, most.rounds);
  worst.snake = Math.max(worst.snake, most.centre, most.snaxel);
  const mean = (values: ArrayLike<number>) =>
    (Array.from(values).reduce((a, b) => a + b, 0) / values.length).toFixed(1);
  const rounds = `${mean(ours.rounds)} | ${mean(peer.cells.map(({ rounds }) => rounds))}`;
  const apart = `${(100 * most.rounds).toFixed(2)} %`;
  const snakes = `${most.centre.toExponential(1)} | ${most.snaxel.toExponential(1)}`;
  console.log(`| ${seed} | ${windows.length} | ${most.field.toExponential(1)} | ${rounds} | ${apart} | ${snakes} |`);
}
