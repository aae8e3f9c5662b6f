import { cpus } from 'node:os';
import { snapToGrid } from '../../algorithms/geometry/grid.ts';
import { uploadLines } from '../../algorithms/zonal/fractions/line-table.ts';
import { windowFractions } from '../../algorithms/zonal/fractions/window-fractions.ts';
import { type Pixels, zonalHistogram } from '../../algorithms/zonal/index.ts';
import { placeZones } from '../../algorithms/zonal/placement.ts';
import { planWindow, windowsOf } from '../../algorithms/zonal/window-plan.ts';
import { readZones } from '../../formats/index.ts';
import { open } from '../../on-node.ts';
import { inTurns, spreadOf } from '../shared/measuring.ts';
import { programOptions } from '../shared/program-options.ts';
import { conusGrid, inMemory, terrain } from './terrain.ts';

/**
 * Measures what it costs to know which cells zones touch, and the fractions of these cells, over a synthetic relief of u16
 * in memory, with the US counties as zones: statistics of cells by their centres, statistics of all touched cells, statistics
 * by fractions, and the fractions alone.
 *
 * node --import tsx bench/zonal/zonal-pixels.ts [--cells 200e6] [--rounds 5] [--workers 2]
 */
const options = programOptions({ cells: 200e6, rounds: 5, workers: 2 });

const grid = conusGrid(options.cells);
const { width, height } = grid;
const raster = inMemory(grid, terrain({ row: 0, column: 0, rows: height, columns: width }));
const { zones } = await readZones('node_modules/us-atlas/counties-10m.json', { layer: 'counties' });
const context = await open({ backend: 'workers', workers: options.workers });

/** Cells of a window. */
const WINDOW = 2 ** 24;

async function counted(pixels: Pixels): Promise<bigint> {
  const { cells } = await zonalHistogram(context, { zones, raster, pixels, binning: { kind: 'none' } });
  return cells.reduce((sum, count) => sum + count, 0n);
}

async function fractions(): Promise<bigint> {
  const placed = placeZones(snapToGrid(zones.polygons, grid, zones), grid, zones);
  const lines = uploadLines(context, placed, grid);
  for (const window of windowsOf(grid, { rows: Math.floor(WINDOW / width), columns: width })) {
    const plan = planWindow(window, placed.boxes, zones.names.length, 64);
    const found = context.scope(() => windowFractions(context, lines, plan));
    await context.sync(found);
    context.dispose(found);
  }
  context.dispose(lines.lines);
  return 0n;
}

const ways = {
  'by centres': () => counted('center'),
  'all touched': () => counted('all-touched'),
  'by fractions': () => counted('fractional'),
  'fractions alone': fractions,
};
console.log(`machine  ${cpus().length} × ${cpus()[0]!.model}, Node ${process.version}, ${options.workers} workers`);
console.log(`raster   ${width} × ${height} u16, ${zones.names.length} zones\n`);
console.log('| cells | processor time, ms: median (min) | wall, ms: median (min) | cells in zones |');
console.log('| --- | ---: | ---: | ---: |');
const cells = new Map<string, bigint>();
const times = await inTurns(ways, { rounds: options.rounds, warmUps: 2 }, (found, name) => void cells.set(name, found));
for (const [name, took] of times) {
  const [cpu, wall] = (['processor', 'wall'] as const).map((field) => {
    const { median, min } = spreadOf(took.map((each) => each[field]));
    return `${(1000 * median).toFixed(0)} (${(1000 * min).toFixed(0)})`;
  });
  console.log(`| ${name} | ${cpu} | ${wall} | ${cells.get(name) || ''} |`);
}
await context.close();
