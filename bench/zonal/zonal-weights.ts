import type { RasterSource } from '../../algorithms/geometry/raster.ts';
import { zonalHistogram } from '../../algorithms/zonal/index.ts';
import { readZones } from '../../formats/index.ts';
import { open } from '../../on-node.ts';
import { inTurns, machine, spread } from '../shared/measuring.ts';
import { programOptions } from '../shared/program-options.ts';
import { conusGrid, inMemory, terrain } from './terrain.ts';

/**
 * Measures what statistics with weights cost beside those without: processor time on workers, over a synthetic relief of f32
 * in memory, with the US counties as zones. Weights grow with e from cell to cell at random, over so many powers of e, and a
 * third of them are 0.
 *
 * node --import tsx bench/zonal/zonal-weights.ts [--cells 40e6] [--rounds 5] [--powers 10,90] [--pixels center] [--workers 2]
 */
const options = programOptions({ cells: 40e6, rounds: 5, powers: [10, 90], pixels: 'center', workers: 2 });

const grid = conusGrid(options.cells);
const { width, height } = grid;
const { zones } = await readZones('node_modules/us-atlas/counties-10m.json', { layer: 'counties' });
const relief = terrain({ row: 0, column: 0, rows: height, columns: width });
const raster = inFloats(Float32Array.from(relief, (word) => word / 16));

/** A raster of f32, which has the rows of windows without a copy. */
function inFloats(cells: Float32Array): RasterSource {
  const read: RasterSource['read'] = async ({ row, column, rows, columns }) => {
    if (columns !== width) throw new Error(`A window starts at column ${column}.`);
    return cells.subarray(row * width, (row + rows) * width);
  };
  return { ...inMemory(grid, relief), sample: 'f32', read };
}

function weightsOver(powers: number): RasterSource {
  let seed = 1;
  const masses = new Float32Array(relief.length);
  for (let cell = 0; cell < masses.length; cell++) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    masses[cell] = seed % 3 === 0 ? 0 : Math.exp((seed / 2 ** 32 - 0.5) * powers);
  }
  return inFloats(masses);
}

await using context = await open({ backend: 'workers', workers: options.workers });
const common = { zones, raster, binning: { kind: 'none' }, pixels: options.pixels as 'center' } as const;
const works: Record<string, () => Promise<unknown>> = {
  'mean, stdev': () => zonalHistogram(context, { ...common, statistics: ['mean', 'stdev'] }),
};
for (const powers of options.powers) {
  const weights = weightsOver(powers);
  for (const statistics of [['weighted_mean'], ['weighted_mean', 'weighted_stdev']] as const)
    works[`${statistics.join(', ')}; e^${powers}`] = () => zonalHistogram(context, { ...common, weights, statistics });
}
console.log(`machine  ${machine()}, ${options.workers} workers`);
console.log(`raster   ${width} × ${height} f32, ${zones.names.length} zones, ${options.pixels}\n`);
console.log('| statistics; weights | processor time, s: median (range) | wall, s: median (range) |');
console.log('| --- | --- | --- |');
for (const [name, took] of await inTurns(works, { rounds: options.rounds }))
  console.log(`| ${name} | ${spread(took.map((each) => each.processor))} | ${spread(took.map((each) => each.wall))} |`);
