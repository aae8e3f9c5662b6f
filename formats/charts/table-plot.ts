import type { HostTable } from '../../algorithms/tables/host-table.ts';
import { isSet } from '../tables/bits.ts';
import type { TableField } from '../tables/table-file.ts';
import { cellText } from '../tables/write/cell-text.ts';
import { UsageError } from '../usage-error.ts';
import { BAR, histogramChart } from './histogram-chart.ts';
import { chartElement, loadPlot } from './plot-packages.ts';
import { chartPage, countText, HAIRLINE, INK, MARGIN, MUTED, NARROW, printable, shorten } from './zonal-plot/page.ts';

/** Collects the rows of a table for a chart. */
export interface TablePicture {
  add(rows: { readonly rows: number; readonly columns: HostTable }): void;
  /** Draws the chart as standalone SVG. */
  draw(): Promise<string>;
}

const NUMBERS: readonly TableField['type'][] = ['u32', 'i32', 'f32', 'u64', 'i64', 'f64', 'decimal'];
const TOP = 88;

/**
 * Starts a chart of the first numeric column that is not a key. With `keys`, the chart has one bar per row, labelled by
 * the keys, for at most the first 40 rows. Without `keys`, the chart is a histogram. Nulls and numbers that are not
 * finite are not drawn; the subtitle states how many there are.
 *
 * The chart does not depend on how the rows are divided among calls of `add`.
 *
 * @throws UsageError `plot/no-numbers` if there is no numeric column, or `keys` is empty.
 */
export function tablePicture(
  title: string,
  fields: readonly TableField[],
  keys: readonly TableField[] | undefined,
): TablePicture {
  const isKey = ({ name }: TableField): boolean => keys?.some((key) => key.name === name) ?? false;
  const field = fields.find((each) => NUMBERS.includes(each.type) && !isKey(each));
  if (field === undefined || keys?.length === 0) {
    const sentence =
      keys?.length === 0 ? 'Without groups there are no bars to draw.' : 'There is no column of numbers to draw.';
    throw new UsageError('plot/no-numbers', `--plot: ${sentence}`, {
      remedy:
        keys?.length === 0 ? 'Give --group-by, or leave --plot out.' : 'Name one with --columns, or leave --plot out.',
    });
  }
  return keys === undefined ? histogramOf(title, field) : barsOf(title, field, keys);
}

/** The numbers of a column as f64, with NaN for null. */
function numbersOf(field: TableField, columns: HostTable, rows: number): Float64Array {
  const { validity, ...column } = columns[field.name]!;
  const { values } = column as { values: ArrayLike<number | bigint> };
  const scale = field.type === 'decimal' ? 10 ** -field.scale : 1;
  return Float64Array.from({ length: rows }, (_, row) =>
    validity === undefined || isSet(validity, row) ? Number(values[row]!) * scale : Number.NaN,
  );
}

const MAX_BARS = 40;
const BAR_HEIGHT = 22;

interface Bar {
  readonly name: string;
  readonly value: number;
}

function barsOf(title: string, field: TableField, keys: readonly TableField[]): TablePicture {
  const bars: Bar[] = [];
  let [rows, missing] = [0, 0];
  return {
    add({ rows: count, columns }) {
      const numbers = numbersOf(field, columns, count);
      const texts = keys.map((key) => {
        const column = columns[key.name]!;
        const cell = cellText(key, column);
        return (row: number) => (column.validity === undefined || isSet(column.validity, row) ? cell(row) : 'null');
      });
      for (let row = 0; row < count; row++) {
        rows++;
        if (!Number.isFinite(numbers[row]!)) missing++;
        else if (bars.length < MAX_BARS) {
          bars.push({ name: shorten(printable(texts.map((of) => of(row)).join(', ')), 28), value: numbers[row]! });
        }
      }
    },
    async draw() {
      const shown = bars.length < rows - missing ? `the first ${bars.length} of ${countText(rows)}` : countText(rows);
      const subtitle = `${field.name} by ${keys.map(({ name }) => name).join(', ')}: ${shown} ${rows === 1 ? 'group' : 'groups'}${left(missing)}`;
      const height = Math.max(1, bars.length) * BAR_HEIGHT + 50;
      return chartPage(title, shorten(subtitle, 96), await barChart(bars, printable(field.name), height), TOP, height);
    },
  };
}

function left(missing: number): string {
  return missing === 0 ? '' : `, ${countText(missing)} without a number left out`;
}

async function barChart(bars: readonly Bar[], label: string, height: number): Promise<string> {
  const { Plot, document } = await loadPlot();
  const { axisX, barX, gridX, plot, ruleX, text: textMark } = Plot;
  // Names are shortened, so two bars may have the same name. Therefore `place`, the index of the bar, determines the
  // position of a bar, not the name.
  const numbered = bars.map((bar, place) => ({ ...bar, place }));
  const chart = plot({
    document,
    width: NARROW - 2 * MARGIN,
    height,
    marginLeft: 180,
    marginRight: 24,
    marginTop: 0,
    marginBottom: 42,
    x: { label: null, nice: true },
    y: { axis: null, type: 'band', padding: 0.2 },
    marks: [
      gridX({ stroke: HAIRLINE, strokeOpacity: 1 }),
      axisX({ tickSize: 3, color: MUTED, label, labelAnchor: 'center', labelArrow: 'none' }),
      barX(numbered, { x: 'value', y: 'place', fill: BAR }),
      textMark(numbered, { y: 'place', text: 'name', frameAnchor: 'left', textAnchor: 'end', dx: -8, fill: INK }),
      ruleX([0], { stroke: MUTED }),
    ],
  });
  return chartElement(chart, 11);
}

const MAX_BINS = 64;
const CHART_HEIGHT = 320;

/**
 * Creates a histogram. The bin width is the smallest power of two with which 64 bins cover all numbers. When a new
 * number makes a wider bin necessary, neighbouring bins are merged.
 */
function histogramOf(title: string, field: TableField): TablePicture {
  let [power, counts, count, missing] = [0, new Map<number, number>(), 0, 0];
  let [min, max] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];

  function widenFor(value: number): void {
    const wasOne = !(min < max);
    [min, max] = [Math.min(min, value), Math.max(max, value)];
    if (wasOne) {
      // All numbers before `value` are equal, if there are any. So they all go into one bin of the new width.
      power = powerFor(min, max);
      const other = value === min ? max : min;
      counts = count === 0 ? new Map() : new Map([[Math.floor(other / 2 ** power), count]]);
      return;
    }
    const wider = powerFor(min, max);
    const merged = new Map<number, number>();
    for (const [bin, each] of counts) {
      const into = Math.floor(bin / 2 ** (wider - power));
      merged.set(into, (merged.get(into) ?? 0) + each);
    }
    [power, counts] = [wider, merged];
  }

  return {
    add({ rows, columns }) {
      for (const value of numbersOf(field, columns, rows)) {
        if (!Number.isFinite(value)) {
          missing++;
          continue;
        }
        if (value < min || value > max) widenFor(value);
        const bin = Math.floor(value / 2 ** power);
        counts.set(bin, (counts.get(bin) ?? 0) + 1);
        count++;
      }
    },
    async draw() {
      const subtitle = `${field.name}: ${countText(count)} ${count === 1 ? 'number' : 'numbers'}${left(missing)}`;
      const width = 2 ** power;
      const bars = [...counts].map(([bin, each]) => ({
        lower: bin * width,
        upper: (bin + 1) * width,
        count: each,
        color: BAR,
      }));
      bars.sort((a, b) => a.lower - b.lower);
      const chart = await histogramChart({
        height: CHART_HEIGHT,
        bars,
        start: bars[0]?.lower ?? 0,
        end: bars.at(-1)?.upper ?? 1,
        label: printable(field.name),
        ticks: { x: 8, y: 5 },
      });
      return chartPage(title, shorten(subtitle, 96), chart, TOP, CHART_HEIGHT);
    },
  };
}

/**
 * Exponent of the smallest power of two with which 64 bins cover the range. If `min` equals `max`, the
 * bin width is between 1/32 and 1/16 of the number.
 */
function powerFor(min: number, max: number): number {
  if (min === max) return Math.max(MIN_POWER, Math.floor(Math.log2(Math.abs(min))) - 4);
  let power = Math.max(MIN_POWER, Math.floor(Math.log2(max / 2 - min / 2)) - 6);
  while (Math.floor(max / 2 ** power) - Math.floor(min / 2 ** power) >= MAX_BINS) power++;
  return power;
}

/** Minimum exponent of the bin width. If bins were narrower, their edges could not be represented. */
const MIN_POWER = -1000;
