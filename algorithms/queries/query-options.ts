import { ArgumentError } from '../../primitives/errors.ts';
import { atLeast, type Kind, optional, someOptions } from '../../primitives/kinds.ts';

export interface QueryOptions {
  /**
   * Pairs of what is asked and what is there that may be under way on the device. Beyond that, some wait until others are done.
   * The result is the same, and has to fit the device whole.
   */
  readonly capacity?: number | undefined;
}

/** Quadrants and trees that are asked for exact answers; of JavaScript come others too. */
export function requireEdges(what: string, { edges }: { readonly edges?: object }): void {
  if (edges !== undefined) return;
  throw new ArgumentError('queries/edges', `Exact answers need the edges of ${what}.`, {
    expected: `${what} with edges`,
    got: `${what} without edges`,
    remedy: 'Decompose the polygons with keepsEdges: true.',
  });
}

/** Pairs under way. */
export const someCapacity: Kind = optional(atLeast(1, 'queries/capacity'));

export const QUERY_OPTIONS: Kind = someOptions<QueryOptions>({ capacity: someCapacity });
