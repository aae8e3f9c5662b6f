import { parseHTML } from 'linkedom';
import { describe, expect } from 'vitest';
import { runReport, type Trace } from '../../graph/index.ts';
import { fullnessOf, utilisationOf } from '../../graph/reports/timeline.ts';
import { fc, test } from '../law-test.ts';
import { anyName, anyTrace } from './arbitrary-trace.ts';

const sum = (values: Iterable<number>): number => [...values].reduce((total, value) => total + value, 0);

const section = fc.record({
  title: anyName,
  text: fc.option(anyName, { nil: undefined }),
  table: fc.option(
    fc.record({ columns: fc.constant(['a', 'b']), rows: fc.array(fc.tuple(anyName, fc.nat()), { maxLength: 5 }) }),
    { nil: undefined },
  ),
});

describe('the report', () => {
  test.prop({
    trace: anyTrace,
    title: anyName,
    sections: fc.array(section, { maxLength: 3 }),
    messages: fc.array(anyName, { maxLength: 3 }),
  })(
    'is one page with everything recorded, and contains names only as text',
    ({ trace, title, sections, messages }) => {
      const errors = messages.map((message) => new Error(message));
      const page = runReport(trace, { title, sections, errors });
      expect(page).not.toMatch(/NaN|undefined|<script|(?:href|src)=/);
      const { document } = parseHTML(page);
      const heads = [...document.querySelectorAll('h2')].map(({ textContent }) => textContent);
      expect(heads.length).toBe(sections.length + (errors.length > 0 ? 1 : 0) + 5 + (trace.marks.length > 0 ? 1 : 0));
      expect(document.querySelectorAll('svg').length).toBe(3);
      const rows = [...document.querySelectorAll('table')].map(
        (table) => table.querySelectorAll('td:first-child').length,
      );
      expect(rows).toContain(trace.shape.nodes.length);
      if (errors.length > 0) expect(rows).toContain(errors.length);
      const into = new Set(trace.shape.edges.map(({ to }) => to));
      expect(rows).toContain(into.size);
      expect(runReport(trace, { title, sections, errors })).toBe(page);
    },
  );

  test('states what it omits', () => {
    const rows = Array.from({ length: 250 }, (_, i) => [i]);
    const trace: Trace = {
      shape: { name: 'g', nodes: [], edges: [] },
      started: 0,
      ended: 0,
      spans: [],
      occupancy: [],
      marks: [],
      counters: [],
    };
    const page = runReport(trace, { sections: [{ title: 'Long', table: { columns: ['i'], rows } }], dropped: 12 });
    expect(page).toContain('and 50 more rows');
    expect(page).toContain('12 older events were not kept');
  });
});

describe('the data of a chart', () => {
  test.prop({ trace: anyTrace, slices: fc.integer({ min: 1, max: 50 }) })(
    'utilization adds up to the time of the spans, and no slice exceeds 1',
    ({ trace, slices }) => {
      const width = (trace.ended - trace.started) / slices;
      for (const { name, lanes } of trace.shape.nodes) {
        const { cpu, gpu } = utilisationOf(trace, name, slices);
        const own = trace.spans.filter(({ node }) => node === name);
        const count = Math.max(lanes, ...own.map(({ lane }) => lane + 1));
        const busy = sum(own.map(({ start, end }) => end - start));
        expect((sum(cpu) + sum(gpu)) * width * count).toBeCloseTo(busy, 6);
        const onGpu = sum(own.filter(({ runsOn }) => runsOn === 'gpu').map(({ start, end }) => end - start));
        expect(sum(gpu) * width * count).toBeCloseTo(onGpu, 6);
        for (const [slice, part] of cpu.entries()) expect(part + gpu[slice]!).toBeLessThanOrEqual(1 + 1e-9);
      }
    },
  );

  test.prop({ trace: anyTrace, slices: fc.integer({ min: 1, max: 50 }) })(
    'occupancy is the integral of the levels, and its means are at most its peaks',
    ({ trace, slices }) => {
      const width = (trace.ended - trace.started) / slices;
      for (const edge of new Set(trace.occupancy.map((sample) => sample.edge))) {
        const own = trace.occupancy.filter((sample) => sample.edge === edge);
        const { mean, peak } = fullnessOf(trace, edge, slices);
        const integral = sum(own.map(({ time, items }, i) => items * ((own[i + 1]?.time ?? trace.ended) - time)));
        expect(sum(mean) * width).toBeCloseTo(integral, 3);
        for (const [slice, level] of mean.entries()) expect(level).toBeLessThanOrEqual(peak[slice]! * (1 + 1e-9));
      }
    },
  );
});
