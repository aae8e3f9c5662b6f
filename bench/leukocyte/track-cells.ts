import {
  type DetectionOptions,
  stillBackground,
  type TrackedFrame,
  trackCells,
} from '../../algorithms/cell-tracking/index.ts';
import { smallestOf } from '../../primitives/host/extremes.ts';
import { printHead } from '../shared/markdown-table.ts';
import { machine, spreadOf } from '../shared/measuring.ts';
import { BACKEND_OPTIONS, openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';
import { matchVideo, trackAccuracy } from './cell-accuracy.ts';
import { type CellVideoFrame, type CellVideoOptions, cellVideo } from './cell-video.ts';

/**
 * Tracks the cells of generated videos of 640 × 480 pixels, from grey frames in host memory. Reports how many cells are
 * found, how far off their centres are, and how many tracks never switch to another cell. Also reports wall-clock
 * milliseconds per frame, including uploads, detection in every tenth frame, and reading every frame's centres.
 *
 * node --import tsx bench/leukocyte/track-cells.ts [--backend webgpu|workers|reference] [--adapter hardware|software] [--workers 2]
 *   [--frames 60] [--speed-frames 100] [--seeds 1,2,3,4,5] [--only speed|accuracy]
 */
const options = programOptions({
  ...BACKEND_OPTIONS,
  ...{ frames: 60, 'speed-frames': 100, seeds: [1, 2, 3, 4, 5], only: undefined },
});
const { frames, seeds } = options;
const SIZE = { width: 640, height: 480 };
/** Number of untimed frames; after these, all kernels are compiled and a GPU has raised its clock frequency. */
const WARM_UP = 20;
/**
 * Number of untimed runs of the video. They are needed because the JavaScript engine takes some hundred frames to
 * compile all hot code.
 */
const WARM_UP_ROUNDS = 2;
const ROUNDS = 5;

await using context = await openNamed(options);
console.log(`${machine()}; ${context.backend.name}, ${SIZE.width} × ${SIZE.height}, ${frames} frames a video\n`);
if (options.only !== 'accuracy') await reportSpeed();
if (options.only !== 'speed') await reportAccuracy();

async function reportSpeed(): Promise<void> {
  printHead('cells | ms per frame: median (min … max) | frames per second | launches per frame | allocations in total');
  for (const cells of [36, 84]) {
    const video = [...cellVideo({ seed: 1, cells, amplitude: 10, frames: options['speed-frames'] })];
    const times: number[] = [];
    let [launches, allocations] = [Number.NaN, Number.NaN];
    for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
      let [from, before] = [0, { ...context.backend.counters }];
      for await (const { index } of trackCells(
        context,
        video.map(({ frame }) => frame),
      )) {
        if (index === WARM_UP) [from, before] = [performance.now(), { ...context.backend.counters }];
      }
      const counted = video.length - 1 - WARM_UP;
      if (round >= 0) times.push((performance.now() - from) / counted);
      launches = (context.backend.counters.dispatches - before.dispatches) / counted;
      allocations = context.backend.counters.allocations - before.allocations;
    }
    const { median, min, max } = spreadOf(times);
    const ms = `${median.toFixed(2)} (${min.toFixed(2)} … ${max.toFixed(2)})`;
    console.log(`| ${cells} | ${ms} | ${(1000 / median).toFixed(0)} | ${launches.toFixed(1)} | ${allocations} |`);
  }
  console.log();
}

/** One row of the printed table, with the options of its video and of the tracking. */
interface Trial {
  readonly name: string;
  readonly drawing: Omit<CellVideoOptions, 'seed' | 'frames'>;
  readonly still?: boolean;
  readonly detection?: DetectionOptions;
}

async function reportAccuracy(): Promise<void> {
  const faint = { cells: 36, amplitude: 10 };
  const trials: readonly Trial[] = [
    { name: 'texture 10', drawing: faint },
    { name: 'texture 10, 84 cells', drawing: { cells: 84, amplitude: 10 } },
    { name: 'texture 15', drawing: { cells: 36, amplitude: 15 } },
    { name: 'texture 15, still background', drawing: { cells: 36, amplitude: 15 }, still: true },
    { name: 'texture 15, threshold 2.7', drawing: { cells: 36, amplitude: 15 }, detection: { threshold: 2.7 } },
    { name: 'texture 30', drawing: { cells: 36, amplitude: 30 } },
    { name: 'texture 30, still background', drawing: { cells: 36, amplitude: 30 }, still: true },
    { name: 'texture 30, threshold 2.7', drawing: { cells: 36, amplitude: 30 }, detection: { threshold: 2.7 } },
    {
      name: 'texture 30, threshold 2.7, only bright cells',
      drawing: { cells: 36, amplitude: 30 },
      detection: { threshold: 2.7, sign: 'bright' },
    },
    { name: 'halos', drawing: { ...faint, halos: 0.5 } },
    { name: 'occlusion', drawing: { ...faint, occlusion: true } },
    { name: 'entries and exits', drawing: { ...faint, entries: true } },
    { name: 'all three', drawing: { ...faint, halos: 0.5, occlusion: true, entries: true } },
  ];
  console.log('Mean (min) over the seeds; centre errors are medians over all seeds.\n');
  printHead('video | F1 | centre error, px | tracks without a switch | cells found');
  for (const { name, drawing, still, detection } of trials) {
    const found: Awaited<ReturnType<typeof accuracyOf>>[] = [];
    for (const seed of seeds)
      found.push(await accuracyOf([...cellVideo({ ...drawing, seed, frames })], still === true, detection));
    const column = (of: (one: (typeof found)[number]) => number, digits: number) => {
      const all = found.map(of);
      const mean = all.reduce((a, b) => a + b) / all.length;
      return `${mean.toFixed(digits)} (${smallestOf(all).toFixed(digits)})`;
    };
    const off = spreadOf(found.map(({ error }) => error)).median.toFixed(2);
    const shares = [column(({ f1 }) => f1, 3), off, column(({ whole }) => whole, 3), column(({ recall }) => recall, 3)];
    console.log(`| ${name} | ${shares.join(' | ')} |`);
  }
}

async function accuracyOf(video: readonly CellVideoFrame[], still: boolean, detection?: DetectionOptions) {
  const grey = video.map(({ frame }) => frame);
  const sampled = grey.filter((_, i) => i % Math.ceil(grey.length / 64) === 0);
  const background = still ? await stillBackground(context, sampled) : undefined;
  const tracked: TrackedFrame[] = [];
  for await (const frame of trackCells(context, grey, { detection, background })) tracked.push(frame);
  const pairs = video.map(({ truth }, i) => ({ truth, found: tracked[i]! }));
  const { f1, recall, centreErrors } = matchVideo(pairs, SIZE);
  const { withoutSwitch } = trackAccuracy(pairs, SIZE);
  return { f1, recall, error: centreErrors[centreErrors.length >> 1] ?? Number.NaN, whole: withoutSwitch };
}
