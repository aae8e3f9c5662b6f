import { requireArguments, requireOptions } from '../../primitives/checks/arguments.ts';
import { aNumber, anArrayOf, anInstance, aText, type FieldKinds } from '../../primitives/checks/kinds.ts';
import {
  aTrace,
  type EdgeCounters,
  type NodeCounters,
  someEdgeCounters,
  type Trace,
  type TraceMark,
} from '../definition/shape.ts';
import { drawSvg } from '../drawings/draw-svg.ts';
import { drawOccupancy, drawUtilisation } from '../drawings/draw-timelines.ts';
import { formatBytes, formatCount, formatDuration } from '../drawings/markup.ts';
import { type ReportSection, type ReportTable, reportPage, someSections } from './report-page.ts';

export interface ReportOptions {
  /** Heading of the page. Default: the name of the graph. */
  readonly title?: string | undefined;
  /** Sections to show before all others, for example about the input of the run. */
  readonly sections?: readonly ReportSection[] | undefined;
  /**
   * Final contents of the edges, as returned by `edges()` of the run. By default they are derived from the counters of
   * the nodes.
   */
  readonly edges?: readonly EdgeCounters[] | undefined;
  /** Errors to list. Their messages say where each error occurred. */
  readonly errors?: readonly Error[] | undefined;
  /** Number of events that the recorder dropped, as returned by its `dropped()`. */
  readonly dropped?: number | undefined;
}

const OPTIONS: FieldKinds<ReportOptions> = {
  title: aText,
  sections: someSections,
  edges: someEdgeCounters,
  errors: anArrayOf(anInstance(Error)),
  dropped: aNumber,
};

/**
 * Makes a self-contained HTML page about a run. It contains the given sections, the errors, the graph with its
 * counters, tables of nodes and edges, charts of utilisation and occupancy over time, and a table of migrations and
 * other marks. The page has no script and loads nothing, so it can be mailed and archived. Equal traces give equal
 * bytes.
 *
 * @example
 * ```ts
 * const trace = { shape: { name: 'g', nodes: [], edges: [] }, started: 0, ended: 5, spans: [], occupancy: [], marks: [], counters: [] };
 * const page = runReport(trace, { title: 'A < B', sections: [{ title: 'Result', text: 'J′ = 0.7' }] });
 * page.includes('<h1>A &lt; B</h1>') && page.includes('J′ = 0.7'); // true
 * ```
 */
export function runReport(trace: Trace, options: ReportOptions = {}): string {
  requireArguments('runReport', { trace }, { trace: aTrace });
  requireOptions('runReport', OPTIONS, options);
  const { title = trace.shape.name, sections = [], edges = edgesOf(trace), errors = [], dropped = 0 } = options;
  const all: ReportSection[] = [
    ...sections,
    ...(errors.length === 0 ? [] : [errorSection(errors)]),
    { title: 'Graph', svg: drawSvg(trace.shape, { counters: trace.counters }) },
    { title: 'Nodes', table: nodeTable(trace) },
    { title: 'Edges', table: edgeTable(edges) },
    { title: 'Utilisation', text: utilisationText(trace), svg: drawUtilisation(trace) },
    { title: 'Occupancy', text: OCCUPANCY, svg: drawOccupancy(trace) },
    ...(trace.marks.length === 0 ? [] : [{ title: 'Events', table: markTable(trace) }]),
  ];
  const told = [
    `${formatDuration(trace.ended - trace.started)}, ${formatCount(trace.spans.length)} spans of work`,
    ...(dropped > 0 ? [`${formatCount(dropped)} older events were not kept`] : []),
  ].join('; ');
  return reportPage({ title, told, sections: all });
}

function utilisationText({ spans }: Trace): string {
  const colours = spans.some(({ runsOn }) => runsOn === 'gpu')
    ? ': on the CPU in blue, on the GPU in green above it'
    : '';
  return `Part of the time of its lanes that each node was at work${colours}. Ticks are events.`;
}

const OCCUPANCY =
  'Items on each edge: the line is the mean, the area the most at once; the full height is its capacity.';

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

/**
 * Returns a table with one row for each pair of a node and a mark name. A row shows how often the mark occurred, the
 * times of its first and last occurrence, and the details of the first.
 */
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
