import { parseArgs } from 'node:util';
import { play, STEPS } from '../examples/web/frame.ts';
import type { Controls } from '../examples/web/scene.ts';
import { open } from '../on-node.ts';
import type { OpenOptions } from '../open.ts';
import { machine } from './compare-input.ts';
import { spread } from './webgpu-memcpy.ts';

/**
 * Frames of the page in examples/web, without the page: 200,000 points moved, counted on a grid of 512 × 512, smoothed, their
 * components found and painted. By the wall clock, from the first call until the picture and the summary are on the host; the
 * steps are timed in frames of their own, which wait after each.
 *
 * node --import tsx bench/web-frame.ts [--backend webgpu,workers,reference] [--adapter hardware|software] [--rounds 200]
 *   [--threshold 1.5]
 */
const { values: options } = parseArgs({
  options: {
    backend: { type: 'string', default: 'webgpu,workers,reference' },
    adapter: { type: 'string' },
    rounds: { type: 'string', default: '200' },
    threshold: { type: 'string', default: '1.5' },
  },
});
const WARM_UP = 20;
const CONTROLS: Controls = { threshold: Number(options.threshold), background: 'dark' };
const rounds = Number(options.rounds);

console.log(`${machine()}; ${rounds} frames after ${WARM_UP}, milliseconds\n`);
console.log(`| backend | frame, median | least | 90 % | launches | ${STEPS.join(' | ')} | components | checksum |`);
console.log(`| --- | --- | --- | --- | --- | ${STEPS.map(() => '--- | ').join('')}--- | --- |`);
for (const backend of options.backend.split(',')) await measure(backend);

async function measure(backend: string): Promise<void> {
  const adapter = backend === 'webgpu' ? options.adapter : undefined;
  await using context = await open({ backend, adapter } as OpenOptions);
  const player = play(context);
  for (let i = 0; i < WARM_UP; i++) await player.next(CONTROLS);
  const { counters } = context.backend;
  const before = counters.dispatches;
  const times: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const start = performance.now();
    await player.next(CONTROLS);
    times.push(performance.now() - start);
  }
  const launches = (counters.dispatches - before) / rounds;
  const inSteps: Awaited<ReturnType<typeof player.nextInSteps>>[] = [];
  for (let i = 0; i < rounds; i++) inSteps.push(await player.nextInSteps(CONTROLS));
  const { frame } = inSteps.at(-1)!;
  const steps = STEPS.map((step) => spread(inSteps.map(({ times }) => times[step])).median.toFixed(2));
  const ninth = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.9)]!;
  const { median, least } = spread(times);
  const figures = [median, least, ninth].map((ms) => ms.toFixed(2));
  const cells = [backend, ...figures, launches, ...steps, frame.components, frame.checksum];
  console.log(`| ${cells.join(' | ')} |`);
}
