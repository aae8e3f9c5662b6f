import { spreadOf } from '../shared/measuring.ts';

/** Minimum and median of some times, as text. */
export function shown(milliseconds: readonly number[], digits = 2): string {
  const { min, median } = spreadOf(milliseconds);
  return `${min.toFixed(digits)} (${median.toFixed(digits)})`;
}
