import { test } from 'vitest';
import { concatenate, constant, f32, type Table, u32 } from '../../primitives/index.ts';
import { testLaws } from '../backends.ts';
import { concatenateLaws } from '../laws/concatenate.ts';
import { expectRefusal, openReference } from '../support/reference-context.ts';

testLaws(concatenateLaws);

test('refused: no tables, tables with other columns, more rows than a column can have', async () => {
  await using context = openReference();
  const numbers = context.column(Uint32Array.of(1));
  const refuses = (code: string, tables: readonly Table[]): void =>
    expectRefusal(context, code, () => concatenate(tables));
  refuses('concatenate/nothing', []);
  refuses('concatenate/columns', [numbers, constant(f32, 1, 1)]);
  refuses('concatenate/columns', [{ numbers }, { numbers, more: numbers }]);
  refuses('column/size', [numbers, constant(u32, 0, 2 ** 32 - 1)]);
});
