import { largestOf, smallestOf } from '../../primitives/host/extremes.ts';
import { logSlope } from '../shared/log-slope.ts';
import { median } from '../shared/measuring.ts';
import { type Panel, type PanelPoint, shortNumber } from '../shared/panels.ts';
import { DEPTH_FIRST, PASSAGES, WHOLE } from './quadtree-decompose.ts';
import type { Measured, Measurement } from './quadtree-experiment.ts';

/**
 * A measurement and the machine that made it. `name` is the text in the legend: the measurement's `on`, followed by the
 * machine if several machines have measurements with the same `on`.
 */
export interface Point extends Measurement {
  readonly machine: string;
  readonly name: string;
  /** The median. */
  readonly time: number;
}

export interface Figure {
  readonly number: string;
  readonly file: string;
  readonly title: string;
  /** What the paper found, in one sentence. */
  readonly paper: string;
  panels(points: readonly Point[]): readonly Panel[];
  /** Returns one sentence that says what our measurements, `points`, show. */
  ours(points: readonly Point[]): string;
}

export function pointsOf(all: readonly Measured[]): Point[] {
  const isShared = (on: string): boolean =>
    all.filter(({ measurements }) => measurements.some((one) => one.on === on)).length > 1;
  return all.flatMap(({ label, measurements }) =>
    measurements.map((one) => ({
      ...one,
      machine: label,
      name: isShared(one.on) ? `${one.on}, ${label}` : one.on,
      time: median(one.seconds),
    })),
  );
}

const SERIAL = 'one thread';

export const FIGURES: readonly Figure[] = [
  {
    number: '12',
    file: 'decompose',
    title: 'Time of decomposition by the last level (dashed: tests against whole polygons)',
    paper:
      'A GTX Titan was 43 to 190 times as fast as one thread and 3.5 to 14.6 times as fast as 16 cores; time grows with the number of quadrants, not with the number of polygons or vertices.',
    panels: (points) =>
      panelsByGroup(only(points, 'decompose', PASSAGES, WHOLE), 'seconds', 'levels', ({ time }) => time).map(
        (panel) => ({
          ...panel,
          title: `${panel.title} vertices`,
        }),
      ),
    ours: (points) => {
      const [passages, whole] = [only(points, 'decompose', PASSAGES), only(points, 'decompose', WHOLE)];
      const parts = namesBut(passages, SERIAL).map((name) => {
        const own = passages.filter((point) => point.name === name);
        const tests = whole.filter((point) => point.name === name);
        return `${name} ${times(ratios(serialOf(own, passages), own))} as fast as one thread of the same machine by passages, and by tests against whole polygons ${times(ratios(serialOf(tests, whole), tests))}`;
      });
      return `${parts.join('; ')}. On the same machine, whole polygons take ${times(ratios(whole, samePlace(whole, passages)))} as long as passages.`;
    },
  },
  {
    number: '13',
    file: 'quadrants',
    title: 'Quadrants by the last level',
    paper: 'The number of quadrants grows exponentially with the levels.',
    panels: (points) => {
      const passages = distinct(only(points, 'decompose', PASSAGES), ({ group, x }) => `${group} ${x}`);
      const lines = passages.map((p): PanelPoint => ({ name: p.group, x: p.x, y: p.found, line: 'solid' }));
      return [{ ...panelOf('All groups', 'quadrants', 'levels', lines), ticks: ticksOf(passages) }];
    },
    ours: (points) => {
      const passages = distinct(only(points, 'decompose', PASSAGES), ({ group, x }) => `${group} ${x}`);
      const growth = passages.flatMap((p) =>
        passages.filter((q) => q.group === p.group && q.x === p.x + 1).map((q) => q.found / p.found),
      );
      return `Each level has ${times(growth)} as many quadrants as the previous one.`;
    },
  },
  {
    number: '14',
    file: 'trees',
    title: 'Time of building a tree by its quadrants',
    paper: 'One thread was faster below 2¹⁸ quadrants; at 2²¹ the GPU was 27 times as fast, copies included.',
    panels: (points) => [linesBySeries(only(points, 'trees'), 'milliseconds', 'quadrants', powerOfTwo)],
    ours: (points) => againstOneThread(only(points, 'trees'), (x) => `${powerOfTwo(x)} quadrants`),
  },
  {
    number: '15',
    file: 'windows',
    title: 'Time of windows by their number',
    paper: 'With 100,000 windows the GPU was 10 to 20 times as fast as one thread, and twice as fast as 16 cores.',
    panels: (points) => [linesBySeries(only(points, 'windows'), 'milliseconds', 'windows', shortNumber)],
    ours: (points) => againstOneThread(only(points, 'windows'), (x) => `${x.toLocaleString('en')} windows`),
  },
  {
    number: '16',
    file: 'polygon-queries',
    title: 'Time of polygon queries by the levels of the tree',
    paper: 'The GPU was faster only with large polygons and trees, and at most twice as fast as 16 cores.',
    panels: (points) =>
      panelsByGroup(only(points, 'polygon-queries'), 'milliseconds', 'levels', ({ time }) => 1000 * time),
    ours: (points) => againstOneThread(only(points, 'polygon-queries'), (x) => `${x} levels`),
  },
  {
    number: '17',
    file: 'depth-first',
    title: 'Time of three ways to decompose, at the first of the levels',
    paper:
      'Level by level was about 3 times as fast as PixelBox* with its stacks in global memory, which was twice as fast as with stacks in shared memory.',
    panels: (points) => {
      const decomposed = only(points, 'decompose');
      return namesBut(decomposed, SERIAL).map((name) => {
        const min = smallestOf(decomposed.filter((point) => point.name === name).map(({ x }) => x));
        const own = decomposed.filter((point) => point.name === name && point.x === min);
        const groups = [...new Set(own.map(({ group }) => group))];
        const lines = own.map(
          ({ method, group, time }): PanelPoint => ({
            name: method,
            x: groups.indexOf(group),
            y: time,
            line: 'solid',
          }),
        );
        const panel = panelOf(`${name}, ${min} levels`, 'seconds', 'vertices of a polygon', lines);
        return { ...panel, ticks: [...groups.keys()], tickText: (tick: number) => groups[tick]! };
      });
    },
    ours: (points) => {
      const [whole, deep] = [only(points, 'decompose', WHOLE), only(points, 'decompose', DEPTH_FIRST)];
      const parts = namesBut(deep, SERIAL).map((name) => {
        const own = deep.filter((point) => point.name === name);
        return `${times(ratios(own, samePlace(own, whole)))} as long on ${name}`;
      });
      return `Depth first takes ${parts.join(', ')} as whole polygons level by level.`;
    },
  },
  {
    number: 'of our own',
    file: 'steps',
    title: 'Time of each level by the passages of edges through quadrants',
    paper:
      'The paper has no such figure: the time of its method grows with the number of quadrants times the vertices of their polygons.',
    panels: (points) => {
      const dots = only(points, 'steps').map((p): PanelPoint => ({ name: p.name, x: p.x, y: 1000 * p.time }));
      const ticks = [1e3, 1e4, 1e5, 1e6, 1e7];
      return [
        { ...panelOf('All groups', 'milliseconds', 'passages', dots), scale: 'log', ticks, tickText: shortNumber },
      ];
    },
    ours: (points) => {
      const steps = only(points, 'steps').filter(({ x }) => x > 0);
      const parts = namesBut(steps, SERIAL).map((name) => {
        const own = steps.filter((point) => point.name === name);
        const large = own.filter(({ group }) => group === 'all').map(({ time, x }) => (1e9 * time) / x);
        return `${name} ${logSlope(own.map(({ x, time }) => [x, time])).toFixed(2)}, and ${range(large)} ns per passage if all polygons are decomposed together`;
      });
      return `Slope of the logarithm of the time against the logarithm of the number of passages: ${parts.join('; ')}.`;
    },
  },
];

function only(points: readonly Point[], experiment: string, ...methods: readonly string[]): Point[] {
  return points.filter((p) => p.experiment === experiment && (methods.length === 0 || methods.includes(p.method)));
}

function distinct(points: readonly Point[], keyOf: (point: Point) => string): Point[] {
  return [...new Map(points.map((point) => [keyOf(point), point])).values()];
}

function namesBut(points: readonly Point[], on: string): string[] {
  return [...new Set(points.filter((point) => point.on !== on).map(({ name }) => name))];
}

function panelOf(title: string, unit: string, axis: string, points: readonly PanelPoint[]): Panel {
  const inOrder = points.toSorted((a, b) => a.x - b.x);
  return { title, unit, axis, scale: 'linear', ticks: ticksOf(points), points: inOrder };
}

function ticksOf(points: readonly { readonly x: number }[]): number[] {
  return [...new Set(points.map(({ x }) => x))].toSorted((a, b) => a - b);
}

function panelsByGroup(points: readonly Point[], unit: string, axis: string, y: (point: Point) => number): Panel[] {
  return [...new Set(points.map(({ group }) => group))].map((group) => {
    const lines = points
      .filter((point) => point.group === group)
      .map((p): PanelPoint => ({ name: p.name, x: p.x, y: y(p), line: p.method === WHOLE ? 'dashed' : 'solid' }));
    return panelOf(group, unit, axis, lines);
  });
}

function powerOfTwo(value: number): string {
  return `2${[...String(Math.log2(value))].map((digit) => '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(digit)]).join('')}`;
}

function linesBySeries(
  points: readonly Point[],
  unit: string,
  axis: string,
  tickText: (tick: number) => string,
): Panel {
  const lines = points.map((p): PanelPoint => ({ name: p.name, x: p.x, y: 1000 * p.time, line: 'solid' }));
  return { ...panelOf('All polygons', unit, axis, lines), scale: 'log', tickText };
}

/** For each point, the measurement in `others` with the same legend, group and x. */
function samePlace(points: readonly Point[], others: readonly Point[]): (Point | undefined)[] {
  return points.map(({ name, group, x }) => others.find((o) => o.name === name && o.group === group && o.x === x));
}

/** For each point, the measurement in `others` by one thread of the same machine, for the same group and x. */
function serialOf(points: readonly Point[], others: readonly Point[]): (Point | undefined)[] {
  return points.map(({ machine, group, x }) =>
    others.find((o) => o.on === SERIAL && o.machine === machine && o.group === group && o.x === x),
  );
}

function ratios(over: readonly (Point | undefined)[], under: readonly (Point | undefined)[]): number[] {
  return over.flatMap((point, i) =>
    point === undefined || under[i] === undefined ? [] : [point.time / under[i].time],
  );
}

function againstOneThread(points: readonly Point[], what: (x: number) => string): string {
  const parts = namesBut(points, SERIAL).map((name) => {
    const own = points.filter((point) => point.name === name).toSorted((a, b) => a.x - b.x);
    const at = [own[0]!, own.at(-1)!].map((point) => {
      const [ratio] = ratios(serialOf([point], points), [point]);
      return ratio === undefined
        ? `${what(point.x)} in ${(1000 * point.time).toFixed(1)} ms`
        : `${times([ratio])} as fast with ${what(point.x)}`;
    });
    return `${name} ${at.join(' and ')}`;
  });
  return `Against one thread of the same machine: ${parts.join('; ')}.`;
}

function times(factors: readonly number[]): string {
  return factors.length === 0 ? 'an unmeasured number of times' : `${range(factors)} times`;
}

function range(values: readonly number[]): string {
  const [low, high] = [smallestOf(values), largestOf(values)].map((value) =>
    value >= 100 ? value.toFixed(0) : value.toPrecision(2),
  );
  return low === high ? low! : `${low} to ${high}`;
}
