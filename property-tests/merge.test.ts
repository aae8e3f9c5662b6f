import fc from 'fast-check';
import { describe, test } from 'vitest';
import { createReferenceBackend } from '../backends/reference/index.ts';
import { Context } from '../primitives/context.ts';
import * as q from '../primitives/index.ts';
import { testLaws } from './backends.ts';
import { createRun } from './laws/law.ts';
import { mergeLaws } from './laws/merge.ts';
import { expectRefusal, openReference } from './reference-context.ts';

testLaws(mergeLaws);

describe.each([1, 2, 3, 4, 100, 4096])('in walks of %i rows', (walkRows) => {
  test.each(mergeLaws)('$name', async ({ property }) => {
    const [context, reference] = [
      new Context({ ...createReferenceBackend(), walkRows }),
      new Context(createReferenceBackend()),
    ];
    await fc.assert(property(createRun(context, reference)), { numRuns: 10 });
    await Promise.all([context.close(), reference.close()]);
  });
});

test('refuses tables with different columns, and more rows than a column can have', () => {
  const context = openReference();
  const [keys, floats] = [context.column(Uint32Array.of(1)), context.column(Float32Array.of(1))];
  expectRefusal(context, 'merge/columns', () => q.merge(keys, floats as never));
  expectRefusal(context, 'merge/columns', () => q.merge(keys, { lo: keys, hi: keys } as never));
  expectRefusal(context, 'merge/columns', () => q.merge({ lo: keys, hi: keys }, { hi: keys, lo: keys }));
  expectRefusal(context, 'merge/columns', () => {
    q.mergeByKey<typeof keys, q.Table>({ keys, values: keys }, { keys, values: floats });
  });
  expectRefusal(context, 'column/length', () => q.mergeByKey({ keys, values: q.sequence(2) }, { keys, values: keys }));
  expectRefusal(context, 'sort/keys', () => q.merge(q.constant(q.bool, true, 1) as never, keys));
  expectRefusal(context, 'column/size', () => q.merge(keys, q.sequence(2 ** 32 - 1)));
});
