import { cpus } from 'node:os';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Binning, ZonalHistogram } from '../../algorithms/zonal/index.ts';
import { readZones } from '../../formats/index.ts';
import { inTurns, spreadOf } from '../shared/measuring.ts';
import { programOptions } from '../shared/program-options.ts';
import { conusGrid, inMemory, terrain } from './terrain.ts';

/**
 * Measures the processor time of zonal histograms by the number of bins, over a synthetic relief of u16 in memory, with
 * the US counties as zones. Checkouts of the project take turns in one process, each with two workers of its own, so
 * that the noise of the machine meets all of them. All must give the same histograms.
 *
 * node --import tsx bench/zonal/zonal-counting.ts [--cells 92e6] [--rounds 7] [--bins 256,5000] [--tree DIR,DIR]
 *   [--workers 2] [--statistics]
 *
 * `--tree` has the folders of the checkouts; default is this one alone.
 */
const options = programOptions({ cells: 92e6, rounds: 7, bins: [256, 5000], tree: '.', workers: 2, statistics: false });

/** Number of untimed rounds, in which code is compiled and memory is taken. */
const WARM_UP = 3;

const grid = conusGrid(options.cells);
const { width, height } = grid;
const cells = terrain({ row: 0, column: 0, rows: height, columns: width });
const { zones } = await readZones('node_modules/us-atlas/counties-10m.json', { layer: 'counties' });
const raster = inMemory(grid, cells);

interface Tree {
  readonly name: string;
  count(binning: Binning): Promise<ZonalHistogram>;
  close(): Promise<void>;
}

/** Opens a backend with the code of a checkout. */
async function openTree(folder: string): Promise<Tree> {
  const load = (file: string): Promise<never> => import(pathToFileURL(resolve(folder, file)).href) as Promise<never>;
  const { open }: typeof import('../../on-node.ts') = await load('on-node.ts');
  const { zonalHistogram }: typeof import('../../algorithms/zonal/index.ts') = await load('algorithms/zonal/index.ts');
  const context = await open({ backend: 'workers', workers: options.workers });
  return {
    name: folder,
    count: (binning) => zonalHistogram(context, { zones, raster, binning, statistics: options.statistics }),
    close: () => context.close(),
  };
}

const trees = await Promise.all(options.tree.split(',').map(openTree));
console.log(`machine  ${cpus().length} × ${cpus()[0]!.model}, Node ${process.version}, ${options.workers} workers`);
console.log(`raster   ${width} × ${height} u16, ${zones.names.length} zones\n`);
console.log('| bins | checkout | processor time, ms: median (min) | wall, ms: median (min) | cells in zones |');
console.log('| ---: | --- | ---: | ---: | ---: |');
for (const bins of options.bins) await measure(bins);
for (const tree of trees) await tree.close();

async function measure(bins: number): Promise<void> {
  const step = Math.floor(65536 / bins);
  const binning = { kind: 'even', low: 0, high: bins * step, width: step } as const;
  const counts = Object.fromEntries(trees.map(({ name, count }) => [name, () => count(binning)]));
  let inside = 0n;
  let expected = '';
  const times = await inTurns(counts, { rounds: options.rounds, warmUps: WARM_UP }, (found, name) => {
    inside = found.cells.reduce((sum, count) => sum + count, 0n);
    const digest = digestOf(found);
    expected ||= digest;
    if (digest !== expected) throw new Error(`${name}: ${digest} is not ${expected}.`);
  });
  for (const [name, took] of times) {
    const [cpu, wall] = (['processor', 'wall'] as const).map((field) => shown(took.map((each) => each[field])));
    console.log(`| ${bins} | ${name} | ${cpu} | ${wall} | ${inside} |`);
  }
}

/** A number that depends on every bin of every zone. */
function digestOf({ bins, above }: ZonalHistogram): string {
  let digest = 0;
  const words = new Uint32Array(bins.count.buffer);
  for (let row = 0; row < bins.zone.length; row++) {
    digest = (Math.imul(digest, 31) + bins.zone[row]! * 7 + bins.lower[row]! * 13 + words[2 * row]!) | 0;
  }
  return `${bins.zone.length} rows, ${above.reduce((sum, count) => sum + count, 0n)} above, ${digest}`;
}

function shown(seconds: readonly number[]): string {
  const { median, min } = spreadOf(seconds);
  return `${(1000 * median).toFixed(0)} (${(1000 * min).toFixed(0)})`;
}
