import type { Column } from '../../primitives/index.ts';
import type { MaqNodes } from '../maq-tree/index.ts';

/** How many rows a query was about, and how many it made. */
interface FoundBefore {
  readonly asked: number;
  readonly made: number;
}

/** What queries of a tree make. */
type FoundKind = 'nodesOfWindows' | 'entriesOfNodes';

const found = new WeakMap<MaqNodes, Map<FoundKind, FoundBefore>>();

/** Queries of so many times more or fewer rows say nothing about others. */
const ALIKE = 4;
/** As many more rows are expected than there were. */
const MORE = 9 / 8;

/**
 * About how many rows a query of a tree will make, by what the last one of about as many rows has made: it can be written before
 * it is counted. Undefined where nothing is known.
 */
export function expectedRows(nodes: MaqNodes, kind: FoundKind, asked: number): number | undefined {
  const last = found.get(nodes)?.get(kind);
  if (last === undefined || asked > ALIKE * last.asked || last.asked > ALIKE * asked) return undefined;
  return Math.min(2 ** 32 - 2, Math.ceil((MORE * last.made * asked) / Math.max(1, last.asked)));
}

/** Notes what a query has made. */
export function noteRows(nodes: MaqNodes, kind: FoundKind, asked: number, made: number): void {
  const kinds = found.get(nodes) ?? new Map<FoundKind, FoundBefore>();
  found.set(nodes, kinds.set(kind, { asked, made }));
}

const max = new WeakMap<Column, number>();

/** Notes how many queries there are whose numbers are in a column. */
export function noteQueries(query: Column<'u32'>, count: number): void {
  max.set(query, Math.max(0, count - 1));
}

/** A number that no query in a column exceeds, where one is known. */
export function maxQuery(query: Column<'u32'>): number | undefined {
  return max.get(query);
}
