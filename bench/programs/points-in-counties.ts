import { buildMaqTree } from '../../algorithms/maq-tree/index.ts';
import {
  DOMAIN_STEPS,
  type DomainPolygons,
  decompose,
  placeInDomain,
  WORLD,
} from '../../algorithms/quadrants/index.ts';
import { queryPoints } from '../../algorithms/queries/index.ts';
import {
  array,
  f32,
  fn,
  gather,
  inclusiveScan,
  lowerBound,
  map,
  plus,
  select,
  sequence,
  sort,
  u32,
} from '../../primitives/index.ts';
import { mulberry32 } from '../shared/random.ts';
import { countByGrid } from './plain-points.ts';
import type { BenchProgram, Case } from './program.ts';

/** Values have this number of bits, below those of a county. */
const VALUE_BITS = 16;

/**
 * Count, mean and 90th percentile of the values of points in each of the 3,231 US counties, for points in a box around
 * the conterminous States. Without a file of the counties, patches are made up: as many for 200,000 points, fewer for fewer.
 */
export const pointsInCounties: BenchProgram = {
  name: 'points-in-counties',
  cpp: 'points-in-counties.cpp',
  over: 'points',
  type: 'u32',
  sizes: [200_000],
  waits: true,
  kinds: {
    patches(length) {
      const along = Math.min(57, Math.max(4, Math.round(Math.sqrt(length / 62))));
      return pointsIn(patches(along), length, 8 + Math.round(Math.log2(along / 4)));
    },
  },
  async ofFiles() {
    const { readZones } = await import('../../formats/index.ts');
    const { zones } = await readZones('node_modules/us-atlas/counties-10m.json', { layer: 'counties' });
    return pointsIn(placeInDomain(zones.polygons, WORLD), 200_000, 12);
  },
  plain: countByGrid,
  async quadrille(context, { inputs, sizes }) {
    const polygons = inputs as unknown as DomainPolygons;
    const quadrants = await decompose(context, polygons, { levels: sizes.levels!, keepsEdges: true });
    const tree = await buildMaqTree(context, [quadrants], { frees: true });
    const points = { x: context.column(inputs.px as Uint32Array), y: context.column(inputs.py as Uint32Array) };
    const values = context.column(inputs.value as Uint32Array);
    const counties = polygons.polygonRings.length - 1;
    const run = async () => {
      const { point, set, polygon } = await queryPoints(context, tree, points);
      const made = context.scope(() => {
        // Sorted by county and then by value, in one number.
        const sorted = sort(map(packed, { polygon, value: gather(values, point) }));
        const starts = context.materialize(lowerBound(sorted, map(firstOf, { county: sequence(counties + 1) })));
        const sums = inclusiveScan(map(ownValue, { sorted }), plus(u32));
        return context.materialize(map(summarized, { county: sequence(counties), sorted, starts, sums }));
      });
      context.dispose(point, set, polygon);
      return { ...made };
    };
    return { held: { tree, points, values }, run };
  },
};

const packed = fn({ polygon: u32, value: u32 }, u32, ({ polygon, value }) => polygon.shl(VALUE_BITS).or(value));
const firstOf = fn({ county: u32 }, u32, ({ county }) => county.shl(VALUE_BITS));
const ownValue = fn({ sorted: u32 }, u32, ({ sorted }) => sorted.and(2 ** VALUE_BITS - 1));

const summarized = fn(
  { county: u32, sorted: array(u32), starts: array(u32), sums: array(u32) },
  { count: u32, mean: f32, p90: u32 },
  ({ county, sorted, starts, sums }) => {
    const [start, end] = [starts.at(county), starts.at(county.add(1))];
    const count = end.sub(start);
    // Sums wrap beyond 2³², which their difference does not notice. Beyond either end of an array, there is 0.
    const sum = sums.at(end.sub(1)).sub(sums.at(start.sub(1)));
    // The nearest rank: ⌈0.9 · count⌉, counted from 1.
    const rank = count.mul(9).add(9).div(10);
    const p90 = sorted.at(start.add(rank).sub(1)).and(2 ** VALUE_BITS - 1);
    return {
      count,
      mean: select(f32(sum).div(f32(count)), f32(0), count.eq(0)),
      p90: select(p90, u32(0), count.eq(0)),
    };
  },
);

function stepAt(degrees: number): number {
  return Math.floor(((degrees + 180) / 360) * DOMAIN_STEPS);
}

/** Points in a box around the conterminous States, with their values. */
function pointsIn({ polygonRings, ringVertices, x, y }: DomainPolygons, length: number, levels: number): Case {
  const random = mulberry32(1);
  const steps = (from: number, to: number): Uint32Array =>
    Uint32Array.from({ length }, () => stepAt(from + (to - from) * random()));
  const value = Uint32Array.from({ length }, () => 2 ** VALUE_BITS * random());
  const inputs = { polygonRings, ringVertices, x, y, px: steps(-125, -66.5), py: steps(24, 49.5), value };
  return { inputs, sizes: { levels } };
}

/** Corners of a patch on each of its four sides: together as many as a county has. */
const CORNERS = 5;

/** Patches in rows and columns that fill the box of the points. Neighbours share their ragged borders. */
function patches(along: number): DomainPolygons {
  const random = mulberry32(2);
  const across = along * CORNERS + 1;
  const corners = Array.from({ length: across * across }, (_, i): [number, number] => [
    stepAt(-125 + (58.5 / (across - 1)) * ((i % across) + 0.4 * random())),
    stepAt(24 + (25.5 / (across - 1)) * (Math.floor(i / across) + 0.4 * random())),
  ]);
  const steps = Array.from({ length: CORNERS }, (_, k) => k + 1);
  const around = steps.concat(
    steps.map((k) => CORNERS + k * across),
    steps.map((k) => CORNERS * (across + 1) - k),
    steps.map((k) => (CORNERS - k) * across),
  );
  const rings = Array.from({ length: along * along }, (_, i) => {
    const first = CORNERS * (Math.floor(i / along) * across + (i % along));
    return around.map((at) => corners[first + at]!);
  });
  return {
    polygonRings: Uint32Array.from({ length: rings.length + 1 }, (_, i) => i),
    ringVertices: Uint32Array.from({ length: rings.length + 1 }, (_, i) => around.length * i),
    x: Int32Array.from(rings.flat(), ([x]) => x),
    y: Int32Array.from(rings.flat(), ([, y]) => y),
  };
}
