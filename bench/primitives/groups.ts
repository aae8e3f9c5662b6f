import {
  gather,
  type Segments,
  segmentedTopK,
  sequence,
  slice,
  sortByKey,
  topK,
  upperBound,
} from '../../primitives/index.ts';
import { printHead, printRow } from '../shared/markdown-table.ts';
import { inTurns, machine, spread } from '../shared/measuring.ts';
import { BACKEND_OPTIONS, openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';

/**
 * Times what works on groups of rows beside plain loops in JavaScript on one thread that compute the same, and checks
 * that they agree. They take turns. Prints milliseconds by the wall clock and in processor time of all threads, and how
 * many times as long the loops take.
 *
 * node --import tsx bench/primitives/groups.ts [--backend webgpu|workers] [--adapter hardware|software] [--workers 2]
 *   [--rows 1048576] [--groups 16384] [--k 3] [--rounds 15]
 */
const options = programOptions({ ...BACKEND_OPTIONS, rows: 2 ** 20, groups: 2 ** 14, k: 3, rounds: 15 });
const { rows: ROWS, groups: GROUPS, k: K, rounds } = options;

const keys = Float32Array.from({ length: ROWS }, () => Math.random());
const offsets = Uint32Array.from({ length: GROUPS + 1 }, (_, group) => Math.floor((group * ROWS) / GROUPS));

/** The numbers of the best rows of each segment, by insertion. */
function topOf(k: number, from: Uint32Array): Uint32Array {
  return k === 3 ? topThree(from) : topMany(k, from);
}

function topThree(from: Uint32Array): Uint32Array {
  const groups = from.length - 1;
  const out = new Uint32Array(3 * groups);
  for (let group = 0; group < groups; group++) {
    let [a, b, c] = [-Infinity, -Infinity, -Infinity];
    let [i, j, l] = [-1, -1, -1];
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

await using context = await openNamed(options);
const column = context.column(keys);
const segments = context.column(offsets);
const one = Uint32Array.of(0, ROWS);

/** What could be done before: all rows sorted by key, then by group. */
function sorted(): object {
  return context.scope(() => {
    const group = upperBound(slice(segments, 1), sequence(ROWS));
    const byKey = sortByKey(column, sequence(ROWS), { descending: true }).values;
    const byGroup = sortByKey(gather(group, byKey), byKey, { bits: { from: 0, to: 32 - Math.clz32(GROUPS - 1) } });
    return byGroup.values;
  });
}

const tops = (of: Segments): { readonly rows: unknown } => segmentedTopK(column, of, K);
const works = {
  [`top ${K} of each of ${GROUPS} groups`]: [() => tops(segments), () => topOf(K, offsets)],
  [`top ${K} of one segment`]: [() => tops(context.column(one)), () => topOf(K, one)],
  [`top ${K} of all rows`]: [() => topK(column, K), () => topOf(K, one)],
  'all rows sorted by key and group': [sorted, () => topOf(K, offsets)],
} as const;

console.log(`${ROWS} rows, ${rounds} rounds in turns, ${machine()}\n`);
printHead('task | ms, wall | ms, processor | loop: ms, wall | ms, processor | wall, times as long | processor');
for (const [task, [own, plain]] of Object.entries(works)) {
  const made = own() as { readonly rows?: never };
  if (made.rows !== undefined) {
    const found = (await context.read({ rows: made.rows })) as { readonly rows: Uint32Array };
    const expected = plain();
    if (!expected.every((row, i) => row === found.rows[i])) throw new Error(`${task}: other rows than the loop's`);
  }
  context.dispose(made);
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
  printRow([
    task,
    of('wall', took),
    of('processor', took),
    of('wall', loop),
    of('processor', loop),
    ratio('wall'),
    ratio('processor'),
  ]);
}
