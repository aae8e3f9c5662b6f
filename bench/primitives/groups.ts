import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { WebGpuBackend } from '../../backends/webgpu/index.ts';
import {
  f32,
  gather,
  plus,
  type Segments,
  segmentedQuantiles,
  segmentedReduce,
  segmentedSort,
  segmentedTopK,
  sequence,
  slice,
  sortByKey,
  type Table,
  topK,
  upperBound,
} from '../../primitives/index.ts';
import { openDevice } from '../shared/device.ts';
import { printHead, printRow } from '../shared/markdown-table.ts';
import { inTurns, machine, spread, spreadOf } from '../shared/measuring.ts';
import { BACKEND_OPTIONS, openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';

/**
 * Times what works on groups of rows beside plain loops in JavaScript on one thread that compute the same, and checks
 * that they agree. They take turns. Prints milliseconds by the wall clock and in processor time of all threads, and how
 * many times as long the loops take. On WebGPU, prints the milliseconds of a call by the device's own clock too, of 100
 * that are submitted together; `--peer` names a compiled `bench/peers/top-k.cu`, which then runs on the same rows.
 *
 * node --import tsx bench/primitives/groups.ts [--backend webgpu|workers] [--adapter hardware|software] [--workers 2]
 *   [--rows 1048576] [--groups 16384] [--k 3] [--rounds 15] [--peer PROGRAM]
 */
const options = programOptions({
  ...{ ...BACKEND_OPTIONS, rows: 2 ** 20, groups: 2 ** 14, k: 3, rounds: 15 },
  peer: undefined,
});
const { rows: ROWS, groups: GROUPS, k: K, rounds } = options;

const keys = Float32Array.from({ length: ROWS }, () => Math.random());
const offsets = Uint32Array.from({ length: GROUPS + 1 }, (_, group) => Math.floor((group * ROWS) / GROUPS));
const one = Uint32Array.of(0, ROWS);

/** The numbers of the best rows of each segment, by insertion. */
function topOf(k: number, from: Uint32Array): Uint32Array {
  return k === 3 ? topThree(from) : topMany(k, from);
}

function topThree(from: Uint32Array): Uint32Array {
  const groups = from.length - 1;
  const out = new Uint32Array(3 * groups);
  for (let group = 0; group < groups; group++) {
    let a = -Infinity;
    let b = -Infinity;
    let c = -Infinity;
    let i = -1;
    let j = -1;
    let l = -1;
    const end = from[group + 1]!;
    for (let row = from[group]!; row < end; row++) {
      const key = keys[row]!;
      if (!(key > c)) continue;
      if (!(key > b)) {
        c = key;
        l = row;
        continue;
      }
      c = b;
      l = j;
      if (key > a) {
        b = a;
        j = i;
        a = key;
        i = row;
      } else {
        b = key;
        j = row;
      }
    }
    out[3 * group] = i;
    out[3 * group + 1] = j;
    out[3 * group + 2] = l;
  }
  return out;
}

function topMany(k: number, from: Uint32Array): Uint32Array {
  const groups = from.length - 1;
  const out = new Uint32Array(k * groups).fill(2 ** 32 - 1);
  const best = new Float32Array(k);
  for (let group = 0; group < groups; group++) {
    let count = 0;
    const at = k * group;
    for (let row = from[group]!; row < from[group + 1]!; row++) {
      const key = keys[row]!;
      if (count === k && !(key > best[k - 1]!)) continue;
      let place = count < k ? count++ : k - 1;
      for (; place > 0 && key > best[place - 1]!; place--) {
        best[place] = best[place - 1]!;
        out[at + place] = out[at + place - 1]!;
      }
      best[place] = key;
      out[at + place] = row;
    }
  }
  return out;
}

function sumsOf(from: Uint32Array): Float32Array {
  const out = new Float32Array(from.length - 1);
  for (let group = 0; group < out.length; group++) {
    let sum = 0;
    for (let row = from[group]!; row < from[group + 1]!; row++) sum = Math.fround(sum + keys[row]!);
    out[group] = sum;
  }
  return out;
}

function sortedOf(from: Uint32Array): Float32Array {
  const out = keys.slice();
  for (let group = 0; group + 1 < from.length; group++) out.subarray(from[group], from[group + 1]).sort();
  return out;
}

function mediansOf(from: Uint32Array): Float32Array {
  const sorted = sortedOf(from);
  return Float32Array.from({ length: from.length - 1 }, (_, group) => {
    const [first, end] = [from[group]!, from[group + 1]!];
    return end > first ? sorted[first + ((end - 1 - first) >> 1)]! : 0;
  });
}

const isOnGpu = options.backend === 'webgpu';
const opened = isOnGpu ? await openDevice(options.adapter ?? 'hardware') : undefined;
await using context = opened?.context ?? (await openNamed(options));
const column = context.column(keys);
const segments = context.column(offsets);
const whole = context.column(one);

/** What could be done before: all rows sorted by key, then by group. */
function sorted(): Table {
  return context.scope(() => {
    const group = upperBound(slice(segments, 1), sequence(ROWS));
    const byKey = sortByKey(column, sequence(ROWS), { descending: true }).values;
    const bits = { from: 0, to: Math.max(1, 32 - Math.clz32(GROUPS - 1)) };
    return sortByKey(gather(group, byKey), byKey, { bits }).values;
  });
}

/** Milliseconds of a call by the device's clock, of 100 that are submitted together. */
async function deviceTime(backend: WebGpuBackend, call: () => Table): Promise<string> {
  const together = (): void => {
    for (let i = 0; i < 100; i++) context.dispose(call());
  };
  const [, ...times] = await backend.time([together, ...Array.from({ length: rounds }, () => together)]);
  const { median, min, max } = spreadOf(times.map((time) => time / 100));
  return `${median.toFixed(4)} (${min.toFixed(4)}–${max.toFixed(4)})`;
}

const tops = (of: Segments) => (): Table => segmentedTopK(column, of, K);
const works: readonly (readonly [string, () => Table, () => ArrayLike<number>])[] = [
  [`top ${K} of each of ${GROUPS} groups`, tops(segments), () => topOf(K, offsets)],
  [`top ${K} of one segment`, tops(whole), () => topOf(K, one)],
  [`top ${K} of all rows`, () => topK(column, K), () => topOf(K, one)],
  ['sums of groups', () => segmentedReduce(column, segments, plus(f32)), () => sumsOf(offsets)],
  ['groups sorted', () => segmentedSort(column, segments), () => sortedOf(offsets)],
  ['medians of groups', () => segmentedQuantiles(column, segments, [0.5]), () => mediansOf(offsets)],
];

console.log(`${ROWS} rows, ${rounds} rounds in turns, ${opened?.name ?? ''} ${machine()}\n`);
const titles = 'task | ms, wall | ms, processor | loop: ms, wall | ms, processor | wall, times as long | processor';
printHead(opened === undefined ? titles : `${titles} | ms, device`);
const before = [`all rows sorted by key and group`, sorted, () => topOf(K, offsets)] as const;
for (const [task, own, plain] of [...works, before]) {
  if (own !== sorted) {
    const made = own();
    const read = (await context.read(made)) as ArrayLike<number> & { readonly rows?: ArrayLike<number> };
    const found = read.rows ?? read;
    const expected = plain();
    for (let i = 0; i < expected.length; i++) {
      if (expected[i] !== found[i]) throw new Error(`${task}: ${found[i]} in place of ${expected[i]} at ${i}`);
    }
    context.dispose(made);
  }
  const onDevice = async (): Promise<void> => {
    const result = own();
    await context.sync();
    context.dispose(result);
  };
  const times = await inTurns<unknown>({ onDevice, plain }, { rounds, warmUps: 5 });
  const [took, loop] = [times.get('onDevice')!, times.get('plain')!];
  const of = (which: 'wall' | 'processor', from: typeof took): string =>
    spread(
      from.map((each) => 1000 * each[which]),
      3,
    );
  const ratio = (which: 'wall' | 'processor'): string =>
    spread(
      loop.map((each, round) => each[which] / took[round]![which]),
      2,
    );
  const host = [of('wall', took), of('processor', took), of('wall', loop), of('processor', loop)];
  const device = opened === undefined ? [] : [await deviceTime(opened.backend, own)];
  printRow([task, ...host, ratio('wall'), ratio('processor'), ...device]);
}
if (options.peer !== undefined) {
  const { stdout } = await promisify(execFile)(options.peer, [`${ROWS}`, `${GROUPS}`]);
  console.log(`\nCUB, nanoseconds of a call, median, least and most:\n${stdout}`);
}
