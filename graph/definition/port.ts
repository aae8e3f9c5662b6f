/**
 * An output of a node. Exactly one node takes it as its input; `broadcast` serves several nodes. Made by a
 * {@link GraphBuilder}. `A` is the type of its items.
 */
export interface Port<out A> {
  /** The node it belongs to. */
  readonly node: string;
  /** Name of the port, if the node has several. */
  readonly port: string | undefined;
  /** Never set. It carries the type of the items. */
  readonly itemType?: A;
}

/** The type of a port's items. */
export type ItemOf<P extends Port<unknown>> = P extends Port<infer A> ? A : never;

/** The result of a node that ends a graph, such as a reduction. It is known once the run has succeeded. */
export interface Outcome<out R> {
  readonly node: string;
  /** Never set. It carries the type of the result. */
  readonly resultType?: R;
}

/** Returned by the function that defines a graph: one outcome, or a record of several. */
export type Outcomes = Outcome<unknown> | { readonly [name: string]: Outcome<unknown> };

/** The type that the result of a run resolves to. */
export type ResultOf<O extends Outcomes> =
  O extends Outcome<infer R> ? R : { readonly [N in keyof O]: O[N] extends Outcome<infer R> ? R : never };
