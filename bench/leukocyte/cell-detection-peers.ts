import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type DetectionOptions, detectPeaks, refineContours } from '../../algorithms/cell-tracking/index.ts';
import { open } from '../../on-node.ts';
import { type Context, input, type Table, u32 } from '../../primitives/index.ts';
import { printHead, printRow } from '../shared/markdown-table.ts';
import { machine, median } from '../shared/measuring.ts';
import { programOptions } from '../shared/program-options.ts';
import { temporaryFolder } from '../shared/temporary-folder.ts';
import { type FoundCells, matchVideo } from './cell-accuracy.ts';
import { type CellVideoFrame, cellVideo } from './cell-video.ts';
import { plainCells } from './plain-cells.ts';

/**
 * Compares methods that find the cells of generated frames of 640 × 480 pixels: `detectPeaks` (as a prepared pipeline
 * on the workers backend), plain JavaScript, and the circle detection of scikit-image and OpenCV
 * (`bench/peers/circles.py`). Reports F1, median centre error, and milliseconds per frame from grey values in memory to
 * centres in memory.
 *
 * node --import tsx bench/leukocyte/cell-detection-peers.ts [--python /usr/bin/python3] [--workers 2] [--rounds 5] [--seeds 1,2,3,4,5]
 *   [--amplitudes 10,15,30] [--cells 36] [--tune]
 *
 * `--tune` tries a grid of settings for each peer and prints the settings with the highest F1 over all frames. Do not
 * use the same seeds for tuning and for measuring.
 */
const options = programOptions({
  ...{ python: '/usr/bin/python3', workers: 2, rounds: 5, seeds: [1, 2, 3, 4, 5] },
  ...{ amplitudes: [10, 15, 30], cells: 36, tune: false },
});
const SIZE = { width: 640, height: 480 };
const FEWER = [8, 10, 12];
/**
 * Settings of `detectPeaks` that search for bright cells only. The threshold is the best one for the seeds and
 * amplitudes with which the peers' settings were tuned.
 */
const TUNED: DetectionOptions = { radii: FEWER, sign: 'bright', threshold: 2.7 };
const { rounds, seeds, amplitudes } = options;

/** The results of one method in all frames, and its milliseconds for each frame. */
interface Detection {
  readonly name: string;
  readonly found: readonly FoundCells[];
  readonly ms: readonly number[];
}

/** One line printed by `circles.py`, parsed. */
interface PeerLine {
  readonly name: string;
  readonly missing?: string;
  readonly version: string;
  readonly settings: Readonly<Record<string, number>>;
  readonly x: readonly number[][];
  readonly y: readonly number[][];
  readonly ms: readonly number[];
}

/** Frames ordered by amplitude: all seeds of the first amplitude, then all seeds of the second, and so on. */
const frames = amplitudes.flatMap((amplitude) => seeds.map((seed) => firstFrame(seed, amplitude)));
if (options.tune) await tune();
else await compare();

function firstFrame(seed: number, amplitude: number): CellVideoFrame {
  const [first] = cellVideo({ ...SIZE, seed, amplitude, cells: options.cells, frames: 1 });
  return first!;
}

async function compare(): Promise<void> {
  console.log(
    `${machine()}; seeds ${options.seeds}, ${options.cells} cells; medians of ${rounds}, plain JavaScript once a frame\n`,
  );
  const errors = amplitudes.map((amplitude) => `error ${amplitude}, px`);
  printHead(['method', ...amplitudes.map((amplitude) => `F1 ${amplitude}`), ...errors, 'ms per frame'].join(' | '));
  for await (const detection of ownDetections()) report(detection);
  for await (const line of peerLines()) {
    if (line.missing === undefined) report(detectionOf(line));
    else printRow([`${line.name}: ${line.missing}`, ...Array(1 + 2 * amplitudes.length).fill('–')]);
  }
}

function report({ name, found, ms }: Detection): void {
  const accuracies = amplitudes.map((_, i) => accuracyOf(found, i * seeds.length, (i + 1) * seeds.length));
  const errors = accuracies.map(({ centreErrors }) => centreErrors[centreErrors.length >> 1]?.toFixed(2) ?? '–');
  printRow([name, ...accuracies.map(({ f1 }) => f1.toFixed(3)), ...errors, median(ms).toFixed(1)]);
}

function accuracyOf(found: readonly FoundCells[], from = 0, to = frames.length) {
  const of = frames.slice(from, to).map(({ truth }, i) => ({ truth, found: found[from + i]! }));
  return matchVideo(of, SIZE);
}

async function* ownDetections(): AsyncGenerator<Detection> {
  const { workers } = options;
  await using context = await open({ backend: 'workers', workers });
  const grey = input(u32, SIZE.width * SIZE.height, { storage: 'u8' });
  const peaks = context.prepare({ grey }, ({ grey }) => detectPeaks({ ...SIZE, grey }));
  const fewer = context.prepare({ grey }, ({ grey }) => detectPeaks({ ...SIZE, grey }, { radii: FEWER }));
  const tuned = context.prepare({ grey }, ({ grey }) => detectPeaks({ ...SIZE, grey }, TUNED));
  const contours = context.prepare({ grey }, ({ grey }) => {
    const { points: _points, ...cells } = refineContours({ ...SIZE, grey }, detectPeaks({ ...SIZE, grey }));
    return cells;
  });
  const prepared = {
    detectPeaks: peaks,
    'detectPeaks, radii 8, 10, 12': fewer,
    'detectPeaks, radii 8, 10, 12, bright, threshold 2.7': tuned,
    'detectPeaks, refineContours': contours,
  };
  for (const [name, run] of Object.entries(prepared)) {
    yield await measured(`${name}, ${workers} workers`, (frame) => detectOn(context, frame, run as never));
  }
  yield await measured('plain JavaScript, radii 8, 10, 12', async ({ frame }) => plainCells(frame, 1.8, FEWER), 1);
}

/** Uploads a frame, runs the detection, and reads its result. */
async function detectOn(
  context: Context,
  { frame }: CellVideoFrame,
  run: (inputs: object) => Table,
): Promise<FoundCells> {
  const grey = context.column(frame.grey);
  const made = run({ grey });
  const found = await context.read(made);
  context.dispose(made, grey);
  return found as unknown as FoundCells;
}

async function measured(
  name: string,
  find: (frame: CellVideoFrame) => Promise<FoundCells>,
  ownRounds = rounds,
): Promise<Detection> {
  const [found, ms]: [FoundCells[], number[]] = [[], []];
  await find(frames[0]!);
  for (const frame of frames) {
    const times: number[] = [];
    let cells: FoundCells = { x: [], y: [] };
    for (let round = 0; round < ownRounds; round++) {
      const from = performance.now();
      cells = await find(frame);
      times.push(performance.now() - from);
    }
    found.push(cells);
    ms.push(median(times));
  }
  return { name, found, ms };
}

function detectionOf({ name, version, x, y, ms }: PeerLine): Detection {
  return { name: `${name} ${version}`, found: x.map((each, frame) => ({ x: each, y: y[frame]! })), ms };
}

/** The lines that the Python program prints; one line with an error if the program cannot be started. */
async function* peerLines(...more: readonly string[]): AsyncGenerator<PeerLine> {
  await using scratch = await temporaryFolder('quadrille-circles-');
  const folder = scratch.path;
  const file = join(folder, 'frames.raw');
  await writeFile(file, Buffer.concat(frames.map(({ frame }) => frame.grey)));
  const script = fileURLToPath(new URL('../peers/circles.py', import.meta.url));
  const { width, height } = SIZE;
  const args = [script, file, width, height, '--rounds', rounds, ...more].map(String);
  const child = spawn(options.python, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<string | undefined>((resolve) => {
    child.on('error', ({ message }) => resolve(message));
    child.on('close', (code) => resolve(code === 0 ? undefined : `ended with ${code}`));
  });
  for await (const line of createInterface({ input: child.stdout })) yield JSON.parse(line) as PeerLine;
  const failure = await ended;
  if (failure !== undefined) yield { name: options.python, missing: failure } as PeerLine;
}

async function tune(): Promise<void> {
  const best = new Map<string, { f1: number; text: string }>();
  for await (const line of peerLines('--tune')) {
    const { f1 } = line.missing === undefined ? accuracyOf(detectionOf(line).found) : { f1: 0 };
    if (f1 < (best.get(line.name)?.f1 ?? 0)) continue;
    best.set(line.name, { f1, text: line.missing ?? JSON.stringify(line.settings) });
  }
  for (const [name, { f1, text }] of best) console.log(`${name}: F1 ${f1.toFixed(3)}, ${text}`);
}
