import { play, STEPS } from '../../examples/web/frame.ts';
import type { Controls } from '../../examples/web/scene.ts';
import { machine, spreadOf } from '../shared/measuring.ts';
import { openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';

/**
 * Times the frames that the page in examples/web computes, without a browser. A frame moves 200,000 points, counts them
 * on a grid of 512 × 512, smooths the counts, and finds and paints the connected components of dense cells. Reports
 * wall-clock time from the first call until the host knows the number of components and the frame's checksum, and from
 * the first call until the host has the picture. The steps of a frame are timed one by one in additional frames, with a
 * wait after each step.
 *
 * node --import tsx bench/page/web-frame.ts [--backend webgpu,workers,reference] [--adapter hardware|software] [--rounds 300]
 *   [--warm-up 100] [--threshold 1.25]
 */
const options = programOptions({
  ...{ backend: 'webgpu,workers,reference', adapter: undefined },
  ...{ rounds: 300, 'warm-up': 100, threshold: 1.25 },
});
const controls: Controls = { threshold: options.threshold, background: 'dark' };
const { rounds, 'warm-up': warmUp } = options;
const titles = [
  'backend',
  'until the checksum',
  'checksum: min',
  'checksum: 90th percentile',
  'until the picture',
  'launches',
  ...STEPS,
  'components',
  'checksum',
];

console.log(`${machine()}; ${rounds} frames after ${warmUp}, milliseconds, medians\n`);
console.log(`| ${titles.join(' | ')} |\n|${' --- |'.repeat(titles.length)}`);
for (const backend of options.backend.split(',')) await measure(backend);

async function measure(backend: string): Promise<void> {
  const adapter = backend === 'webgpu' ? options.adapter : undefined;
  await using context = await openNamed({ backend, adapter });
  const player = play(context);
  for (let i = 0; i < warmUp; i++) await player.next(controls).pixels;
  const { counters } = context.backend;
  const before = counters.dispatches;
  const [computed, shown]: [number[], number[]] = [[], []];
  for (let i = 0; i < rounds; i++) {
    const start = performance.now();
    const frame = player.next(controls);
    await frame.told;
    computed.push(performance.now() - start);
    await frame.pixels;
    shown.push(performance.now() - start);
  }
  const launches = (counters.dispatches - before) / rounds;
  const inSteps: Awaited<ReturnType<typeof player.nextInSteps>>[] = [];
  for (let i = 0; i < rounds; i++) inSteps.push(await player.nextInSteps(controls));
  const { components, checksum } = await inSteps.at(-1)!.frame.told;
  const steps = STEPS.map((step) => spreadOf(inSteps.map(({ times }) => times[step])).median);
  const { median, min } = spreadOf(computed);
  const max = computed.toSorted((a, b) => a - b)[Math.floor(rounds * 0.9)]!;
  const [first, last] = [[median, min, max, spreadOf(shown).median], steps].map((all) =>
    all.map((ms) => ms.toFixed(2)),
  );
  console.log(`| ${[backend, ...first!, launches, ...last!, components, checksum].join(' | ')} |`);
}
