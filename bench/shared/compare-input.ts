import type { CrossComparison } from '../../algorithms/cross-compare/cross-comparison.ts';
import { openResultSet } from '../../formats/result-sets/open-result-set.ts';
import type { ResultSet } from '../../formats/result-sets/result-set.ts';

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

/** Throws if the results of two runs differ. J′ (the mean ratio of intersection to union) is compared bit by bit. */
export function requireSameAnswer(got: CrossComparison, expected: CrossComparison, what: string): void {
  const text = (comparison: CrossComparison): string =>
    JSON.stringify(comparison, (_, value) => (ArrayBuffer.isView(value) ? [...(value as Uint32Array)] : value));
  if (text(got) !== text(expected)) throw new Error(`${what}: ${text(got)}, not ${text(expected)}`);
}
