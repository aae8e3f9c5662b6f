import * as t from '../../algorithms/tables/index.ts';
import { hashed } from '../experiments/inputs.ts';
import { kthLargestByBits } from '../experiments/kth-largest.ts';

/** The four attributes of all records: integers of 19 bits, like the attributes in Govindaraju et al., 2004. */
export type Records = { readonly [name in 'a' | 'b' | 'c' | 'd']: Uint32Array };

const BITS = 19;

export function randomRecords(records: number): Records {
  const attribute = (seed: number): Uint32Array =>
    Uint32Array.from({ length: records }, (_, i) => hashed(i + seed * records) >>> (32 - BITS));
  return { a: attribute(0), b: attribute(1), c: attribute(2), d: attribute(3) };
}

/** An operation that is prepared for repeated calls. */
interface PreparedOperation {
  ask(): Promise<number>;
  dispose(): void;
}

/**
 * An operation from Govindaraju et al., 2004. `group` is the paper's rating of how much faster the operation is on a
 * GPU than SIMD code on a CPU.
 */
export interface Operation {
  readonly name: string;
  readonly group: 'high' | 'medium' | 'low';
  prepare(table: t.DeviceTable): PreparedOperation;
  plain(records: Records): number;
}

const { column } = t;
const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => column(name)) as [
  t.Expression,
  t.Expression,
  t.Expression,
  t.Expression,
];
const count = { kind: 'count' } as const;

function counting(name: string, where: t.Condition, plain: Operation['plain']): Operation {
  return { name, group: 'high', prepare: (table) => prepared(table, count, where), plain };
}

function prepared(table: t.DeviceTable, aggregate: t.Aggregate, where?: t.Condition): PreparedOperation {
  const ask = t.prepareAggregate(table, { found: aggregate });
  return { ask: async () => Number((await ask(where)).found), dispose: ask.dispose };
}

/** Finds the median by sorting, as a program without a library would. */
function sortedMedian(values: Uint32Array): number {
  const sorted = values.toSorted();
  return sorted[sorted.length - (sorted.length >> 1)]!;
}

const half = 2 ** (BITS - 1);
const [low, high] = [half / 2, half + half / 2];

export const operations: readonly Operation[] = [
  counting('predicate: a < constant', t.lessThan(a, half), ({ a }) => {
    let found = 0;
    for (let i = 0; i < a.length; i++) if (a[i]! < half) found++;
    return found;
  }),
  counting('range: a within [low, high]', t.between(a, low, high), ({ a }) => {
    let found = 0;
    for (let i = 0; i < a.length; i++) if (a[i]! >= low && a[i]! <= high) found++;
    return found;
  }),
  counting(
    'four attributes, of each a predicate',
    t.and(t.lessThan(a, high), t.greaterThan(b, low), t.lessThan(c, high), t.greaterThan(d, low)),
    ({ a, b, c, d }) => {
      let found = 0;
      for (let i = 0; i < a.length; i++) if (a[i]! < high && b[i]! > low && c[i]! < high && d[i]! > low) found++;
      return found;
    },
  ),
  counting(
    'semi-linear over four attributes',
    t.lessThan(t.linear({ a: 2, b: 3, c: -1, d: 5 }), 4 * half),
    ({ a, b, c, d }) => {
      let found = 0;
      for (let i = 0; i < a.length; i++) if (2 * a[i]! + 3 * b[i]! - c[i]! + 5 * d[i]! < 4 * half) found++;
      return found;
    },
  ),
  {
    name: 'k-th largest, k in the middle, one bit a pass as in the paper',
    group: 'medium',
    prepare(table) {
      const ask = t.prepareAggregate(table, { n: count });
      const k = table.rows >> 1;
      return { ask: async () => (await kthLargestByBits(ask, 'a', k, BITS)).value, dispose: ask.dispose };
    },
    plain: ({ a }) => sortedMedian(a),
  },
  {
    name: 'the same by digits of up to 11 bits, on the device',
    group: 'medium',
    prepare: (table) => prepared(table, { kind: 'largest', of: a, k: table.rows >> 1 }),
    plain: ({ a }) => sortedMedian(a),
  },
  {
    name: 'sum of an attribute',
    group: 'low',
    prepare: (table) => prepared(table, { kind: 'sum', of: a }),
    plain({ a }) {
      let sum = 0;
      for (let i = 0; i < a.length; i++) sum += a[i]!;
      return sum;
    },
  },
];
