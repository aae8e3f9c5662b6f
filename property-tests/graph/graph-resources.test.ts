import { filter } from 'rxjs';
import { describe, expect } from 'vitest';
import { type ErrorPolicy, type Graph, type GraphBuilder, graph, ItemError } from '../../graph/index.ts';
import { fc, test } from '../law-test.ts';
import { delayAt, delays, settled, turns } from './graph-harness.ts';

/** A resource that must be freed exactly once. */
interface Resource {
  readonly id: number;
  readonly value: number;
}

/** Makes resources. Records which resources are not yet freed, and which ones were freed twice. */
class Resources {
  readonly alive: Set<number> = new Set<number>();
  readonly freedTwice: number[] = [];
  #made = 0;

  make(value: number): Resource {
    const id = this.#made++;
    this.alive.add(id);
    return { id, value };
  }

  readonly free = ({ id }: Resource): void => {
    if (!this.alive.delete(id)) this.freedTwice.push(id);
  };
}

interface Plan {
  readonly length: number;
  readonly lanes: number;
  readonly capacity: number;
  readonly ordered: boolean;
  readonly table: readonly number[];
}

const plans: fc.Arbitrary<Plan> = fc.record({
  length: fc.integer({ min: 1, max: 24 }),
  lanes: fc.integer({ min: 1, max: 3 }),
  capacity: fc.integer({ min: 1, max: 3 }),
  ordered: fc.boolean(),
  table: delays,
});

/**
 * A graph with many kinds of nodes. All functions except the filter call `step` first. If `step` throws, the function
 * has not freed its input.
 */
function everything(resources: Resources, plan: Plan, step: (node: string) => void): Graph<number, never> {
  const { length, lanes, capacity, ordered, table } = plan;
  const { free } = resources;
  const discard = { discard: free };
  async function* read(): AsyncGenerator<Resource> {
    for (let value = 0; value < length; value++) {
      step('read');
      await turns(delayAt(table, value));
      yield resources.make(value);
    }
  }
  const again = (node: string) => async (item: Resource) => {
    step(node);
    await turns(delayAt(table, item.value));
    const result = resources.make(item.value);
    free(item);
    return result;
  };
  const asks = (node: string, answer: (value: number) => boolean) => (item: Resource) => {
    step(node);
    return answer(item.value);
  };
  const freeing = (node: string) => async (item: Resource | readonly Resource[]) => {
    step(node);
    await turns(delayAt(table, 1));
    for (const each of [item].flat()) free(each);
  };

  return graph('everything', define);

  function define(g: GraphBuilder<never>) {
    const options = { lanes, capacity, ordered, discardResult: free };
    const first = g.stage('first', g.source('read', read, discard), again('first'), options);
    const swallow = filter((item: Resource) => {
      const stays = item.value % 5 !== 4;
      if (!stays) free(item);
      return stays;
    });
    const some = g.pipe('some', first, swallow);
    const rules = { odd: asks('branch', (value) => value % 2 === 1), even: 'rest' as const };
    const { odd, even } = g.branch('branch', some, rules, { ...discard, capacity });
    const copy = ({ value }: Resource): Resource => {
      step('tee');
      return resources.make(value);
    };
    const { left, right } = g.broadcast('tee', odd, ['left', 'right'], { ...discard, copy });
    const key = (item: Resource): number => {
      step('join');
      return item.value;
    };
    const worked = g.stage('second', right, again('second'), options);
    const joined = g.join('join', { left, right: worked }, { key: { left: key, right: key }, capacity, hold: 50 });
    const pairs = g.sink('pairs', joined.pairs, (pair) => freeing('pairs')([pair.left, pair.right]));
    const batches = g.batch('batch', g.merge('merge', [even, joined.leftOnly, joined.rightOnly], discard), {
      items: 2,
    });
    g.sink('batches', batches, freeing('batches'), { lanes, capacity });
    return pairs;
  }
}

const nothingLeft = (resources: Resources): void => {
  expect({ alive: [...resources.alive], freedTwice: resources.freedTwice }).toEqual({ alive: [], freedTwice: [] });
};

describe('every item of a run is freed exactly once', () => {
  test.prop({ plan: plans })('in a run that succeeds', async ({ plan }) => {
    const resources = new Resources();
    await everything(resources, plan, () => {}).run().result;
    nothingLeft(resources);
  });

  test.prop({ plan: plans, at: fc.nat({ max: 150 }) })('with an error at any point', async ({ plan, at }) => {
    const resources = new Resources();
    let steps = 0;
    let failed = false;
    const run = everything(resources, plan, () => {
      if (steps++ !== at) return;
      failed = true;
      throw new Error('broken');
    }).run();
    const error = await run.result.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error !== undefined).toBe(failed);
    if (failed) expect(error).toMatchObject({ cause: { message: 'broken' } });
    await settled();
    nothingLeft(resources);
  });

  test.prop({ plan: plans, at: fc.nat({ max: 150 }) })('with an abort at any point', async ({ plan, at }) => {
    const resources = new Resources();
    let steps = 0;
    const controller = new AbortController();
    const run = everything(resources, plan, () => {
      if (steps++ === at) controller.abort();
    }).run(undefined, { signal: controller.signal });
    const ended = await run.result.then(
      () => 'ended',
      (reason: Error) => reason.name,
    );
    expect(ended).toBe(controller.signal.aborted ? 'AbortError' : 'ended');
    await settled();
    nothingLeft(resources);
  });

  test.prop({ plan: plans, after: fc.nat({ max: 40 }) })('with an abort at any time', async ({ plan, after }) => {
    const resources = new Resources();
    const run = everything(resources, plan, () => {}).run();
    const result = run.result.catch((error: Error) => error.name);
    await turns(after);
    run.abort();
    expect(['AbortError', expect.any(Number)]).toContainEqual(await result);
    await settled();
    nothingLeft(resources);
  });

  test.prop({ plan: plans, every: fc.integer({ min: 2, max: 9 }), retry: fc.nat({ max: 2 }) })(
    'with items that fail, are retried and skipped',
    async ({ plan, every, retry }) => {
      const resources = new Resources();
      let steps = 0;
      const onError: ErrorPolicy = { retry, orElse: 'skip' };
      const failing = everything(resources, plan, (node) => {
        if (node !== 'read' && node !== 'tee' && steps++ % every === 0) throw new Error('broken');
      });
      const run = failing.run(undefined, { onError });
      const errors: ItemError[] = [];
      run.errors$.subscribe((error) => errors.push(error));
      await run.result;
      nothingLeft(resources);
      const counters = run.counters();
      expect(errors.every((error) => error instanceof ItemError && error.outcome === 'skipped')).toBe(true);
      for (const { name, skipped } of counters) {
        const own = errors.filter(({ place }) => place?.node === `everything/${name}`);
        expect(own.length).toBe(skipped);
        expect(own.every(({ attempts }) => attempts === retry + 1)).toBe(true);
      }
    },
  );
});
