import {
  addBandedAreas,
  bandedMasks,
  uploadBandedPairs,
  uploadBandedRuns,
} from '../../algorithms/pixelbox/banded-masks.ts';
import type { GridPolygons } from '../../algorithms/pixelbox/grid-polygons.ts';
import { isNarrow, narrowAreas, narrowMasks, uploadNarrowRegions } from '../../algorithms/pixelbox/narrow-masks.ts';
import type { NumberedPairs } from '../../algorithms/pixelbox/pair-tables.ts';
import { type Regions, regionsOf } from '../../algorithms/pixelbox/regions.ts';
import { type Column, constant, u32 } from '../../primitives/index.ts';
import { openDevice } from '../shared/device.ts';
import { logSlope } from '../shared/log-slope.ts';
import { spreadOf } from '../shared/measuring.ts';
import { programOptions } from '../shared/program-options.ts';
import { openMemcpy } from '../shared/webgpu-memcpy.ts';
import { printSteps, reduceAgain, showSpread, timePipeline } from '../shared/webgpu-timing.ts';
import { polygonPairs } from './polygon-pairs.ts';
import { scanlineAreas } from './polygon-scanline.ts';

/**
 * Times, by the device's own clock, the computation of areas of pairs of polygons. The synthetic polygons have the
 * statistics of pathology images. One call processes all pairs, in columns on the device: it draws the masks of both
 * sets, and computes ‖p∩q‖ of all pairs, and ‖p‖ and ‖q‖ of all polygons. For comparison, a copy of 4 bytes per vertex
 * from one buffer to another is timed too. Every area must equal the area computed by
 * `bench/polygons/polygon-scanline.ts`.
 *
 * node --import tsx bench/polygons/pixelbox-webgpu.ts [--adapter hardware|software] [--pairs 619609] [--scales 1,2,3,4,5] [--rounds 11]
 */
const options = programOptions({ adapter: 'hardware', pairs: 619609, scales: [1, 2, 3, 4, 5], rounds: 11 });
const { rounds } = options;
const { adapter, gpu, backend, context } = await openDevice(options.adapter);

const [tile] = [...polygonPairs({ pairs: options.pairs, tiles: 1 })];
const { first, second, pairs } = tile!;
const vertices = first.x.length + second.x.length;
const expected = scanlineAreas(first, second, pairs);
console.log(`pairs    ${pairs.p.length} of ${count(first)} + ${count(second)} polygons, ${vertices} vertices`);
const memcpy = await openMemcpy(gpu, adapter, Math.ceil(vertices / 64) * 256);
console.log(`copy     ${showSpread(spreadOf(await memcpy.times(rounds)))} for 4 bytes a vertex, read and written`);
memcpy.close();
const warm = context.materialize(constant(u32, 1, adapter === 'hardware' ? 2 ** 29 : 2 ** 10));
const curve: [scale: number, milliseconds: number][] = [];
for (const scale of options.scales) curve.push([scale, await measure(scale)]);
if (curve.length > 1) console.log(`\nslope    ${logSlope(curve).toFixed(2)} of log time against log scale`);
await context.close();

function count({ polygonRings }: GridPolygons): number {
  return polygonRings.length - 1;
}

function scaled(polygons: GridPolygons, scale: number): GridPolygons {
  return { ...polygons, x: polygons.x.map((v) => v * scale), y: polygons.y.map((v) => v * scale) };
}

/** Pairs that one kernel processes together, uploaded to the device. */
interface Prepared {
  readonly list: Uint32Array;
  /**
   * Indices of the regions that occur in the pairs of `list`. `areas()` returns the intersections of the pairs first,
   * then the areas of these regions of p, and then the areas of these regions of q.
   */
  readonly members: { readonly p: Uint32Array; readonly q: Uint32Array };
  areas(): Column<'u32'>;
  dispose(): void;
}

async function measure(scale: number): Promise<number> {
  const [p, q] = [regionsOf(scaled(first, scale)), regionsOf(scaled(second, scale))];
  const narrow = (pair: number): boolean => isNarrow(p, pairs.p[pair]!) && isNarrow(q, pairs.q[pair]!);
  const lists = [pairs.p.keys(), pairs.p.keys()].map((all, kind) =>
    Uint32Array.from(all).filter((i) => narrow(i) === (kind === 0)),
  );
  const prepared = [prepare(p, q, lists[0]!, prepareNarrow), prepare(p, q, lists[1]!, prepareBanded)].filter(
    ({ list }) => list.length > 0,
  );
  const once = (): void => {
    for (const { areas } of prepared) context.dispose(areas());
  };
  for (const each of prepared) await check(each, scale);
  const { total, steps } = await timePipeline(backend, heat, 'reduce', once, rounds);
  console.log(`\n## Scale ${scale}\n\ntotal     ${showSpread(total)}, ${lists[0]!.length} narrow pairs\n`);
  printSteps(steps);
  for (const { dispose } of prepared) dispose();
  return total.median;
}

type Selections = readonly { readonly regions: Regions; readonly members: Uint32Array }[];

function prepare(
  p: Regions,
  q: Regions,
  list: Uint32Array,
  upload: (selections: Selections, pairs: NumberedPairs) => Pick<Prepared, 'areas' | 'dispose'>,
): Prepared {
  const used = (side: Uint32Array): Uint32Array => Uint32Array.from(new Set(list.map((pair) => side[pair]!)));
  const members = { p: used(pairs.p), q: used(pairs.q) };
  const place = (of: Uint32Array): Map<number, number> => new Map(Array.from(of, (region, i) => [region, i]));
  const [ofP, ofQ] = [place(members.p), place(members.q)];
  const own = Uint32Array.from({ length: members.p.length + members.q.length }, (_, i) => i);
  const numbered = {
    pair: Uint32Array.from({ length: list.length + own.length }, (_, i) => i),
    p: concatenate(
      list.map((pair) => ofP.get(pairs.p[pair]!)!),
      own,
    ),
    q: concatenate(
      list.map((pair) => members.p.length + ofQ.get(pairs.q[pair]!)!),
      own,
    ),
  };
  const selections = [
    { regions: p, members: members.p },
    { regions: q, members: members.q },
  ];
  return { list, members, ...upload(selections, numbered) };
}

function concatenate(a: Uint32Array, b: Uint32Array): Uint32Array<ArrayBuffer> {
  const all = new Uint32Array(a.length + b.length);
  all.set(a);
  all.set(b, a.length);
  return all;
}

function prepareNarrow(selections: Selections, { p, q }: NumberedPairs): Pick<Prepared, 'areas' | 'dispose'> {
  const runs = uploadNarrowRegions(context, selections);
  const columns = { p: context.column(p), q: context.column(q) };
  const areas = (): Column<'u32'> =>
    context.scope(() => context.materialize(narrowAreas(columns, narrowMasks(context, runs))));
  return { areas, dispose: () => context.dispose(runs, columns) };
}

function prepareBanded(selections: Selections, numbered: NumberedPairs): Pick<Prepared, 'areas' | 'dispose'> {
  const runs = uploadBandedRuns(context, selections);
  const parts = uploadBandedPairs(context, numbered, runs);
  const areas = (): Column<'u32'> =>
    context.scope(() => {
      const found = context.materialize(constant(u32, 0, numbered.pair.length));
      addBandedAreas(parts, bandedMasks(context, runs), found);
      return found;
    });
  return { areas, dispose: () => context.dispose(runs, parts) };
}

async function check({ list, members, areas }: Prepared, scale: number): Promise<void> {
  const column = areas();
  const found = await context.read(column);
  context.dispose(column);
  const own = (of: Uint32Array, from: number): Map<number, number> =>
    new Map(Array.from(of, (region, i) => [region, found[from + i]!]));
  const ofP = own(members.p, list.length);
  const ofQ = own(members.q, list.length + members.p.length);
  for (const [i, pair] of list.entries()) {
    const same =
      found[i] === expected.intersection[pair]! * scale ** 2 &&
      ofP.get(pairs.p[pair]!) === expected.p[pair]! * scale ** 2 &&
      ofQ.get(pairs.q[pair]!) === expected.q[pair]! * scale ** 2;
    if (!same) throw new Error(`The areas of pair ${pair} are wrong at scale ${scale}.`);
  }
}

/** Keeps the device busy for about half a second, so that it raises its clock frequency. */
function heat(): void {
  reduceAgain(context, warm, adapter === 'hardware' ? 2 ** 10 : 1);
}
