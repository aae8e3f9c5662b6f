import { lastValueFrom, toArray } from 'rxjs';
import { describe, expect } from 'vitest';
import { chromeTrace, graph, migrator, pull, recordTrace, stage, type Trace } from '../../graph/index.ts';
import { fc, test } from '../law-test.ts';
import { anyTrace } from './arbitrary-trace.ts';
import { range, sorted, turns } from './graph-harness.ts';

interface Event {
  readonly ph: string;
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  readonly ts: number;
  readonly dur: number;
  readonly id?: number;
  readonly args: Record<string, unknown>;
}

const eventsOf = (trace: Trace): Event[] => JSON.parse(chromeTrace(trace)).traceEvents;
const of = (events: readonly Event[], ph: string): Event[] => events.filter((event) => event.ph === ph);
const threadOf = ({ pid, tid }: Event): string => `${pid}/${tid}`;
const NANOSECOND = 0.001;

describe('the recorder', () => {
  test.prop({
    limit: fc.nat({ max: 8 }),
    times: fc.array(fc.nat({ max: 100 }), { maxLength: 30 }),
  })('keeps the latest records of each kind, in order, and counts the dropped ones', ({ limit, times }) => {
    const recorder = recordTrace({ limit, now: () => 0 });
    const ordered = sorted(times);
    for (const [item, time] of ordered.entries()) {
      recorder.mark({ node: 'n', time, name: 'm', detail: { item } });
      recorder.occupancy({ edge: 'n', time, items: item, bytes: 0 });
      recorder.span({ node: 'n', lane: 0, item, start: time, end: time + 1, runsOn: 'cpu', outcome: 'done' });
    }
    const trace = recorder.trace({ shape: { name: 'g', nodes: [], edges: [] }, counters: () => [] });
    const kept = range(ordered.length).slice(Math.max(0, ordered.length - limit));
    expect(trace.marks.map(({ detail }) => detail?.item)).toEqual(kept);
    expect(trace.occupancy.map(({ items }) => items)).toEqual(kept);
    expect(trace.spans.map(({ item }) => item)).toEqual(kept);
    expect(recorder.dropped()).toBe(3 * (ordered.length - kept.length));
    expect(trace.ended).toBe(ordered.length === 0 ? 0 : ordered.at(-1)! + 1);
  });

  test('has a span for every item of a run, and every level of its edges', async () => {
    const recorder = recordTrace();
    const copy = stage('copy', async (x: number) => turns(1).then(() => x), { lanes: 2, observer: recorder });
    await lastValueFrom(pull(range(20)).pipe(copy, toArray()));
    const run = { shape: { name: 'g', nodes: [copy.meta], edges: [] }, counters: () => [] };
    const trace = recorder.trace(run);
    expect(sorted(trace.spans.map(({ item }) => item))).toEqual(range(20));
    expect(trace.occupancy.at(-1)).toMatchObject({ edge: 'copy', items: 0 });
    expect(Math.max(...trace.occupancy.map(({ items }) => items))).toBe(copy.counters().peak);
    for (const { start, end } of trace.spans) {
      expect(start).toBeGreaterThanOrEqual(trace.started);
      expect(end).toBeLessThanOrEqual(trace.ended);
    }
  });

  test('traces a graph with migrating stages, under the names of its nodes', async () => {
    const recorder = recordTrace();
    const balance = migrator();
    const slow = async (x: number): Promise<number> => turns(3).then(() => x);
    const quick = async (x: number): Promise<number> => x;
    const definition = graph('both', (g) => {
      const items = g.source('items', range(60));
      const parsed = g.pipe('parse', items, balance.upstream('parse', { cpu: quick, gpu: quick }));
      const done = g.pipe('aggregate', parsed, balance.downstream('aggregate', { cpu: quick, gpu: slow, capacity: 4 }));
      return g.reduce('sum', done, (a: number, b: number) => a + b, 0);
    });
    const run = definition.run(undefined, { observer: recorder });
    expect(await run.result).toBe(1770);
    const trace = recorder.trace(run);
    const counters = Object.fromEntries(trace.counters.map(({ name, ...counts }) => [name, counts]));
    expect(counters.aggregate).toMatchObject({ in: 60, out: 60, skipped: 0 });
    expect(counters.aggregate?.migrated).toBeGreaterThan(0);
    const moves = trace.marks.filter(({ node, name }) => node === 'aggregate' && name === 'migrate/gpu-to-cpu');
    expect(moves.length).toBe(counters.aggregate?.migrated);
    const onCpu = trace.spans.filter(({ node, runsOn }) => node === 'aggregate' && runsOn === 'cpu');
    expect(onCpu.length).toBe(moves.length);
    expect(trace.shape.edges.find(({ to }) => to === 'aggregate')?.capacity.items).toBe(4);
    const arrows = of(eventsOf(trace), 's');
    expect(arrows.length).toBe(trace.marks.filter(({ name }) => name.includes('-to-')).length);
  });
});

describe('the Chrome trace', () => {
  test('draws arrows to the lanes of workers', () => {
    const node = {
      name: 'n',
      kind: 'stage',
      lanes: 1,
      capacity: { items: 1, bytes: 1 },
      runsOn: 'cpu',
      remote: undefined,
    };
    const span = { node: 'n', lane: 0, item: 0, start: 100, end: 101, runsOn: 'cpu', worker: 'w', outcome: 'done' };
    const events = eventsOf({
      shape: { name: 'g', nodes: [node], edges: [] },
      ...{ started: 100, ended: 200, spans: [span], occupancy: [], counters: [] },
      marks: [{ node: 'n', time: 100, name: 'migrate/gpu-to-cpu', detail: { item: 0 } }],
    } as never);
    const slice = of(events, 'X').find(({ args }) => 'outcome' in args);
    expect(of(events, 'f').map(threadOf)).toEqual([threadOf(slice!)]);
  });

  test.prop({ trace: anyTrace })('is JSON with everything that was recorded, timed from the start', ({ trace }) => {
    const events = eventsOf(trace);
    const work = of(events, 'X').filter(({ args }) => 'outcome' in args);
    expect(work.length).toBe(trace.spans.length);
    expect(work.map(({ name, args }) => [name, args.item])).toEqual(trace.spans.map(({ node, item }) => [node, item]));
    work.forEach(({ ts, dur }, i) => {
      expect(Math.abs(ts - (trace.spans[i]!.start - 100) * 1000)).toBeLessThanOrEqual(2 * NANOSECOND);
      expect(Math.abs(ts + dur - (trace.spans[i]!.end - 100) * 1000)).toBeLessThanOrEqual(2 * NANOSECOND);
    });
    expect(of(events, 'i').map(({ name }) => name)).toEqual(trace.marks.map(({ name }) => name));
    const levels = of(events, 'C').filter(({ args }) => 'items' in args);
    expect(levels.map(({ args }) => args.items)).toEqual(trace.occupancy.map(({ items }) => items));
    for (const { ph, ts } of events) if (ph !== 'M') expect(ts).toBeGreaterThanOrEqual(0);
  });

  test.prop({ trace: anyTrace })('names every process and thread once, CPU and GPU separately', ({ trace }) => {
    const events = eventsOf(trace);
    const names = of(events, 'M').filter(({ name }) => name === 'thread_name');
    expect(new Set(names.map(threadOf)).size).toBe(names.length);
    const known = new Set(names.map(threadOf));
    for (const event of events) if ('Xisf'.includes(event.ph)) expect(known.has(threadOf(event))).toBe(true);
    const work = of(events, 'X').filter(({ args }) => 'outcome' in args);
    const processes = of(events, 'M').filter(({ name }) => name === 'process_name');
    const nameOf = new Map(processes.map(({ pid, args }) => [pid, args.name]));
    for (const [i, { pid }] of work.entries()) {
      const { runsOn, worker } = trace.spans[i]!;
      expect(nameOf.get(pid)).toBe(worker ?? (runsOn === 'gpu' ? 'GPU' : 'CPU'));
    }
    const named = new Set(processes.map(({ pid }) => pid));
    for (const { pid } of events) expect(named.has(pid)).toBe(true);
  });

  test.prop({ trace: anyTrace })('has slices that nest in their thread', ({ trace }) => {
    const threads = groups(of(eventsOf(trace), 'X'));
    for (const slices of threads.values()) {
      const ordered = slices.toSorted((a, b) => a.ts - b.ts || b.dur - a.dur);
      ordered.slice(1).forEach(({ ts, dur }, i) => {
        const before = ordered[i]!;
        const end = before.ts + before.dur;
        expect(ts >= end - 2 * NANOSECOND || ts + dur <= end + 2 * NANOSECOND).toBe(true);
      });
    }
  });

  test.prop({ trace: anyTrace })('has arrows with two ends, each in a slice, forward in time', ({ trace }) => {
    const events = eventsOf(trace);
    const starts = of(events, 's');
    const ends = of(events, 'f');
    expect(starts.map(({ id }) => id)).toEqual(ends.map(({ id }) => id));
    expect(new Set(starts.map(({ id }) => id)).size).toBe(starts.length);
    const inSlice = (end: Event): boolean =>
      of(events, 'X').some(
        (slice) => threadOf(slice) === threadOf(end) && slice.ts <= end.ts && end.ts <= slice.ts + slice.dur,
      );
    for (const end of [...starts, ...ends]) expect(inSlice(end)).toBe(true);
    for (const [i, { ts }] of starts.entries()) expect(ts).toBeLessThanOrEqual(ends[i]!.ts);
  });
});

function groups(events: readonly Event[]): Map<string, Event[]> {
  const byThread = new Map<string, Event[]>();
  for (const event of events) byThread.set(threadOf(event), [...(byThread.get(threadOf(event)) ?? []), event]);
  return byThread;
}
