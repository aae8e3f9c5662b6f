/**
 * An output of a node, made by a {@link GraphBuilder}. Exactly one other node takes it as input; use `broadcast` to
 * send items to several nodes. `A` is the type of the items.
 */
export interface Port<out A> {
  /** Name of the node that has this output. */
  readonly node: string;
  /** Name of the output if the node has several outputs, else undefined. */
  readonly port: string | undefined;
  /** Never set. Only makes TypeScript keep the type of the items. */
  readonly itemType?: A;
}

/** The type of a port's items. */
export type ItemOf<P extends Port<unknown>> = P extends Port<infer A> ? A : never;

/**
 * Stands for the result of a node that ends a graph, such as a reduction. The value is known only after a successful
 * run.
 */
export interface Outcome<out R> {
  readonly node: string;
  /** Never set. Only makes TypeScript keep the type of the result. */
  readonly resultType?: R;
}

/** What the function that defines a graph returns: one outcome, or a record of outcomes. */
export type Outcomes = Outcome<unknown> | { readonly [name: string]: Outcome<unknown> };

/** The type of the `result` of a run: the outcome's value, or a record of values. */
export type ResultOf<O extends Outcomes> =
  O extends Outcome<infer R> ? R : { readonly [N in keyof O]: O[N] extends Outcome<infer R> ? R : never };
