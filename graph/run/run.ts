import { type Observable, ReplaySubject } from 'rxjs';
import { aFunction, aNumber, aSignal, type Kind, optional, someOptions } from '../../primitives/checks/kinds.ts';
import type { OnWarning } from '../../primitives/checks/warnings.ts';
import type { AbortSignal } from '../../primitives/host/platform-types.ts';
import type { GraphDefinition, InputDefinition, NodeDefinition, OutputDefinition } from '../definition/definition.ts';
import { anErrorPolicy, type ErrorPolicy, fullPolicy } from '../definition/error-policy.ts';
import type { EdgeCounters, GraphShape, NodeCounters } from '../definition/shape.ts';
import type { ItemError } from './item-error.ts';
import { type Edge, endOutputs, leave, type NodeCounts, type NodeRun, newEdge, nodeError } from './node-run.ts';
import { anObserver, type GraphObserver, guarded } from './observer.ts';
import { discardParcel, type Parcel } from './parcel.ts';
import { type ProgressReport, progress } from './progress.ts';
import { RunState } from './run-state.ts';

export interface RunOptions {
  /** If aborted, ends the run with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Receives the events of the run, for traces: work on items, contents of edges, and marks. */
  readonly observer?: GraphObserver | undefined;
  /** Error policy for nodes that have no policy themselves. Default `stop`. */
  readonly onError?: ErrorPolicy | undefined;
  /** Total number of units of progress. Default: the sum of the totals of all sources, if all are known. */
  readonly total?: number | undefined;
  /** Minimum time between two progress reports, in milliseconds. Default 100. */
  readonly progressEvery?: number | undefined;
  /**
   * Milliseconds without movement after which a graph with pipes counts as stalled, if an edge is full. A pipe needs
   * this time because its RxJS operators may delay items with timers. Default 60,000; `Infinity` means never. The
   * option has no effect on a graph without pipes, where stalls are detected immediately.
   */
  readonly stallAfter?: number | undefined;
  /**
   * Called with the error of a callback that must not end the run: `discard`, or a method of the observer. Default: a
   * warning of the platform.
   */
  readonly onWarning?: OnWarning | undefined;
}

export const RUN_OPTIONS: Kind = someOptions<RunOptions>({
  signal: optional(aSignal),
  observer: optional(anObserver),
  onError: optional(anErrorPolicy),
  total: optional(aNumber),
  progressEvery: optional(aNumber),
  stallAfter: optional(aNumber),
  onWarning: optional(aFunction),
});

/** A run of a graph, which starts with `run()`. */
export interface GraphRun<R> {
  /**
   * Resolves to the outcomes of the graph when every item has been delivered, skipped, or discarded because a node took
   * no more items. If the run fails or is aborted, rejects after everything is freed.
   *
   * The promise waits for functions that are running, so functions should observe their signal. It does not wait for a
   * pending read of a source; if the read gives an item, the item is discarded.
   */
  readonly result: Promise<R>;
  /**
   * Reports the progress of the run, with rate and remaining time. Progress counts the items read from sources, or the
   * items finished by nodes with the option `progress`.
   */
  readonly progress$: Observable<ProgressReport>;
  /**
   * Emits an error for each item for which all attempts have failed. A late subscriber also gets the last 1,000 errors.
   * Completes when the run ends.
   */
  readonly errors$: Observable<ItemError>;
  readonly shape: GraphShape;
  /** Returns the counters of all nodes, in the order of their definition. */
  counters(): NodeCounters[];
  /** Returns the current and the maximum number of items and bytes on each edge. */
  edges(): EdgeCounters[];
  /** Ends the run. `result` rejects with `reason`, which is an `AbortError` by default. */
  abort(reason?: unknown): void;
}

/** Starts a run of `definition`. The result maps the names of nodes to the outcomes of their programs. */
export function startRun(
  definition: GraphDefinition,
  shape: GraphShape,
  context: unknown,
  options: RunOptions,
): GraphRun<ReadonlyMap<string, unknown>> {
  const { signal, onError = 'stop', total = totalOf(definition), progressEvery, onWarning } = options;
  const observer = options.observer && guarded(options.observer, onWarning);
  fullPolicy(onError, definition.name);
  const counted = progress({ total, every: progressEvery });
  const errors = new ReplaySubject<ItemError>(1000);
  const nodes: NodeRun[] = [];
  const state = new RunState({
    name: definition.name,
    nodes,
    context,
    observer,
    warn: onWarning,
    policy: onError,
    stallAfter: options.stallAfter ?? 60_000,
    measures: new Set(definition.nodes.filter(({ isMeasure }) => isMeasure).map(({ meta }) => meta.name)),
    progress: counted,
    errors,
  });
  for (const node of wire(definition, state)) nodes.push(node);
  const stopTelling = observer === undefined ? () => {} : tellOccupancy(nodes, definition, observer);
  const onAbort = (): void => state.fail(signal?.reason);
  const run = async (): Promise<ReadonlyMap<string, unknown>> => {
    try {
      const values = await Promise.all(nodes.map((node, i) => runNode(node, definition.nodes[i]!, state)));
      await state.rest();
      return new Map(nodes.map(({ meta }, i) => [meta.name, values[i]]));
    } finally {
      signal?.removeEventListener('abort', onAbort);
      stopTelling();
      errors.complete();
      counted.end();
    }
  };
  if (signal?.aborted === true) state.fail(signal.reason);
  else signal?.addEventListener('abort', onAbort);

  return {
    result: run(),
    progress$: counted.progress$,
    errors$: errors.asObservable(),
    shape,
    counters: () => nodes.map((node, i) => countersOf(node, definition.nodes[i]!)),
    edges: () => nodes.flatMap((node, i) => edgeCountersOf(node, definition.nodes[i]!)),
    abort: (reason = new DOMException('The run was aborted.', 'AbortError')) => state.fail(reason),
  };
}

function totalOf({ nodes }: GraphDefinition): number | undefined {
  const totals = nodes.filter(({ meta }) => meta.kind === 'source').map(({ total }) => total);
  return totals.reduce((sum, total) => (sum === undefined || total === undefined ? undefined : sum + total), 0);
}

/** Creates the nodes of a run, and the edges between them. */
function wire({ name, nodes }: GraphDefinition, state: RunState): NodeRun[] {
  const edgeBehind = new Map<OutputDefinition, Edge>();
  const inputsOf = nodes.map(({ meta, inputs }) => {
    const counts = newCounts();
    const path = `${name}/${meta.name}`;
    const edges = inputs.map((input) => edgeOf(input, meta.name, path, counts, state.warn));
    for (const [i, input] of inputs.entries()) for (const output of input.from) edgeBehind.set(output, edges[i]!);
    return { counts, path, inputs: edges };
  });
  return nodes.map(({ meta, outputs }, i) => {
    const node: NodeRun = {
      ...inputsOf[i]!,
      meta,
      outputs: outputs.map((output) => edgeBehind.get(output)!),
      abort: new AbortController(),
      atAbort: new Set(),
      run: state,
    };
    for (const edge of node.outputs) edge.producers.push(node);
    return node;
  });
}

function edgeOf(
  { port, capacity, own }: InputDefinition,
  node: string,
  path: string,
  counts: NodeCounts,
  onWarning: OnWarning | undefined,
): Edge {
  const onDiscard = (parcel: Parcel): void => {
    counts.dropped++;
    discardParcel(parcel, onWarning);
  };
  const suffix = port === undefined ? '' : `.${port}`;
  return newEdge(`${node}${suffix}`, `${path}${suffix}`, capacity, own, onDiscard);
}

function newCounts(): NodeCounts {
  return { in: 0, out: 0, active: 0, dropped: 0, busy: 0, skipped: 0, retried: 0, migrated: 0 };
}

async function runNode(node: NodeRun, { program }: NodeDefinition, state: RunState): Promise<unknown> {
  try {
    return await program(node);
  } catch (cause) {
    state.fail(nodeError(node, cause));
    return undefined;
  } finally {
    for (const edge of node.inputs) leave(edge);
    endOutputs(node);
    state.nodeEnded(node);
  }
}

function tellOccupancy(nodes: readonly NodeRun[], { nodes: definitions }: GraphDefinition, observer: GraphObserver) {
  const told = nodes.filter((_, i) => definitions[i]!.inner === undefined).flatMap(({ inputs }) => inputs);
  const subscriptions = told.map(({ name, channel }) =>
    channel.occupancy$.subscribe((level) => observer.occupancy({ edge: name, time: performance.now(), ...level })),
  );
  return (): void => {
    for (const subscription of subscriptions) subscription.unsubscribe();
  };
}

function countersOf({ meta, counts, inputs }: NodeRun, { inner }: NodeDefinition): NodeCounters {
  const sum = (count: 'stalls' | 'depth' | 'bytes' | 'peak' | 'peakBytes'): number =>
    inputs.reduce((total, { channel }) => total + channel[count], 0);
  const edge = {
    stalls: sum('stalls'),
    depth: sum('depth'),
    bytes: sum('bytes'),
    peak: sum('peak'),
    peakBytes: sum('peakBytes'),
  };
  return { ...counts, ...edge, ...inner?.(), name: meta.name };
}

/**
 * Returns the counters of the edges into a node. If the node is a pipe with a single stage, returns the counters of the
 * edge inside this stage instead.
 */
function edgeCountersOf({ meta, inputs }: NodeRun, { inner }: NodeDefinition): EdgeCounters[] {
  return inputs.map((edge) => {
    const held = inner === undefined ? edge.channel : { capacity: meta.capacity, ...inner() };
    const { capacity, stalls, depth, bytes, peak, peakBytes } = held;
    return { edge: edge.name, capacity, stalls, depth, bytes, peak, peakBytes };
  });
}
