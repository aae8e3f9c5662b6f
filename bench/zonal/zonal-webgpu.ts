import { snapToGrid } from '../../algorithms/geometry/grid.ts';
import { binEdges, createClassifier } from '../../algorithms/zonal/binning.ts';
import { placeRows } from '../../algorithms/zonal/cell-places.ts';
import { countsTiles } from '../../algorithms/zonal/counting-way.ts';
import { coverZones } from '../../algorithms/zonal/coverage.ts';
import { uploadEdges } from '../../algorithms/zonal/edge-table.ts';
import { placeZones } from '../../algorithms/zonal/placement.ts';
import { windowHistogram } from '../../algorithms/zonal/window-histogram.ts';
import { planWindow } from '../../algorithms/zonal/window-plan.ts';
import { readZones } from '../../formats/index.ts';
import { Column } from '../../primitives/columns/column.ts';
import { fn, map, plus, reduce, u32 } from '../../primitives/index.ts';
import { openDevice } from '../shared/device.ts';
import { type Spread, spreadOf } from '../shared/measuring.ts';
import { programOptions } from '../shared/program-options.ts';
import { openMemcpy } from '../shared/webgpu-memcpy.ts';
import { printSteps, showSpread, type TimedPipeline, timePipeline } from '../shared/webgpu-timing.ts';
import { scanline } from './scanline.ts';
import { gridOf, terrain } from './terrain.ts';

/**
 * Times zonal histograms on the device, by the device's own clock: the US counties over a raster of u16. Also times two
 * copies of the raster (by copyBufferToBuffer and by a kernel), and prints the histogram's time relative to each copy.
 * For every raster, the counts must equal the counts of `bench/zonal/scanline.ts`, bin by bin.
 *
 * node --import tsx bench/zonal/zonal-webgpu.ts [--adapter hardware|software] [--side 20000] [--bins 256] [--rounds 11]
 *   [--tile 64] [--rasters terrain,noise,flat] [--zones file] [--layer name] [--own-bins N] [--keyed-tile N]
 */
const options = programOptions({
  ...{ adapter: 'hardware', side: 20000, bins: 256, rounds: 11, tile: 64 },
  ...{ rasters: 'terrain,noise,flat', zones: 'node_modules/us-atlas/counties-10m.json' },
  ...{ layer: 'counties', 'own-bins': undefined, 'keyed-tile': undefined },
});
const { side, bins, rounds, tile } = options;

const same = fn('same', { word: u32 }, u32, ({ word }) => word);
/** The name of the kernel that warms up the device; the measured job does not use this kernel. */
const WARMING = 'reduce';

const { adapter, gpu, backend, context, name: device } = await openTuned();
const grid = gridOf(side, side);
const { zones } = await readZones(options.zones, { layer: options.layer });
const placed = placeZones(snapToGrid(zones.polygons, grid), grid);
const window = { row: 0, column: 0, rows: side, columns: side };
const plan = planWindow(window, placed.boxes, zones.names.length, tile);
const edges = uploadEdges(context, placed, grid);
const binning = binEdges({ kind: 'even', low: 0, high: 65536, width: 65536 / bins });
const classifier = createClassifier(context, { sample: 'u16', nodata: undefined }, binning);
const slotOf = Uint16Array.from({ length: 65536 }, (_, value) => Math.floor((value * bins) / 65536));

console.log(`adapter   ${device}`);
console.log(
  `raster    ${side} × ${side} u16, ${bins} bins, ${plan.zones.length} of ${zones.names.length} zones meet it`,
);
console.log(
  `plan      tiles of ${tile} × ${tile}, ${plan.pairs} pairs, ${((plan.words * 4) / 1e6).toFixed(0)} MB of bitmaps`,
);

const memcpy = await openMemcpy(gpu, adapter, Math.ceil((side * side) / 2) * 4);
for (const name of options.rasters.split(',')) await measure(name);
memcpy.close();
await context.close();

/** Opens the device with the chosen tuning of histograms. */
async function openTuned(): ReturnType<typeof openDevice> {
  const change = { ownBins: options['own-bins'], keyedTile: options['keyed-tile'] };
  const wanted = Object.entries(change).flatMap(([key, value]) => (value === undefined ? [] : [[key, Number(value)]]));
  const plain = await openDevice(options.adapter);
  const histogram = { ...plain.backend.tuning.histogram, ...Object.fromEntries(wanted) };
  await plain.context.close();
  return openDevice(options.adapter, { histogram });
}

async function measure(name: string): Promise<void> {
  const cells = rasterOf(name);
  const column = upload(cells);
  const places = placeRows(plan, cells);
  const inTiles = countsTiles(plan, classifier.slots.count);
  const count = (): Column<'u32'> =>
    context.scope(() =>
      windowHistogram(context, coverZones(context, edges, plan, places), column, classifier, inTiles),
    );
  const once = (): void => context.dispose(count());
  const first = count();
  const inside = check(await context.read(first), cells);
  context.dispose(first);

  const heat = (): void => warmUp(column);
  const words = wordsUnder(column);
  const copy = (): void => context.dispose(copyOf(words));
  const { total, steps } = await timePipeline(backend, heat, WARMING, once, rounds);
  const { total: mapped } = await timePipeline(backend, heat, WARMING, copy, rounds);
  const copies = await memcpy.times(rounds);
  context.dispose(column);
  console.log(`\n## ${name}\n`);
  report(inside, total, spreadOf(copies), mapped, steps);
}

/**
 * Warms up a hardware device for about half a second, because an idle GPU needs some tenths of a second to raise its
 * clock frequency. The work consists of reductions, which the host records quickly.
 */
function warmUp(column: Column<'u32'>): void {
  const passes = adapter === 'hardware' ? Math.ceil(2 ** 40 / column.capacity) : 1;
  for (let pass = 0; pass < passes; pass++) context.dispose(reduce(column, plus(u32)));
}

/** A column of the words in which the u16 cells are packed. It shares its memory with the column of cells. */
function wordsUnder({ source, capacity }: Column<'u32'>): Column<'u32'> {
  if (source.kind === 'view') throw new TypeError('the raster is not stored');
  return new Column(context, 'u32', Math.ceil(capacity / 2), { ...source, storage: 'u32' });
}

function copyOf(words: Column<'u32'>): Column<'u32'> {
  return context.materialize(map(same, { word: words }));
}

function rasterOf(name: string): Uint16Array {
  if (name === 'terrain') return terrain(window);
  const cells = new Uint16Array(side * side);
  if (name === 'flat') return cells.fill(12345);
  if (name !== 'noise') throw new RangeError(`no raster is called ${name}`);
  for (let i = 0; i < cells.length; i++) {
    const hash = Math.imul(i ^ (i >>> 15), 0x2c1b3c6d);
    cells[i] = Math.imul(hash ^ (hash >>> 12), 0x297a2d39) >>> 16;
  }
  return cells;
}

/** Uploads cells into a packed column, piece by piece. */
function upload(cells: Uint16Array): Column<'u32'> {
  const words = Math.ceil(cells.length / 2);
  const memory = context.allocate(words);
  const step = 2 ** 24;
  for (let from = 0; from < words; from += step) {
    const piece = new Uint32Array(Math.min(step, words - from));
    new Uint16Array(piece.buffer).set(cells.subarray(from * 2, (from + piece.length) * 2));
    backend.write(memory.buffer, from, piece);
  }
  return new Column(context, 'u32', cells.length, { kind: 'stored', memory, storage: 'u16', offset: 0 });
}

/** Throws if a count differs from the count of `scanline`. Returns the number of cells in zones. */
function check(counts: Uint32Array, cells: Uint16Array): number {
  const expected = scanline({ polygons: zones.polygons, grid, cells, slotOf, slots: bins });
  const found = new Uint32Array(expected.length);
  const { slots } = classifier;
  plan.zones.forEach((zone, local) => {
    for (let bin = 0; bin < bins; bin++) found[zone * bins + bin] = counts[local * slots.count + bin]!;
  });
  const wrong = found.findIndex((count, i) => count !== expected[i]);
  if (wrong >= 0) throw new Error(`Count ${wrong} is ${found[wrong]}, not ${expected[wrong]}.`);
  const sum = (numbers: Iterable<number>): number => Array.from(numbers).reduce((total, count) => total + count, 0);
  if (sum(counts) !== sum(found)) throw new Error('Cells were counted outside of the bins.');
  return sum(found);
}

function report(inside: number, total: Spread, copy: Spread, mapped: Spread, steps: TimedPipeline['steps']): void {
  console.log(`memcpy    ${showSpread(copy)} by copyBufferToBuffer`);
  console.log(`          ${showSpread(mapped)} by a kernel`);
  console.log(`total     ${showSpread(total)}`);
  console.log(`ratio     ${(total.median / copy.median).toFixed(2)}, ${(total.median / mapped.median).toFixed(2)}`);
  console.log(`rate      ${(inside / total.median / 1e6).toFixed(1)} G cells in zones a second, of ${inside} cells\n`);
  printSteps(steps);
}
