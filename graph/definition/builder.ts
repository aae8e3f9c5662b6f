import type { OperatorFunction } from 'rxjs';
import { requireArguments, requireOptions } from '../../primitives/checks/arguments.ts';
import { GraphError } from '../../primitives/checks/errors.ts';
import { isRecord } from '../../primitives/checks/given.ts';
import {
  aFunction,
  anArrayOf,
  aRecord,
  aText,
  type FieldKinds,
  type Kind,
  someRecord,
  where,
} from '../../primitives/checks/kinds.ts';
import { remoteFunction } from '../remote/remote-options.ts';
import { remoteProgram } from '../remote/remote-stage.ts';
import type { NodeFunction, Work } from '../run/attempts.ts';
import type { NodeProgram } from '../run/node-run.ts';
import {
  batchProgram,
  branchProgram,
  broadcastProgram,
  collectProgram,
  mergeProgram,
  type Opener,
  pipeProgram,
  reduceProgram,
  sinkProgram,
  sourceProgram,
  stageProgram,
  type WorkOf,
} from '../run/programs.ts';
import { aSource, type Pullable } from '../run/pull-source.ts';
import { BATCH_OPTIONS, type BatchOptions } from './batch-by.ts';
import type { InputDefinition, NodeDefinition } from './definition.ts';
import { type ErrorPolicy, fullPolicy } from './error-policy.ts';
import { joinProgram } from './join.ts';
import { metaOf, type NodeList, outputOf } from './node-list.ts';
import {
  type BroadcastOptions,
  type GraphBatchOptions,
  type GraphStageOptions,
  type InputOptions,
  type JoinOptions,
  type JoinPorts,
  NODE_OPTIONS,
  type PolicyOptions,
  type PortRules,
  type PortsOf,
  type ReduceFunction,
  type SinkOptions,
  type SourceOptions,
} from './node-options.ts';
import type { ItemOf, Outcome, Port } from './port.ts';
import type { NodeMeta } from './shape.ts';
import type { Stage } from './stage.ts';

/**
 * Adds nodes to a graph. The function given to `graph()` receives the builder. A node takes its input only from
 * ports (outputs) of nodes that were added earlier. So graphs have no cycles.
 *
 * Every method throws `GraphError` with the node's path and one of these codes: `graph/bad-name`,
 * `graph/duplicate-name`, `graph/foreign-port` for a port of another graph, `graph/port-taken` for a port that already
 * has a consumer, `graph/bad-lanes`, `graph/bad-capacity`, `graph/no-size`, `graph/bad-policy`, or a code listed at the
 * method.
 */
export class GraphBuilder<C> {
  readonly #nodes: NodeList;

  constructor(nodes: NodeList) {
    this.#nodes = nodes;
  }

  /**
   * Reads a source one item at a time, whenever the next edge has room. If `source` is a function, it is called for
   * each run to open the source.
   */
  source<A>(name: string, source: Pullable<A> | Opener<A, C>, options: SourceOptions<A> = {}): Port<A> {
    this.#check('source', { name, source, options }, { source: aSource, options: NODE_OPTIONS.source! });
    const { total, units = () => 1, sizeOf } = options;
    const meta: NodeMeta = { name, kind: 'source', lanes: 1, capacity: { items: 0, bytes: 0 }, runsOn: 'cpu' };
    const program = sourceProgram(source as Pullable<A> | Opener<A, never>, units, options);
    const outputs = [outputOf(name, undefined, sizeOf !== undefined)];
    return this.#add({ meta, inputs: [], outputs, program, total });
  }

  /**
   * Applies a function to each item, for up to `lanes` items at the same time.
   *
   * @throws `GraphError` `graph/bad-remote` for a remote function without a valid module and name, and
   * `graph/remote-migrate`.
   */
  stage<A, B>(
    name: string,
    input: Port<A>,
    fn: NodeFunction<A, B, C>,
    options: GraphStageOptions<A, B, C> = {},
  ): Port<B> {
    this.#check('stage', { name, input, fn, options }, { input: aPort, fn: aFunction, options: NODE_OPTIONS.stage! });
    const { ordered = false, discardResult, progress, elsewhere, lanes, remote } = options;
    const edge = this.#nodes.input(name, input, options, lanes);
    if (remote !== undefined) requireOneSide(options, this.#nodes.path(name));
    const work = this.#work(name, options, fn, elsewhere);
    const steps = { ordered, units: progress, discardResult };
    const program =
      remote === undefined
        ? stageProgram(work, steps)
        : remoteProgram(remote, remoteFunction(remote, fn, this.#nodes.path(name)), work, steps);
    const outputs = [outputOf(name, undefined)];
    const isMeasure = progress !== undefined;
    const meta = metaOf(name, 'map', edge, { ...options, remote: remote?.queue.name });
    return this.#add({ meta, inputs: [edge], outputs, program, isMeasure });
  }

  /**
   * Applies plain RxJS operators, or one `stage()`. Items that an operator such as `delay` holds back count towards no
   * bound. The operators must free the items that they drop. The counters of a stage describe the latest run.
   */
  pipe<A, B>(name: string, input: Port<A>, op: OperatorFunction<A, B>): Port<B>;
  pipe<A, B, D>(name: string, input: Port<A>, op1: OperatorFunction<A, B>, op2: OperatorFunction<B, D>): Port<D>;
  pipe<A, B, D, E>(
    name: string,
    input: Port<A>,
    op1: OperatorFunction<A, B>,
    op2: OperatorFunction<B, D>,
    op3: OperatorFunction<D, E>,
  ): Port<E>;
  pipe<A, B, D, E, F>(
    name: string,
    input: Port<A>,
    op1: OperatorFunction<A, B>,
    op2: OperatorFunction<B, D>,
    op3: OperatorFunction<D, E>,
    op4: OperatorFunction<E, F>,
  ): Port<F>;
  pipe<A>(name: string, input: Port<A>, ...operators: OperatorFunction<unknown, unknown>[]): Port<unknown> {
    this.#check('pipe', { name, input, operators }, { input: aPort, operators: anArrayOf(aFunction) });
    const edge = this.#nodes.input(name, input, {});
    const inner = operators.length === 1 ? maybeStage(operators[0]!) : undefined;
    const all: OperatorFunction<unknown, unknown> = (source) =>
      operators.reduce((stream, operator) => stream.pipe(operator), source);
    const program = pipeProgram(all, inner?.meta.name);
    const common = { inputs: [edge], outputs: [outputOf(name, undefined)], program };
    if (inner === undefined) return this.#add({ ...common, meta: metaOf(name, 'pipe', edge) });
    return this.#add({ ...common, meta: { ...inner.meta, name }, inner: () => inner.counters() });
  }

  /** Groups items into batches with bounds in items and bytes; see `batchBy`. */
  batch<A>(name: string, input: Port<A>, options: GraphBatchOptions<A>): Port<A[]> {
    this.#check('batch', { name, input, options }, { input: aPort, options: someRecord });
    requireOptions<BatchOptions<A>>('g.batch', BATCH_OPTIONS, options as BatchOptions<A>);
    const { sizeOf, discard } = options;
    const edge = this.#nodes.input(name, input, { sizeOf, discard });
    const program = batchProgram(options, this.#nodes.path(name), edge.isSized);
    return this.#add({
      meta: metaOf(name, 'batch', edge),
      inputs: [edge],
      outputs: [outputOf(name, undefined)],
      program,
    });
  }

  /**
   * Sends each item to one port, the first whose rule is true for the item. While this port is full, all other ports
   * wait too. The rule `'rest'` is true for all items. An item for which no rule is true fails with the cause
   * `graph/no-port`.
   */
  branch<A, const N extends string>(
    name: string,
    input: Port<A>,
    rules: PortRules<A, N>,
    options: PolicyOptions<A> = {},
  ): PortsOf<A, N> {
    this.#check(
      'branch',
      { name, input, rules, options },
      { input: aPort, rules: someRules, options: NODE_OPTIONS.policy! },
    );
    const edge = this.#nodes.input(name, input, options);
    const choose = this.#work(name, options, (item: A) => portFor(this.#nodes.path(name), rules, item));
    const outputs = Object.keys(rules).map((port) => outputOf(name, port, edge.isSized));
    const meta = metaOf(name, 'branch', edge);
    return this.#addPorts({ meta, inputs: [edge], outputs, program: branchProgram(choose) }) as PortsOf<A, N>;
  }

  /** Sends each item to every port. The slowest consumer limits the speed of all ports. */
  broadcast<A, const N extends string>(
    name: string,
    input: Port<A>,
    ports: readonly N[],
    options: BroadcastOptions<A> = {},
  ): PortsOf<A, N> {
    this.#check(
      'broadcast',
      { name, input, ports, options },
      { input: aPort, ports: anArrayOf(aText), options: NODE_OPTIONS.broadcast! },
    );
    const edge = this.#nodes.input(name, input, options);
    const outputs = [...new Set(ports)].map((port) => outputOf(name, port, edge.isSized));
    const program = broadcastProgram(options.copy);
    return this.#addPorts({ meta: metaOf(name, 'broadcast', edge), inputs: [edge], outputs, program }) as PortsOf<A, N>;
  }

  /**
   * Merges the items of several ports into one edge, in the order in which they arrive. Items of one port keep their
   * order.
   */
  merge<P extends Port<unknown>>(
    name: string,
    inputs: readonly P[],
    options: InputOptions<ItemOf<P>> = {},
  ): Port<ItemOf<P>> {
    this.#check('merge', { name, inputs, options }, { inputs: anArrayOf(aPort), options: NODE_OPTIONS.input! });
    const edge = this.#nodes.input(name, inputs, options);
    const outputs = [outputOf(name, undefined, edge.isSized)];
    return this.#add({ meta: metaOf(name, 'merge', edge), inputs: [edge], outputs, program: mergeProgram });
  }

  /**
   * Pairs items of two ports that have equal keys. Among items with equal keys, the oldest are paired first. The order
   * of the pairs is not fixed. Each side (`left` or `right`) keeps at most `hold` items that wait for a partner. A side
   * with `hold` waiting items is not read until the other side takes an item or ends. When the left side has ended,
   * right items without a partner are sent to the port `rightOnly`; left items are sent to `leftOnly` when the right
   * side has ended. If both sides have `hold` waiting items, the run fails with `graph/stalled`.
   *
   * @throws `GraphError` `graph/bad-hold`.
   */
  join<L, R, K>(
    name: string,
    inputs: { readonly left: Port<L>; readonly right: Port<R> },
    options: JoinOptions<L, R, K>,
  ): JoinPorts<L, R> {
    this.#check('join', { name, inputs, options }, { inputs: bothPorts, options: NODE_OPTIONS.join! });
    const { key, hold = 64, capacity } = options;
    if (!(hold === Number.POSITIVE_INFINITY || Number.isInteger(hold)) || hold < 1)
      throw badHold(this.#nodes.path(name), hold);
    const left = this.#nodes.input(name, inputs.left, { capacity }, 1, 'left');
    const right = this.#nodes.input(name, inputs.right, { capacity }, 1, 'right');
    const keyOf = {
      left: this.#work(name, options, key.left as (item: unknown) => unknown),
      right: this.#work(name, options, key.right as (item: unknown) => unknown),
    };
    const outputs = [
      outputOf(name, 'pairs'),
      outputOf(name, 'leftOnly', left.isSized),
      outputOf(name, 'rightOnly', right.isSized),
    ];
    const program = joinProgram(keyOf, hold);
    const ports = this.#addPorts({ meta: metaOf(name, 'join', left), inputs: [left, right], outputs, program });
    return ports as unknown as JoinPorts<L, R>;
  }

  /**
   * Folds the items in order of arrival. If the seed is a function, it is called for each run. Without a seed
   * (`undefined`), the fold starts with the first item. A run without seed and items fails with
   * `graph/nothing-to-reduce`.
   */
  reduce<A>(name: string, input: Port<A>, fn: ReduceFunction<A, A, C>): Outcome<A>;
  reduce<A, R>(
    name: string,
    input: Port<A>,
    fn: ReduceFunction<A, R, C>,
    seed: R | (() => R),
    options?: PolicyOptions<A>,
  ): Outcome<R>;
  reduce<A, R>(
    name: string,
    input: Port<A>,
    fn: ReduceFunction<A, R, C>,
    seed?: R | (() => R),
    options: PolicyOptions<A> = {},
  ): Outcome<R> {
    this.#check('reduce', { name, input, fn, options }, { input: aPort, fn: aFunction, options: NODE_OPTIONS.policy! });
    const edge = this.#nodes.input(name, input, options);
    const start = (): { value: R } | undefined =>
      seed === undefined ? undefined : { value: typeof seed === 'function' ? (seed as () => R)() : seed };
    const work = (step: NodeFunction<A, void, never>): WorkOf<A, void> =>
      this.#work(name, options, step as NodeFunction<A, void, C>);
    const program = reduceProgram<A, R>(fn as ReduceFunction<A, R, never>, work, start, options.progress);
    return this.#end(metaOf(name, 'reduce', edge), edge, program, options);
  }

  /**
   * Applies a function to each item. The function owns the item and must free it. The outcome is the number of items.
   */
  sink<A>(
    name: string,
    input: Port<A>,
    fn: NodeFunction<A, unknown, C>,
    options: SinkOptions<A> = {},
  ): Outcome<number> {
    this.#check('sink', { name, input, fn, options }, { input: aPort, fn: aFunction, options: NODE_OPTIONS.sink! });
    const edge = this.#nodes.input(name, input, options, options.lanes);
    const program = sinkProgram(this.#work(name, options, fn), options.progress);
    return this.#end(metaOf(name, 'sink', edge, options), edge, program, options);
  }

  /** Collects all items in an array, in order of arrival. If the run fails, the items are discarded. */
  collect<A>(name: string, input: Port<A>, options: PolicyOptions<A> = {}): Outcome<A[]> {
    this.#check('collect', { name, input, options }, { input: aPort, options: NODE_OPTIONS.policy! });
    const edge = this.#nodes.input(name, input, options);
    const program = collectProgram<A>(
      this.#work(name, options, () => undefined),
      options.progress,
    );
    return this.#end(metaOf(name, 'reduce', edge), edge, program, options);
  }

  #check<A extends { readonly name: string }>(method: string, given: A, kinds: FieldKinds<Omit<A, 'name'>>): void {
    requireArguments<A>(`g.${method}`, given, { name: aText, ...kinds } as FieldKinds<A>);
  }

  #add<A>(node: NodeDefinition): Port<A> {
    return this.#nodes.add(node)[0] as Port<unknown> as Port<A>;
  }

  #addPorts(node: NodeDefinition): Readonly<Record<string, Port<unknown>>> {
    return Object.fromEntries(this.#nodes.add(node).map((output) => [output.port!, output]));
  }

  #end<R>(meta: NodeMeta, edge: InputDefinition, program: NodeProgram, { progress }: PolicyOptions<never>): Outcome<R> {
    this.#nodes.add({ meta, inputs: [edge], outputs: [], program, isMeasure: progress !== undefined });
    return this.#nodes.outcome(meta.name);
  }

  /** Combines `fn` with an error policy: the policy of the node, or the policy of the run if the node has none. */
  #work<A, B>(
    name: string,
    { onError }: { readonly onError?: ErrorPolicy | undefined },
    fn: NodeFunction<A, B, C>,
    elsewhere?: NodeFunction<A, B, C>,
  ): WorkOf<A, B> {
    const path = this.#nodes.path(name);
    const own = onError === undefined ? undefined : fullPolicy(onError, path);
    if (own?.migrate === true && elsewhere === undefined) throw noOtherSide(path);
    const work = { fn, elsewhere } as Omit<Work<A, B>, 'policy'>;
    return ({ run }) => ({ ...work, policy: own ?? fullPolicy(run.policy, path) });
  }
}

/** Rejects an array given as a port. `NodeList` checks that the port belongs to this graph. */
const aPort: Kind = where('a port of a node of this graph', (port) => !Array.isArray(port));
const bothPorts: Kind = aRecord<{ left: unknown; right: unknown }>({ left: aPort, right: aPort });
const someRules: Kind = where(
  "a record of functions, and 'rest'",
  (given) => isRecord(given) && Object.values(given).every((rule) => rule === 'rest' || typeof rule === 'function'),
);

/** The index of the first port whose rule is true for `item`. Throws if there is none. */
function portFor<A>(path: string, rules: PortRules<A, string>, item: A): number {
  const port = Object.values(rules).findIndex((rule) => rule === 'rest' || rule(item));
  if (port >= 0) return port;
  throw new GraphError('graph/no-port', 'No port takes this item.', {
    expected: `a rule of ${Object.keys(rules).join(', ')} that is true for it`,
    got: 'none',
    remedy: "Add a port whose rule is 'rest'.",
    place: { node: path },
  });
}

function maybeStage(operator: OperatorFunction<never, unknown>): Stage<never, unknown> | undefined {
  return 'meta' in operator && 'counters' in operator ? (operator as Stage<never, unknown>) : undefined;
}

/** Rejects a remote stage with another side, because its items can be retried on any worker. */
function requireOneSide(
  { elsewhere, onError }: Pick<GraphStageOptions<never, unknown, never>, 'elsewhere' | 'onError'>,
  path: string,
): void {
  if (elsewhere === undefined && (onError === undefined || !fullPolicy(onError, path).migrate)) return;
  throw new GraphError('graph/remote-migrate', 'A remote stage has no other side to migrate items to.', {
    remedy: 'Leave out elsewhere and the policy migrate, or leave out remote.',
    place: { node: path },
  });
}

function noOtherSide(path: string): GraphError {
  return new GraphError('graph/no-other-side', 'The node has no other side to migrate a failed item to.', {
    remedy: 'Give elsewhere: the same work for the other side.',
    place: { node: path },
  });
}

function badHold(path: string, hold: number): GraphError {
  const details = { expected: 'an integer from 1', got: hold, place: { node: path } };
  return new GraphError('graph/bad-hold', 'hold must be an integer from 1.', details);
}
