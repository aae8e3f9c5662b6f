import { ArgumentError } from '../../primitives/errors.ts';
import { atLeast, type Kind, optional, someOptions } from '../../primitives/kinds.ts';

export interface QueryOptions {
  /**
   * Maximum number of query pairs in progress on the device; others wait. The result does not depend on this, and must
   * fit the device as a whole.
   */
  readonly capacity?: number | undefined;
}

/**
 * Throws if quadrants or a tree have no edges, which exact answers need. JavaScript callers are not checked by types.
 */
export function requireEdges(what: string, { edges }: { readonly edges?: object }): void {
  if (edges !== undefined) return;
  throw new ArgumentError('queries/edges', `Exact answers need the edges of ${what}.`, {
    expected: `${what} with edges`,
    got: `${what} without edges`,
    remedy: 'Decompose the polygons with keepsEdges: true.',
  });
}

/** Kind of the option `capacity`. */
export const someCapacity: Kind = optional(atLeast(1, 'queries/capacity'));

export const QUERY_OPTIONS: Kind = someOptions<QueryOptions>({ capacity: someCapacity });
