import { parseHTML } from 'linkedom';
import { describe, expect } from 'vitest';
import { layeredLayout } from '../../graph/drawings/layered-layout.ts';
import { drawDot, drawMermaid, drawSvg, type GraphShape, type NodeCounters } from '../../graph/index.ts';
import { fc, test } from '../law-test.ts';
import { anyShape, countersOf } from './arbitrary-trace.ts';

const drawn: fc.Arbitrary<{ shape: GraphShape; counters: NodeCounters[] }> = anyShape.chain((shape) =>
  fc.record({
    shape: fc.constant(shape),
    counters: fc.oneof(fc.constant<NodeCounters[]>([]), fc.tuple(...shape.nodes.map(({ name }) => countersOf(name)))),
  }),
);

/** Replaces the characters of a text that XML does not allow by U+FFFD. */
const printable = (text: string): string => text.replaceAll(/(?![\t\n\r])\p{Cc}|[\p{Cs}\uFFFE\uFFFF]/gu, '\uFFFD');

const boxes = fc.array(
  fc.record({ width: fc.integer({ min: 10, max: 200 }), height: fc.integer({ min: 10, max: 100 }) }),
  { minLength: 1, maxLength: 10 },
);
const laidOut = boxes.chain((list) => {
  const box = fc.nat({ max: list.length - 1 });
  return fc.record({
    boxes: fc.constant(list),
    edges: fc.array(fc.record({ from: box, to: box }), { maxLength: 16 }),
    gapX: fc.constant(30),
    gapY: fc.constant(10),
  });
});

describe('the layout', () => {
  test.prop({ input: laidOut })('keeps boxes disjoint and inside, with and without cycles', ({ input }) => {
    const layout = layeredLayout(input);
    const rectangles = layout.boxes.map(({ x, y }, i) => ({ x, y, ...input.boxes[i]! }));
    for (const [i, a] of rectangles.entries()) {
      expect(a.x).toBeGreaterThanOrEqual(-1e-9);
      expect(a.y).toBeGreaterThanOrEqual(-1e-6);
      expect(a.x + a.width).toBeLessThanOrEqual(layout.width + 1e-6);
      expect(a.y + a.height).toBeLessThanOrEqual(layout.height + 1e-6);
      for (const b of rectangles.slice(i + 1)) {
        const apart =
          a.x + a.width + 30 <= b.x + 1e-6 ||
          b.x + b.width + 30 <= a.x + 1e-6 ||
          a.y + a.height + 10 <= b.y + 1e-6 ||
          b.y + b.height + 10 <= a.y + 1e-6;
        expect(apart).toBe(true);
      }
    }
  });

  test.prop({ input: laidOut })('draws edges of an acyclic graph from left to right', ({ input }) => {
    const edges = input.edges.filter(({ from, to }) => from < to);
    const layout = layeredLayout({ ...input, edges });
    edges.forEach(({ from, to }, i) => {
      const points = layout.edges[i]!;
      expect(points[0]!.x).toBeCloseTo(layout.boxes[from]!.x + input.boxes[from]!.width, 6);
      expect(points.at(-1)!.x).toBeCloseTo(layout.boxes[to]!.x, 6);
      for (let k = 1; k < points.length; k++) expect(points[k]!.x).toBeGreaterThanOrEqual(points[k - 1]!.x - 1e-6);
      for (const [end, box] of [
        [points[0]!, from],
        [points.at(-1)!, to],
      ] as const) {
        expect(end.y).toBeGreaterThan(layout.boxes[box]!.y);
        expect(end.y).toBeLessThan(layout.boxes[box]!.y + input.boxes[box]!.height);
      }
    });
  });

  test.prop({ input: laidOut })('draws no edge through a box', ({ input }) => {
    const edges = input.edges.filter(({ from, to }) => from < to);
    const layout = layeredLayout({ ...input, edges });
    edges.forEach((_, i) => {
      // The points between both ends of an edge come in pairs. The line between the two points of a pair crosses a
      // layer horizontally.
      const points = layout.edges[i]!.slice(1, -1);
      for (let k = 0; k < points.length; k += 2) {
        const [a, b] = [points[k]!, points[k + 1]!];
        expect(a.y).toBe(b.y);
        for (const [box, { x, y }] of layout.boxes.entries()) {
          const { width, height } = input.boxes[box]!;
          const meets = a.x < x + width && b.x > x && a.y > y && a.y < y + height;
          expect(meets).toBe(false);
        }
      }
    });
  });

  test('draws a chain straight, and a diamond without crossings', () => {
    const box = { width: 50, height: 20 };
    const chain = layeredLayout({
      boxes: [box, box, box],
      edges: [
        { from: 2, to: 0 },
        { from: 0, to: 1 },
      ],
      gapX: 10,
      gapY: 10,
    });
    expect(chain.boxes).toEqual([
      { x: 60, y: 0 },
      { x: 120, y: 0 },
      { x: 0, y: 0 },
    ]);
    expect([chain.width, chain.height]).toEqual([170, 20]);
    const diamond = layeredLayout({
      boxes: [box, box, box, box],
      edges: [
        { from: 0, to: 2 },
        { from: 0, to: 1 },
        { from: 2, to: 3 },
        { from: 1, to: 3 },
      ],
      gapX: 10,
      gapY: 10,
    });
    expect(diamond.boxes[0]!.y).toBeCloseTo(15, 6);
    expect(diamond.boxes[3]!.y).toBeCloseTo(15, 6);
  });
});

describe('the SVG', () => {
  test.prop({ drawing: drawn })('is well-formed, and contains names only as text', ({ drawing }) => {
    const { shape, counters } = drawing;
    const svg = drawSvg(shape, { counters });
    expect(svg).not.toMatch(/NaN|undefined|(?<!≤ )Infinity/);
    const { document } = parseHTML(`<body>${svg}</body>`);
    const tags = new Set([...document.querySelectorAll('svg *')].map(({ localName }) => localName));
    for (const tag of tags) expect(['title', 'defs', 'marker', 'path', 'rect', 'g', 'text']).toContain(tag);
    const names = [...document.querySelectorAll('text[font-weight="600"]')].map(({ textContent }) => textContent);
    expect(names).toEqual(shape.nodes.map(({ name }) => printable(name)));
    expect(document.querySelectorAll('path[marker-end]').length).toBe(shape.edges.length);
    expect(drawSvg(shape, { counters })).toBe(svg);
  });

  test.prop({ drawing: drawn })('draws nothing outside its view box', ({ drawing: { shape, counters } }) => {
    const { document } = parseHTML(`<body>${drawSvg(shape, { counters })}</body>`);
    const svg = document.querySelector('svg')!;
    const [width, height] = [Number(svg.getAttribute('width')), Number(svg.getAttribute('height'))];
    for (const rect of document.querySelectorAll('g > rect')) {
      const [x, y, w, h] = ['x', 'y', 'width', 'height'].map((name) => Number(rect.getAttribute(name)));
      expect(x! + w! + 32).toBeLessThanOrEqual(width + 0.02);
      expect(y! + h! + 32).toBeLessThanOrEqual(height + 0.02);
    }
  });
});

describe('DOT', () => {
  test.prop({ drawing: drawn })('has a line for each node and edge, for any names', ({ drawing }) => {
    const { shape, counters } = drawing;
    const lines = drawDot(shape, { counters }).trimEnd().split('\n');
    expect(lines.length).toBe(5 + shape.nodes.length + shape.edges.length);
    const quoted = '"(?:[^"\\\\]|\\\\.)*"';
    const node = new RegExp(`^ {2}${quoted} \\[label=${quoted}, shape=\\w+, fillcolor=${quoted}\\];$`, 'u');
    const edge = new RegExp(`^ {2}${quoted} -> ${quoted} \\[\\w+=${quoted}(?:, \\w+=${quoted})*\\];$`, 'u');
    for (const line of lines.slice(4, 4 + shape.nodes.length)) expect(line).toMatch(node);
    for (const line of lines.slice(4 + shape.nodes.length, -1)) expect(line).toMatch(edge);
  });
});

describe('Mermaid', () => {
  test.prop({ drawing: drawn })('has a line for each node and edge, for any names', ({ drawing }) => {
    const { shape, counters } = drawing;
    const lines = drawMermaid(shape, { counters }).trimEnd().split('\n');
    expect(lines.length).toBe(1 + shape.nodes.length + shape.edges.length + 3);
    const quoted = '"[^"]*"';
    const node = new RegExp(
      `^ {2}n\\d+(?:\\(\\[${quoted}\\]\\)|\\[/${quoted}\\\\\\]|\\[${quoted}\\]):::(?:cpu|gpu|either)$`,
      'u',
    );
    const edge = new RegExp(`^ {2}n\\d+ -->(?:\\|${quoted}\\|)? n\\d+$`, 'u');
    for (const line of lines.slice(1, 1 + shape.nodes.length)) expect(line).toMatch(node);
    for (const line of lines.slice(1 + shape.nodes.length, -3)) expect(line).toMatch(edge);
  });
});

test('every drawing shows the counters of a node', () => {
  const capacity = { items: 4, bytes: 2 ** 20 };
  const shape: GraphShape = {
    name: 'g',
    nodes: [
      { name: 'read', kind: 'source', lanes: 1, capacity, runsOn: 'cpu' },
      { name: 'work', kind: 'map', lanes: 3, capacity, runsOn: 'either' },
    ],
    edges: [{ from: 'read', to: 'work', fromPort: 'out', capacity }],
  };
  const none = { active: 0, dropped: 0, depth: 0, bytes: 0, peak: 4, peakBytes: 9, skipped: 0, retried: 0 };
  const counters = [{ name: 'work', in: 1234, out: 1200, busy: 2500, stalls: 7, migrated: 56, ...none }];
  for (const draw of [drawSvg, drawDot, drawMermaid]) {
    const text = draw(shape, { counters });
    for (const part of [
      '1,234 in · 1,200 out',
      '2.50 s busy',
      '56 migrated',
      'CPU or GPU · 3 lanes',
      '≤ 4, 1 MiB',
      'out',
    ]) {
      expect(text).toContain(part);
    }
    expect(draw(shape)).not.toContain('1,234');
  }
});
