import { expect } from 'vitest';
import { type OutlineStretch, outlineOf } from '../../algorithms/geometry/outlines.ts';
import { edgesOfPart } from '../../algorithms/geometry/part-edges.ts';
import { SimpleRings } from '../../algorithms/geometry/simple-rings.ts';
import { caseCount } from '../cases.ts';
import { fc, test } from '../law-test.ts';

type Ring = readonly (readonly [x: number, y: number])[];

function ringsOf(rings: readonly Ring[]) {
  const ends = rings.map((_, at) => rings.slice(0, at + 1).reduce((sum, { length }) => sum + length, 0));
  const all = rings.flat();
  return { ringVertices: Uint32Array.of(0, ...ends), x: all.map(([x]) => x), y: all.map(([, y]) => y) };
}

const outlineStretches = (rings: ReturnType<typeof ringsOf>, ring: number): OutlineStretch[] => {
  const part = edgesOfPart(rings, [ring]);
  const stretches: OutlineStretch[] = [];
  if (part !== undefined) outlineOf([part], (stretch) => void stretches.push(stretch));
  return stretches;
};

const scale = fc.constantFrom(1, 2 ** 20, 2 ** 44);
const anyRing = fc
  .tuple(fc.array(fc.tuple(fc.nat(6), fc.nat(6)), { minLength: 1, maxLength: 9 }), scale, scale)
  .map(([points, wide, high]): Ring => points.map(([x, y]) => [x * wide, y * high]));
/** A ring that goes around the origin several times. */
const windingRing = fc
  .tuple(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 5, maxLength: 12 }), fc.integer({ min: 2, max: 3 }))
  .map(
    ([radii, turns]): Ring =>
      radii.map((radius, at) => {
        const angle = (2 * Math.PI * turns * at) / radii.length;
        return [Math.round(100 * radius * Math.cos(angle)), Math.round(100 * radius * Math.sin(angle))];
      }),
  );
/** A ring around the origin. Its edges meet nowhere else, as each lies in a sector of its own. */
const starRing = fc
  .tuple(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 3, maxLength: 200 }), scale, fc.boolean())
  .map(([radii, size, isReversed]): Ring => {
    const points = radii.map((radius, at): [number, number] => {
      const angle = (2 * Math.PI * at) / radii.length;
      const reach = 1000 * radius * size;
      return [Math.round(reach * Math.cos(angle)), Math.round(reach * Math.sin(angle))];
    });
    return isReversed ? points.reverse() : points;
  });

test.prop([fc.array(fc.oneof({ weight: 4, arbitrary: anyRing }, windingRing), { minLength: 1, maxLength: 4 })], {
  numRuns: caseCount(5000),
})('a ring that is found to be simple is its outline, with the inside on the side that is found', (all) => {
  const rings = ringsOf(all);
  const simple = new SimpleRings(rings);
  for (const [at, ring] of all.entries()) {
    const inside = simple.insideOf(at);
    if (inside === 0) continue;
    const edges = ring.map(([x0, y0], i) => {
      const [x1, y1] = ring[(i + 1) % ring.length]!;
      const isLeftBeyond = y0 === y1 ? x1 > x0 : y0 > y1;
      return { x0, y0, x1, y1, from: undefined, to: undefined, isBeyond: isLeftBeyond === inside > 0 };
    });
    // The outline begins with the edge from the last vertex to the first.
    expect(outlineStretches(rings, at)).toEqual([edges.at(-1), ...edges.slice(0, -1)]);
  }
});

test.prop([fc.array(starRing, { minLength: 1, maxLength: 3 })], { numRuns: caseCount(500) })(
  'rings around a point, of either direction, are found to be simple',
  (all) => {
    const simple = new SimpleRings(ringsOf(all));
    for (const [at, ring] of all.entries()) {
      const [first, second] = [ring[0]!, ring[1]!];
      const turn = Math.sign(first[0] * second[1] - second[0] * first[1]);
      expect(simple.insideOf(at)).toBe(turn);
    }
  },
);
