import {
  type HostMetric,
  METRIC_NAMES,
  type Metric,
  metricCalled,
  recordOf,
} from '../../algorithms/neighbours/metrics.ts';

/** All metrics of the command, with some powers. */
export const hostMetrics: readonly HostMetric[] = [
  ...METRIC_NAMES.map((name) => metricCalled(name)!),
  { lp: 3 },
  { lp: 8 },
  { lp: 64 },
];

/** All metrics of the library. */
export const metrics: readonly Metric[] = [
  ...hostMetrics.filter((metric): metric is Metric => recordOf(metric).device !== undefined),
  { lp: 1 },
  { lp: 2 },
];

/** The metrics of differences. */
export const powerMetrics: readonly Metric[] = metrics.filter((metric) => recordOf(metric).power !== undefined);
