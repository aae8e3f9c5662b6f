import { congruential } from '../shared/random.ts';

/** Points in a square: coordinates as parts of its side, from 0 (included) to 1 (excluded). */
export interface Points {
  readonly x: Float64Array;
  readonly y: Float64Array;
}

/** Points anywhere in the square. */
export function evenPoints(length: number): Points {
  const random = congruential(7);
  const coordinates = (): Float64Array => Float64Array.from({ length }, random);
  return { x: coordinates(), y: coordinates() };
}

/** Points in a hundred towns, which are dense in the middle and touch some others. */
export function pointsInTowns(length: number): Points {
  const random = congruential(8);
  const towns = Array.from({ length: 100 }, () => [0.95 * random(), 0.95 * random()] as const);
  const place = (axis: 0 | 1) => (_: unknown, i: number) =>
    towns[i % 100]![axis] + (0.05 / 4) * (random() + random() + random() + random());
  return { x: Float64Array.from({ length }, place(0)), y: Float64Array.from({ length }, place(1)) };
}

/** All points in one place, the middle of the square. */
export function pointsInOnePlace(length: number): Points {
  const middle = new Float64Array(length).fill(0.5);
  return { x: middle, y: middle };
}

/** The same points in f32, in a square of the given side; none is on its upper or right border. */
export function inSquare({ x, y }: Points, side: number): { x: Float32Array; y: Float32Array } {
  const below = side * (1 - 2 ** -24);
  const scaled = (parts: Float64Array): Float32Array =>
    Float32Array.from(parts, (part) => Math.min(part * side, below));
  return { x: scaled(x), y: scaled(y) };
}

/** The same points in whole steps, in a square of the given side. */
export function onSteps({ x, y }: Points, side: number): { x: Uint32Array; y: Uint32Array } {
  const scaled = (parts: Float64Array): Uint32Array => Uint32Array.from(parts, (part) => part * side);
  return { x: scaled(x), y: scaled(y) };
}
