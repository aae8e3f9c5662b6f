import { test } from 'vitest';
import * as q from '../primitives/index.ts';
import { testLaws } from './backends.ts';
import { expandLaws } from './laws/expand.ts';
import { expectRefusal, openReference } from './reference-context.ts';

const { fn, u32 } = q;

testLaws(expandLaws);

test('refuses rows whose fields do not fit the functor', () => {
  const context = openReference();
  const x = context.column(Uint32Array.of(1));
  const expand = (rows: q.Table, functor: q.ExpandFunctor<typeof u32>): (() => unknown) => {
    return () => q.expand(rows, 1, functor, { capacity: 1 });
  };
  expectRefusal(
    context,
    'rows/field',
    expand(
      { x },
      fn({ y: u32 }, u32, ({ y }) => y),
    ),
  );
  expectRefusal(
    context,
    'rows/rank',
    expand(
      { x, rank: x },
      fn({ x: u32 }, u32, ({ x }) => x),
    ),
  );
  expectRefusal(
    context,
    'map/row-functor',
    expand(
      x,
      fn({ x: u32, y: u32 }, u32, ({ x }) => x),
    ),
  );
  expectRefusal(
    context,
    'map/argument',
    expand(
      x,
      fn({ x: u32, table: q.array(u32) }, u32, ({ x }) => x),
    ),
  );
});

test.each([-1, 0.5])('refuses %d as the number of rows that each makes', (times) => {
  const context = openReference();
  const x = context.column(Uint32Array.of(1));
  expectRefusal(context, 'column/size', () =>
    q.expand(
      { x },
      times,
      fn({ x: u32 }, u32, ({ x }) => x),
      { capacity: 1 },
    ),
  );
});
