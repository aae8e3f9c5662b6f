import { cpus, loadavg } from 'node:os';
import type { CrossComparison } from '../../algorithms/cross-compare/cross-comparison.ts';
import { openResultSet } from '../../formats/result-sets/open-result-set.ts';
import type { ResultSet } from '../../formats/result-sets/result-set.ts';
import { largestOf, smallestOf } from '../../primitives/host/extremes.ts';

/** Two opened folders of tiles, one per result set. */
export interface SetPair {
  readonly p: ResultSet;
  readonly q: ResultSet;
  /** Total bytes of the text files in both folders. */
  readonly bytes: number;
}

/** Opens two folders, and reads every file once, so that later reads come from the page cache. */
export async function openSetPair(first: string, second: string): Promise<SetPair> {
  const [p, q] = await Promise.all([openResultSet(first), openResultSet(second)]);
  let bytes = 0;
  for (const tile of [...p.tiles, ...q.tiles]) bytes += (await tile.load()).length;
  return { p, q, bytes };
}

/** The cost of a run: wall-clock seconds, and processor seconds of all threads. */
export interface Took {
  readonly wall: number;
  readonly processor: number;
}

/** Runs some work. Returns its result, with the wall-clock seconds and processor seconds that it took. */
export async function timed<T>(work: () => Promise<T>): Promise<Took & { readonly result: T }> {
  const used = process.cpuUsage();
  const from = performance.now();
  const result = await work();
  const wall = (performance.now() - from) / 1000;
  const { user, system } = process.cpuUsage(used);
  return { result, wall, processor: (user + system) / 1e6 };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}

/** The median as text, with minimum and maximum in brackets. */
export function spread(values: readonly number[], digits = 2): string {
  const all = [median(values), smallestOf(values), largestOf(values)].map((value) => value.toFixed(digits));
  return `${all[0]} (${all[1]}–${all[2]})`;
}

/** Throws if the results of two runs differ. J′ (the mean ratio of intersection to union) is compared bit by bit. */
export function requireSameAnswer(got: CrossComparison, expected: CrossComparison, what: string): void {
  const text = (comparison: CrossComparison): string =>
    JSON.stringify(comparison, (_, value) => (ArrayBuffer.isView(value) ? [...(value as Uint32Array)] : value));
  if (text(got) !== text(expected)) throw new Error(`${what}: ${text(got)}, not ${text(expected)}`);
}

export function machine(): string {
  return `${cpus().length} × ${cpus()[0]!.model}, load ${loadavg()[0]!.toFixed(1)}, Node ${process.version}`;
}
