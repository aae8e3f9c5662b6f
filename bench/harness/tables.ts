import { fieldWriter } from '../../formats/text/csv-quote.ts';
import { smallestOf } from '../../primitives/host/extremes.ts';
import { grouped } from '../shared/grouped.ts';
import { tableLines } from '../shared/markdown-table.ts';
import type { Spread } from '../shared/measuring.ts';
import type { MachineFacts } from './machine.ts';
import type { Omission } from './measure.ts';
import { type Row, rateOf, withinNoise } from './row.ts';

/** The complete results of one run. */
export interface Results {
  readonly machine: MachineFacts;
  /** All candidates that took part, with their versions. */
  readonly candidates: readonly { readonly name: string; readonly kind: Row['kind']; readonly description: string }[];
  readonly rows: readonly Row[];
  readonly omissions: readonly Omission[];
  /** Whether the run was completed; false after an abort. */
  readonly complete: boolean;
}

/** The columns of the CSV. */
const COLUMNS: { readonly [name: string]: (row: Row) => string | number | boolean | undefined } = {
  experiment: ({ experiment }) => experiment,
  type: ({ type }) => type,
  n: ({ n }) => n,
  candidate: ({ candidate }) => candidate,
  kind: ({ kind }) => kind,
  clock: ({ clock }) => clock,
  rounds: ({ rounds }) => rounds,
  calls: ({ calls }) => calls,
  ...spreadColumns('', ({ time }) => time),
  ...spreadColumns('latency_', ({ latency }) => latency),
  bytes: ({ bytes }) => bytes,
  gb_per_s: (row) => rateOf(row) && Number(rateOf(row)!.toPrecision(4)),
  checked: ({ checked }) => checked,
};

function spreadColumns(prefix: string, of: (row: Row) => Spread | undefined): typeof COLUMNS {
  const fields = ['median', 'min', 'max'] as const;
  return Object.fromEntries(
    fields.map((field) => [`${prefix}${field}_ns`, (row: Row) => of(row) && Math.round(of(row)![field])]),
  );
}

/** Writes the rows as CSV. Times are in nanoseconds per call. An unknown value is an empty field. */
export function resultsCsv({ rows }: Pick<Results, 'rows'>): string {
  const field = fieldWriter({});
  const lines = rows.map((row) => Object.values(COLUMNS).map((of) => field(String(of(row) ?? ''))));
  return [Object.keys(COLUMNS), ...lines].map((line) => `${line.join()}\n`).join('');
}

/** The results as one JSON object. Times are in nanoseconds per call. */
export function resultsJson(results: Results): string {
  return `${JSON.stringify(results, null, 2)}\n`;
}

/** One case: the rows of all candidates for it. */
export interface CaseRows {
  readonly experiment: string;
  readonly type: string;
  readonly n: number;
  readonly rows: readonly Row[];
}

/** Groups rows by case, in the order of each case's first row. */
export function byCase(rows: readonly Row[]): CaseRows[] {
  const cases = grouped(rows, ({ experiment, type, n }) => JSON.stringify([experiment, type, n]));
  return [...cases.values()].map((alike) => {
    const { experiment, type, n } = alike[0]!;
    return { experiment, type, n, rows: alike };
  });
}

/** A row's time divided by the time of the fastest backend in the same case; undefined without a backend. */
export function timesOurs(row: Row, alike: readonly Row[]): number | undefined {
  const ours = alike.filter(({ kind }) => kind === 'backend').map(({ time }) => time.median);
  return ours.length === 0 ? undefined : row.time.median / smallestOf(ours);
}

/** Whether a row is another than that of the fastest backend, and the difference of their times is within the noise. */
function isClose(row: Row, alike: readonly Row[]): boolean {
  const backends = alike.filter(({ kind }) => kind === 'backend');
  const fastest = backends.reduce((best, each) => (each.time.median < best.time.median ? each : best), backends[0]!);
  return row !== fastest && withinNoise(row.time, fastest.time);
}

/** A time with its unit and three significant digits, such as `1.25 ms`. */
export function timeText(nanoseconds: number): string {
  const units = ['ns', 'µs', 'ms', 's'];
  let [value, unit] = [nanoseconds, 0];
  for (; value >= 999.5 && unit < units.length - 1; unit++) value /= 1000;
  return `${digits(value)} ${units[unit]}`;
}

const MIN_POWER = 8;

/** A number of elements as text: `2^20` for powers of two from 2^8 on; other numbers have thousands separators. */
export function sizeText(n: number): string {
  const power = Math.log2(n);
  return power >= MIN_POWER && Number.isInteger(power) ? `2^${power}` : n.toLocaleString('en-US');
}

/**
 * Formats a number with three significant digits, without an exponent. An integer part with more digits is written in
 * full.
 */
export function digits(value: number): string {
  return value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
}

const HEADER = ['experiment', 'type', 'n', 'candidate', 'median', 'min … max', 'latency', 'GB/s', 'time ÷ ours'];

/**
 * The cells of a table for readers, header first. The last column contains each time divided by the time of the fastest
 * backend in the same case, after `≈` where some rounds of either were as fast as some of the other.
 */
export function tableCells(rows: readonly Row[]): string[][] {
  const body = byCase(rows).flatMap(({ rows: alike }) =>
    alike.map((row) => {
      const { experiment, type, n, candidate, time, latency } = row;
      const [rate, ratio] = [rateOf(row), timesOurs(row, alike)];
      return [
        experiment,
        type,
        sizeText(n),
        candidate,
        timeText(time.median),
        `${timeText(time.min)} … ${timeText(time.max)}`,
        latency === undefined ? '' : timeText(latency.median),
        rate === undefined ? '' : digits(rate),
        ratio === undefined ? '' : `${isClose(row, alike) ? '≈ ' : ''}${ratio.toFixed(2)}`,
      ];
    }),
  );
  return [HEADER, ...body];
}

/** The rows as a Markdown table. */
export function resultsTable(rows: readonly Row[]): string {
  return tableLines(tableCells(rows))
    .map((line) => `${line}\n`)
    .join('');
}
