import { writeFile } from 'node:fs/promises';
import * as t from '../../algorithms/tables/index.ts';
import { smallestOf } from '../../primitives/host/extremes.ts';
import { activeOf, byPyramid, byScan, cellsOf, type PointLister } from '../experiments/point-lists.ts';
import { printHead } from '../shared/markdown-table.ts';
import { measuredOn } from '../shared/measured.ts';
import { inTurns, machine } from '../shared/measuring.ts';
import { BACKEND_OPTIONS, nameOf, openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';
import type { MeasuredLists, MeasuredOperation, MeasuredTables } from './tables-paper-measured.ts';
import { operations, type Records, randomRecords } from './tables-paper-operations.ts';

/**
 * Repeats the experiments of two papers.
 *
 * - Govindaraju, Lloyd, Wang, Lin and Manocha, Fast Computation of Database Operations using Graphics Processors, 2004:
 *   operations over a million records with four attributes of 19 bits, compared with plain loops.
 * - Ziegler, Tevs, Theobalt and Seidel, GPU Point List Generation through Histogram Pyramids, 2006: lists of active
 *   cells, compared with copyIf and a plain loop.
 *
 * The methods take turns. Times are measured from the call until the device is done; the results are minima over all
 * rounds.
 * `bench/tables/tables-paper-plots.ts` draws the results.
 *
 * node --import tsx bench/tables/tables-paper.ts [--backend workers|webgpu] [--adapter hardware|software] [--workers 2]
 *   [--records 1000000] [--side 2048] [--rounds 15] [--label 'machine'] [--out FILE]
 */
const options = programOptions({
  ...BACKEND_OPTIONS,
  ...{ records: 1000000, side: 2048, rounds: 15, label: undefined, out: undefined },
});
const { rounds, side, records } = options;

const AMONG = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144];
const WAYS: { readonly [way: string]: PointLister } = {
  'scan (copyIf)': byScan,
  'pyramid, 1 dimension': byPyramid(1),
  'pyramid, 2 dimensions': byPyramid(2),
};

await using context = await openNamed(options);
console.log(`${machine()}; ${context.backend.name}, minima of ${rounds} rounds\n`);
const measured: MeasuredTables = {
  ...(await measuredOn(options.label ?? nameOf(options, context))),
  ...{ records, cells: side * side },
  operations: await measureOperations(randomRecords(records)),
  lists: await measureLists(),
};
if (options.out !== undefined) await writeFile(options.out, `${JSON.stringify(measured, undefined, 2)}\n`);

async function measureOperations(host: Records): Promise<MeasuredOperation[]> {
  const columns = Object.entries(host).map(([name, values]): [string, t.HostColumn] => [name, { type: 'u32', values }]);
  const table = t.createTable(context, Object.fromEntries(columns));
  printHead(`operation, ${records} records | ours, ms | plain loop, ms | plain ÷ ours`);
  const found: MeasuredOperation[] = [];
  for (const operation of operations) {
    const { name, group, plain } = operation;
    const prepared = operation.prepare(table);
    const [ours, theirs] = [await prepared.ask(), plain(host)];
    if (ours !== theirs) throw new Error(`${name}: ${ours} is not ${theirs}.`);
    const times = await fastest({ ours: prepared.ask, theirs: () => plain(host) });
    prepared.dispose();
    found.push({ name, group, milliseconds: times.ours!, plain: times.theirs! });
    const shown = [times.ours!, times.theirs!, times.theirs! / times.ours!].map((each) => each.toFixed(2));
    console.log(`| ${name} | ${shown.join(' | ')} |`);
  }
  t.disposeTable(table);
  return found;
}

async function measureLists(): Promise<MeasuredLists[]> {
  const names = [...Object.keys(WAYS), 'plain loop'];
  console.log(`\n| active cells of ${side * side} | ${names.map((name) => `${name}, ms`).join(' | ')} |`);
  console.log(`| --- |${' --- |'.repeat(names.length)}`);
  const found: MeasuredLists[] = [];
  for (const among of AMONG) {
    const host = cellsOf(side * side, among);
    const cells = context.column(host);
    const active = activeOf(host);
    requireSame(await Promise.all(Object.values(WAYS).map((way) => readList(way, cells))), active);
    const ways = Object.entries(WAYS).map(([name, way]): [string, () => Promise<void>] => [
      name,
      async () => {
        const list = way(context, cells, side);
        await context.sync();
        context.dispose(list);
      },
    ]);
    const milliseconds = await fastest({ ...Object.fromEntries(ways), 'plain loop': () => activeOf(host) });
    context.dispose(cells);
    found.push({ among, active: active.length, milliseconds });
    console.log(`| ${active.length} | ${names.map((name) => milliseconds[name]!.toFixed(2)).join(' | ')} |`);
  }
  return found;
}

async function readList(way: PointLister, cells: Parameters<PointLister>[1]): Promise<Uint32Array> {
  const list = way(context, cells, side);
  const read = await context.read(list);
  context.dispose(list);
  return read.toSorted();
}

function requireSame(lists: readonly Uint32Array[], active: Uint32Array): void {
  for (const list of lists) {
    if (list.length !== active.length || list.some((cell, i) => cell !== active[i])) {
      throw new Error('A method lists other cells than the plain loop.');
    }
  }
}

/**
 * Times several methods, which take turns. The first three rounds are not timed. Returns the minimum milliseconds of
 * each method, because other programs on a shared machine may lengthen some rounds.
 */
async function fastest(ways: { readonly [name: string]: () => unknown }): Promise<{ [name: string]: number }> {
  const times = await inTurns(ways, { rounds, warmUps: 3 });
  return Object.fromEntries([...times].map(([name, took]) => [name, 1000 * smallestOf(took.map(({ wall }) => wall))]));
}
