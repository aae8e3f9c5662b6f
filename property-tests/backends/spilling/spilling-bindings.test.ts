import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { createSpillingBackend } from '../../../backends/spilling/index.ts';
import { Context } from '../../../primitives/context/context.ts';
import * as q from '../../../primitives/index.ts';
import { costlyCaseCount, someOf } from '../../cases.ts';
import { openTestBackend, randomWords, slow } from '../../support/webgpu-support.ts';

const { bool, fn, u32 } = q;

const odd = fn({ x: u32 }, bool, ({ x }) => x.and(1).eq(1));
const around = fn({ x: q.neighbours(u32) }, u32, ({ x }) => x.at(-1).add(x.at(1)));

interface Columns {
  readonly x: q.Column<'u32'>;
  readonly key: q.Column<'u32'>;
}

/**
 * Pipelines that read rows at the current index, next to it, backwards or at random, and that store rows in order or at
 * computed indices.
 */
const pipelines: Readonly<Record<string, (columns: Columns) => q.Table>> = {
  scan: ({ x }) => q.inclusiveScan(x, q.plus(u32)),
  copyIf: ({ x, key }) => q.copyIf({ x, key }, q.map(odd, { x })),
  partition: ({ x }) => q.partition(x, odd).rejected,
  reduceByKey: ({ x, key }) => q.reduceByKey(key, x, q.plus(u32)),
  unique: ({ key }) => q.unique(key),
  sort: ({ x }) => q.sort(x),
  'sortByKey of two columns': ({ x, key }) => q.sortByKey(x, { key, x }),
  adjacentDifference: ({ x }) => q.adjacentDifference(x),
  stencil: ({ x }) => q.stencil(around, { x }),
  reverse: ({ x }) => q.reverse(x),
  'gather at random': ({ x, key }) =>
    q.gather(
      x,
      q.map(
        fn({ k: u32 }, u32, ({ k }) => k.mul(2654435761).rem(8000)),
        { k: key },
      ),
    ),
  histogram: ({ key }) =>
    q.histogram(
      q.map(
        fn({ k: u32 }, u32, ({ k }) => k.and(31)),
        { k: key },
      ),
      32,
    ),
};

describe('columns split into more parts than a kernel binds', () => {
  test.each(someOf(Object.entries(pipelines), Math.ceil(Object.keys(pipelines).length / 2)))(
    'give the same bytes in %s',
    async (_, pipeline) => {
      const sizes = fc.constantFrom(8 * 1024, 8 * 1024 + 1, 10_000);
      const property = fc.asyncProperty(sizes, fc.constantFrom('stored', 'sliced', 'counted'), async (n, how) => {
        const run = async (context: Context): Promise<unknown> => {
          const all = {
            x: context.column(randomWords(n, 7)),
            key: context.column(Uint32Array.from({ length: n }, (_, i) => i >> 4)),
          };
          const few = { x: q.slice(all.x, 3), key: q.slice(all.key, 3) };
          const columns =
            how === 'stored'
              ? all
              : how === 'sliced'
                ? few
                : q.copyIf(
                    all,
                    fn({ x: u32, key: u32 }, bool, ({ x }) => x.ne(5)),
                  );
          const found = await context.read(context.scope(() => context.materialize(pipeline(columns))));
          await context.close();
          return found;
        };
        const limits = { bindingBytes: 4096, storageBuffers: 8 };
        const found = await run(new Context(createSpillingBackend(await openTestBackend({ limits }))));
        expect(found).toEqual(await run(new Context(createReferenceBackend())));
      });
      await fc.assert(property, { numRuns: costlyCaseCount(3) });
    },
    slow,
  );
});
