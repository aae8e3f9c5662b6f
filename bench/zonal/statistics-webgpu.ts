import { snapToGrid } from '../../algorithms/geometry/grid.ts';
import type { Cells, Sample } from '../../algorithms/geometry/raster.ts';
import { binEdges, cellColumn, createClassifier } from '../../algorithms/zonal/binning.ts';
import { countCells } from '../../algorithms/zonal/cell-counts.ts';
import { placeRows } from '../../algorithms/zonal/cell-places.ts';
import { wantedFolds } from '../../algorithms/zonal/counting-way.ts';
import { coverZones } from '../../algorithms/zonal/coverage.ts';
import type { MemberRows } from '../../algorithms/zonal/digit-counts.ts';
import { uploadEdges } from '../../algorithms/zonal/edge-table.ts';
import { type HomeGroups, homeGroups, NO_HOMES } from '../../algorithms/zonal/exact-sums.ts';
import { createFoldTotals } from '../../algorithms/zonal/fold-totals.ts';
import { valueOfOrderedWord } from '../../algorithms/zonal/ordered-words.ts';
import { placeZones } from '../../algorithms/zonal/placement.ts';
import { rankedWords, type SoughtRanks, selectRanks } from '../../algorithms/zonal/rank-selection.ts';
import { type ValueRows, windowValues } from '../../algorithms/zonal/value-rows.ts';
import { planWindow } from '../../algorithms/zonal/window-plan.ts';
import { zoneRows } from '../../algorithms/zonal/zone-cells.ts';
import { foldRows } from '../../algorithms/zonal/zone-folds.ts';
import { valueRange } from '../../algorithms/zonal/zone-ranks.ts';
import { readZones } from '../../formats/index.ts';
import { largestOf } from '../../primitives/host/extremes.ts';
import type { Column } from '../../primitives/index.ts';
import { openDevice } from '../shared/device.ts';
import { type Spread, spreadOf } from '../shared/measuring.ts';
import { programOptions } from '../shared/program-options.ts';
import { openMemcpy } from '../shared/webgpu-memcpy.ts';
import { printSteps, reduceAgain, showSpread, timePipeline } from '../shared/webgpu-timing.ts';
import { gridOf, terrain } from './terrain.ts';

/**
 * Times zonal statistics on the device, by the device's own clock: the US counties over a raster in the device's memory,
 * in windows as a job has them. The limit is a copy of the raster by `copyBufferToBuffer`. Sums are checked: the counts
 * of all samples must be equal. With `--median`, also times medians of the zones in each window, whose ranks were found
 * before; and, by the clock of the host, all that it does for them if it first reads what was folded. The medians of both
 * samples must be equal.
 *
 * node --import tsx bench/zonal/statistics-webgpu.ts [--adapter hardware|software] [--side 20000] [--rounds 7]
 *   [--window 16777216] [--samples i16,f32] [--statistics count,min,max,sum,mean,stdev] [--median] [--each]
 *   [--own-bins 4096] [--keyed-tile 65536] [--zones file] [--layer name]
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
  ...{ 'own-bins': 0, 'keyed-tile': 0 },
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
  histogram: {
    ...(options['own-bins'] > 0 && { ownBins: options['own-bins'] }),
    ...(options['keyed-tile'] > 0 && { keyedTile: options['keyed-tile'] }),
  },
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
let found: readonly number[] | undefined;
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
  const fold = ({ plan, column, places, homes }: Loaded) => {
    const covered = coverZones(context, edges, plan, places);
    const rows = zoneRows(context, covered);
    const found = { sample: sample as Sample, cells: column, classifier, homes };
    return { covered, rows, ...foldRows(context, folds, rows, plan.zones.length, found) };
  };
  const count = (window: Loaded): Column<'u32'> =>
    context.scope(() => {
      const { covered, counted } = fold(window);
      return countCells(context, covered, counted, classifier.slots);
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
  console.log(`\n## ${sample}, ${windows.length} windows\n`);
  console.log(`memcpy    ${copies.map((each) => each.toFixed(3)).join(' ')} ms for 2 bytes a cell`);
  console.log(`total     ${showSpread(time)}, ${total} cells in zones\n`);
  printSteps(byCommand(steps));
  if (options.each) printSteps(steps);
  if (options.median) await timeMedians();
  windows.forEach(({ column }) => void context.dispose(column));

  /** What is folded of a window, and the values of its zones. */
  function foldAndKeep(window: Loaded) {
    return context.scope(() => {
      const { covered, rows, counted, folded } = fold(window);
      const counts = countCells(context, covered, counted, classifier.slots);
      const { counts: valueCounts, ...values } = windowValues(
        context,
        sample,
        rows,
        counted,
        window.column,
        classifier,
      );
      return { read: { counts, folded: folded!, valueCounts }, values };
    });
  }

  function dispose(made: readonly ReturnType<typeof foldAndKeep>[]): void {
    context.dispose(made.map(({ read, values }) => [read, values.rows]));
  }

  /** Reads what was folded of a window, and finds the ranks of the medians. */
  async function rankMedians(
    { plan, homes }: Loaded,
    { read }: ReturnType<typeof foldAndKeep>,
  ): Promise<SoughtRanks[]> {
    const { folded, valueCounts } = await context.read(read);
    const totals = createFoldTotals(folds, plan.zones.length);
    const own = Uint32Array.from(plan.zones.keys());
    totals.add(own, folded, homes, { raster: 0, row: 0, column: 0, columns: side });
    return Array.from(valueCounts.zone, (zone, at) => {
      const values = valueCounts.values[at]!;
      const ranks = new Set([Math.floor((values - 1) / 2), Math.floor(values / 2)]);
      return { ...valueRange(sample, zone, totals.folded.get(zone)!), ranks: Array.from(ranks) };
    });
  }

  /** Times medians besides what else is folded. */
  async function timeMedians(): Promise<void> {
    const tables: SoughtRanks[][] = [];
    const medians: number[] = [];
    const scale = sample === 'i16' ? 1 : 4;
    for (const window of windows) {
      const made = foldAndKeep(window);
      const sought = await rankMedians(window, made);
      tables.push(sought);
      await selectRanks(context, [storeOf(window, made.values)], sought, (_zone, _rank, word) =>
        medians.push(Math.floor(valueOfOrderedWord(sample, word) * scale)),
      );
      dispose([made]);
    }
    const known = found ?? medians;
    found = known;
    if (known.length !== medians.length || medians.some((median, at) => median !== known[at])) {
      throw new Error('Medians of the samples differ.');
    }
    const bits = tables.map((sought) => largestOf(sought.map((each) => each.bits)));
    const zones = tables.map((sought) => sought.length);
    console.log(`\nmedians   of ${zones.join(', ')} zones in windows; values differ in up to ${bits.join(', ')} bits`);
    const select = (at: number, values: ValueRows): void => {
      context.dispose(rankedWords(context, [storeOf(windows[at]!, values)], tables[at]!));
    };
    const withMedians = (): void =>
      windows.forEach((window, at) => {
        const made = foldAndKeep(window);
        select(at, made.values);
        dispose([made]);
      });
    const whole = await timePipeline(backend, heat, 'reduce', withMedians, rounds);
    console.log(`with them ${showSpread(whole.total)}\n`);
    printSteps(byCommand(whole.steps));
    const kept = windows.map((window) => foldAndKeep(window));
    const selectAll = (): void => kept.forEach(({ values }, at) => void select(at, values));
    const alone = await timePipeline(backend, heat, 'reduce', selectAll, rounds);
    console.log(`\nselecting ${showSpread(alone.total)}\n`);
    printSteps(options.each ? alone.steps : byCommand(alone.steps));
    const firstAlone = await timePipeline(backend, heat, 'reduce', () => select(0, kept[0]!.values), rounds);
    console.log(`\nselecting in the first window ${showSpread(firstAlone.total)}\n`);
    printSteps(firstAlone.steps);
    await context.sync();
    const recording = await hostTimes(async () => selectAll());
    dispose(kept);
    const job = async (window: Loaded): Promise<void> => {
      const made = foldAndKeep(window);
      const sought = await rankMedians(window, made);
      await selectRanks(context, [storeOf(window, made.values)], sought, () => undefined);
      dispose([made]);
    };
    const inTurn = await hostTimes(async () => {
      for (const window of windows) await job(window);
    });
    const sideBySide = await hostTimes(async () => void (await Promise.all(windows.map(job))));
    const without = await hostTimes(async () => {
      const all = windows.map(foldAndKeep);
      await Promise.all(all.map(({ read }) => context.read(read)));
      dispose(all);
    });
    console.log(`\nby the clock of the host: ${showSpread(recording)} to record the selecting`);
    console.log(`all, window after window ${showSpread(inTurn)}, side by side ${showSpread(sideBySide)}`);
    console.log(`all but the selecting ${showSpread(without)}`);
  }
}

function storeOf({ plan }: Loaded, values: ValueRows): MemberRows {
  return { ...values, members: Uint32Array.from(plan.zones.keys()) };
}

/** Times a function by the clock of the host, after two runs that are not counted. */
async function hostTimes(run: () => Promise<void>): Promise<Spread> {
  const times: number[] = [];
  for (let round = -2; round < rounds; round++) {
    const start = performance.now();
    await run();
    if (round >= 0) times.push(performance.now() - start);
    await context.sync();
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
