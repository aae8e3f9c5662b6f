import { test } from 'vitest';
import * as q from '../../primitives/index.ts';
import { testLaws } from '../backends.ts';
import { copyIfLaws } from '../laws/copy-if.ts';
import { expectRefusal, openReference } from '../support/reference-context.ts';

const { bool, fn, u32 } = q;

testLaws(copyIfLaws);

test('refuses functors that do not match the rows', () => {
  const context = openReference();
  const x = context.column(Uint32Array.of(1));
  const ofTwo = fn({ x: u32, y: u32 }, bool, ({ x, y }) => x.eq(y));
  expectRefusal(context, 'map/row-functor', () => q.copyIf(x, ofTwo));
  expectRefusal(context, 'map/argument', () => q.partition({ x }, ofTwo));
  expectRefusal(context, 'map/column', () => q.removeIf({ x, y: q.constant(q.f32, 1, 1) }, ofTwo));
});
