import * as t from '../../algorithms/tables/index.ts';

/** One step of the search: the candidate number, and how many values are greater than or equal to it. */
export interface BitStep {
  readonly tried: number;
  readonly count: number;
}

/**
 * The k-th largest value of a u32 column, determined bit by bit, the highest bit first. A bit is set if at least k
 * values are greater than or equal to the number that consists of this bit and the bits set before. Each bit takes one
 * count, made by a prepared aggregation.
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
