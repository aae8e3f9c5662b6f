import { writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { basename } from 'node:path';
import type { Context } from '../../primitives/index.ts';
import { measuredOn } from '../shared/measured.ts';
import { spread } from '../shared/measuring.ts';
import { openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';
import { bySize, readParts } from './map-polygons.ts';
import { DEPTH_FIRST, measureDecompositions } from './quadtree-decompose.ts';
import type { Bench, Experiment, Measured, Measurement } from './quadtree-experiment.ts';
import { measurePolygonQueries } from './quadtree-polygon-queries.ts';
import { measureSteps } from './quadtree-steps.ts';
import { measureTrees } from './quadtree-trees.ts';
import { measureWindows } from './quadtree-windows.ts';

/**
 * The experiments of Zhang, You and Gruenwald, Data Parallel Quadtree Indexing and Spatial Query Processing of Complex
 * Polygon Data on GPUs, 2014, repeated on open data. Groups of polygons with similar numbers of vertices are decomposed
 * by three methods into several numbers of levels. Then trees are built, and queried with windows and with polygons.
 * `--backend` selects plain JavaScript on one thread, workers and WebGPU; all of them must find equal numbers of
 * results. Writes one file with the measurements of this machine. `bench/quadtree/quadtree-paper-plots.ts` draws
 * figures from one or more such files.
 *
 * node --max-old-space-size=8192 --import tsx bench/quadtree/quadtree-paper.ts --polygons map.geo.json --out FILE
 *   [--source 'npm package'] [--label 'machine'] [--backend plain,workers,webgpu] [--adapter hardware] [--workers 2]
 *   [--groups 10,100,1000,10000,100000] [--levels 12,13,14,15] [--experiments decompose,trees,windows,polygon-queries,steps]
 *   [--rounds 3] [--patience 30] [--commit HASH]
 *
 * Polygons are GeoJSON, or a file made by `bench/quadtree/pack-map.ts`.
 */
const options = programOptions({
  ...{ polygons: undefined, out: undefined, source: undefined },
  ...{ label: `${cpus().length} × ${cpus()[0]!.model}`, backend: 'plain,workers' },
  ...{ adapter: undefined, workers: 2, groups: [10, 100, 1000, 10000, 100000] },
  ...{ levels: [12, 13, 14, 15], experiments: 'decompose,trees,windows,polygon-queries,steps' },
  ...{ rounds: 3, patience: 30, commit: undefined },
});
if (options.polygons === undefined || options.out === undefined) {
  throw new Error(
    'Name the polygons and the file for the measurements: --polygons map.geo.json --out measurements.json',
  );
}

/** The experiments by name; figures select measurements by these names. */
const EXPERIMENTS: Record<string, Experiment> = {
  decompose: measureDecompositions,
  trees: measureTrees,
  windows: measureWindows,
  'polygon-queries': measurePolygonQueries,
  steps: measureSteps,
};

const map = await readParts(options.polygons);
const bounds = options.groups;
const groups = bounds.slice(1).map((to, i) => {
  const from = bounds[i]!;
  return { name: `${from.toLocaleString('en')}–${to.toLocaleString('en')}`, polygons: bySize(map, from, to) };
});
const measurements: Measurement[] = [];
const gpus = new Set<string>();
for (const backend of options.backend.split(',')) await runOn(backend);
const here = await measuredOn(options.label);
const measured: Measured = {
  ...{ ...here, machine: [here.machine, ...gpus].join('; '), commit: options.commit ?? here.commit },
  source: options.source ?? basename(options.polygons),
  groups: groups.map(({ name, polygons: { polygonRings, x } }) => ({
    name,
    polygons: polygonRings.length - 1,
    vertices: x.length,
  })),
  measurements,
};
await writeFile(options.out, `${JSON.stringify(measured)}\n`);

async function runOn(backend: string): Promise<void> {
  if (backend === 'plain') return runAll('one thread', undefined);
  await using context = await openNamed({ ...options, backend });
  const { info } = context.backend as { readonly info?: GPUAdapterInfo };
  if (info !== undefined) gpus.add(info.description || info.device || info.vendor);
  await runAll(backend === 'workers' ? `${options.workers} workers` : 'WebGPU', context);
}

async function runAll(on: string, context: Context | undefined): Promise<void> {
  const bench: Bench = {
    on,
    context,
    map,
    groups,
    ...{ levels: options.levels, rounds: options.rounds, patience: options.patience },
    record: (measurement) => record({ ...measurement, on }),
  };
  for (const name of options.experiments.split(',')) {
    const before = context?.backend.counters.liveBytes;
    await EXPERIMENTS[name]!(bench);
    const left = context?.backend.counters.liveBytes;
    if (left !== before)
      throw new Error(`${name} on ${on} did not free all memory: ${left} bytes on the device, before it ${before}.`);
  }
}

function record(measurement: Measurement): void {
  const { experiment, on, group, method, x, found, seconds } = measurement;
  const other = measurements.find((one) => questionOf(one) === questionOf(measurement) && one.found !== found);
  if (other !== undefined) {
    throw new Error(
      `${experiment} ${group} ${x}: ${method} on ${on} finds ${found}, ${other.method} on ${other.on} ${other.found}.`,
    );
  }
  measurements.push(measurement);
  console.log(
    [experiment, on, group, method, x, found, `${spread(seconds, 4)} s`].filter((part) => part !== '').join('  '),
  );
}

/**
 * Returns a key that is equal for measurements that must have equal `found`. The method "depth first" has its own keys,
 * because its quadrants inside a polygon may be smaller; all other methods give the same quadrants.
 */
function questionOf({ experiment, group, method, x }: Measurement): string {
  return [experiment, group, method === DEPTH_FIRST ? method : '', x].join('|');
}
