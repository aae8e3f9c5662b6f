import type { EdgeShape, NodeCounters, NodeMeta } from '../definition/shape.ts';
import { formatBytes, formatCount, formatDuration } from './markup.ts';

/** The text lines of a node in a drawing: its name, its kind, and its counters if given. */
export function nodeLabel(node: NodeMeta, counters: readonly NodeCounters[]): string[] {
  const { name, kind, lanes, runsOn, remote } = node;
  const side = runsOn === 'either' ? 'CPU or GPU' : runsOn.toUpperCase();
  const where = remote === undefined ? side : `${side} of workers (${remote})`;
  const lines = [name, [kind, where, ...(lanes > 1 ? [`${formatCount(lanes)} lanes`] : [])].join(' · ')];
  const done = counters.find((counts) => counts.name === name);
  if (done === undefined) return lines;
  const rare = (['migrated', 'retried', 'skipped', 'dropped'] as const).filter((count) => done[count] > 0);
  return [
    ...lines,
    `${formatCount(done.in)} in · ${formatCount(done.out)} out`,
    `${formatDuration(done.busy)} busy`,
    ...rare.map((count) => `${formatCount(done[count])} ${count}`),
  ];
}

/** The capacity of an edge as text, for its label. */
export function edgeLabel({ capacity: { items, bytes } }: EdgeShape): string {
  const bounds = [
    ...(items < Number.POSITIVE_INFINITY ? [formatCount(items)] : []),
    ...(bytes < Number.POSITIVE_INFINITY ? [formatBytes(bytes)] : []),
  ];
  return bounds.length === 0 ? '' : `≤ ${bounds.join(', ')}`;
}
