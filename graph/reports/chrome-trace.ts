import { requireArguments } from '../../primitives/checks/arguments.ts';
import { byCodeUnits } from '../../primitives/host/code-units.ts';
import { aTrace, type Trace, type TraceMark, type WorkSpan } from '../definition/shape.ts';

/** An event in Chrome's trace-event format. Times are in microseconds since the start of the trace. */
interface TraceEvent {
  readonly ph: 'M' | 'X' | 'C' | 'i' | 's' | 'f';
  readonly name: string;
  readonly pid: number;
  readonly tid?: number;
  readonly ts?: number;
  readonly [field: string]: unknown;
}

const PROCESSES = { cpu: 1, gpu: 2, either: 3, edges: 4 } as const;
const PROCESS_NAMES = { cpu: 'CPU', gpu: 'GPU', either: 'CPU or GPU', edges: 'Edges' } as const;

/**
 * Writes a trace in Chrome's trace-event format, for `chrome://tracing` and Perfetto. Each side (CPU or GPU) is a
 * process, as is each worker of remote stages, each lane of a node is a thread, and the contents of each edge are a counter track. Marks are instant
 * events. For a migrated item, an arrow leads from the migration mark to the item's work on the other side. Equal
 * traces give equal texts.
 *
 * Work is O(spans + samples + marks); each takes about 150 bytes of text.
 *
 * Source: Duca and Sinclair, Trace Event Format, Google, 2016.
 *
 * @example
 * ```ts
 * const span = { node: 'parse', lane: 0, item: 7, start: 10, end: 12.5, runsOn: 'cpu' as const, outcome: 'done' as const };
 * const shape = { name: 'g', nodes: [], edges: [] };
 * const text = chromeTrace({ shape, started: 10, ended: 12.5, spans: [span], occupancy: [], marks: [], counters: [] });
 * JSON.parse(text).traceEvents.find(({ ph }) => ph === 'X').dur; // 2500
 * ```
 */
export function chromeTrace(trace: Trace): string {
  requireArguments('chromeTrace', { trace }, { trace: aTrace });
  const threads = new Threads(trace);
  const body = [
    ...trace.spans.map((span) => spanEvent(span, trace, threads)),
    ...trace.occupancy.flatMap(({ edge, time, items, bytes }): TraceEvent[] => {
      const at = { ph: 'C', pid: PROCESSES.edges, tid: 0, ts: microseconds(time, trace) } as const;
      const counts = { ...at, name: `${edge}: items`, args: { items } };
      return bytes === 0 && !weighs(edge, trace)
        ? [counts]
        : [counts, { ...at, name: `${edge}: bytes`, args: { bytes } }];
    }),
    ...markEvents(trace, threads),
  ];
  const events = [...threads.names(), ...body];
  const { name } = trace.shape;
  return `{"displayTimeUnit":"ms","otherData":${JSON.stringify({ graph: name })},"traceEvents":[\n${events
    .map((event) => JSON.stringify(event))
    .join(',\n')}\n]}\n`;
}

function spanEvent(span: WorkSpan, trace: Trace, threads: Threads): TraceEvent {
  const { node, item, record, start, end, outcome } = span;
  const ts = microseconds(start, trace);
  return {
    ph: 'X',
    name: node,
    cat: outcome,
    ...threads.ofSpan(span),
    ts,
    dur: Math.max(0.001, round(microseconds(end, trace) - ts)),
    ...(outcome === 'failed' ? { cname: 'terrible' } : {}),
    args: { item, ...(record === undefined ? {} : { record }), outcome },
  };
}

/** Whether an edge has a bound in bytes. If not, its counter track of bytes is left out. */
function weighs(edge: string, { shape }: Trace): boolean {
  return shape.edges.some(({ to, toPort, capacity }) => nameOf(to, toPort) === edge && Number.isFinite(capacity.bytes));
}

function nameOf(node: string, port: string | undefined): string {
  return port === undefined ? node : `${node}.${port}`;
}

function markEvents(trace: Trace, threads: Threads): TraceEvent[] {
  const starts = spansByItem(trace.spans);
  return trace.marks.flatMap((mark, id) => {
    const side = homeOf(mark.node, trace);
    const thread = threads.of(side, `${mark.node} / marks`);
    const args = { ...mark.detail };
    const instant: TraceEvent = {
      ph: 'i',
      name: mark.name,
      ...thread,
      ts: microseconds(mark.time, trace),
      s: 't',
      args,
    };
    const target = targetOf(mark, starts);
    return target === undefined ? [instant] : [instant, ...arrow(mark, target, id, thread, trace, threads)];
  });
}

function spansByItem(spans: readonly WorkSpan[]): Map<string, WorkSpan[]> {
  const byItem = new Map<string, WorkSpan[]>();
  for (const span of spans) {
    const key = JSON.stringify([span.node, span.item]);
    const known = byItem.get(key);
    if (known === undefined) byItem.set(key, [span]);
    else known.push(span);
  }
  return byItem;
}

/**
 * Returns the first span after a migration mark in which the mark's item ran on the new side. Returns `undefined` if
 * there is no such span, and for all other marks.
 */
function targetOf({ node, time, name, detail }: TraceMark, spans: Map<string, WorkSpan[]>): WorkSpan | undefined {
  const side = /^migrate\/.*-to-(cpu|gpu)$/.exec(name)?.[1];
  if (side === undefined) return undefined;
  const ofItem = spans.get(JSON.stringify([node, detail?.item])) ?? [];
  return ofItem.find(({ runsOn, start }) => runsOn === side && start >= time);
}

/**
 * Returns the events that draw an arrow from a mark to a span. An arrow must start and end inside slices (events with a
 * duration), so the mark also becomes a slice of 1 µs. Such slices start on whole microseconds, so two of them never
 * overlap in part.
 */
function arrow(
  mark: TraceMark,
  target: WorkSpan,
  id: number,
  thread: Thread,
  trace: Trace,
  threads: Threads,
): TraceEvent[] {
  const ts = Math.floor(microseconds(mark.time, trace));
  const flow = { name: 'migrate', cat: 'migrate', id };
  const to = threads.ofSpan(target);
  return [
    { ph: 'X', name: mark.name, cat: 'migrate', ...thread, ts, dur: 1, args: { ...mark.detail } },
    { ph: 's', ...flow, ...thread, ts },
    { ph: 'f', ...flow, ...to, bp: 'e', ts: microseconds(target.start, trace) },
  ];
}

function homeOf(node: string, { shape }: Trace): 'cpu' | 'gpu' | 'either' {
  return shape.nodes.find(({ name }) => name === node)?.runsOn ?? 'either';
}

interface Thread {
  readonly pid: number;
  readonly tid: number;
}

/**
 * Assigns numbers to threads by name. The lanes of nodes come first, in the order of nodes in the graph. Other threads
 * get their numbers on first use.
 */
class Threads {
  readonly #tids: Map<string, { readonly pid: number; readonly name: string; readonly tid: number }> = new Map();
  /** The workers, whose processes are numbered after those of the sides. */
  readonly #workers: string[] = [];

  constructor({ shape, spans }: Trace) {
    const place = new Map(shape.nodes.map(({ name }, i) => [name, i]));
    const rank = ({ node }: WorkSpan): number => place.get(node) ?? place.size;
    const lanes = spans.toSorted((a, b) => rank(a) - rank(b) || byCodeUnits(a.node, b.node) || a.lane - b.lane);
    for (const span of lanes) this.ofSpan(span);
  }

  ofSpan({ runsOn, worker, node, lane }: WorkSpan): Thread {
    return this.of(worker === undefined ? runsOn : { worker }, `${node} / lane ${lane}`);
  }

  of(home: keyof typeof PROCESSES | { readonly worker: string }, name: string): Thread {
    const pid = typeof home === 'string' ? PROCESSES[home] : this.#workerPid(home.worker);
    const key = `${pid} ${name}`;
    const known = this.#tids.get(key);
    const tid = known?.tid ?? this.#tids.size + 1;
    if (known === undefined) this.#tids.set(key, { pid, name, tid });
    return { pid, tid };
  }

  #workerPid(worker: string): number {
    if (!this.#workers.includes(worker)) this.#workers.push(worker);
    return PROCESSES.edges + 1 + this.#workers.indexOf(worker);
  }

  names(): TraceEvent[] {
    const sides = Object.keys(PROCESSES) as (keyof typeof PROCESSES)[];
    const threads = [...this.#tids.values()];
    const processes = [
      ...sides.map((side) => ({ pid: PROCESSES[side], name: PROCESS_NAMES[side] })),
      ...this.#workers.map((name) => ({ pid: this.#workerPid(name), name })),
    ];
    return [
      ...processes
        .filter(({ pid }) => pid === PROCESSES.edges || threads.some((thread) => thread.pid === pid))
        .flatMap(({ pid, name }) => [
          metadata('process_name', pid, 0, { name }),
          metadata('process_sort_index', pid, 0, { sort_index: pid }),
        ]),
      ...threads.flatMap(({ pid, name, tid }) => [
        metadata('thread_name', pid, tid, { name }),
        metadata('thread_sort_index', pid, tid, { sort_index: tid }),
      ]),
    ];
  }
}

function metadata(name: string, pid: number, tid: number, args: Readonly<Record<string, unknown>>): TraceEvent {
  return { ph: 'M', name, pid, tid, args };
}

/**
 * Converts a time to microseconds since the start, rounded down to whole nanoseconds, which is the resolution of
 * viewers. Rounding down everywhere keeps the order of times.
 */
function microseconds(time: number, { started }: Trace): number {
  return Math.max(0, Math.floor((time - started) * 1e6) / 1000);
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
