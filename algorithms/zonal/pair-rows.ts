/** Pairs of a zone and a value, sorted by zone and then by value, without duplicates. */
export interface Pairs {
  readonly zone: Uint32Array;
  /** The values as ordered words (u32 with the order of the values). */
  readonly value: Uint32Array;
  /** The upper words of values of 64 bits. Undefined for other sample types. */
  readonly high?: Uint32Array | undefined;
}

/** Whole numbers. */
export type Numbers = Uint32Array | Int32Array | Float64Array;

/** Pairs, each with sums of whole numbers. */
export type PairRows<S extends string> = Pairs & { readonly [sum in S]: Numbers };

/** Collects pairs over all windows, and adds up what they have. */
export interface PairRuns<S extends string> {
  add(rows: PairRows<S>): void;
  /** All pairs. Nothing changes them later. */
  rows(): PairRows<S>;
  /** The number of pairs that are kept, some of them more than once. */
  kept(): number;
}

/**
 * Creates an empty collection. The collection keeps sorted runs of pairs. While the last run is at least half as long
 * as the run before it, these two runs are merged. Merging n pairs from w windows thus takes O(n log w).
 */
export function createPairRuns<S extends string>(sums: readonly S[]): PairRuns<S> {
  const runs: PairRows<S>[] = [];
  const mergeLast = (): void => {
    const last = runs.pop()!;
    runs.push(mergePairs(runs.pop()!, last, sums));
  };
  return {
    add(rows) {
      runs.push(rows);
      while (runs.length > 1 && runs.at(-2)!.zone.length <= 2 * runs.at(-1)!.zone.length) mergeLast();
    },
    rows() {
      while (runs.length > 1) mergeLast();
      return runs[0] ?? noPairs(sums);
    },
    kept: () => runs.reduce((all, { zone }) => all + zone.length, 0),
  };
}

function noPairs<S extends string>(sums: readonly S[]): PairRows<S> {
  const none = Object.fromEntries(sums.map((sum) => [sum, new Uint32Array(0)]));
  return { zone: new Uint32Array(0), value: new Uint32Array(0), ...(none as { readonly [sum in S]: Uint32Array }) };
}

/** Merges two sorted tables of pairs. What equal pairs have is added. */
function mergePairs<S extends string>(a: PairRows<S>, b: PairRows<S>, sums: readonly S[]): PairRows<S> {
  const max = a.zone.length + b.zone.length;
  const zone = new Uint32Array(max);
  const value = new Uint32Array(max);
  const high = a.high || b.high ? new Uint32Array(max) : undefined;
  const added = sums.map((sum) => ({ of: new Float64Array(max), a: a[sum], b: b[sum] }));
  let [i, j, out] = [0, 0, 0];
  while (i < a.zone.length || j < b.zone.length) {
    const order = i === a.zone.length ? 1 : j === b.zone.length ? -1 : compare(a, i, b, j);
    const [from, at] = order <= 0 ? [a, i] : [b, j];
    zone[out] = from.zone[at]!;
    value[out] = from.value[at]!;
    if (high !== undefined) high[out] = from.high![at]!;
    for (const { of, a, b } of added) of[out] = (order <= 0 ? a[i]! : 0) + (order >= 0 ? b[j]! : 0);
    if (order <= 0) i++;
    if (order >= 0) j++;
    out++;
  }
  const cut = <A extends Uint32Array | Float64Array>(all: A): A => (out === max ? all : (all.slice(0, out) as A));
  const named = Object.fromEntries(added.map(({ of }, at) => [sums[at]!, cut(of)]));
  return {
    ...{ zone: cut(zone), value: cut(value), high: high && cut(high) },
    ...(named as { readonly [sum in S]: Float64Array }),
  };
}

function compare(a: Pairs, i: number, b: Pairs, j: number): number {
  const upper = a.high === undefined || b.high === undefined ? 0 : a.high[i]! - b.high[j]!;
  return a.zone[i]! - b.zone[j]! || upper || a.value[i]! - b.value[j]!;
}

/** Calls `of` for each zone that has pairs, with the rows `from … to − 1` of these. */
export function forEachZone({ zone }: Pick<Pairs, 'zone'>, of: (zone: number, from: number, to: number) => void): void {
  for (let from = 0, to = 0; from < zone.length; from = to) {
    while (zone[to] === zone[from]) to++;
    of(zone[from]!, from, to);
  }
}
