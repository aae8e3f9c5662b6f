import { snapToGrid } from '../../algorithms/geometry/grid.ts';
import type { Cells, Sample } from '../../algorithms/geometry/raster.ts';
import { binEdges, type Classifier, cellColumn, createClassifier } from '../../algorithms/zonal/binning.ts';
import { countCells } from '../../algorithms/zonal/cell-counts.ts';
import { placeRows } from '../../algorithms/zonal/cell-places.ts';
import { wantedFolds } from '../../algorithms/zonal/counting-way.ts';
import { coverZones } from '../../algorithms/zonal/coverage.ts';
import { uploadEdges } from '../../algorithms/zonal/edge-table.ts';
import { type HomeGroups, homeGroups, NO_HOMES } from '../../algorithms/zonal/exact-sums.ts';
import type { Fold } from '../../algorithms/zonal/fold.ts';
import { orderedWord } from '../../algorithms/zonal/ordered-words.ts';
import { placeZones } from '../../algorithms/zonal/placement.ts';
import { rankTarget } from '../../algorithms/zonal/rank-search.ts';
import { selectRanks } from '../../algorithms/zonal/rank-selection.ts';
import { windowValues } from '../../algorithms/zonal/value-rows.ts';
import { planWindow } from '../../algorithms/zonal/window-plan.ts';
import { type ZoneRows, zoneRows } from '../../algorithms/zonal/zone-cells.ts';
import { type CountedRows, foldRows } from '../../algorithms/zonal/zone-folds.ts';
import { readZones } from '../../formats/index.ts';
import { type Column, slice } from '../../primitives/index.ts';
import { openDevice } from '../shared/device.ts';
import { type Spread, spreadOf } from '../shared/measuring.ts';
import { programOptions } from '../shared/program-options.ts';
import { openMemcpy } from '../shared/webgpu-memcpy.ts';
import { printSteps, reduceAgain, showSpread, timePipeline } from '../shared/webgpu-timing.ts';
import { gridOf, terrain } from './terrain.ts';

/**
 * Times zonal statistics on the device, by the device's own clock: the US counties over a raster in the device's memory,
 * in windows as a job has them. The limit is a copy of the raster by `copyBufferToBuffer`. Sums are checked: the counts
 * of all samples must be equal. With `--median`, also times medians of the zones in each window, by the clock of the host,
 * which waits for counts of digits in between.
 *
 * node --import tsx bench/zonal/statistics-webgpu.ts [--adapter hardware|software] [--side 20000] [--rounds 7]
 *   [--window 16777216] [--samples i16,f32] [--statistics count,min,max,sum,mean,stdev] [--median]
 *   [--zones file] [--layer name]
 */
const options = programOptions({
  ...{
    adapter: 'hardware',
    side: 20000,
    rounds: 7,
    window: 2 ** 24,
    tile: 64,
    tries: 0,
    groups: 0,
    samples: 'i16,f32',
  },
  ...{ each: false, median: false, statistics: 'count,min,max,sum,mean,stdev' },
  ...{ zones: 'node_modules/us-atlas/counties-10m.json', layer: 'counties' },
});
const { side, rounds, tile } = options;
const statistics = options.statistics.split(',');
const binning = { kind: 'none' } as const;

const {
  adapter,
  gpu,
  backend,
  context,
  name: device,
} = await openDevice(options.adapter, {
  ...(options.tries > 0 && { scan: { tries: options.tries } }),
  ...(options.groups > 0 && { forEach: { groups: options.groups } }),
});
const grid = gridOf(side, side);
const { zones } = await readZones(options.zones, { layer: options.layer });
const placed = placeZones(snapToGrid(zones.polygons, grid), grid);
const edges = uploadEdges(context, placed, grid);

console.log(`adapter   ${device}`);
console.log(`raster    ${side} × ${side}, ${zones.names.length} zones, ${statistics.join(', ')}`);
const rowsOfWindow = Math.max(tile, Math.floor(options.window / side / tile) * tile);
// All windows have the same cells, because making relief takes long.
const relief = terrain({ row: 0, column: 0, rows: Math.min(rowsOfWindow, side), columns: side });
const memcpy = await openMemcpy(gpu, adapter, Math.ceil((side * side) / 2) * 4);
let counted: number | undefined;
for (const sample of options.samples.split(',')) await measure(sample as 'i16' | 'f32');
memcpy.close();
await context.close();

interface Loaded {
  readonly plan: ReturnType<typeof planWindow>;
  readonly column: Column<'u32'>;
  readonly places: ReturnType<typeof placeRows>;
  readonly homes: HomeGroups;
}

async function measure(sample: 'i16' | 'f32'): Promise<void> {
  const classifier = createClassifier(context, { sample, nodata: -9999 }, binEdges(binning));
  const folds = wantedFolds({ binning, statistics }, sample);
  const windows: Loaded[] = [];
  for (let row = 0; row < side; row += rowsOfWindow) {
    const window = { row, column: 0, rows: Math.min(rowsOfWindow, side - row), columns: side };
    const plan = planWindow(window, placed.boxes, zones.names.length, tile);
    const cells = cellsOf(sample, relief.subarray(0, window.rows * side));
    const homes = sample === 'f32' ? homeGroups(cells, -9999) : NO_HOMES;
    windows.push({ plan, column: cellColumn(context, cells), places: placeRows(plan, cells), homes });
  }
  const count = ({ plan, column, places, homes }: Loaded): Column<'u32'> =>
    context.scope(() => {
      const covered = coverZones(context, edges, plan, places);
      const rows = zoneRows(context, covered);
      const found = { sample: sample as Sample, cells: column, classifier, homes };
      const { counted: cells } = foldRows(context, folds, rows, plan.zones.length, found);
      return countCells(context, covered, cells, classifier.slots);
    });
  const once = (): void => windows.forEach((window) => void context.dispose(count(window)));
  let total = 0;
  for (const window of windows) {
    const counts = count(window);
    total += (await context.read(counts)).reduce((sum, each) => sum + each, 0);
    context.dispose(counts);
  }
  if (counted !== undefined && counted !== total) throw new Error(`${total} cells were counted, not ${counted}.`);
  counted = total;

  const heat = (): void => reduceAgain(context, windows[0]!.column, adapter === 'hardware' ? 2 ** 11 : 1);
  const { total: time, steps } = await timePipeline(backend, heat, 'reduce', once, rounds);
  const copies = await memcpy.times(rounds);
  const medians = options.median ? await timeMedians(sample, windows, classifier, folds) : undefined;
  windows.forEach(({ column }) => void context.dispose(column));
  console.log(`\n## ${sample}, ${windows.length} windows\n`);
  if (medians !== undefined) console.log(`medians   ${showSpread(medians)} besides, by the clock of the host`);
  console.log(`memcpy    ${copies.map((each) => each.toFixed(3)).join(' ')} ms for 2 bytes a cell`);
  console.log(`total     ${showSpread(time)}, ${total} cells in zones\n`);
  printSteps(byCommand(steps));
  if (options.each) printSteps(steps);
}

/** Times the medians of the zones of all windows, beside what else is folded. */
async function timeMedians(
  sample: 'i16' | 'f32',
  windows: readonly Loaded[],
  classifier: Classifier,
  folds: readonly Fold[],
): Promise<Spread> {
  // As a job knows the extremes of each zone, this one knows those of all cells.
  const [low, high] = [0, 2 ** 16].map((height) => orderedWord(sample, sample === 'i16' ? height >> 1 : height / 8));
  const bits = 32 - Math.clz32(high! - low!);
  const times: number[] = [];
  for (let round = 0; round <= options.rounds; round++) {
    let milliseconds = 0;
    for (const { plan, column, places, homes } of windows) {
      const members = Uint32Array.from(plan.zones);
      const counted = context.scope(() => {
        const rows = zoneRows(context, coverZones(context, edges, plan, places));
        const found = { sample: sample as Sample, cells: column, classifier, homes };
        const { counted } = foldRows(context, folds, rows, plan.zones.length, found);
        return context.materialize({ rows, counted } as never) as unknown as { rows: ZoneRows; counted: CountedRows };
      });
      await context.read(slice(counted.rows.zone, 0, 1));
      const start = performance.now();
      const values = context.scope(() =>
        windowValues(context, sample, counted.rows, counted.counted, column, classifier),
      );
      const sought = Array.from(members, (zone) => ({ zone, low: low!, bits, before: 0 }));
      const found = new Set<number>();
      const ranksOf = (_: number, count: number) =>
        count === 0 ? [] : [Math.floor((count - 1) / 2), Math.floor(count / 2)].map(rankTarget);
      await selectRanks(context, [{ ...values, members }], sought, ranksOf, (zone) => void found.add(zone));
      milliseconds += performance.now() - start;
      if (found.size !== members.length) throw new Error('A zone has no median.');
      context.dispose(values.rows, values.lengths, counted);
    }
    if (round > 0) times.push(milliseconds);
  }
  return spreadOf(times);
}

/** Steps of all windows, those of one command added up. */
function byCommand(steps: Awaited<ReturnType<typeof timePipeline>>['steps']): typeof steps {
  const sums = new Map<string, { command: string; median: number; min: number; max: number }>();
  for (const { command, median, min, max } of steps) {
    const so = sums.get(command) ?? { command, median: 0, min: 0, max: 0 };
    sums.set(command, { command, median: so.median + median, min: so.min + min, max: so.max + max });
  }
  return [...sums.values()].sort((a, b) => b.median - a.median);
}

function cellsOf(sample: 'i16' | 'f32', relief: Uint16Array): Cells {
  const cells = sample === 'i16' ? new Int16Array(relief.length) : new Float32Array(relief.length);
  // Written cell by cell for speed.
  for (let at = 0; at < cells.length; at++) cells[at] = sample === 'i16' ? relief[at]! >> 1 : relief[at]! / 8;
  return cells;
}
