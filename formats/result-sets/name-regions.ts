import type { Note } from '../../algorithms/notes.ts';
import { listNames } from '../../algorithms/quoted-names.ts';
import { textColumnOf } from '../../algorithms/text-column.ts';
import type { TextColumn } from './result-set.ts';

/** Names regions by their labels: `7`, or `7#1`, `7#2` … if several regions have label 7. */
export function nameRegions(labels: readonly number[]): (region: number) => string {
  const total = countLabels(labels);
  const seen = new Map<number, number>();
  return (region) => {
    const label = labels[region]!;
    if (total.get(label) === 1) return String(label);
    const number = (seen.get(label) ?? 0) + 1;
    seen.set(label, number);
    return `${label}#${number}`;
  };
}

/** The names of all regions, as a text column. */
export function namesOfRegions(labels: readonly number[]): TextColumn {
  const nameOf = nameRegions(labels);
  return textColumnOf(labels.map((_, region) => nameOf(region)));
}

/** The note that labels have several regions, each of which is compared as a polygon of its own. */
export function componentsNotes(labels: readonly number[]): Note[] {
  const apart = [...countLabels(labels)].filter(([, regions]) => regions > 1);
  const count = apart.length;
  if (count === 0) return [];
  const regions = apart.reduce((sum, [, each]) => sum + each, 0);
  const names = listNames(
    apart.map(([label]) => String(label)),
    NAMES_SHOWN,
  );
  const message =
    `${count === 1 ? '1 label' : `${count} labels`} fell into ${regions} connected regions, each a polygon of its own: ` +
    `${names}; --regions labels takes each whole.`;
  return [{ code: 'polygons/components', message, count }];
}

const NAMES_SHOWN = 3;

function countLabels(labels: readonly number[]): Map<number, number> {
  const total = new Map<number, number>();
  for (const label of labels) total.set(label, (total.get(label) ?? 0) + 1);
  return total;
}
