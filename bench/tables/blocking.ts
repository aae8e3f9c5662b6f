import { monitorEventLoopDelay } from 'node:perf_hooks';
import * as t from '../../algorithms/tables/index.ts';
import * as q from '../../primitives/index.ts';
import { BACKEND_OPTIONS, openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';

/**
 * Measures how long calls that take large inputs block the event loop: how long the call takes to return, and the
 * longest time without a turn of the event loop until the caller has the answer. The second of two calls is printed.
 *
 * node --import tsx bench/tables/blocking.ts [--backend workers] [--rows 2000000] [--only NAME]
 */
const options = programOptions({ ...BACKEND_OPTIONS, rows: 2000000, only: '' });
const { rows } = options;
const context = await openNamed(options);

const u = Uint32Array.from({ length: rows }, (_, i) => Math.imul(i, 2654435761) >>> 12);
const l = BigInt64Array.from(u, (x) => BigInt(x) * 1_000_003n);
const columns: t.HostTable = {
  u: { type: 'u32', values: u },
  f: { type: 'f32', values: Float32Array.from(u, (x) => x / 7) },
  d: { type: 'f64', values: Float64Array.from(u, (x) => x / 7) },
  l: { type: 'i64', values: l },
  b: { type: 'bool', values: Uint8Array.from(u, (x) => x & 1) },
};
const dictionary = Array.from({ length: rows }, (_, i) => `name ${(Math.imul(i, 2654435761) >>> 0).toString(36)}`);
const strings: t.HostTable = { s: { type: 'string', codes: u.map((_, i) => i), dictionary } };
const n = { n: { kind: 'count' } } as const;
const table = t.createTable(context, columns);
const names = (): t.DeviceTable => t.createTable(context, strings);
const some = Array.from({ length: 1_000_000 }, (_, i) => (i * 7919) % 1_000_003);
const comparisons = t.and(...Array.from({ length: 2000 }, (_, i) => t.unequalTo(t.column('u'), i)));
const edges = Array.from({ length: rows }, (_, i) => i / 2);

async function freed<C extends q.Table>(column: C): Promise<void> {
  await context.read(column);
  context.dispose(column);
}

async function onNames(ask: (table: t.DeviceTable) => Promise<unknown>): Promise<void> {
  const made = names();
  await ask(made);
  t.disposeTable(made);
}

const calls: { readonly [name: string]: () => Promise<unknown> } = {
  'createTable of strings': async () => t.disposeTable(names()),
  'createTable of numbers': async () => t.disposeTable(t.createTable(context, columns)),
  'groupBy strings': () => onNames((made) => t.groupBy(made, ['s'], n)),
  'maximum of strings': () => onNames((made) => t.aggregate(made, { max: { kind: 'max', of: t.column('s') } })),
  'joinRows by strings': () =>
    onNames(async (made) => context.dispose({ ...(await t.joinRows(made, made, { left: 's', right: 's' })) })),
  'a list of strings': () =>
    onNames((made) => t.aggregate(made, n, { where: t.oneOf(t.column('s'), dictionary.slice(0, 1_000_000)) })),
  'groupBy f64': () => t.groupBy(table, ['d'], { sum: { kind: 'sum', of: t.column('u') } }),
  'groupBy i64': () => t.groupBy(table, ['l'], { mean: { kind: 'avg', of: t.column('f') } }),
  readRows: async () => void (await t.readRows(table, q.sequence(rows))),
  'a list of integers': () => t.aggregate(table, n, { where: t.oneOf(t.column('u'), some) }),
  'a list of f64': () => t.aggregate(table, n, { where: t.oneOf(t.column('d'), some) }),
  '2,000 comparisons': () => t.aggregate(table, n, { where: comparisons }),
  'histogramEdges of as many bins': () => freed(q.histogramEdges(table.columns.u!.words[0]!, edges)),
  'histogramEven of as many bins': () => freed(q.histogramEven(table.columns.u!.words[0]!, 0, 1e6, rows)),
};

const rest = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));
console.log(
  '| call | returns after, ms | longest without a turn after that, ms | answer after, ms |\n|---|--:|--:|--:|',
);
for (const [name, call] of Object.entries(calls).filter(([each]) => each.includes(options.only))) {
  await call();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  await rest(30);
  const start = performance.now();
  const answer = call();
  const returned = performance.now() - start;
  await rest(0);
  delay.reset();
  await answer;
  const answered = performance.now() - start;
  await rest(5);
  delay.disable();
  console.log(`| ${[name, ...[returned, delay.max / 1e6, answered].map((ms) => ms.toFixed(0))].join(' | ')} |`);
}
await context.close();
