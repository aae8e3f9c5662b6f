import { type TrackingOptions, trackFrame } from '../../algorithms/cell-tracking/index.ts';
import { largestOf } from '../../primitives/host/extremes.ts';
import { type PeerCell, type PeerWindow, runLeukocyte } from '../peers/leukocyte.ts';
import { printHead } from '../shared/markdown-table.ts';
import { machine } from '../shared/measuring.ts';
import { openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';
import { type CellWindow, columnsOfCells, type GivenCells, givenCells, windowsOf } from './tracked-cells.ts';

/**
 * Tracks cells by this library and by Rodinia's leukocyte program, on the same windows of generated videos, and
 * compares the results: fields, numbers of rounds, centres, and the distances of snaxels (points of a snake) from the
 * centre.
 *
 * node --import tsx bench/leukocyte/cell-tracking-numerics.ts --rodinia FOLDER [--backend workers|webgpu|reference] [--seeds 5]
 *
 * FOLDER is Rodinia's folder openmp/leukocyte, in which you must have run `make`.
 */
const options = programOptions({ rodinia: undefined, backend: 'workers', seeds: 5 });
if (options.rodinia === undefined) throw new Error('Name the folder openmp/leukocyte of Rodinia with --rodinia.');

/** Maximum allowed differences; if one is exceeded, the process ends with an error. */
const BARS = { field: 1e-4, rounds: 0.02, snake: 0.01 };

await using context = await openNamed(options);
console.log(`${machine()}; ${context.backend.name}; snakeStep 0.2\n`);
console.log('Snakes are compared twice: with our fields in both programs, and with each program’s own fields.\n');
printHead(
  'seed | cells | field: max difference | mean rounds, ours | mean rounds, Rodinia’s | rounds: max difference | snakes in our fields: max difference, px | snakes in own fields: max difference, px | number of snakes that stop a round apart | snakes after equal rounds: max difference, px',
);
const worst = { field: 0, rounds: 0, snake: 0 };
for (let seed = 1; seed <= options.seeds; seed++) await compare(seed, options.rodinia);
const isWithin = worst.field <= BARS.field && worst.rounds <= BARS.rounds && worst.snake <= BARS.snake;
console.log(`\n${isWithin ? 'Within' : 'BEYOND'} ${JSON.stringify(BARS)}`);
if (!isWithin) process.exitCode = 1;

type OurCells = { readonly [name in 'x' | 'y' | 'radii' | 'rounds' | 'snakeRounds' | 'field']: ArrayLike<number> };

async function compare(seed: number, folder: string): Promise<void> {
  const given = givenCells({ seed, cells: 36, amplitude: 10 });
  const ours = await track(given, {});
  const windows = windowsOf(given, ours.windows);
  const own = runLeukocyte(folder, windows, { threads: 2, rounds: 1, count: true }).cells;
  const same = runLeukocyte(folder, withFields(windows, ours.field), { threads: 2, rounds: 1 }).cells;
  const field = maxDifference(
    own.flatMap((cell) => Array.from(cell.field)),
    ours.field,
  );
  const rounds = own.reduce((max, cell, c) => {
    return Math.max(max, Math.abs(ours.rounds[c]! - cell.rounds) / cell.rounds);
  }, 0);
  const snakes = snakeDifferences(same, ours, windows);
  const [roundApart, atSameRound] = await stopsApart(given, same, ours, windows);
  const snaxel = largestOf(snakes);
  worst.field = Math.max(worst.field, field);
  worst.rounds = Math.max(worst.rounds, rounds);
  worst.snake = Math.max(worst.snake, snaxel);
  const mean = (values: ArrayLike<number>) =>
    (Array.from(values).reduce((a, b) => a + b, 0) / values.length).toFixed(1);
  const scientific = (value: number) => value.toExponential(1);
  const row = [
    ...[seed, windows.length, scientific(field)],
    ...[mean(ours.rounds), mean(own.map(({ rounds }) => rounds)), `${(100 * rounds).toFixed(2)} %`],
    ...[snaxel, largestOf(snakeDifferences(own, ours, windows))].map(scientific),
    ...[roundApart, scientific(atSameRound)],
  ];
  console.log(`| ${row.join(' | ')} |`);
}

/** Adds our field to each window. `fields` contains the fields of all windows, one after another. */
function withFields(windows: readonly CellWindow[], fields: ArrayLike<number>): PeerWindow[] {
  let first = 0;
  return windows.map((window) => {
    const area = window.width * window.height;
    first += area;
    return { ...window, field: Array.from({ length: area }, (_, i) => fields[first - area + i]!) };
  });
}

async function track(given: GivenCells, options: TrackingOptions) {
  const tracked = context.scope(() => {
    const frame = { ...given.frame, grey: context.column(given.frame.grey) };
    return trackFrame(frame, columnsOfCells(context, given), { snakeStep: 0.2, ...options });
  });
  return await context.read(tracked).finally(() => context.dispose(tracked));
}

/**
 * For each cell, the maximum difference in pixels between the two programs, over the cell's centre and all snaxels (the
 * points of its snake).
 */
function snakeDifferences(theirs: readonly PeerCell[], ours: OurCells, windows: readonly CellWindow[]): number[] {
  return theirs.map(({ x, y, radii }, c) => {
    const { left, top } = windows[c]!;
    const snaxels = Array.from(radii, (radius, k) => Math.abs(radius - ours.radii[c * radii.length + k]!));
    return largestOf(snaxels, Math.hypot(ours.x[c]! - left - x, ours.y[c]! - top - y));
  });
}

/**
 * Returns two numbers: how many snakes differ by more than `BARS.snake`, and the maximum difference over all snakes.
 * For the second number, each snake beyond `BARS.snake` is also run for one round less and one round more, and its
 * smallest difference counts. The reason: a snake stops when its change falls below 0.1, so if a change is within about
 * 1e-5 of 0.1, snakes in f32 and f64 may stop one round apart.
 */
async function stopsApart(
  given: GivenCells,
  theirs: readonly PeerCell[],
  ours: OurCells,
  windows: readonly CellWindow[],
): Promise<[number, number]> {
  const differences = snakeDifferences(theirs, ours, windows);
  const apart = differences.flatMap((difference, c) => (difference > BARS.snake ? [c] : []));
  for (const c of apart) {
    for (const offset of [-1, 1]) {
      const there = await track(given, { minMove: 0, maxSnakeRounds: ours.snakeRounds[c]! + offset });
      differences[c] = Math.min(differences[c]!, snakeDifferences(theirs, there, windows)[c]!);
    }
  }
  return [apart.length, largestOf(differences)];
}

/**
 * The maximum absolute difference between the elements of two arrays. Elements beyond the length of the first array are
 * ignored.
 */
function maxDifference(theirs: readonly number[], ours: ArrayLike<number>): number {
  return theirs.reduce((max, value, i) => Math.max(max, Math.abs(value - ours[i]!)), 0);
}
