import { GraphError } from '../../primitives/errors.ts';

/** Which item failed, where and how often. */
export interface FailedItem {
  /** Path of the node, as `graph/node`. */
  readonly path: string;
  /** Index of the item among the node's inputs, from 0. */
  readonly index: number;
  /** The name that the node's `describe` gives the item. */
  readonly item: string | undefined;
  /** Number of attempts on both sides. */
  readonly attempts: number;
  /** What happened to the item: it was skipped, or the run ended. */
  readonly outcome: 'skipped' | 'stopped';
}

/** An item that failed for good. Code `graph/item-failed`; it holds the node's path, the item and the `cause`. */
export class ItemError extends GraphError {
  static {
    ItemError.prototype.name = 'ItemError';
  }

  readonly index: number;
  readonly item: string | undefined;
  readonly attempts: number;
  readonly outcome: 'skipped' | 'stopped';

  constructor({ path, index, item, attempts, outcome }: FailedItem, cause: unknown) {
    const message = cause instanceof Error ? cause.message : String(cause);
    const tries = attempts === 1 ? '' : ` ${attempts} times`;
    const place = { node: path, record: item ?? index };
    super('graph/item-failed', `The item failed${tries}: ${message}`, { place, cause });
    this.index = index;
    this.item = item;
    this.attempts = attempts;
    this.outcome = outcome;
  }
}
