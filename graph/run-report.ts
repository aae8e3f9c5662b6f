import { drawSvg } from './draw-svg.ts';
import { drawOccupancy, drawUtilisation } from './draw-timelines.ts';
import { escapeMarkup, formatBytes, formatCount, formatDuration } from './markup.ts';
import type { EdgeCounters, NodeCounters, Trace, TraceMark } from './shape.ts';

/** A part of a report: any of text, table and drawing, in this order. Texts are escaped. */
export interface ReportSection {
  readonly title: string;
  readonly text?: string | undefined;
  readonly table?: ReportTable | undefined;
  /** SVG, as `drawSvg` or a plot gives it: it goes into the page as it is, so it must come from trusted code. */
  readonly svg?: string | undefined;
}

export interface ReportTable {
  readonly columns: readonly string[];
  /** Numbers are aligned to the right. */
  readonly rows: readonly (readonly (string | number)[])[];
}

export interface ReportOptions {
  /** Heading of the page. Default: the name of the graph. */
  readonly title?: string | undefined;
  /** What the run was about: shown first. */
  readonly sections?: readonly ReportSection[] | undefined;
  /** What the edges held in the end, as the run's `edges()` gives it. Default: what the counters of nodes tell. */
  readonly edges?: readonly EdgeCounters[] | undefined;
  /** What failed: messages say where. */
  readonly errors?: readonly Error[] | undefined;
  /** What the recorder had to let go, as its `dropped()` gives it. */
  readonly dropped?: number | undefined;
}

/** Rows shown of a long table; how many more there are is said. */
const ROWS = 200;

/**
 * One HTML page about a run, complete in itself: the sections given, the graph with its counters, tables of nodes and
 * edges, utilisation and occupancy over time, migrations and other marks, errors. No script and nothing to load, so
 * it can be mailed and archived. Deterministic: the same trace gives the same bytes.
 *
 * @example
 * ```ts
 * const trace = { shape: { name: 'g', nodes: [], edges: [] }, started: 0, ended: 5, spans: [], occupancy: [], marks: [], counters: [] };
 * const page = runReport(trace, { title: 'A < B', sections: [{ title: 'Result', text: 'J′ = 0.7' }] });
 * page.includes('<h1>A &lt; B</h1>') && page.includes('J′ = 0.7'); // true
 * ```
 */
export function runReport(trace: Trace, options: ReportOptions = {}): string {
  const { title = trace.shape.name, sections = [], edges = edgesOf(trace), errors = [], dropped = 0 } = options;
  const all: ReportSection[] = [
    ...sections,
    ...(errors.length === 0 ? [] : [errorSection(errors)]),
    { title: 'Graph', svg: drawSvg(trace.shape, trace.counters) },
    { title: 'Nodes', table: nodeTable(trace) },
    { title: 'Edges', table: edgeTable(edges) },
    { title: 'Utilisation', text: UTILISATION, svg: drawUtilisation(trace) },
    { title: 'Occupancy', text: OCCUPANCY, svg: drawOccupancy(trace) },
    ...(trace.marks.length === 0 ? [] : [{ title: 'Events', table: markTable(trace) }]),
  ];
  const told = [
    `${formatDuration(trace.ended - trace.started)}, ${formatCount(trace.spans.length)} spans of work`,
    ...(dropped > 0 ? [`${formatCount(dropped)} older events were not kept`] : []),
  ].join('; ');
  return [
    '<!doctype html>',
    `<html lang="en"><head><meta charset="utf-8"><title>${escapeMarkup(title)}</title>`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<style>${STYLE}</style></head><body><main>`,
    `<h1>${escapeMarkup(title)}</h1><p class="quiet">${told}</p>`,
    ...all.map(section),
    '</main></body></html>',
    '',
  ].join('\n');
}

const UTILISATION =
  'Part of the time of its lanes that each node was at work: on the CPU in blue, on the GPU in green above it. ' +
  'Ticks are events.';
const OCCUPANCY =
  'Items on each edge: the line is the mean, the area the most at once; the full height is its capacity.';

const STYLE = [
  'body{margin:0;background:#fff;color:#16202c;font:15px/1.5 system-ui,sans-serif}',
  'main{max-width:1180px;margin:0 auto;padding:24px 20px 48px}',
  'h1{font-size:26px;margin:0 0 4px}h2{font-size:18px;margin:36px 0 8px}',
  '.quiet{color:#52606d;margin:0 0 8px}.wide{overflow-x:auto}svg{display:block}',
  'table{border-collapse:collapse;font-size:13px}',
  'th,td{padding:4px 18px 4px 0;text-align:left;border-bottom:1px solid #e3e7eb;vertical-align:top}',
  'th{font-weight:600;color:#52606d;border-bottom-color:#8c96a0}',
  '.n{text-align:right;font-variant-numeric:tabular-nums}',
].join('');

function section({ title, text, table, svg }: ReportSection): string {
  return [
    `<section><h2>${escapeMarkup(title)}</h2>`,
    text === undefined ? '' : `<p class="quiet">${escapeMarkup(text)}</p>`,
    table === undefined ? '' : tableOf(table),
    svg === undefined ? '' : `<div class="wide">${svg}</div>`,
    '</section>',
  ].join('');
}

function tableOf({ columns, rows }: ReportTable): string {
  const isNumber = columns.map((_, i) => rows.length > 0 && rows.every((row) => isFigure(row[i])));
  const cell = (tag: 'th' | 'td', value: string | number, i: number): string => {
    const text = typeof value === 'number' ? formatCount(value) : value;
    return `<${tag}${isNumber[i] ? ' class="n"' : ''}>${escapeMarkup(text)}</${tag}>`;
  };
  const line = (tag: 'th' | 'td', values: readonly (string | number)[]): string =>
    `<tr>${values.map((value, i) => cell(tag, value, i)).join('')}</tr>`;
  const body = rows.slice(0, ROWS).map((row) => line('td', row));
  const more = rows.length > ROWS ? `<p class="quiet">and ${formatCount(rows.length - ROWS)} more rows</p>` : '';
  return `<div class="wide"><table>${line('th', columns)}${body.join('')}</table></div>${more}`;
}

/** Whether a cell reads as a figure: a number, or one with a unit. */
function isFigure(value: string | number | undefined): boolean {
  return typeof value === 'number' || /^[≤<]?\s?[\d.,∞]+(\s?[%µA-Za-z]+)?$/.test(value ?? '');
}

function nodeTable({ shape, counters, started, ended }: Trace): ReportTable {
  const rows = shape.nodes.map(({ name, kind, lanes, runsOn }) => {
    const done = counters.find((counts) => counts.name === name);
    const time = (ended - started) * lanes;
    const busy = done === undefined || time <= 0 ? 0 : (100 * done.busy) / time;
    const figures = done === undefined ? COUNTS.map(() => '') : COUNTS.map((count) => done[count]);
    const rate = done === undefined || ended <= started ? '' : (1000 * done.out) / (ended - started);
    return [name, kind, runsOn, lanes, ...figures, done ? formatDuration(done.busy) : '', `${busy.toFixed(0)} %`, rate];
  });
  return { columns: ['node', 'kind', 'runs on', 'lanes', ...COUNTS, 'busy', 'of lanes', 'out a second'], rows };
}

const COUNTS = ['in', 'out', 'migrated', 'retried', 'skipped', 'dropped'] as const satisfies (keyof NodeCounters)[];

function edgeTable(edges: readonly EdgeCounters[]): ReportTable {
  const columns = ['edge into', 'capacity', 'most items', 'most bytes', 'now', 'full for its producer'];
  const rows = edges.map(({ edge, capacity, peak, peakBytes, depth, stalls }) => {
    const bounds = [capacity.items, ...(Number.isFinite(capacity.bytes) ? [formatBytes(capacity.bytes)] : [])];
    const bound = bounds.map((one) => (typeof one === 'number' ? formatCount(one) : one)).join(', ');
    return [edge, bound, peak, formatBytes(peakBytes), depth, `${formatCount(stalls)} times`];
  });
  return { columns, rows };
}

function edgesOf({ shape, counters }: Trace): EdgeCounters[] {
  const into = new Set(shape.edges.map(({ to }) => to));
  return counters
    .filter(({ name }) => into.has(name))
    .map(({ name, stalls, depth, bytes, peak, peakBytes }) => {
      const { capacity } = shape.edges.find(({ to }) => to === name)!;
      return { edge: name, capacity, stalls, depth, bytes, peak, peakBytes };
    });
}

/** Marks of one name in one node are one row. */
function markTable({ marks, started }: Trace): ReportTable {
  const groups = new Map<string, TraceMark[]>();
  for (const mark of marks) {
    const key = JSON.stringify([mark.node, mark.name]);
    const known = groups.get(key);
    if (known === undefined) groups.set(key, [mark]);
    else known.push(mark);
  }
  const rows = [...groups.values()].map((group) => {
    const [first, last] = [group[0]!, group.at(-1)!];
    const detail = first.detail === undefined ? '' : JSON.stringify(first.detail);
    const times = [first, last].map(({ time }) => formatDuration(time - started));
    return [first.node, first.name, group.length, ...times, detail];
  });
  return { columns: ['node', 'event', 'times', 'first', 'last', 'of the first'], rows };
}

function errorSection(errors: readonly Error[]): ReportSection {
  const rows = errors.map((error) => ['code' in error ? String(error.code) : error.name, error.message]);
  return { title: 'Errors', table: { columns: ['code', 'message'], rows } };
}
