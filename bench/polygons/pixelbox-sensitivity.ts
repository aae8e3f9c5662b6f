import { writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import {
  type PolygonEdges,
  type PolygonPairs,
  pixelBox,
  pixelBoxNoSep,
  pixelOnly,
  type SampledAreas,
  uploadPolygonEdges,
} from '../../algorithms/pixelbox/index.ts';
import { sequence } from '../../primitives/index.ts';
import { logSlope } from '../shared/log-slope.ts';
import { type Spread, spreadOf, timesUntilDone } from '../shared/measuring.ts';
import { openNamed } from '../shared/options.ts';
import { drawPanels, type Panel } from '../shared/panels.ts';
import { programOptions } from '../shared/program-options.ts';
import { reduceAgain } from '../shared/webgpu-timing.ts';
import { polygonPairs } from './polygon-pairs.ts';

/**
 * Repeats the study of PixelBox's parameters in the paper named below: the time of PixelOnly, NoSep and PixelBox as a
 * function of the scale of the polygons (Figure 8), and the time of PixelBox as a function of the threshold T at every
 * scale (Figure 10). The polygons are already on the device; each time ends when the device has computed all results.
 * All methods must give the same areas.
 *
 * node --import tsx bench/polygons/pixelbox-sensitivity.ts [--backend workers|webgpu|reference] [--adapter hardware|software]
 *   [--workers 2] [--pairs 15724] [--scales 1,2,3,4,5] [--block 64] [--rounds 5] [--plot file.svg]
 *
 * Source: Wang, Huai, Lee, Wang, Zhang and Saltz, Accelerating Pathology Image Data Cross-Comparison on CPU-GPU Hybrid
 * Systems, 2012, sections 5.2 and 5.4.
 */
const options = programOptions({
  ...{ backend: 'workers', adapter: 'auto', workers: 2, pairs: 15724, scales: [1, 2, 3, 4, 5] },
  ...{ block: 64, rounds: 5, plot: undefined },
});

const { rounds, block: blockSize, scales } = options;
/** The values of T, from n²/256 to 4 n², where n is the block size. */
const thresholds = Array.from({ length: 11 }, (_, i) => blockSize ** 2 * 2 ** (i - 8));

const context = await openNamed(options);

interface Workload {
  readonly p: PolygonEdges;
  readonly q: PolygonEdges;
  readonly pairs: PolygonPairs;
}
type Method = (workload: Workload) => Promise<SampledAreas>;

const methods: Record<string, Method> = {
  PixelOnly: ({ p, q, pairs }) => pixelOnly(context, p, q, pairs, { blockSize }),
  NoSep: ({ p, q, pairs }) => pixelBoxNoSep(context, p, q, pairs, { blockSize }),
  PixelBox: ({ p, q, pairs }) => pixelBox(context, p, q, pairs, { blockSize }),
};

console.log(`machine  ${cpus().length} × ${cpus()[0]!.model}, Node ${process.version}`);
console.log(`backend  ${options.backend}${options.backend === 'workers' ? `, ${options.workers} workers` : ''}`);
console.log(`pairs    ${options.pairs}, blocks of ${blockSize}, ${rounds} rounds; milliseconds\n`);

const byScale = new Map<string, Spread[]>(Object.keys(methods).map((name) => [name, []]));
const byThreshold: Spread[][] = [];
for (const scale of scales) await measureScale(scale);
await context.close();

report();
if (options.plot !== undefined)
  await writeFile(options.plot, await drawPanels('PixelBox: time by scale, and by threshold', panels()));

async function measureScale(scale: number): Promise<void> {
  const workload = upload(scale);
  let expected: string | undefined;
  for (const [name, method] of Object.entries(methods)) {
    const found = await similarityOf(await method(workload));
    expected ??= found;
    if (found !== expected) throw new Error(`${name} finds ${found}, not ${expected}.`);
    byScale.get(name)!.push(await timeOf(() => method(workload)));
  }
  const row: Spread[] = [];
  for (const threshold of thresholds) {
    const { p, q, pairs } = workload;
    row.push(await timeOf(() => pixelBox(context, p, q, pairs, { blockSize, threshold })));
  }
  byThreshold.push(row);
  console.log(`scale ${scale}: ${expected}`);
  context.dispose(workload.p.words, workload.q.words, workload.pairs);
}

function upload(scale: number): Workload {
  const [tile] = polygonPairs({ pairs: options.pairs, tiles: 1, scale });
  const { first, second, pairs } = tile!;
  return {
    p: uploadPolygonEdges(context, first),
    q: uploadPolygonEdges(context, second),
    pairs: { p: context.column(pairs.p), q: context.column(pairs.q) },
  };
}

/**
 * Describes the areas by a text that can be compared: the sums of both columns, and J′ (the mean of the positive ratios
 * of intersection to union).
 */
async function similarityOf(areas: SampledAreas): Promise<string> {
  const { intersection, union } = await context.read({ intersection: areas.intersection.lo, union: areas.union.lo });
  context.dispose(areas);
  const sum = (column: Uint32Array): number => column.reduce((total, area) => total + area, 0);
  const ratios = Array.from(intersection, (area, i) => area / union[i]!).filter((ratio) => ratio > 0);
  const mean = ratios.reduce((total, ratio) => total + ratio, 0) / ratios.length;
  return `${sum(intersection)} pixels in both, ${sum(union)} in either, J′ ${mean.toFixed(6)}`;
}

/** Warms up the device before a series, because a GPU lowers its clock frequency while it is idle. */
async function heat(): Promise<void> {
  if (options.backend !== 'webgpu' || options.adapter !== 'hardware') return;
  const warm = context.materialize(sequence(2 ** 26));
  reduceAgain(context, warm, 4000);
  await context.sync();
  context.dispose(warm);
}

/** Milliseconds of all rounds, after one untimed round. */
async function timeOf(run: () => Promise<SampledAreas>): Promise<Spread> {
  await heat();
  return spreadOf(await timesUntilDone(context, run, { rounds }));
}

function report(): void {
  const show = ({ median, min, max }: Spread): string => `${median.toFixed(2)} (${min.toFixed(2)} … ${max.toFixed(2)})`;
  const slope = (row: readonly Spread[]): string =>
    row.length < 2 ? '–' : logSlope(row.map(({ median }, i) => [scales[i]!, median])).toFixed(2);
  console.log(`\n| method | ${scales.map((scale) => `scale ${scale}`).join(' | ')} | slope |`);
  console.log(`| --- | ${scales.map(() => '---').join(' | ')} | --- |`);
  for (const [name, row] of byScale) console.log(`| ${name} | ${row.map(show).join(' | ')} | ${slope(row)} |`);
  console.log(`\n| T | ${scales.map((scale) => `scale ${scale}`).join(' | ')} |`);
  console.log(`| --- | ${scales.map(() => '---').join(' | ')} |`);
  thresholds.forEach((threshold, i) => {
    console.log(`| ${threshold} | ${byThreshold.map((row) => show(row[i]!)).join(' | ')} |`);
  });
}

function panels(): Panel[] {
  const points = (name: string, xs: readonly number[], row: readonly Spread[]) =>
    row.map(({ median }, i) => ({ name, x: xs[i]!, y: median, line: 'solid' as const }));
  const axes = { unit: 'milliseconds', scale: 'log' } as const;
  return [
    {
      ...{ ...axes, title: 'Time by scale factor', axis: 'scale factor', ticks: scales },
      points: [...byScale].flatMap(([name, row]) => points(name, scales, row)),
    },
    {
      ...{ ...axes, title: `Time of PixelBox by threshold T, blocks of ${blockSize}`, axis: 'T, pixels' },
      ticks: thresholds.filter((_, i) => i % 2 === 0),
      points: byThreshold.flatMap((row, i) => points(`scale ${scales[i]}`, thresholds, row)),
    },
  ];
}
