import { GraphError } from '../primitives/errors.ts';

/** Which item failed, where and how often. */
export interface FailedItem {
  /** Path of the node, as `graph/node`. */
  readonly path: string;
  /** Index of the item among those given to the node, from 0. */
  readonly index: number;
  /** What the node's `describe` calls it. */
  readonly item: string | undefined;
  /** How often it was tried, on both sides together. */
  readonly attempts: number;
  /** What became of it: passed over, or the end of the run. */
  readonly outcome: 'skipped' | 'stopped';
}

/** An item that failed for good: `graph/item-failed`, with the item beside the node's path and the `cause`. */
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
