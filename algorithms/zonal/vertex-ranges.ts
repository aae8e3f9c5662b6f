import type { Polygons } from '../geometry/polygons.ts';

/** The range of indices of a zone's vertices. */
export function verticesOf(
  { polygonRings, ringVertices }: Pick<Polygons, 'polygonRings' | 'ringVertices'>,
  zone: number,
): [from: number, to: number] {
  return [ringVertices[polygonRings[zone]!]!, ringVertices[polygonRings[zone + 1]!]!];
}

/** Minimum and maximum of some elements of an array. For an empty range of elements, Infinity and −Infinity. */
export function rangeOf(numbers: Float64Array, from: number, to: number): [min: number, max: number] {
  let min = Infinity;
  let max = -Infinity;
  for (let at = from; at < to; at++) {
    const number = numbers[at]!;
    if (number < min) min = number;
    if (number > max) max = number;
  }
  return [min, max];
}
