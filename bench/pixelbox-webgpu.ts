import { parseArgs } from 'node:util';
import { type RegionPairs, sharedRows } from '../algorithms/pixelbox/area-plan.ts';
import { type DeviceRuns, isNarrow, uploadRuns } from '../algorithms/pixelbox/device-runs.ts';
import type { GridPolygons } from '../algorithms/pixelbox/grid-polygons.ts';
import { type Regions, regionsOf } from '../algorithms/pixelbox/regions.ts';
import {
  addWideAreas,
  type DevicePairs,
  type MaskPlaces,
  narrowAreas,
  placeMasks,
  type RowMasks,
  rowMasks,
  uploadPairs,
} from '../algorithms/pixelbox/row-masks.ts';
import { createWebGpuBackend } from '../backends/webgpu/index.ts';
import { openNodeGpu } from '../backends/webgpu-node/index.ts';
import { Context } from '../primitives/context.ts';
import { type Column, constant, plus, reduce, u32 } from '../primitives/index.ts';
import { polygonPairs } from './polygon-pairs.ts';
import { scanlineAreas } from './polygon-scanline.ts';
import { openMemcpy, spread } from './webgpu-memcpy.ts';
import { printSteps, showSpread, timePipeline } from './webgpu-timing.ts';

/**
 * Areas of pairs of polygons with the statistics of pathology images, all in one call over columns that lie on the device,
 * by the device's own clock: drawing the masks of both sets, ‖p∩q‖ of all pairs, ‖p‖ and ‖q‖ of all polygons. Beside it the
 * copy of the vertices, 4 bytes each, from one buffer to another. Every area is compared with those of
 * `bench/polygon-scanline.ts`.
 *
 * node --import tsx bench/pixelbox-webgpu.ts [--adapter hardware|software] [--pairs 619609] [--scales 1,2,3,4,5] [--rounds 11]
 */
const { values: options } = parseArgs({
  options: {
    adapter: { type: 'string', default: 'hardware' },
    pairs: { type: 'string', default: '619609' },
    scales: { type: 'string', default: '1,2,3,4,5' },
    rounds: { type: 'string', default: '11' },
  },
});
const adapter = options.adapter === 'software' ? 'software' : 'hardware';
const rounds = Number(options.rounds);
const gpu = await openNodeGpu(adapter);
const backend = await createWebGpuBackend({ gpu, adapter, tuning: { commandsPerSubmission: 2 ** 20 } });
const context = new Context(backend);

const [tile] = [...polygonPairs({ pairs: Number(options.pairs), tiles: 1 })];
const { first, second, pairs } = tile!;
const vertices = first.x.length + second.x.length;
const expected = scanlineAreas(first, second, pairs);
console.log(`pairs    ${pairs.p.length} of ${count(first)} + ${count(second)} polygons, ${vertices} vertices`);
const memcpy = await openMemcpy(gpu, adapter, vertices * 4);
console.log(`copy     ${showSpread(spread(await memcpy.times(rounds)))} for 4 bytes a vertex, read and written`);
memcpy.close();
const warm = context.materialize(constant(u32, 1, adapter === 'hardware' ? 2 ** 28 : 2 ** 10));
const curve: [scale: number, milliseconds: number][] = [];
for (const scale of options.scales.split(',').map(Number)) curve.push([scale, await measure(scale)]);
if (curve.length > 1) console.log(`\nslope    ${slope(curve).toFixed(2)} of log time against log scale`);
await context.close();

function count({ polygonRings }: GridPolygons): number {
  return polygonRings.length - 1;
}

function scaled(polygons: GridPolygons, scale: number): GridPolygons {
  return { ...polygons, x: polygons.x.map((v) => v * scale), y: polygons.y.map((v) => v * scale) };
}

/** A set of regions on the device, and what its masks and its polygons' own areas need. */
interface Side {
  readonly regions: Regions;
  readonly runs: DeviceRuns;
  readonly places: MaskPlaces;
  /** Every region with itself. */
  readonly own: PairLists;
}

/** Pairs of narrow regions and others, as they go to their kernels. */
interface PairLists {
  readonly count: number;
  /** Numbers of the narrow pairs, in the order of their areas. */
  readonly short: Uint32Array;
  readonly narrow: DevicePairs;
  readonly wide: DevicePairs;
}

async function measure(scale: number): Promise<number> {
  const [p, q] = [sideOf(regionsOf(scaled(first, scale))), sideOf(regionsOf(scaled(second, scale)))];
  const lists = listPairs(p.regions, q.regions, pairs);
  const once = (): void => context.dispose(allAreas(p, q, lists));
  await check(p, q, lists, scale);
  const { total, steps } = await timePipeline(backend, heat, 'reduce', once, rounds);
  console.log(`\n## Scale ${scale}\n\ntotal     ${showSpread(total)}`);
  console.log(`masks     ${((4 * (p.places.words + q.places.words)) / 1e6).toFixed(0)} MB\n`);
  printSteps(steps);
  context.dispose(p.runs, p.places, p.own, q.runs, q.places, q.own, lists);
  return total.median;
}

function sideOf(regions: Regions): Side {
  const all = Uint32Array.from(regions.left, (_, region) => region);
  const places = placeMasks(context, regions, all);
  return { regions, runs: uploadRuns(context, regions), places, own: listPairs(regions, regions, { p: all, q: all }) };
}

function listPairs(p: Regions, q: Regions, all: RegionPairs): PairLists {
  const lists: Record<'narrow' | 'wide', number[]> = { narrow: [], wide: [] };
  for (let i = 0; i < all.p.length; i++) {
    lists[isNarrow(p, all.p[i]!) && isNarrow(q, all.q[i]!) ? 'narrow' : 'wide'].push(i);
  }
  const upload = (list: readonly number[]): DevicePairs => {
    const pair = Uint32Array.from(list);
    const numbered = { pair, p: pair.map((i) => all.p[i]!), q: pair.map((i) => all.q[i]!) };
    const rows = list.reduce((sum, i) => sum + sharedRows(p, all.p[i]!, q, all.q[i]!), 0);
    return uploadPairs(context, numbered, rows);
  };
  const short = Uint32Array.from(lists.narrow);
  return { count: all.p.length, short, narrow: upload(lists.narrow), wide: upload(lists.wide) };
}

type AreaColumns = { readonly narrow: Column<'u32'>; readonly wide: Column<'u32'> };

/** All that is timed: masks of both sides, areas of pairs, areas of polygons. */
function allAreas(p: Side, q: Side, lists: PairLists): Record<'shared' | 'ofP' | 'ofQ', AreaColumns> {
  return context.scope(() => {
    const masks = { p: rowMasks(context, p.runs, p.places), q: rowMasks(context, q.runs, q.places) };
    return {
      shared: areasOf(lists, masks.p, masks.q),
      ofP: areasOf(p.own, masks.p, masks.p),
      ofQ: areasOf(q.own, masks.q, masks.q),
    };
  });
}

function areasOf({ count, narrow, wide }: PairLists, p: RowMasks, q: RowMasks): AreaColumns {
  const areas = context.materialize(constant(u32, 0, wide.rows === 0 ? 0 : count));
  if (wide.rows > 0) addWideAreas(context, wide, p, q, areas);
  return { narrow: narrowAreas(context, narrow, p, q), wide: areas };
}

/** Half a second of work that the host records in little time. */
function heat(): void {
  const passes = adapter === 'hardware' ? 2 ** 12 : 1;
  for (let pass = 0; pass < passes; pass++) context.dispose(reduce(warm, plus(u32)));
}

async function check(p: Side, q: Side, lists: PairLists, scale: number): Promise<void> {
  const columns = allAreas(p, q, lists);
  const { shared, ofP, ofQ } = await context.read(columns);
  context.dispose(columns);
  const found = { shared: inOrder(lists, shared), p: inOrder(p.own, ofP), q: inOrder(q.own, ofQ) };
  for (let i = 0; i < lists.count; i++) {
    const same =
      found.shared[i] === expected.intersection[i]! * scale ** 2 &&
      found.p[pairs.p[i]!] === expected.p[i]! * scale ** 2 &&
      found.q[pairs.q[i]!] === expected.q[i]! * scale ** 2;
    if (!same) throw new Error(`The areas of pair ${i} are wrong at scale ${scale}.`);
  }
}

function inOrder(
  { count, short }: PairLists,
  areas: { readonly narrow: Uint32Array; readonly wide: Uint32Array },
): Uint32Array {
  const all = new Uint32Array(count);
  all.set(areas.wide);
  short.forEach((pair, i) => {
    all[pair] = areas.narrow[i]!;
  });
  return all;
}

/** The slope of the line through the logarithms, by least squares. */
function slope(points: readonly (readonly [number, number])[]): number {
  const logs = points.map(([scale, time]) => [Math.log(scale), Math.log(time)] as const);
  const mean = (axis: 0 | 1): number => logs.reduce((sum, point) => sum + point[axis], 0) / logs.length;
  const [x, y] = [mean(0), mean(1)];
  const along = logs.reduce((sum, [a]) => sum + (a - x) ** 2, 0);
  return logs.reduce((sum, [a, b]) => sum + (a - x) * (b - y), 0) / along;
}
