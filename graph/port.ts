/**
 * An output of a node, which exactly one node takes as its input; for several takers see `broadcast`. Made by a
 * {@link GraphBuilder}; `A` is the type of the items that leave through it.
 */
export interface Port<out A> {
  /** The node it belongs to. */
  readonly node: string;
  /** Its name, where the node has several. */
  readonly port: string | undefined;
  /** Never set: it carries the type of the items. */
  readonly itemType?: A;
}

/** The type of the items that leave through a port. */
export type ItemOf<P extends Port<unknown>> = P extends Port<infer A> ? A : never;

/** The result of a node that ends a graph, such as a reduction. It is known once the run has succeeded. */
export interface Outcome<out R> {
  readonly node: string;
  /** Never set: it carries the type of the result. */
  readonly resultType?: R;
}

/** What the function that defines a graph returns: an outcome, or several by name. */
export type Outcomes = Outcome<unknown> | { readonly [name: string]: Outcome<unknown> };

/** What a run of a graph resolves to. */
export type ResultOf<O extends Outcomes> =
  O extends Outcome<infer R> ? R : { readonly [N in keyof O]: O[N] extends Outcome<infer R> ? R : never };
