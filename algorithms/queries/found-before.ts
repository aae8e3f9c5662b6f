import type { Column } from '../../primitives/index.ts';
import type { MaqNodes } from '../maq-tree/index.ts';

/** Number of rows that a query was given, and number of rows that it returned. */
interface FoundBefore {
  readonly asked: number;
  readonly made: number;
}

/** Kinds of queries that are remembered. */
type FoundKind = 'nodesOfWindows' | 'entriesOfNodes';

const found = new WeakMap<MaqNodes, Map<FoundKind, FoundBefore>>();

/** A query whose number of rows differs by more than this factor is no guide. */
const ALIKE = 4;
/** Factor by which the expected number of rows exceeds the earlier one. */
const MORE = 9 / 8;

/**
 * Expected number of rows of a query, estimated from the latest query of about the same size, so that results can be
 * written before they are counted. Undefined if there is no such query.
 */
export function expectedRows(nodes: MaqNodes, kind: FoundKind, asked: number): number | undefined {
  const last = found.get(nodes)?.get(kind);
  if (last === undefined || asked > ALIKE * last.asked || last.asked > ALIKE * asked) return undefined;
  return Math.min(2 ** 32 - 2, Math.ceil((MORE * last.made * asked) / Math.max(1, last.asked)));
}

/** Remembers the number of rows that a query returned. */
export function noteRows(nodes: MaqNodes, kind: FoundKind, asked: number, made: number): void {
  const kinds = found.get(nodes) ?? new Map<FoundKind, FoundBefore>();
  found.set(nodes, kinds.set(kind, { asked, made }));
}

const max = new WeakMap<Column, number>();

/** Remembers the number of queries whose indices are in a column. */
export function noteQueries(query: Column<'u32'>, count: number): void {
  max.set(query, Math.max(0, count - 1));
}

/** Maximum index of a query in a column, if known. */
export function maxQuery(query: Column<'u32'>): number | undefined {
  return max.get(query);
}
