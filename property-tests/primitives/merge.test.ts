import { test } from 'vitest';
import * as q from '../../primitives/index.ts';
import { testLaws, testLawsInWalks } from '../backends.ts';
import { mergeLaws } from '../laws/merge.ts';
import { expectRefusal, openReference } from '../support/reference-context.ts';

testLaws(mergeLaws);

testLawsInWalks(mergeLaws, [1, 3, 100]);

test('refuses tables with different columns, and more rows than a column can have', () => {
  const context = openReference();
  const [keys, floats] = [context.column(Uint32Array.of(1)), context.column(Float32Array.of(1))];
  expectRefusal(context, 'merge/columns', () => q.merge(keys, floats as never));
  expectRefusal(context, 'merge/columns', () => q.merge(keys, { lo: keys, hi: keys } as never));
  expectRefusal(context, 'merge/columns', () =>
    q.merge({ lo: keys, hi: keys }, { lo: keys, hi: keys, top: keys } as never),
  );
  expectRefusal(context, 'merge/columns', () => {
    q.mergeByKey<typeof keys, q.Table>({ keys, values: keys }, { keys, values: floats });
  });
  expectRefusal(context, 'column/length', () => q.mergeByKey({ keys, values: q.sequence(2) }, { keys, values: keys }));
  expectRefusal(context, 'sort/keys', () => q.merge(q.constant(q.bool, true, 1) as never, keys));
  expectRefusal(context, 'column/size', () => q.merge(keys, q.sequence(2 ** 32 - 1)));
});
