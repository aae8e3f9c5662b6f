import { ArgumentError } from '../../primitives/checks/errors.ts';
import { atLeast, type Kind, optional, someOptions } from '../../primitives/checks/kinds.ts';

export interface QueryOptions {
  /**
   * Maximum number of pairs that are processed on the device at a time; further pairs wait. A pair is a window and a
   * node, or a quadrant of a query and an entry. The result does not depend on this limit, but must fit on the device
   * as a whole.
   */
  readonly capacity?: number | undefined;
}

/**
 * Throws if quadrants or a tree have no edges, which exact answers need. The check is for JavaScript callers, because
 * the types require edges already.
 */
export function requireEdges(what: string, { edges }: { readonly edges?: object }): void {
  if (edges !== undefined) return;
  throw new ArgumentError('queries/edges', `Exact answers need the edges of ${what}.`, {
    expected: `${what} with edges`,
    got: `${what} without edges`,
    remedy: 'Decompose the polygons with keepsEdges: true.',
  });
}

/** Validator of the option `capacity`. */
export const someCapacity: Kind = optional(atLeast(1, 'queries/capacity'));

export const QUERY_OPTIONS: Kind = someOptions<QueryOptions>({ capacity: someCapacity });
