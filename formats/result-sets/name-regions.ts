import { textColumnOf } from '../../algorithms/text-column.ts';
import type { TextColumn } from './result-set.ts';

/** Names regions by their labels: `7`, or `7#1`, `7#2` … if several regions have label 7. */
export function nameRegions(labels: readonly number[]): (region: number) => string {
  const total = new Map<number, number>();
  for (const label of labels) total.set(label, (total.get(label) ?? 0) + 1);
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
