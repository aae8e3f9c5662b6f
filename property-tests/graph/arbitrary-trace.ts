import fc from 'fast-check';
import type { GraphShape, NodeCounters, NodeKind, Trace } from '../../graph/index.ts';

/**
 * Names with characters that could break an output format: quotes, markup, brackets, control characters, lone
 * surrogates.
 */
export const anyName: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 6 }),
  fc.constantFrom(
    '"',
    '</text><script>',
    ']]>',
    '-->',
    'a\nb',
    '\\',
    '\\"',
    '#quot;',
    '&lt;',
    '\uD800',
    '|',
    '"]',
    '\0',
  ),
);

const side = fc.constantFrom('cpu' as const, 'gpu' as const, 'either' as const);
const kind = fc.constantFrom<NodeKind>('source', 'map', 'filter', 'branch', 'merge', 'join', 'reduce', 'sink');
const bound = fc.oneof(fc.integer({ min: 1, max: 1e6 }), fc.constant(Number.POSITIVE_INFINITY));
const capacity = fc.record({ items: bound, bytes: bound });

/** A graph without cycles. Edges are drawn from earlier to later nodes; the list of nodes is shuffled afterwards. */
export const anyShape: fc.Arbitrary<GraphShape> = fc.uniqueArray(anyName, { maxLength: 9 }).chain((names) =>
  fc
    .record({
      name: anyName,
      nodes: fc
        .tuple(
          ...names.map((name) =>
            fc.record({
              ...{ name: fc.constant(name), kind, lanes: fc.integer({ min: 1, max: 4 }), capacity, runsOn: side },
              remote: fc.option(anyName, { nil: undefined }),
            }),
          ),
        )
        .chain((nodes) => fc.shuffledSubarray(nodes, { minLength: nodes.length })),
      edges: fc.array(
        fc.record({
          ends: fc.tuple(fc.nat({ max: 8 }), fc.nat({ max: 8 })),
          fromPort: fc.option(anyName, { nil: undefined }),
          toPort: fc.option(anyName, { nil: undefined }),
          capacity,
        }),
        { maxLength: 14 },
      ),
    })
    .map(({ edges, ...rest }) => ({
      ...rest,
      edges: edges
        .map(({ ends, ...edge }) => ({ ...edge, from: Math.min(...ends), to: Math.max(...ends) }))
        .filter(({ from, to }) => from < to && to < names.length)
        .map(({ from, to, ...edge }) => ({ ...edge, from: names[from]!, to: names[to]! })),
    })),
);

const count = fc.nat({ max: 5000 });

export function countersOf(name: string): fc.Arbitrary<NodeCounters> {
  return fc.record({
    name: fc.constant(name),
    in: count,
    out: count,
    active: count,
    dropped: count,
    busy: fc.double({ min: 0, max: 1e6, noNaN: true }),
    stalls: count,
    depth: count,
    bytes: count,
    peak: count,
    peakBytes: count,
    skipped: count,
    retried: count,
    migrated: count,
  });
}

const moment = fc.double({ min: 100, max: 200, noNaN: true });

/** A trace of two nodes, with marks of retries, errors and migrations. Spans on the same lane never overlap. */
export const anyTrace: fc.Arbitrary<Trace> = anyShape
  .filter(({ nodes }) => nodes.length >= 2)
  .chain((shape) =>
    fc.record({
      shape: fc.constant(shape),
      lanes: fc.array(
        fc.record({
          node: fc.constantFrom(...shape.nodes.slice(0, 2).map(({ name }) => name)),
          cuts: fc.array(moment, { maxLength: 12 }),
          outcome: fc.constantFrom('done' as const, 'failed' as const, 'aborted' as const),
          runsOn: fc.constantFrom('cpu' as const, 'gpu' as const),
          worker: fc.constantFrom(undefined, undefined, 'w1', 'w2'),
        }),
        { maxLength: 6 },
      ),
      samples: fc.array(
        fc.record({
          edge: fc.constantFrom(...shape.nodes.map(({ name }) => name)),
          time: moment,
          items: count,
          bytes: count,
        }),
        { maxLength: 20 },
      ),
      marks: fc.array(
        fc.record({
          node: fc.constantFrom(...shape.nodes.map(({ name }) => name)),
          time: moment,
          name: fc.constantFrom('retry', 'error', 'migrate/gpu-to-cpu', 'migrate/cpu-to-gpu', 'migrate/full'),
          detail: fc.option(fc.record({ item: fc.nat({ max: 20 }) }), { nil: undefined }),
        }),
        { maxLength: 20 },
      ),
      counters: fc.tuple(...shape.nodes.map(({ name }) => countersOf(name))),
    }),
  )
  .map(({ shape, lanes, samples, marks, counters }) => {
    const spans = lanes.flatMap(({ node, cuts, outcome, runsOn, worker }, lane) => {
      const times = cuts.toSorted((a, b) => a - b);
      return times.slice(1).flatMap((end, i) => {
        const span = { node, lane, item: lane * 3 + i, start: times[i]!, end, runsOn, worker, outcome };
        return i % 2 === 0 ? [span] : [];
      });
    });
    const byTime = <T extends { time: number }>(list: readonly T[]): T[] => list.toSorted((a, b) => a.time - b.time);
    return {
      shape,
      started: 100,
      ended: 200,
      spans: spans.toSorted((a, b) => a.start - b.start),
      occupancy: byTime(samples),
      marks: byTime(marks),
      counters,
    };
  });
