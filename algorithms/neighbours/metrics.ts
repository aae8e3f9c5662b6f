import { type Kind, where } from '../../primitives/checks/kinds.ts';
import { f32, select } from '../../primitives/index.ts';
import type { Coordinates } from './exact/coordinates.ts';
import { byAngle, byPowers, byProduct, onSphere, type Placed, type Ranking } from './exact/ranking.ts';
import { differenceSpace, directionSpace, productSpace, type Space, sphereSpace } from './exact/space.ts';
import { boundedByGaps, type Measure, productOf, scaledPowers, squaredDifferences, sumOf } from './measures.ts';

/**
 * Distance of two points a and b. With δ as the differences of their coordinates:
 *
 * - `l1`: Σ |δ|; `l2`: Σ δ², without the root; `max`: the maximum |δ|.
 * - `{ lp }`: (Σ |δ|^p)^(1/p), the distance itself, for an integer p from 1 to 64.
 * - `cosine`: 1 − a·b ÷ (|a| |b|), 1 if a vector is zero; `inner`: −a·b, so that the point with the largest product is
 *   the nearest.
 *
 * Coordinates are f32, and distances those of the f32 given. All except `{ lp }`: every operation is rounded to 24 bits,
 * and sums are added from the first dimension to the last.
 *
 * `l2` orders points at all scales as real arithmetic does, except for these roundings: exponents have no limits, so no
 * square is too large or too small, and its error is at most D + 2 units in the last place in D dimensions. Only the
 * distance that is returned is a square in f32: it is +∞ beyond 3.4e38, the square of 1.8e19, has fewer digits below
 * 1.2e-38, and is 0 up to the square of 2.6e-23. `{ lp: 2 }` returns the root, at all scales.
 *
 * `{ lp }` with p from 2 on works at all scales: powers are scaled, so a distance is 0 or +∞ only if f32 has no place for
 * it. In D dimensions, it is within 6 + D ÷ p units in the last place of real arithmetic, and exact if a and b differ in
 * a single coordinate by a difference that f32 holds. Points at the same f32 distance are equally near.
 *
 * For `l2` and `{ lp }`, coordinates and differences below 1.2e-38 count as 0, so bytes are the same on all backends. For
 * the others, devices may differ where coordinates, differences or products are below 1.2e-38 and not 0. Products of
 * `cosine` and `inner` beyond 3.4e38 are +∞.
 *
 * −0 becomes 0, and a distance that is NaN becomes +∞.
 */
export type Metric = 'l1' | 'l2' | 'max' | 'cosine' | 'inner' | { readonly lp: number };

/** The metrics of the library, and those that only the command has. */
export type HostMetric = Metric | 'sphere';

/** What there is to know of a metric. Searches, trees, the command and tests ask here. */
export interface MetricRecord {
  /** What the distance is, for the help of the command. */
  readonly help: string;
  /** The metric on devices, in f32. Absent: only the command has it. */
  readonly device?: Measure;
  /** The vectors by which the command finds candidates. */
  spaceOf(points: Coordinates): Space;
  /** The metric on the host, in f64. */
  rankingOf(queries: Placed, points: Placed): Ranking;
  /** The exponent p, if distances are p-th roots of sums of p-th powers of |δ|; +∞ for the maximum. */
  readonly power?: number;
  readonly canBeNegative?: true;
  /** Whether points are longitudes and latitudes in degrees. */
  readonly takesDegrees?: true;
}

type OnDevice = MetricRecord & { readonly device: Measure };

const METRICS: { readonly [name in Exclude<Metric, object>]: OnDevice } & { readonly sphere: MetricRecord } = {
  l1: {
    help: 'the sum of |δ|',
    device: boundedByGaps(sumOf((sum, a, b) => sum.add(a.sub(b).abs()))),
    ...byDifferences(1),
  },
  l2: { help: 'the Euclidean distance', device: squaredDifferences, ...byDifferences(2) },
  max: {
    help: 'the maximum of |δ|',
    device: boundedByGaps(
      sumOf((sum, a, b) => {
        const between = a.sub(b).abs();
        // Keeps a NaN: `le` is false if `between` is NaN, and `ne` is true if `sum` is NaN.
        return select(between, sum, between.le(sum).or(sum.ne(sum)));
      }),
    ),
    ...byDifferences(Number.POSITIVE_INFINITY),
  },
  cosine: {
    help: '1 − cos',
    device: {
      ...productOf((dot, [a, b]) => f32(1).sub(select(dot.div(a.mul(b)), f32(0), a.eq(0).or(b.eq(0))))),
      needsLengths: true,
    },
    ...{ spaceOf: directionSpace, rankingOf: byAngle },
  },
  inner: {
    help: 'the negated inner product: the largest product is nearest',
    device: productOf((dot) => f32(0).sub(dot)),
    ...{ spaceOf: productSpace, rankingOf: byProduct, canBeNegative: true },
  },
  sphere: {
    help: 'metres along the great circle, from a longitude and a latitude in degrees, in this order; also called haversine',
    ...{ spaceOf: sphereSpace, rankingOf: onSphere, takesDegrees: true },
  },
};

function byDifferences(power: number): Pick<MetricRecord, 'power' | 'spaceOf' | 'rankingOf'> {
  return {
    power,
    spaceOf: (points) => differenceSpace(power, points),
    rankingOf: (queries, points) => byPowers(power, queries, points),
  };
}

const HIGHEST_POWER = 64;

const byPower = (power: number): OnDevice => ({
  help: '(Σ |δ|^p)^(1/p), where p is 3 to 64',
  device: power === 1 ? METRICS.l1.device : scaledPowers(power),
  ...byDifferences(power),
});

export function recordOf(metric: Metric): OnDevice;
export function recordOf(metric: HostMetric): MetricRecord;
export function recordOf(metric: HostMetric): MetricRecord {
  return typeof metric === 'object' ? byPower(metric.lp) : METRICS[metric];
}

const ALL: readonly (readonly [name: string, MetricRecord])[] = Object.entries(METRICS);

/** Names in the command: those of the records, and `l` with an exponent. */
export const METRIC_NAMES: readonly string[] = Object.keys(METRICS);

export function nameOfMetric(metric: HostMetric): string {
  return typeof metric === 'object' ? `l${metric.lp}` : metric;
}

export function metricCalled(name: string): HostMetric | undefined {
  if (name === 'haversine') return 'sphere';
  if (Object.hasOwn(METRICS, name)) return name as HostMetric;
  const lp = Number(/^l([1-9]\d?)$/.exec(name)?.[1]);
  return isPower({ lp }) ? { lp } : undefined;
}

/** A line for every metric. */
export function metricsHelp(): string {
  return [...ALL, ['l3 …', byPower(3)] as const].map(([name, { help }]) => `    ${name.padEnd(8)} ${help}`).join('\n');
}

const namesOf = (holds: (record: MetricRecord) => unknown): string[] =>
  ALL.filter(([, record]) => holds(record)).map(([name]) => name);
const WORDS = namesOf(({ device }) => device);

function isPower(given: unknown): given is { readonly lp: number } {
  const { lp } = (given ?? {}) as { readonly lp?: unknown };
  return Number.isInteger(lp) && (lp as number) >= 1 && (lp as number) <= HIGHEST_POWER;
}

export const aMetric: Kind = where(
  `one of ${WORDS.join(', ')}, or { lp } of a whole number from 1 to ${HIGHEST_POWER}`,
  (given) => WORDS.includes(given as string) || isPower(given),
  { code: 'neighbours/metric' },
);

/** Validator of metrics for trees. Accepts only metrics with bounds of boxes. */
export const aTreeMetric: Kind = (given, path, homes) => {
  const flaw = aMetric(given, path, homes);
  if (flaw !== undefined || recordOf(given as Metric).device.boundOf !== undefined) return flaw;
  return {
    path,
    part: given,
    expected: `${namesOf(({ device }) => device?.boundOf).join(', ')} or { lp }`,
    code: 'neighbours/metric',
    remedy: 'Trees have no bounds for this metric: call nearest().',
  };
};
