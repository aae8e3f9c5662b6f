import * as t from '../../algorithms/tables/index.ts';

/** One step: the number that was tried, and how many values are at or above it. */
export interface BitStep {
  readonly tried: number;
  readonly count: number;
}

/**
 * The k-th largest value of a u32 column, found bit by bit from the top: a bit is set if at least k values are at or
 * above the resulting number. Each bit takes one count, by a prepared question.
 *
 * Source: Govindaraju, Lloyd, Wang, Lin and Manocha, Fast Computation of Database Operations using Graphics Processors,
 * 2004.
 */
export async function kthLargestByBits(
  count: t.PreparedAggregate<{ readonly n: { readonly kind: 'count' } }>,
  name: string,
  k: number,
  bits: number,
): Promise<{ readonly value: number; readonly steps: readonly BitStep[] }> {
  const steps: BitStep[] = [];
  let value = 0;
  for (let bit = bits - 1; bit >= 0; bit--) {
    const tried = value + 2 ** bit;
    const { n } = await count(t.atLeast(t.column(name), tried));
    steps.push({ tried, count: n as number });
    if ((n as number) >= k) value = tried;
  }
  return { value, steps };
}
