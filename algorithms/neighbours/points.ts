import { aColumn } from '../../primitives/checks/argument-kinds.ts';
import { aRecord, aWhole, type Kind } from '../../primitives/checks/kinds.ts';
import { ArgumentError, type Column, type Context, f32, fn, map, u32, type Vectors } from '../../primitives/index.ts';
import type { ListColumns } from './lists.ts';
import type { Measure } from './measures.ts';

/** Points or queries: coordinates in f32, point after point. */
export interface Points extends Vectors {
  readonly elements: Column<'f32'>;
}

export const somePoints: Kind = aRecord<Points>({ elements: aColumn('f32'), dimensions: aWhole(1) });

/**
 * The k nearest points of every query. Point j of query i is at `i · k + j`, nearest first. Points at equal distance
 * are ordered by id.
 */
export interface Neighbours {
  /** Indices of points. If there are fewer than k points, the rest of a list is {@link NO_POINT}. */
  readonly ids: Column<'u32'>;
  /** Distances by the metric. +∞ where there is no point. */
  readonly distances: Column<'f32'>;
}

/** Number of points. Throws if the number of elements is not a multiple of the number of dimensions. */
export function pointCount(call: string, name: string, { elements, dimensions }: Points): number {
  const { length } = elements;
  if (typeof length !== 'number') {
    throw new ArgumentError(
      'neighbours/length',
      `${call} was given ${name} whose number is known only on the device.`,
      {
        expected: 'a number of elements',
        remedy: 'Read the number first: slice(elements, 0, await context.count(elements)).',
      },
    );
  }
  if (length % dimensions === 0) return length / dimensions;
  throw new ArgumentError('neighbours/points', `${call} was given ${name} with an incomplete last point.`, {
    expected: `a multiple of ${dimensions} elements`,
    got: length,
  });
}

/** Converts the lists of a search to its result: keys become distances. */
export function neighboursOf(context: Context, { keys, ids }: ListColumns, measure: Measure): Neighbours {
  return { ids, distances: context.materialize(distancesOf(measure, keys)) };
}

export function distancesOf(measure: Measure, key: Column<'u32'>): Column<'f32'> {
  return map(
    fn('distanceOfKey', { key: u32 }, f32, ({ key }) => measure.distanceOf(key)),
    { key },
  );
}
