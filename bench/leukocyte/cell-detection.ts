import {
  type DetectionOptions,
  detectCells,
  detectPeaks,
  type Frame,
  gicov,
  refineContours,
} from '../../algorithms/cell-tracking/index.ts';
import { packSlopes } from '../../algorithms/cell-tracking/slopes.ts';
import { type Column, input, type Table, u32 } from '../../primitives/index.ts';
import { printHead } from '../shared/markdown-table.ts';
import { keepBusy, machine, median, timesOf } from '../shared/measuring.ts';
import { BACKEND_OPTIONS, openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';
import { deviceTime } from '../shared/webgpu-timing.ts';
import { matchDetections } from './cell-accuracy.ts';
import { cellVideo } from './cell-video.ts';
import { plainScores } from './plain-cells.ts';

/**
 * Times the detection of leukocytes in one frame of a generated video of 640 × 480 pixels: each stage, the whole
 * detection from upload to read, and prepared detections with and without contours. `--plain` adds the scores in plain
 * JavaScript on one thread. If the GPU has a clock, the report also shows times by this clock.
 *
 * node --import tsx bench/leukocyte/cell-detection.ts [--backend webgpu|workers|reference] [--adapter hardware|software] [--workers 2]
 *   [--rounds 15] [--cells 36] [--amplitude 10] [--seed 1] [--plain]
 */
const options = programOptions({ ...BACKEND_OPTIONS, rounds: 15, cells: 36, amplitude: 10, seed: 1, plain: false });
const { rounds, seed, cells, amplitude } = options;
const DETECTION: DetectionOptions = { threshold: 1.8 };
/** Milliseconds of warm-up before measuring. Only GPUs need it: an idle GPU first has to raise its clock frequency. */
const HEAT_MS = options.backend === 'webgpu' && options.adapter === 'hardware' ? 400 : 0;

const [drawn] = cellVideo({ seed, cells, amplitude, frames: 1 });
const { frame: host, truth } = drawn!;
const { width, height } = host;

await using context = await openNamed(options);
console.log(`${machine()}; ${context.backend.name}, ${width} × ${height}, medians of ${rounds}\n`);
const frame: Frame = { width, height, grey: context.column(host.grey) };
const found = await detectCells(context, frame, DETECTION);
const { x, y, radius } = refineContours(frame, detectPeaks(frame, DETECTION));
const refined = await context.read({ x, y, radius });
for (const [what, cells] of Object.entries({ peaks: found, contours: refined })) {
  const { f1, centreErrors } = matchDetections(truth, cells, { width, height });
  const middle = centreErrors[centreErrors.length >> 1]?.toFixed(2) ?? '–';
  console.log(`${cells.x.length} ${what} of ${truth.length} cells, F1 ${f1.toFixed(3)}, median error ${middle} px`);
}
console.log();

const slopes = (): Table => packSlopes(context, frame);
const prepared = context.prepare({ grey: input(u32, width * height, { storage: 'u8' }) }, ({ grey }) =>
  detectPeaks({ width, height, grey }, DETECTION),
);
const outlined = context.prepare({ grey: input(u32, width * height, { storage: 'u8' }) }, ({ grey }) => {
  const seen = { width, height, grey };
  const { points: _points, ...cells } = refineContours(seen, detectPeaks(seen, DETECTION));
  return cells;
});
const grey = frame.grey as Column<'u32'>;
printHead('step | until done, ms | device, ms');
await report('slopes', slopes);
await report('slopes and all scores', () => gicov(frame) as unknown as Table);
await report('slopes and scores above 1.8', () => gicov(frame, { threshold: 1.8 }) as unknown as Table);
await report('peaks, including slopes and scores', () => detectPeaks(frame, DETECTION));
await report('peaks, prepared', () => prepared({ grey }));
await report('peaks and contours, prepared', () => outlined({ grey }));
row('cells: upload, peaks, read', await timeOf(detectUploaded), undefined);
row('cells: upload, peaks, read; prepared', await timeOf(detectPrepared), undefined);
if (options.plain) row('scores in plain JavaScript', timePlain(), undefined);

async function detectUploaded(): Promise<void> {
  const column = context.column(host.grey);
  await detectCells(context, { width, height, grey: column }, DETECTION);
  context.dispose(column);
}

async function detectPrepared(): Promise<void> {
  const column = context.column(host.grey);
  const made = prepared({ grey: column });
  await context.read(made);
  context.dispose(made, column);
}

async function report(name: string, run: () => Table): Promise<void> {
  const waited = await timeOf(async () => {
    const made = run();
    await context.sync();
    context.dispose(made);
  });
  row(name, waited, options.adapter === 'hardware' ? await deviceTime(context, run) : undefined);
}

function row(name: string, ms: number, device: number | undefined): void {
  console.log(`| ${name} | ${ms.toFixed(2)} | ${device?.toFixed(3) ?? '–'} |`);
}

/** Milliseconds from a call until the device is done. */
async function timeOf(run: () => Promise<void>): Promise<number> {
  await keepBusy(run, HEAT_MS);
  return median(await timesOf(run, { rounds, warmUps: 3 }));
}

/** Computes all scores by a plain loop in f64. Returns the milliseconds that it took. */
function timePlain(): number {
  const from = performance.now();
  plainScores(host);
  return performance.now() - from;
}
