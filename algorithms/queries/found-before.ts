import type { Column } from '../../primitives/index.ts';
import type { MaqNodes } from '../maq-tree/index.ts';

/** Size of an earlier query: number of rows that it was given, and number of rows that it returned. */
interface FoundBefore {
  readonly asked: number;
  readonly made: number;
}

/** Kinds of queries whose sizes are remembered. */
type FoundKind = 'nodesOfWindows' | 'entriesOfNodes';

const found = new WeakMap<MaqNodes, Map<FoundKind, FoundBefore>>();

/** An earlier query gives an estimate if the numbers of rows given to both queries differ at most by this factor. */
const ALIKE = 4;
/** Factor by which the estimated number of rows is increased as a margin. */
const MORE = 9 / 8;

/**
 * Estimated number of rows that a query returns, so that results can be written before they are counted. Based on the
 * latest query of this kind, if its number of given rows was close to `asked`; otherwise undefined.
 */
export function expectedRows(nodes: MaqNodes, kind: FoundKind, asked: number): number | undefined {
  const last = found.get(nodes)?.get(kind);
  if (last === undefined || asked > ALIKE * last.asked || last.asked > ALIKE * asked) return undefined;
  return Math.min(2 ** 32 - 2, Math.ceil((MORE * last.made * asked) / Math.max(1, last.asked)));
}

/** Remembers the size of a query for later estimates. */
export function noteRows(nodes: MaqNodes, kind: FoundKind, asked: number, made: number): void {
  const kinds = found.get(nodes) ?? new Map<FoundKind, FoundBefore>();
  found.set(nodes, kinds.set(kind, { asked, made }));
}

const max = new WeakMap<Column, number>();

/** Remembers the number of queries for a column that has indices of these queries. */
export function noteQueries(query: Column<'u32'>, count: number): void {
  max.set(query, Math.max(0, count - 1));
}

/** The largest index of a query that a column can contain; undefined if the number of queries was not remembered. */
export function maxQuery(query: Column<'u32'>): number | undefined {
  return max.get(query);
}
