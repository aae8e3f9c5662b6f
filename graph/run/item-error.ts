import { GraphError } from '../../primitives/checks/errors.ts';
import { messageOf } from '../../primitives/checks/message-of.ts';

/** Which item failed, where, how often, and what happened to it. */
export interface FailedItem {
  /** Path of the node, in the form `graph/node`. */
  readonly path: string;
  /** Index of the item among the node's inputs, from 0. */
  readonly index: number;
  /** Name of the item, as returned by `describe`, if any. */
  readonly item: string | undefined;
  /** Number of attempts to process the item, including any on the node's other side (CPU instead of GPU, say). */
  readonly attempts: number;
  /** `skipped`: the item was left out. `stopped`: the item's failure ended the run. */
  readonly outcome: 'skipped' | 'stopped';
}

/**
 * The error for an item for which all attempts have failed. Its code is `graph/item-failed`. It names the node and the
 * item; `cause` is the last error.
 */
export class ItemError extends GraphError {
  static {
    ItemError.prototype.name = 'ItemError';
  }

  readonly index: number;
  readonly item: string | undefined;
  readonly attempts: number;
  readonly outcome: 'skipped' | 'stopped';

  constructor({ path, index, item, attempts, outcome }: FailedItem, cause: unknown) {
    const tries = attempts === 1 ? '' : ` ${attempts} times`;
    const place = { node: path, record: item ?? index };
    super('graph/item-failed', `The item failed${tries}: ${messageOf(cause)}`, { place, cause });
    this.index = index;
    this.item = item;
    this.attempts = attempts;
    this.outcome = outcome;
  }
}
