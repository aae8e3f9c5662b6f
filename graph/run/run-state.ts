import type { Subject } from 'rxjs';
import { GraphError } from '../../primitives/checks/errors.ts';
import type { OnWarning } from '../../primitives/checks/warnings.ts';
import type { ErrorPolicy } from '../definition/error-policy.ts';
import type { ItemError } from './item-error.ts';
import { cancel, type NodeRun, type RunServices } from './node-run.ts';
import type { GraphObserver } from './observer.ts';
import type { Progress } from './progress.ts';

export interface RunStateOptions {
  readonly name: string;
  readonly nodes: readonly NodeRun[];
  readonly context: unknown;
  readonly observer: GraphObserver | undefined;
  readonly warn: OnWarning | undefined;
  readonly policy: ErrorPolicy;
  readonly stallAfter: number;
  /** Names of the nodes whose finished items count as progress. If empty, the items read from sources count. */
  readonly measures: ReadonlySet<string>;
  readonly progress: Progress;
  readonly errors: Subject<ItemError>;
}

/** Tracks what is in progress in a run, detects stalls, and ends the run. A run fails at most once and never hangs. */
export class RunState implements RunServices {
  readonly observer: GraphObserver | undefined;
  readonly warn: OnWarning | undefined;
  readonly policy: ErrorPolicy;
  readonly #options: RunStateOptions;
  readonly #ended: Set<NodeRun> = new Set<NodeRun>();
  #works = 0;
  #reads = 0;
  #failure: { readonly error: unknown } | undefined;
  #atRest: (() => void)[] = [];
  readonly #releases: (() => void)[] = [];
  /**
   * Number of movements so far: items that moved, nodes that ended, and work or reads that began. If the number has not
   * changed between two checks, nothing has moved.
   */
  #moves = 0;
  #look: ReturnType<typeof setTimeout> | undefined;
  #isLooking = false;

  constructor(options: RunStateOptions) {
    this.#options = options;
    this.observer = options.observer;
    this.warn = options.warn;
    this.policy = options.policy;
  }

  context(): unknown {
    const { context, name } = this.#options;
    if (context !== undefined) return context;
    const remedy = 'Give it as the first argument of run().';
    throw new GraphError('graph/no-context', 'The run has no context.', { remedy, place: { node: name } });
  }

  report(error: ItemError): void {
    this.#options.errors.next(error);
  }

  readonly fail = (error: unknown): void => {
    if (this.#failure !== undefined) return;
    this.#failure = { error };
    for (const node of this.#options.nodes) cancel(node, error);
  };

  atFailure(release: () => void): void {
    this.#releases.push(release);
  }

  began(): void {
    this.#moves++;
    this.#works++;
  }

  ended(): void {
    this.#works--;
    if (this.#works === 0) for (const resolve of this.#atRest.splice(0)) resolve();
    this.#lookSoon();
  }

  readBegan(): void {
    this.#moves++;
    this.#reads++;
  }

  readEnded(): void {
    this.#reads--;
    this.#lookSoon();
  }

  moved(): void {
    this.#moves++;
    this.#lookSoon();
  }

  nodeEnded(node: NodeRun): void {
    this.#ended.add(node);
    this.moved();
  }

  advance({ meta }: NodeRun, units: number): void {
    const { measures, progress } = this.#options;
    if (measures.size === 0 ? meta.kind === 'source' : measures.has(meta.name)) progress.advance(units);
  }

  /** Resolves when no function is running and all results have been handled. Rejects if the run has failed. */
  async rest(): Promise<void> {
    while (this.#works > 0) await new Promise<void>((resolve) => this.#atRest.push(resolve));
    if (this.#options.nodes.some(({ abort }) => abort.signal.aborted)) await new Promise((turn) => setTimeout(turn));
    clearTimeout(this.#look);
    if (this.#failure === undefined) return;
    for (const release of this.#releases.splice(0)) release();
    throw this.#failure.error;
  }

  /**
   * Checks for a stall in the next turn of the event loop. Items move in microtasks, so all items that can move have
   * moved before the next turn.
   */
  #lookSoon(): void {
    if (this.#isBusy() || this.#isLooking) return;
    clearTimeout(this.#look);
    this.#isLooking = true;
    const moves = this.#moves;
    this.#look = setTimeout(() => {
      this.#isLooking = false;
      if (this.#isBusy()) return;
      if (moves === this.#moves) this.#standstill();
      else this.#lookSoon();
    });
  }

  #isBusy(): boolean {
    return this.#works + this.#reads > 0 || this.#isOver();
  }

  #isOver(): boolean {
    return this.#failure !== undefined || this.#ended.size === this.#options.nodes.length;
  }

  #standstill(): void {
    const { nodes, stallAfter } = this.#options;
    const full = nodes.flatMap(({ inputs }) => inputs).filter(({ channel }) => !channel.hasRoom());
    const moves = this.#moves;
    const stall = (): void => {
      if (moves === this.#moves && !this.#isBusy()) this.fail(this.#stallError(full.map(({ name }) => name)));
    };
    const mayMove = nodes.some((node) => node.meta.kind === 'pipe' && !this.#ended.has(node));
    if (!mayMove) stall();
    else if (full.length > 0 && stallAfter < Number.POSITIVE_INFINITY) this.#look = setTimeout(stall, stallAfter);
  }

  #stallError(full: readonly string[]): GraphError {
    const waiting = this.#options.nodes.filter((node) => !this.#ended.has(node)).map(({ meta }) => meta.name);
    const remedy =
      'Where paths from a branch or broadcast meet again, raise the capacity of the edges, or the hold of the join, to ' +
      'as many items as one path may get ahead of the other.';
    return new GraphError('graph/stalled', 'The run is stalled: nothing is in progress, and no node can go on.', {
      expected: 'room on an edge, or an item to work on',
      got: `no room before ${full.join(', ')}; waiting nodes ${waiting.join(', ')}`,
      remedy,
      place: { node: this.#options.name },
    });
  }
}
