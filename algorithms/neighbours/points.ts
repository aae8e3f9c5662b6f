import { aColumn } from '../../primitives/argument-kinds.ts';
import { ArgumentError, type Column, type Context, f32, fn, map, u32, type Vectors } from '../../primitives/index.ts';
import { aRecord, aWhole, type Kind } from '../../primitives/kinds.ts';
import type { ListColumns } from './lists.ts';
import type { Measure } from './metrics.ts';

/** Points, or what points are sought for: coordinates one point after the other, as {@link Vectors} of f32. */
export interface Points extends Vectors {
  readonly elements: Column<'f32'>;
}

export const somePoints: Kind = aRecord<Points>({ elements: aColumn('f32'), dimensions: aWhole(1) });

/** Nearest points of every query: point j of query i at `i · k + j`, nearest first, equally far ones by their ids. */
export interface Neighbours {
  /** Numbers of points; {@link NO_POINT} behind the last one, where there are fewer than k. */
  readonly ids: Column<'u32'>;
  /** How far they are, as the metric has it; +∞ where there is none. */
  readonly distances: Column<'f32'>;
}

/** How many points there are. */
export function pointCount(call: string, name: string, { elements, dimensions }: Points): number {
  const { length } = elements;
  if (typeof length !== 'number') {
    throw new ArgumentError('neighbours/length', `${call} was given ${name} whose number only the device knows.`, {
      expected: 'a number of elements',
      remedy: 'Ask for it: slice(elements, 0, await context.count(elements)).',
    });
  }
  if (length % dimensions === 0) return length / dimensions;
  throw new ArgumentError('neighbours/points', `The elements of ${name} given to ${call} make no whole points.`, {
    expected: `a multiple of ${dimensions} elements`,
    got: length,
  });
}

/** Lists as they are given to the caller. */
export function neighboursOf(context: Context, { keys, ids }: ListColumns, measure: Measure): Neighbours {
  const distance = fn('distanceOfKey', { key: u32 }, f32, ({ key }) => measure.distanceOf(key));
  return { ids, distances: context.materialize(map(distance, { key: keys })) };
}
