import { filter, map } from 'rxjs';
import { describe, expect } from 'vitest';
import {
  type ErrorPolicy,
  type Graph,
  type GraphBuilder,
  type GraphObserver,
  graph,
  type ItemError,
  migrate,
  type Outcome,
  type Pair,
  type Port,
  stage,
} from '../../graph/index.ts';
import { caseCount } from '../cases.ts';
import { fc, test } from '../law-test.ts';
import { delayAt, delays, settled, turns } from './graph-harness.ts';

/** An item that must be freed exactly once, by the node that made it or by a function that takes it. */
interface Item {
  readonly id: number;
  readonly maker: string;
  readonly name: string;
}

/** A value on an edge: an item, or batches and pairs of items, nested to any depth. */
type Thing = Item | readonly Thing[] | Pair<Thing, Thing>;

const itemsOf = (thing: Thing): Item[] => {
  if ('id' in thing) return [thing];
  return Array.isArray(thing)
    ? thing.flatMap(itemsOf)
    : [thing as Pair<Thing, Thing>].flatMap(partsOf).flatMap(itemsOf);
};
const partsOf = ({ left, right }: Pair<Thing, Thing>): Thing[] => [left, right];

/** The name of a value in errors and traces. */
const nameOf = (thing: Thing): string => {
  if ('id' in thing) return thing.name;
  const parts = Array.isArray(thing) ? (thing as Thing[]) : partsOf(thing as Pair<Thing, Thing>);
  const more = parts.length > 3 ? [`${parts.length - 3} more`] : [];
  return [...parts.slice(0, 3).map(nameOf), ...more].join(', ');
};

/**
 * Makes items, and records as mistakes the items that are freed twice or by the wrong node. Items that are never freed
 * stay in `alive`.
 */
class Ledger {
  readonly alive: Map<number, Item> = new Map();
  readonly mistakes: string[] = [];
  #made = 0;

  make(maker: string, name: string): Item {
    const item = { id: this.#made++, maker, name };
    this.alive.set(item.id, item);
    return item;
  }

  /** Records that a function has taken over the items of a value. */
  deliver(thing: Thing): void {
    for (const item of itemsOf(thing)) this.#remove(item, 'delivered');
  }

  /** Returns a `discard` function for the items that `maker` has made. */
  discardOf(maker: string): (thing: Thing) => void {
    return (thing) => {
      for (const item of itemsOf(thing)) {
        if (item.maker !== maker) this.mistakes.push(`${item.maker}'s ${item.name} discarded by ${maker}`);
        this.#remove(item, 'discarded');
      }
    };
  }

  copy(thing: Thing): Thing {
    if ('id' in thing) return this.make(thing.maker, thing.name);
    if (Array.isArray(thing)) return thing.map((each: Thing) => this.copy(each));
    const { left, right } = thing as Pair<Thing, Thing>;
    return { left: this.copy(left), right: this.copy(right) };
  }

  #remove({ id, maker, name }: Item, how: string): void {
    if (!this.alive.delete(id)) this.mistakes.push(`${maker}'s ${name} ${how} again`);
  }
}

const KINDS = ['stage', 'merge', 'join', 'batch', 'branch', 'broadcast', 'filter', 'map', 'inner', 'migrate'] as const;

/**
 * A plan of a random graph. Each node takes its inputs from open ports, which are outputs without a consumer. The
 * numbers in `ports` choose among the open ports. Ports that are still open at the end get a sink.
 */
const plans = fc.record({
  sources: fc.array(fc.nat({ max: 10 }), { minLength: 1, maxLength: 3 }),
  nodes: fc.array(
    fc.record({
      kind: fc.constantFrom(...KINDS),
      ports: fc.tuple(fc.nat(), fc.nat()),
      lanes: fc.integer({ min: 1, max: 3 }),
      capacity: fc.integer({ min: 1, max: 3 }),
      ordered: fc.boolean(),
    }),
    { maxLength: 7 },
  ),
  sinks: fc.array(fc.constantFrom('sink', 'collect', 'reduce'), { minLength: 1, maxLength: 4 }),
  table: delays,
});
type Plan = typeof plans extends fc.Arbitrary<infer P> ? P : never;

/**
 * Builds the graph of a plan. Every user function calls `step` with a value before it takes over the items of the
 * value.
 */
function grow(plan: Plan, ledger: Ledger, step: (thing: Thing) => void): Graph<Record<string, unknown>, never> {
  const { sources, nodes, sinks, table } = plan;
  const wait = (k: number): Promise<void> => turns(delayAt(table, k));

  return graph('random', (g: GraphBuilder<never>) => {
    const open = sources.map((length, s): Port<Thing> => {
      const maker = `source${s}`;
      async function* read(): AsyncGenerator<Item> {
        for (let i = 0; i < length; i++) {
          await wait(i + s);
          yield ledger.make(maker, `${maker}-${i}`);
        }
      }
      return g.source(maker, read, { discard: ledger.discardOf(maker), describe: ({ name }: Item) => name });
    });
    const take = (at: number): Port<Thing> => open.splice(at % open.length, 1)[0]!;
    for (const [n, node] of nodes.entries()) {
      if ((node.kind === 'merge' || node.kind === 'join') && open.length < 2) continue;
      open.push(...grown(g, node, `${node.kind}${n}`, take));
    }
    const ends = open.map((port, i): [string, Outcome<unknown>] => {
      const kind = sinks[i % sinks.length]!;
      return [`${kind}${i}`, ended(g, kind, `end-${kind}${i}`, port)];
    });
    return Object.fromEntries(ends);
  });

  function grown(g: GraphBuilder<never>, node: Plan['nodes'][number], name: string, take: (at: number) => Port<Thing>) {
    const { kind, ports, lanes, capacity, ordered } = node;
    const port = take(ports[0]);
    const discardResult = ledger.discardOf(name);
    const options = { lanes, capacity, ordered, discardResult };
    const again = async (thing: Thing): Promise<Thing> => {
      step(thing);
      await wait(itemsOf(thing).length);
      const result = ledger.make(name, nameOf(thing));
      ledger.deliver(thing);
      return result;
    };
    const key = (thing: Thing): number => {
      step(thing);
      return itemsOf(thing)[0]!.name.length % 3;
    };
    switch (kind) {
      case 'stage':
        return [g.stage(name, port, again, options)];
      case 'merge':
        return [g.merge(name, [port, take(ports[1])], { capacity })];
      case 'join': {
        const sides = { left: port, right: take(ports[1]) };
        const joined = g.join(name, sides, { key: { left: key, right: key }, hold: 60, capacity });
        return [joined.pairs, g.merge(`${name}-alone`, [joined.leftOnly, joined.rightOnly])];
      }
      case 'batch':
        return [g.batch(name, port, { items: capacity + 1 }) as Port<Thing>];
      case 'branch':
        return Object.values(g.branch(name, port, { some: (thing) => key(thing) === 0, rest: 'rest' }, { capacity }));
      case 'broadcast':
        return Object.values(
          g.broadcast(name, port, ['a', 'b'], {
            copy: (thing) => {
              step(thing);
              return ledger.copy(thing);
            },
          }),
        );
      case 'filter': {
        const stays = (thing: Thing): boolean => {
          step(thing);
          const isGood = itemsOf(thing)[0]!.id % 4 !== 0;
          if (!isGood) ledger.deliver(thing);
          return isGood;
        };
        return [g.pipe(name, port, filter(stays))];
      }
      case 'map': {
        const same = (thing: Thing): Thing => {
          step(thing);
          return thing;
        };
        return [
          g.pipe(
            name,
            port,
            map(same),
            filter(() => true),
          ),
        ];
      }
      case 'inner': {
        // The function of an inner stage owns its item, even if it fails.
        const owning = (thing: Thing): Promise<Thing> =>
          again(thing).catch((error) => {
            ledger.deliver(thing);
            throw error;
          });
        return [g.pipe(name, port, stage(name, owning, options))];
      }
      case 'migrate':
        return [
          g.pipe(
            name,
            port,
            migrate(name, { gpu: again, cpu: again, gpuLanes: lanes, capacity, ordered, discardResult }),
          ),
        ];
    }
  }

  function ended(g: GraphBuilder<never>, kind: string, name: string, port: Port<Thing>): Outcome<unknown> {
    if (kind === 'collect') return g.collect(name, port);
    if (kind === 'sink') {
      return g.sink(name, port, async (thing) => {
        step(thing);
        await wait(1);
        ledger.deliver(thing);
      });
    }
    // The first item becomes the accumulator without a call. So the first call takes over the first and the second
    // item.
    return g.reduce(name, g.merge(`${name}-ahead`, [port]), (first: Thing, thing: Thing): Thing => {
      step(thing);
      for (const each of [first, thing]) ledger.deliver(each);
      return ledger.make('reduce', 'folded');
    });
  }
}

interface Seen {
  readonly errors: ItemError[];
  readonly names: (string | undefined)[];
}

/** Runs a graph. Afterwards, frees the results of a successful run, and the accumulators of folds. */
async function runAndFree(
  plan: Plan,
  ledger: Ledger,
  { step, signal, onError }: { step: (thing: Thing) => void; signal?: AbortSignal; onError?: ErrorPolicy },
): Promise<Seen & { outcome: unknown }> {
  const errors: ItemError[] = [];
  const names: (string | undefined)[] = [];
  const observer: GraphObserver = {
    span: ({ record }) => names.push(record),
    occupancy: () => {},
    mark: ({ detail }) => names.push(detail?.item === undefined ? 'no item' : (detail.record as string | undefined)),
  };
  const run = grow(plan, ledger, step).run(undefined, { observer, signal, onError });
  run.errors$.subscribe((error) => errors.push(error));
  const outcome = await run.result.then(
    (results) => {
      for (const result of Object.values(results)) if (typeof result === 'object') ledger.deliver(result as Thing);
      return 'ended';
    },
    (error: unknown) => error,
  );
  await settled();
  // The accumulator of a fold belongs to the fold's function, so it is no mistake if an accumulator is left.
  for (const item of ledger.alive.values()) if (item.maker === 'reduce') ledger.deliver(item);
  return { errors, names, outcome };
}

const nothingLeft = ({ alive, mistakes }: Ledger): void => {
  expect({ alive: [...alive.values()], mistakes }).toEqual({ alive: [], mistakes: [] });
};

const runs: number = caseCount(100);

describe('in a random graph every item is delivered, or discarded by its source, exactly once', () => {
  test.prop({ plan: plans }, { numRuns: runs })('in an undisturbed run', async ({ plan }) => {
    const ledger = new Ledger();
    await runAndFree(plan, ledger, { step: () => {} });
    nothingLeft(ledger);
  });

  test.prop({ plan: plans, at: fc.nat({ max: 60 }) }, { numRuns: runs })(
    'when it is aborted at any step',
    async ({ plan, at }) => {
      const ledger = new Ledger();
      const controller = new AbortController();
      let steps = 0;
      const step = (): void => {
        if (steps++ === at) controller.abort();
      };
      await runAndFree(plan, ledger, { step, signal: controller.signal });
      nothingLeft(ledger);
    },
  );

  test.prop({ plan: plans, after: fc.nat({ max: 30 }) }, { numRuns: runs })(
    'when it is aborted at any time',
    async ({ plan, after }) => {
      const ledger = new Ledger();
      const controller = new AbortController();
      const done = runAndFree(plan, ledger, { step: () => {}, signal: controller.signal });
      await turns(after);
      controller.abort();
      await done;
      nothingLeft(ledger);
    },
  );

  test.prop({ plan: plans, at: fc.nat({ max: 60 }) }, { numRuns: runs })(
    'when a callback throws, and the error names the item as its source did',
    async ({ plan, at }) => {
      const ledger = new Ledger();
      let steps = 0;
      let failed: string | undefined;
      const step = (thing: Thing): void => {
        if (steps++ !== at) return;
        failed = nameOf(thing);
        throw new Error('broken');
      };
      const { outcome, names } = await runAndFree(plan, ledger, { step });
      nothingLeft(ledger);
      expect(names).not.toContain(undefined);
      const isOfItem = failed !== undefined && (outcome as ItemError).code !== 'graph/nothing-to-reduce';
      if (isOfItem && outcome !== 'ended') expect((outcome as ItemError).place?.record).toBe(failed);
    },
  );

  const policies: fc.Arbitrary<ErrorPolicy> = fc.record({ retry: fc.nat({ max: 2 }), orElse: fc.constant('skip') });
  test.prop({ plan: plans, every: fc.integer({ min: 2, max: 9 }), onError: policies }, { numRuns: runs })(
    'when items fail, are retried and skipped, each by its name',
    async ({ plan, every, onError }) => {
      const ledger = new Ledger();
      let steps = 0;
      const step = (thing: Thing): void => {
        if (steps++ % every === 0) throw new Error(nameOf(thing));
      };
      const { errors, names } = await runAndFree(plan, ledger, { step, onError });
      nothingLeft(ledger);
      expect(names).not.toContain(undefined);
      for (const error of errors) expect(error.item).toBe((error.cause as Error).message);
    },
  );
});
