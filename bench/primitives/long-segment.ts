import {
  plus,
  segmentedQuantiles,
  segmentedReduce,
  segmentedSort,
  segmentedTopK,
  type Table,
  topK,
  u32,
} from '../../primitives/index.ts';
import { printHead, printRow } from '../shared/markdown-table.ts';
import { machine } from '../shared/measuring.ts';
import { BACKEND_OPTIONS, openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';

/**
 * Runs what works on segments once on a single segment of very many rows of u32, whose keys are a permutation of the
 * numbers of the rows, and checks the results. Prints seconds of the first call, with its reading.
 *
 * node --import tsx bench/primitives/long-segment.ts [--backend workers] [--workers 2] [--log2 28] [--only segmentedSort,…]
 */
const options = programOptions({ ...BACKEND_OPTIONS, log2: 28, only: '' });
const rows = 2 ** options.log2;
const K = 16;

await using context = await openNamed(options);
const host = new Uint32Array(rows);
for (let i = 0; i < rows; i++) host[i] = Math.imul(i, 2654435761) & (rows - 1);
const keys = context.column(host);
const segment = context.column(Uint32Array.of(0, rows));
await context.sync();

const greatest = (i: number): number => rows - 1 - i;
const FRACTIONS = [0, 0.25, 0.5, 1];
const sum = (): number => host.reduce((all, key) => (all + key) >>> 0, 0);
const works: Record<string, readonly [call: () => Table, isRight: (result: ArrayLike<number>) => boolean]> = {
  topK: [() => topK(keys, K).keys, (found) => holds(found, K, greatest)],
  segmentedTopK: [() => segmentedTopK(keys, segment, K).keys, (found) => holds(found, K, greatest)],
  'segmentedTopK, 40': [() => segmentedTopK(keys, segment, 40).keys, (found) => holds(found, 40, greatest)],
  segmentedReduce: [() => segmentedReduce(keys, segment, plus(u32)), (found) => holds(found, 1, sum)],
  segmentedQuantiles: [
    () => segmentedQuantiles(keys, segment, FRACTIONS),
    (found) => holds(found, FRACTIONS.length, (i) => Math.floor(FRACTIONS[i]! * (rows - 1))),
  ],
  segmentedSort: [() => segmentedSort(keys, segment), (found) => holds(found, rows, (i) => i)],
};

function holds(found: ArrayLike<number>, length: number, expected: (i: number) => number): boolean {
  if (found.length !== length) return false;
  for (let i = 0; i < length; i++) if (found[i] !== expected(i)) return false;
  return true;
}

const only = options.only === '' ? Object.keys(works) : options.only.split(',');
console.log(`One segment of ${rows} rows of u32, ${options.backend}, ${machine()}\n`);
printHead('call | s, wall | s, processor');
for (const name of only) {
  const [call, isRight] = works[name]!;
  const [start, before] = [performance.now(), process.cpuUsage()];
  const made = call();
  const result = (await context.read(made)) as unknown as ArrayLike<number>;
  const { user, system } = process.cpuUsage(before);
  const wall = performance.now() - start;
  if (!isRight(result)) throw new Error(`${name} is wrong.`);
  context.dispose(made);
  printRow([name, (wall / 1000).toFixed(2), ((user + system) / 1e6).toFixed(2)]);
}
