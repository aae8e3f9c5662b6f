import * as t from '../../algorithms/tables/index.ts';

/** One step: which number was tried, and how many values are not below it. */
export interface BitStep {
  readonly tried: number;
  readonly count: number;
}

/**
 * The k-th largest of a column of u32 bit by bit, from the top: a bit is set where at least k values are not below what comes
 * of it. One count a bit, by a question that was prepared.
 *
 * Source: Govindaraju, Lloyd, Wang, Lin and Manocha, Fast Computation of Database Operations using Graphics Processors, 2004.
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
